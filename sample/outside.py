"""The demo's outside sources: bundled captures of every provider, and a trading desk's files, without keys or a
network.

Contains the run config of each feed's asset, and questions whose answers differ between two instants.
"""

from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

from assets.drops import all_drops
from assets.external import all_feeds, feed
from assets.feeds.feed import Scope
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore
from sample.bundled import capture_all
from sample.manifest import Demonstration

DROPS = Path(__file__).with_name("drops")
FETCHED_AT = datetime(2025, 7, 1, 12, tzinfo=timezone.utc)
LOOKED_AT = datetime(2024, 5, 28, 12, tzinfo=timezone.utc)
AS_LOOKED_AT = ("av_estimates", "av_earnings_calendar", "web_results", "web_syntheses")
"""Datasets that are available from their observation. They are captured at a past instant here, so that past sessions
have rows.
"""
APPLE, BOGMARSH = "0000320193", "0009800021"
SCOPES = {name: feed.example for name, feed in all_feeds().items()} | {
    "av_daily_bars": Scope(tickers=("QACB", "QBG")),
    **dict.fromkeys(("av_earnings", "yahoo_earnings"), Scope(tickers=("AAPL", "QACB"))),
    "sec_facts": Scope(ciks=(BOGMARSH, APPLE)),
    "sec_filings": Scope(ciks=(BOGMARSH, APPLE)),
    # Without splits, per-share figures are available only from their fetch.
    "polygon_splits": Scope(tickers=("AAPL", "QACB", "QBRY")),
    "macro_observations": Scope(series=("GDP", "DEMOJOBS", "DEMO10Y", "DGS2", "DGS10", "DGS30")),
    "web_results": Scope(queries=("QACB guidance",)),
    "universe_events": Scope(date_from=date(2023, 1, 1), date_to=date(2025, 6, 30), options={"index": "quarter"}),
}

APPLE_RESTATED = Demonstration(
    title="Apple's diluted earnings per share of fiscal 2009, as filed with EDGAR, USD",
    ticker="AAPL",
    concept="us-gaap:EarningsPerShareDiluted",
    sql=f"""
        SELECT value_number, period_end, accession_no FROM sec_facts
        WHERE cik = '{APPLE}' AND concept = 'us-gaap:EarningsPerShareDiluted'
          AND period_start = DATE '2008-09-28' AND period_end = DATE '2009-09-26'
    """,
    before="2010-01-25T16:00:00-05:00",
    after="2010-01-26T09:30:00-05:00",
    answer_before=6.29,
    answer_after=9.08,
    because="the 10-K/A of 2010-01-25 restated the year after a change of revenue accounting",
)
"""A question about real figures of a real company."""
RESTATED = Demonstration(
    title="Bogmarsh Oil and Gas, revenue of 2023 from EDGAR's company facts, USD",
    ticker="QBG",
    concept="us-gaap:Revenues",
    sql=f"""
        SELECT value_number, period_end, accession_no FROM sec_facts
        WHERE cik = '{BOGMARSH}' AND concept = 'us-gaap:Revenues'
          AND period_start = DATE '2023-01-01' AND period_end = DATE '2023-12-31'
    """,
    before="2024-06-03T16:00:00-04:00",
    after="2024-06-04T09:30:00-04:00",
    answer_before=2_166_256_000.0,
    answer_after=2_160_100_000.0,
    because="EDGAR accepted the 10-K/A of 2024-06-03 after the first instant: of the two readings of its time only the"
    " later one is possible",
)
REVISED = Demonstration(
    title="Gross domestic product of the first quarter of 2014 from ALFRED, USD billion",
    ticker="",
    concept="GDP",
    sql="""
        SELECT value, observation_date, vintage_date FROM macro_observations
        WHERE series_id = 'GDP' AND observation_date = DATE '2014-01-01'
    """,
    before="2014-05-29T08:29:59-04:00",
    after="2014-05-29T08:30:00-04:00",
    answer_before=17_149.6,
    answer_after=17_101.3,
    because="the second estimate was released at 08:30 New York on 2014-05-29",
    told_by="vintage",
)
QUESTIONS = (APPLE_RESTATED, RESTATED, REVISED)


def unpack(lake: Lake) -> int:
    """Store the bundled answers among the lake's captures, and return their number."""
    store = CaptureStore.of(lake.location)
    when = dict.fromkeys(AS_LOOKED_AT, LOOKED_AT)
    return sum(capture_all(feed(name), scope, store, when.get(name, FETCHED_AT)) for name, scope in SCOPES.items())


def run_config() -> dict[str, Any]:
    """Return the config of the feeds' assets: replay mode, their scopes, and the folder of the desk's files."""
    configs = {name: {"config": scope.as_config("replay")} for name, scope in SCOPES.items()}
    dropped = {name: {"config": {"folder": str(DROPS / name)}} for name in all_drops()}
    return configs | dropped
