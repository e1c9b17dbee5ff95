"""Contract of dataset `xbrl_facts`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_FACTS = GapRule(
    type="no_data", reason="filing has no facts", when="its XBRL status is COMPLETED, but it has no facts"
)
INCOMPLETE = GapRule(
    type="no_data",
    reason="XBRL of the filing is not complete",
    when="Report.xbrl_status is present but not COMPLETED; for a filing without facts it must be COMPLETED",
)
NO_COMPANY = GapRule(
    type="unverifiable", reason="no company", when="the filing has no primary filer, so the key is incomplete"
)
NO_CONCEPT = GapRule(type="unverifiable", reason="no concept", when="the fact is linked to no Concept")
NO_PERIOD = GapRule(type="unverifiable", reason="no period", when="the fact is linked to no Period")
TWO_PERIODS = GapRule(type="unverifiable", reason="several periods", when="the fact is linked to different Periods")
BAD_PERIOD = GapRule(
    type="unverifiable",
    reason="period is impossible",
    when="the Period is not an instant, duration or forever, lacks a date, or ends before it starts",
)
NO_CONTEXT = GapRule(
    type="unverifiable", reason="no context", when="the fact is linked to no Context, so its qualifiers are unknown"
)
TWO_CONTEXTS = GapRule(
    type="unverifiable", reason="contexts disagree", when="the fact is linked to Contexts with different axes"
)
TYPED_DIMENSION = GapRule(
    type="unverifiable",
    reason="typed dimension without its value",
    when=(
        "the context has more axes than the fact has members, because the graph does not keep the values of typed axes"
    ),
)
NO_NUMBER = GapRule(type="unverifiable", reason="value is not a number", when="a numeric fact's value cannot be read")
LESS_PRECISE = GapRule(
    type="unverifiable",
    reason="less precise duplicate",
    when=(
        "one filing states the fact twice; the one with higher decimals is used, then more significant digits, then "
        "the id"
    ),
)

FACT = ("concept", "unit", "period_type", "period_start", "period_end", "dimensions", "members")

DATASET = Dataset(
    name="xbrl_facts",
    title="XBRL facts",
    summary=(
        "Reported values of 10-K, 10-Q and their amendments. A fact reported again by a later filing, whether as a "
        "comparative, a restatement or an amendment, is a later revision of the same key."
    ),
    availability=shared.FILED,
    columns=(
        *shared.FILING,
        shared.ACCEPTED_AT,
        Column(
            name="concept",
            type="string",
            required=True,
            meaning="Qualified name, such as us-gaap:Revenues.",
            pattern="[^:]+:[^:]+",
        ),
        Column(name="label", type="string", meaning="Label of the concept."),
        Column(name="value", type="string", meaning="Value as filed, thousands separators removed; null when nil."),
        Column(name="value_number", type="float", meaning="The value as a number, if the fact is numeric."),
        Column(
            name="decimals",
            type="string",
            meaning='Stated precision: a number of decimal digits, which may be negative, or "INF".',
            pattern="-?[0-9]+|INF",
        ),
        Column(name="unit", type="string", meaning="Unit, such as iso4217:USD or shares; null for text facts."),
        Column(
            name="balance",
            type="string",
            meaning="credit or debit, if the concept states it.",
            values=("credit", "debit"),
        ),
        Column(
            name="period_type",
            type="string",
            required=True,
            meaning="instant, duration or forever.",
            values=("instant", "duration", "forever"),
            strict=True,
        ),
        Column(name="period_start", type="date", meaning="First day of a duration."),
        Column(name="period_end", type="date", meaning="Last day of a duration, or the day of an instant, inclusive."),
        Column(name="is_numeric", type="bool", meaning="Whether the fact is a number."),
        Column(name="is_nil", type="bool", meaning="Whether the fact is explicitly nil."),
        Column(
            name="dimensions", type="string", required=True, meaning="Sorted axes, joined by |; empty for the total."
        ),
        Column(
            name="members", type="string", required=True, meaning="Sorted members, joined by |; empty for the total."
        ),
        Column(
            name="member_count",
            type="int",
            required=True,
            meaning="Number of members that qualify the fact; 0 is the total.",
            minimum=0,
            strict=True,
        ),
        Column(name="fact_id", type="string", meaning="Id of the fact in its document."),
    ),
    key=("cik", *FACT),
    identity=("accession_no", *FACT),
    gap_names=("neo4j:Report:{accession_no}",),
    tiebreak=("accepted_at", "accession_no"),
    entity="ticker",
    alike=("ticker", "concept", "unit"),
    knowable={"ticker": "hindsight", **dict.fromkeys(("member_count", "value_number"), "lake")},
    rules=("period_start <= period_end",),
    source_tag="edgar_accepted",
    gap_rules=(
        *shared.FILING_GAPS,
        INCOMPLETE,
        NO_FACTS,
        NO_COMPANY,
        NO_CONCEPT,
        NO_PERIOD,
        TWO_PERIODS,
        BAD_PERIOD,
        NO_CONTEXT,
        TWO_CONTEXTS,
        TYPED_DIMENSION,
        NO_NUMBER,
        LESS_PRECISE,
        *shared.unreadable("concept", "is_numeric", "is_nil"),
    ),
    freshness=timedelta(days=60),
)
