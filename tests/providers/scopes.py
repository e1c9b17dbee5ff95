"""What each feed is asked for in the tests of the providers: a scope that the bundled answers answer.

Every feed there is has a scope here; a test says so.
"""

from datetime import date

from assets.external.feed import Scope

APPLE = Scope(tickers=("AAPL",))
CALL = Scope(tickers=("NASDAQ:AAPL",), options={"quarters": "2024Q1"})

SCOPES = {
    "av_daily_bars": APPLE,
    "av_earnings": APPLE,
    "av_earnings_calendar": APPLE,
    "av_estimates": APPLE,
    "av_intraday_bars": APPLE,
    "benzinga_news": Scope(date_from=date(2024, 2, 1)),
    "call_calendar": Scope(date_from=date(2025, 2, 10)),
    "call_events": Scope(tickers=("NASDAQ:AAPL",)),
    "call_slides": CALL,
    "call_transcripts": CALL,
    "macro_observations": Scope(series=("GDP",)),
    "macro_panels": Scope(series=("2024-01",)),
    "polygon_dividends": Scope(tickers=("KO",)),
    "polygon_splits": Scope(tickers=("NVDA",)),
    "sec_facts": Scope(ciks=("1104485",)),
    "sec_filings": Scope(ciks=("1104485",)),
    "sec_fulltext_hits": Scope(queries=("hedging",)),
    "universe_events": Scope(date_from=date(2024, 4, 1), date_to=date(2024, 4, 30), options={"index": "quarter"}),
    "web_pages": Scope(queries=("https://www.prnewswire.com/releases/one",)),
    "web_results": Scope(queries=("phones results",)),
    "web_syntheses": Scope(queries=("what did phones earn?",), options={"op": "ask"}),
    "yahoo_earnings": APPLE,
    "yahoo_upgrades": APPLE,
}
