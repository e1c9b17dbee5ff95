"""Contract of dataset `exhibits`."""

from pitlake.contract import Column, Dataset
from pitlake.datasets import _shared as shared

DATASET = Dataset(
    name="exhibits",
    title="Exhibits of filings",
    summary="EX-10 and EX-99 exhibits as text, such as the earnings press release of an 8-K.",
    availability=shared.FILED,
    columns=(
        *shared.FILING,
        Column("exhibit_number", "string", "Exhibit number as filed; free text.", required=True),
        Column("content", "string", "Text of the exhibit."),
    ),
    key=("accession_no", "exhibit_number"),
    entity="ticker",
    alike=("exhibit_number",),
    knowable={"ticker": "hindsight"},
    source_tag="edgar_accepted",
    gap_rules=(*shared.FILING_GAPS, *shared.unreadable("exhibit_number")),
)
