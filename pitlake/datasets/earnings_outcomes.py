"""Contract of dataset `earnings_outcomes`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_BARS = GapRule(
    "no bars around the release",
    (
        "a week after the window's end, the bar of its last session or of the last session before the release is "
        "still missing"
    ),
    type="no_data",
)
NO_BASIS = GapRule(
    "closes cannot be compared",
    (
        "a split within the window is uncertain, or the price moves overnight by as much as in a split of 3:2 or "
        "more and neither a recorded split nor the volume explains it"
    ),
)

DATASET = Dataset(
    name="earnings_outcomes",
    title="Earnings outcomes",
    summary=(
        "Returns after an earnings release over windows of the exchange's sessions, for use as labels. Each window "
        "is a row that becomes public with its last bar, so that no window is visible before its end."
    ),
    availability=(
        "The window's last close, or when the last of its bars and splits became public. The first published version "
        "of each bar is used."
    ),
    columns=(
        shared.ACCESSION,
        Column("ticker", "string", "Ticker of the company.", required=True),
        Column("event_at", "instant", "The event: its filing's acceptance.", required=True),
        Column("sessions", "int", "Number of the exchange's closes after the release.", required=True, unit="sessions"),
        Column("base_date", "date", "Session of the last close before the release.", required=True),
        Column("end_date", "date", "Session of the window's last close.", required=True),
        Column("base_close", "float", "Close of that session, as traded.", required=True),
        Column("end_close", "float", "Close at the window's end, as traded.", required=True),
        Column(
            "split_factor",
            "float",
            "Number of shares on end_date for one share on base_date; 1 without a split.",
            required=True,
        ),
        Column(
            "change", "float", "Change from base_close to end_close times split_factor.", required=True, unit="percent"
        ),
        Column("market_change", "float", "The same change for SPY; null if its bars are missing.", unit="percent"),
        Column("excess", "float", "change - market_change.", unit="percent"),
        Column("evidence_ids", "strings", "Evidence of every bar and split behind the row.", required=True),
    ),
    key=("accession_no", "sessions"),
    gap_names=("earnings:{accession_no}/outcomes/{sessions}",),
    entity="ticker",
    knowable={
        **dict.fromkeys(("ticker", "evidence_ids"), "hindsight"),
        **dict.fromkeys(
            (
                "sessions",
                "split_factor",
                "base_date",
                "end_date",
                "base_close",
                "end_close",
                "change",
                "market_change",
                "excess",
            ),
            "lake",
        ),
    },
    rules=("base_close > 0", "end_close > 0", "split_factor > 0", "change >= -100", "base_date <= end_date"),
    source_tag="time_series_timestamp",
    gap_rules=(NO_BARS, NO_BASIS, shared.FUTURE),
    group="derived",
    frozen=("accession_no", "sessions"),
)
