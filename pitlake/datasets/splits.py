"""Contract of dataset `splits`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_RATIO = GapRule("ratio is missing or unknown", "the ratio failed to parse upstream")
OTHER_DATE = GapRule("execution date differs from its date node", "the two disagree")

TWO_RATIOS = GapRule(
    "two ratios for one day",
    "another node of the company and day has a different ratio, and the node with the greater id is used",
)

DATASET = Dataset(
    name="splits",
    title="Share splits",
    summary="Executed share splits. A split is announced earlier, but the graph does not say when.",
    availability=(
        "The market close of the execution day (the linked Date). If the exchange is closed that day, the end of the "
        "day in New York."
    ),
    columns=(
        shared.LINKED_CIK,
        Column("ticker", "string", "Ticker of the company.", required=True),
        Column("execution_date", "date", "Day the split takes effect, New York.", required=True),
        Column("split_from", "float", "Shares before.", required=True, unit="shares"),
        Column("split_to", "float", "Shares after.", required=True, unit="shares"),
        Column(
            "split_id",
            "string",
            "CIK and execution day, or ticker and execution day if no company is linked.",
            required=True,
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
