"""Contract of dataset `earnings_outcomes`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_BARS = GapRule(
    type="no_data",
    reason="no bars around the release",
    when=(
        "a week after the window's end, the bar of its last session or of the last session before the release is "
        "still missing"
    ),
)
NO_BASIS = GapRule(
    type="unverifiable",
    reason="closes cannot be compared",
    when=(
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
        "of each bar counts."
    ),
    columns=(
        shared.ACCESSION,
        Column(name="ticker", type="string", required=True, meaning="Ticker of the company."),
        Column(name="event_at", type="instant", required=True, meaning="The event: its filing's acceptance."),
        Column(
            name="sessions",
            type="int",
            required=True,
            unit="sessions",
            meaning="Number of the exchange's closes after the release.",
        ),
        Column(name="base_date", type="date", required=True, meaning="Session of the last close before the release."),
        Column(name="end_date", type="date", required=True, meaning="Session of the window's last close."),
        Column(name="base_close", type="float", required=True, meaning="Close of that session, as traded."),
        Column(name="end_close", type="float", required=True, meaning="Close at the window's end, as traded."),
        Column(
            name="split_factor",
            type="float",
            required=True,
            meaning="Number of shares on end_date for one share on base_date; 1 without a split.",
        ),
        Column(
            name="change",
            type="float",
            required=True,
            unit="percent",
            meaning="Change from base_close to end_close times split_factor.",
        ),
        Column(
            name="market_change",
            type="float",
            unit="percent",
            meaning="The same change for SPY; null if its bars are missing.",
        ),
        Column(name="excess", type="float", unit="percent", meaning="change - market_change."),
        Column(
            name="evidence_ids",
            type="strings",
            required=True,
            meaning="Evidence of every bar and split behind the row.",
        ),
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
    partitioned=False,
    frozen=("accession_no", "sessions"),
)
