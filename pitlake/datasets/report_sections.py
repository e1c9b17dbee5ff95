"""Contract of dataset `report_sections`."""

from pitlake.contract import Column, Dataset
from pitlake.datasets import _shared as shared

DATASET = Dataset(
    name="report_sections",
    title="Sections of filings",
    summary="The named items of 10-K, 10-Q and 8-K filings as text, one row per section.",
    availability=shared.FILED,
    columns=(
        *shared.FILING,
        Column(
            "section_name", "string", "Name of the item, without spaces between its words, as extracted.", required=True
        ),
        Column("content", "string", "Text of the section."),
        Column("content_length", "int", "Length as the graph gives it.", unit="characters", minimum=0),
    ),
    key=("accession_no", "section_name"),
    entity="ticker",
    alike=("section_name",),
    knowable={"ticker": "hindsight"},
    source_tag="edgar_accepted",
    gap_rules=(*shared.FILING_GAPS, *shared.unreadable("section_name", "content_length")),
)
