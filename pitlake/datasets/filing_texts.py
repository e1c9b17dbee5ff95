"""Contract of dataset `filing_texts`."""

from pitlake.contract import Column, Dataset
from pitlake.datasets import _shared as shared

DATASET = Dataset(
    name="filing_texts",
    title="Whole filings as text",
    summary="The complete text of filings whose sections could not be parsed.",
    availability=shared.FILED,
    columns=(*shared.FILING, Column("content", "string", "Text of the whole filing.")),
    key=("accession_no",),
    entity="ticker",
    alike=("form_type",),
    knowable={"ticker": "hindsight"},
    source_tag="edgar_accepted",
    gap_rules=shared.FILING_GAPS,
)
