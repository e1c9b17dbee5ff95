"""Contract of dataset `splits`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_RATIO = GapRule(type="unverifiable", reason="ratio is missing or unknown", when="the ratio failed to parse upstream")
OTHER_DATE = GapRule(type="unverifiable", reason="execution date differs from its date node", when="the two disagree")

TWO_RATIOS = GapRule(
    type="unverifiable",
    reason="two ratios for one day",
    when="another node of the company and day has another ratio, and the node with the greater id is used",
)

DATASET = Dataset(
    name="splits",
    title="Share splits",
    summary="Executed share splits. A split is announced earlier, but the graph does not say when.",
    availability=(
        "The market close of the execution day (the linked Date). If the exchange is closed that day, the END of the "
        "day in New York."
    ),
    columns=(
        shared.LINKED_CIK,
        Column(name="ticker", type="string", required=True, meaning="Ticker of the company."),
        Column(name="execution_date", type="date", required=True, meaning="Day the split takes effect, New York."),
        Column(name="split_from", type="float", required=True, unit="shares", meaning="Shares before."),
        Column(name="split_to", type="float", required=True, unit="shares", meaning="Shares after."),
        Column(
            name="split_id",
            type="string",
            required=True,
            meaning="CIK and execution day, or ticker and execution day if no company is linked.",
        ),
    ),
    key=("split_id",),
    entity="ticker",
    knowable=dict.fromkeys(("ticker", "split_id"), "hindsight"),
    rules=("split_from > 0", "split_to > 0"),
    source_tag="time_series_timestamp",
    gap_rules=(
        shared.NO_TICKER,
        shared.NO_DATE,
        OTHER_DATE,
        shared.STRAY_CLOSE,
        NO_RATIO,
        TWO_RATIOS,
        shared.FUTURE,
        *shared.unreadable("execution_date"),
    ),
)
