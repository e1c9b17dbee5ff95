"""Contract of dataset `xbrl_facts`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_FACTS = GapRule("filing has no facts", "its XBRL status is COMPLETED, but it has no facts", type="no_data")
INCOMPLETE = GapRule(
    "XBRL of the filing is not complete",
    "Report.xbrl_status is present but not COMPLETED; for a filing without facts it must be COMPLETED",
    type="no_data",
)
NO_COMPANY = GapRule("no company", "the filing has no primary filer, so the key is incomplete")
NO_CONCEPT = GapRule("no concept", "the fact is linked to no Concept")
NO_PERIOD = GapRule("no period", "the fact is linked to no Period")
TWO_PERIODS = GapRule("several periods", "the fact is linked to different Periods")
BAD_PERIOD = GapRule(
    "period is impossible", "the Period is not an instant, duration or forever, lacks a date, or ends before it starts"
)
NO_CONTEXT = GapRule("no context", "the fact is linked to no Context, so its qualifiers are unknown")
TWO_CONTEXTS = GapRule("contexts disagree", "the fact is linked to Contexts with different axes")
TYPED_DIMENSION = GapRule(
    "typed dimension without its value",
    ("the context has more axes than the fact has members, because the graph does not keep the values of typed axes"),
)
NO_NUMBER = GapRule("value is not a number", "a numeric fact's value cannot be read")
LESS_PRECISE = GapRule(
    "less precise duplicate",
    (
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
        Column("concept", "string", "Qualified name, such as us-gaap:Revenues.", required=True, pattern="[^:]+:[^:]+"),
        Column("label", "string", "Label of the concept."),
        Column("value", "string", "Value as filed, thousands separators removed; null when nil."),
        Column("value_number", "float", "The value as a number, if the fact is numeric."),
        Column(
            "decimals",
            "string",
            'Stated precision: a number of decimal digits, which may be negative, or "INF".',
            pattern="-?[0-9]+|INF",
        ),
        Column("unit", "string", "Unit, such as iso4217:USD or shares; null for text facts."),
        Column("balance", "string", "credit or debit, if the concept states it.", values=("credit", "debit")),
        Column(
            "period_type",
            "string",
            "instant, duration or forever.",
            required=True,
            values=("instant", "duration", "forever"),
            strict=True,
        ),
        Column("period_start", "date", "First day of a duration."),
        Column("period_end", "date", "Last day of a duration, or the day of an instant, inclusive."),
        Column("is_numeric", "bool", "Whether the fact is a number."),
        Column("is_nil", "bool", "Whether the fact is explicitly nil."),
        Column("dimensions", "string", "Sorted axes, joined by |; empty for the total.", required=True),
        Column("members", "string", "Sorted members, joined by |; empty for the total.", required=True),
        Column(
            "member_count",
            "int",
            "Number of members that qualify the fact; 0 is the total.",
            required=True,
            minimum=0,
            strict=True,
        ),
        Column("fact_id", "string", "Id of the fact in its document."),
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
