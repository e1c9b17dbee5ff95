"""Dataset `calendar`: the graph's Date nodes. What nobody knew ahead, an unscheduled closing, is not told ahead."""

from datetime import date, datetime, time
from functools import cache
from typing import Any

from assets.extraction import Extractor, Place, Record, RunFacts, dated, parsed
from assets.graph import texts
from pitlake.clock import NEW_YORK, end_of_new_york_day
from pitlake.datasets import _shared as shared
from pitlake.datasets import calendar as contract
from pitlake.datasets.calendar import DATASET

FIELDS = """
RETURN d.date AS date, d.is_trading_day AS is_trading_day, d.pre_market_current_day AS pre_market_open,
       d.market_open_current_day AS market_open, d.market_close_current_day AS market_close,
       d.post_market_current_day AS post_market_close, d.previous_trading_date AS previous_trading_date,
       d.next_trading_date AS next_trading_date
"""

WINDOW = f"MATCH (d:Date)\nWHERE d.date >= $lo AND d.date < $hi{FIELDS}"

UNDATED = f"MATCH (d:Date)\nWHERE NOT coalesce(d.date =~ $dated, false){FIELDS}"

SESSION = ("pre_market_open", "market_open", "market_close", "post_market_close")

PARSERS = {
    "date": texts.day,
    "is_trading_day": texts.flag,
    "previous_trading_date": texts.day,
    "next_trading_date": texts.day,
}

REGULAR_CLOSE = time(16)


@cache
def unscheduled_closings() -> frozenset[date]:
    """Days the exchange closed without notice far ahead (storms, mourning), from exchange_calendars."""
    from exchange_calendars.exchange_calendar_xnys import XNYSExchangeCalendar

    return frozenset(day.date() for day in XNYSExchangeCalendar.adhoc_holidays.fget(None))


def locate(record: Record, _run: RunFacts) -> Place:
    """The close of a trading day, the end of any other day."""
    evidence = f"neo4j:Date:{record['date']}"
    day = texts.readable(texts.day, record["date"])
    if day is None or day.year == date.max.year:  # the last day has no end
        return Place(evidence, reason=contract.BAD_DATE.reason)
    trading = texts.readable(texts.flag, record["is_trading_day"])
    if trading is None:
        return Place(evidence, day=day, reason=contract.BAD_FLAG.reason)
    if not trading:
        return dated(evidence, end_of_new_york_day(day))
    close_at = texts.readable(texts.instant, record["market_close"])
    if close_at is None:
        return Place(evidence, day=day, reason=contract.NO_CLOSE.reason)
    if not texts.session_day(close_at, day):
        return Place(evidence, day=day, reason=shared.STRAY_CLOSE.reason)
    return dated(evidence, close_at)


def values(record: Record) -> dict[str, Any]:
    """The business columns of a day; sessions only for trading days."""
    found = parsed(record, PARSERS)
    session = dict.fromkeys(SESSION)
    if found["is_trading_day"]:
        session = parsed(record, dict.fromkeys(SESSION, texts.instant))
    early = session["market_close"] is not None and closes_early(session["market_close"])
    foreseen = foreseeable(found["date"], found["next_trading_date"])
    return found | session | {"is_early_close": early, "next_trading_date": foreseen}


def closes_early(close_at: datetime) -> bool:
    """Whether a close comes before 16:00 New York."""
    return close_at.astimezone(NEW_YORK).time() < REGULAR_CLOSE


def foreseeable(day: date, following: date | None) -> date | None:
    """The next trading day, unless an unscheduled closing lies between: then nobody could name it on `day`."""
    if following is None or any(day < closing < following for closing in unscheduled_closings()):
        return None
    return following


EXTRACTOR = Extractor(dataset=DATASET, windows=(WINDOW,), sweeps=(UNDATED,), locate=locate, values=values)
