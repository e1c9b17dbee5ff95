"""Contract of dataset `av_period_bars`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_DAY = GapRule("bar has no readable day", "the bar's key is not a valid date")
NO_SESSION = GapRule("no session in that period", "New York's exchange was closed all week or month")
ENDS_EARLY = GapRule(
    "bar ends before its period's last session",
    "the answer was made after the period, but the bar ends on an earlier day, so later sessions may be missing",
)

DATASET = Dataset(
    name="av_period_bars",
    title="Weekly and monthly bars of Alpha Vantage",
    summary=(
        "Raw weekly and monthly bars as traded, never adjusted; a bar with a split inside mixes prices from before "
        "and after it. Only New York listings are included."
    ),
    availability=(
        "The close of the period's last session at New York's exchange, including early closes. If a later session of "
        "the period was cancelled, that session's planned opening. The current week or month never becomes a row, "
        "whatever day the answer gives it. A later change to its values creates a new revision, available when it was "
        f"observed. {figures.BARS_COUNT_FROM}"
    ),
    columns=(
        Column("ticker", "string", "The requested symbol.", required=True),
        Column("period", "string", "week or month.", required=True, values=("week", "month"), strict=True),
        Column("period_start", "date", "The week's Monday or the month's first day.", required=True),
        Column("last_session", "date", "Day of the period's last session, New York.", required=True),
        Column("open", "float", "First price of the period.", unit="USD", required=True),
        Column("high", "float", "Highest price.", unit="USD", required=True),
        Column("low", "float", "Lowest price.", unit="USD", required=True),
        Column("close", "float", "Last price, not adjusted.", unit="USD", required=True),
        Column("volume", "int", "Traded shares.", unit="shares", required=True),
    ),
    key=("ticker", "period", "period_start"),
    entity="ticker",
    alike=("ticker", "period"),
    drift=shared.RESTATED_BARS,
    knowable={"ticker": "hindsight"},
    rules=shared.BAR_RULES,
    source_tag="time_series_timestamp",
    gap_rules=(
        shared.FUTURE,
        figures.UNFINISHED,
        NO_DAY,
        NO_SESSION,
        ENDS_EARLY,
        figures.OTHER_ZONE,
        figures.TOLD_TWICE,
        *shared.unreadable("open", "high", "low", "close", "volume"),
    ),
    group="external",
    lane=2,
    freshness=timedelta(days=40),
)
