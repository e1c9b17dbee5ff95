"""Contract of dataset `sec_facts`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _external as external
from pitlake.datasets import _shared as shared

UNKNOWN_FILING = GapRule(
    type="unverifiable",
    reason="acceptance of the filing is unknown",
    when="the lake has no acceptance for the accession number; fetch sec_filings of the company first",
)
STATED_TWICE = GapRule(
    type="unverifiable",
    reason="stated twice by one filing",
    when="the answer has two values for one concept, unit, period and accession number, and the first one counts",
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
        Column(name="concept", type="string", required=True, meaning="Qualified name, such as us-gaap:Revenues."),
        Column(name="unit", type="string", required=True, meaning="Unit, such as USD, shares or USD/shares."),
        Column(
            name="period_type",
            type="string",
            required=True,
            values=("instant", "duration"),
            strict=True,
            meaning="instant or duration.",
        ),
        Column(name="period_start", type="date", meaning="First day of a duration."),
        Column(name="period_end", type="date", required=True, meaning="Last day, inclusive, or the day of an instant."),
        Column(name="value", type="string", required=True, meaning="The value, with every digit of a whole number."),
        Column(name="value_number", type="float", required=True, meaning="The value as a number."),
        Column(name="filing_date", type="date", meaning="EDGAR's filing date: often not the day of acceptance."),
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
    partitioned=False,
    freshness=timedelta(days=120),
)
