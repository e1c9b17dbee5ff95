"""Contract of dataset `sec_facts`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _external as external
from pitlake.datasets import _shared as shared

UNKNOWN_FILING = GapRule(
    "acceptance of the filing is unknown",
    "the lake has no acceptance for the accession number; fetch sec_filings of the company first",
)
STATED_TWICE = GapRule(
    "stated twice by one filing",
    "the answer has two values for one concept, unit, period and accession number, and the first one is used",
)

DATASET = Dataset(
    name="sec_facts",
    title="EDGAR company facts",
    summary=(
        "Values from EDGAR's companyfacts and companyconcept interfaces. A fact that a later filing reports again, "
        "unchanged or restated, is a later revision of the same key."
    ),
    availability=(
        "EDGAR's release of the filing that reported the value, found by its accession number. EDGAR's frame, fy and "
        "fp are not kept, because later filings rewrite them and so reveal the future."
    ),
    columns=(
        shared.ACCESSION,
        shared.FORM_TYPE,
        shared.CIK,
        shared.RELEASE_RULE,
        shared.ACCEPTED_AT,
        Column("concept", "string", "Qualified name, such as us-gaap:Revenues.", required=True),
        Column("unit", "string", "Unit, such as USD, shares or USD/shares.", required=True),
        Column(
            "period_type", "string", "instant or duration.", required=True, values=("instant", "duration"), strict=True
        ),
        Column("period_start", "date", "First day of a duration."),
        Column("period_end", "date", "Last day, inclusive, or the day of an instant.", required=True),
        Column("value", "string", "The value, with every digit of a whole number.", required=True),
        Column("value_number", "float", "The value as a number.", required=True),
        Column("filing_date", "date", "EDGAR's filing date: often not the day of acceptance."),
    ),
    key=("cik", "concept", "unit", "period_start", "period_end"),
    identity=("cik", "concept", "unit", "period_start", "period_end", "accession_no"),
    thing=("cik", "concept", "unit", "period_start", "period_end"),
    tiebreak=("accepted_at", "accession_no"),
    newer_by=("filing_date",),
    entity="cik",
    alike=("cik", "concept", "unit"),
    knowable=dict.fromkeys(("accepted_at", "period_type", "value_number"), "lake"),
    rules=("period_start <= period_end",),
    source_tag="edgar_accepted",
    gap_rules=(
        UNKNOWN_FILING,
        STATED_TWICE,
        shared.FUTURE,
        *external.ANSWERS,
        *shared.unreadable("accession_no", "form_type", "period_start", "period_end", "value", "filing_date"),
    ),
    group="external",
    freshness=timedelta(days=120),
)
