"""Gaps shared by datasets of providers' figures: bars, earnings, corporate actions. This module defines no dataset."""

from pitlake.contract import GapRule

DAILY_BARS = ("av_daily_bars", "av_period_bars", "own_bars")
"""The datasets whose bars are dated by a setting of the lake."""
BARS_COUNT_FROM = "A lake can be set to make bars available later. Fund bars are available at the day's end."

NO_SESSION = GapRule("no session on that day", "New York's exchange was closed on the bar's day")
UNFINISHED = GapRule(
    "bar was unfinished when fetched",
    "the answer was made before the end of the bar, so its figures are not final",
    type="pit_excluded",
)
OTHER_ZONE = GapRule("times are in an unknown zone", "the answer says that its times are not US/Eastern")
NO_PERIOD = GapRule("no fiscal period end", "fiscalDateEnding is absent or unreadable")
TOLD_TWICE = GapRule("stated twice", "an earlier record of the answer has a different value")
OTHER_TICKER = GapRule(
    "record is about another ticker", "the source ignored an unknown parameter and answered about another ticker"
)
NO_RESULTS = GapRule(
    "the company filed no results near the stated day",
    (
        "the company files 8-Ks, and a poll of its complete list of filings has none with item 2.02 from a day before "
        "to four days after the stated day"
    ),
)
MORE_PAGES = GapRule(
    "more pages than asked for", "max_pages was reached, but the source has more pages", type="no_data"
)
