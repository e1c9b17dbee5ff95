"""Dataset `calendar`: the graph's Date nodes. A day states the next planned trading day, by the exchange's rules.

If a closing cancelled that day, the change is a revision, which is public at the end of the closed day. The graph
stores only the final result.
"""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

from assets.extraction import Extractor, Place, Record, RunFacts, dated, parsed
from assets.graph import texts
from pitlake.clock import NEW_YORK, end_of_new_york_day
from pitlake.datasets import _shared as shared
from pitlake.datasets import calendar as contract
from pitlake.datasets.calendar import DATASET
from pitlake.errors import RecordRefused
from pitlake.exchange import planned

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
FOLLOWING = "next_trading_date"
CLOSED = "closed_through"
LONGEST = 14
"""The maximum number of days between two sessions. The longest break since 1933, in September 2001, took seven."""


def split(record: Record) -> Iterator[Record]:
    """Yield a day as planned, and a revision for each closing that cancelled its next planned day."""
    day, following = (texts.readable(texts.day, record[name]) for name in ("date", FOLLOWING))
    if day is None or following is None or not timedelta(0) < following - day <= timedelta(LONGEST):
        yield {**record, CLOSED: None}
        return
    between = (day + timedelta(number) for number in range(1, (following - day).days))
    closed = [plan for plan in between if planned(plan) is not None]
    for previous, plan in zip([None, *closed], [*closed, following], strict=True):
        yield {**record, CLOSED: previous, FOLLOWING: plan.isoformat()}


def locate(record: Record, _run: RunFacts) -> Place:
    """Return the close of a trading day, or the end of any other day or of a closing that changed the plan."""
    evidence = f"neo4j:Date:{record['date']}"
    day = texts.readable(texts.day, record["date"])
    if day is None or day.year == date.max.year:  # The calendar's last day has no end.
        return Place(evidence, reason=contract.BAD_DATE.reason)
    trading = texts.readable(texts.flag, record["is_trading_day"])
    if trading is None:
        return Place(evidence, day=day, reason=contract.BAD_FLAG.reason)
    if record[CLOSED] is not None:
        return dated(evidence, end_of_new_york_day(record[CLOSED]))
    if not trading:
        return dated(evidence, end_of_new_york_day(day))
    close_at = texts.readable(texts.instant, record["market_close"])
    if close_at is None:
        return Place(evidence, day=day, reason=contract.NO_CLOSE.reason)
    if not texts.session_day(close_at, day):
        return Place(evidence, day=day, reason=shared.STRAY_CLOSE.reason)
    return dated(evidence, close_at)


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a day; sessions only for trading days."""
    row = parsed(record, PARSERS)
    session = dict.fromkeys(SESSION)
    if row["is_trading_day"]:
        session = parsed(record, dict.fromkeys(SESSION, texts.instant))
    early = session["market_close"] is not None and closes_early(session["market_close"])
    if row[FOLLOWING] is not None and not timedelta(0) < row[FOLLOWING] - row["date"] <= timedelta(LONGEST):
        raise RecordRefused(f"{FOLLOWING} is unreadable")
    return row | session | {"is_early_close": early, CLOSED: record[CLOSED]}


def closes_early(close_at: datetime) -> bool:
    """Return whether a close is before 16:00 New York."""
    return close_at.astimezone(NEW_YORK).time() < REGULAR_CLOSE


EXTRACTOR = Extractor(
    dataset=DATASET, windows=(WINDOW,), sweeps=(UNDATED,), locate=locate, values=values, split=split, trail=LONGEST
)
