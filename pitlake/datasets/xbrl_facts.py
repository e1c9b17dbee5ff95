"""Contract of dataset `xbrl_facts`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

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
        Column(name="concept", type="string", required=True, meaning="Qualified name, such as us-gaap:Revenues."),
        Column(name="label", type="string", meaning="Label of the concept."),
        Column(name="value", type="string", meaning="Value as filed, thousands separators removed; null when nil."),
        Column(name="value_number", type="float", meaning="The value as a number, where the fact is numeric."),
        Column(
            name="decimals", type="string", meaning='Stated precision: digits, a negative number of them, or "INF".'
        ),
        Column(name="unit", type="string", meaning="Unit, such as iso4217:USD or shares; null for text facts."),
        Column(name="balance", type="string", meaning="credit or debit, where the concept states it."),
        Column(name="period_type", type="string", required=True, meaning="instant, duration or forever."),
        Column(name="period_start", type="date", meaning="First day of a duration."),
        Column(name="period_end", type="date", meaning="Last day of a duration, or the day of an instant, inclusive."),
        Column(name="is_numeric", type="bool", meaning="Whether the fact is a number."),
        Column(name="is_nil", type="bool", meaning="Whether the fact is explicitly nil."),
        Column(
            name="members", type="string", required=True, meaning="Sorted members, joined by |; empty for the total."
        ),
        Column(
            name="member_count", type="int", required=True, meaning="How many members qualify the fact; 0 is the total."
        ),
        Column(name="fact_id", type="string", meaning="Id of the fact in its document."),
    ),
    key=("cik", "concept", "unit", "period_type", "period_start", "period_end", "members"),
    identity=("accession_no", "concept", "unit", "period_type", "period_start", "period_end", "members"),
    tiebreak=("accession_no",),
    entity="ticker",
    source_tag="edgar_accepted",
    gap_rules=(
        shared.UNDATED_FILING,
        shared.NO_FILING,
        GapRule(type="unverifiable", reason="no concept", when="the fact hangs on no Concept"),
        GapRule(type="unverifiable", reason="no period", when="the fact hangs on no Period"),
        GapRule(
            type="unverifiable", reason="no context", when="the fact hangs on no Context, so its members are unknown"
        ),
        GapRule(
            type="unverifiable", reason="no company", when="the filing has no primary filer, so the key is incomplete"
        ),
        GapRule(type="unverifiable", reason="value is no number", when="a numeric fact's value cannot be read"),
        GapRule(
            type="unverifiable",
            reason="less precise duplicate",
            when="one filing states the fact twice: the higher decimals win, then more significant digits",
        ),
        GapRule(
            type="no_data", reason="XBRL of the filing is not complete", when="Report.xbrl_status is not COMPLETED"
        ),
    ),
    freshness=timedelta(days=60),
)
