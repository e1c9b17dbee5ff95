"""Contract of dataset `earnings_outcomes`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_BARS = GapRule(
    type="no_data",
    reason="no bars around the release",
    when="the last close before it or the closes after it are unknown",
)

DATASET = Dataset(
    name="earnings_outcomes",
    title="Earnings outcomes",
    summary=(
        "What the price did after an earnings release, by windows of sessions: labels. Each window is a row, public "
        "when its last bar is, so that no window shows before it ended."
    ),
    availability="The availability of the window's last bar; bars count as they were first told.",
    columns=(
        shared.ACCESSION,
        Column(name="ticker", type="string", required=True, meaning="Ticker of the company."),
        Column(name="event_at", type="instant", required=True, meaning="The release: its filing's acceptance."),
        Column(name="sessions", type="int", required=True, unit="sessions", meaning="Closes after the release."),
        Column(name="base_date", type="date", required=True, meaning="Session of the last close before the release."),
        Column(name="end_date", type="date", required=True, meaning="Session of the window's last close."),
        Column(name="base_close", type="float", required=True, meaning="Last close that was public at the release."),
        Column(name="end_close", type="float", required=True, meaning="Close at the window's end."),
        Column(name="change", type="float", required=True, unit="percent", meaning="From base_close to end_close."),
        Column(name="market_change", type="float", unit="percent", meaning="The same of SPY, null without its bars."),
        Column(name="excess", type="float", unit="percent", meaning="change - market_change."),
        Column(name="evidence_ids", type="strings", required=True, meaning="Evidence of every bar behind the row."),
    ),
    key=("accession_no", "sessions"),
    entity="ticker",
    source_tag="time_series_timestamp",
    gap_rules=(NO_BARS, shared.FUTURE),
    group="derived",
    partitioned=False,
    frozen=True,
)
