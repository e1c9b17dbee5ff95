"""The exchange calendar as date nodes: every calendar day, the sessions around it, and the chain of days.

Sessions come from `exchange_calendars` (XNYS), so early closes, holidays and the unscheduled closing of 2025-01-09 are
real. One day is left out on purpose.
"""

import warnings
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache

import exchange_calendars

from pitlake.clock import NEW_YORK
from sample.shapes import Graph, blank_new_york, new_york

FIRST_DAY = date(2023, 1, 1)
LAST_DAY = date(2025, 6, 30)
HOLE = frozenset({date(2023, 10, 7), date(2023, 10, 8), date(2023, 10, 9)})

_PRE_MARKET = timedelta(hours=5, minutes=30)
_POST_MARKET = timedelta(hours=4)


@dataclass(frozen=True)
class TradingDay:
    """One trading day, New York time. After an early close there is no post-market session."""

    day: date
    open: datetime
    close: datetime

    @property
    def early(self) -> bool:
        """Whether the exchange closed before 16:00."""
        return self.close.hour < 16

    @property
    def pre(self) -> datetime:
        return self.open - _PRE_MARKET

    @property
    def post(self) -> datetime:
        return self.close if self.early else self.close + _POST_MARKET


@cache
def sessions() -> dict[date, TradingDay]:
    """Return the trading days from the oldest news to half a year after the world's end; events may need later days."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # The library does not support pandas 3.1 yet.
        calendar = exchange_calendars.get_calendar("XNYS", start="2021-01-04", end="2025-12-31")
    schedule = calendar.schedule
    return {
        stamp.date(): TradingDay(
            stamp.date(), opens.to_pydatetime().astimezone(NEW_YORK), closes.to_pydatetime().astimezone(NEW_YORK)
        )
        for stamp, opens, closes in zip(schedule.index, schedule["open"], schedule["close"], strict=True)
    }


@cache
def _trading_days() -> tuple[date, ...]:
    return tuple(sorted(sessions()))


@cache
def days() -> tuple[date, ...]:
    """Return every calendar day that has a date node."""
    span = (LAST_DAY - FIRST_DAY).days + 1
    return tuple(day for day in (FIRST_DAY + timedelta(days=n) for n in range(span)) if day not in HOLE)


@cache
def priced_days() -> tuple[date, ...]:
    return tuple(day for day in days() if day in sessions())


def before(day: date) -> TradingDay:
    return sessions()[_trading_days()[bisect_left(_trading_days(), day) - 1]]


def after(day: date) -> TradingDay:
    """Return the first session after a day."""
    return sessions()[_trading_days()[bisect_right(_trading_days(), day)]]


def on_or_after(day: date) -> TradingDay:
    """Return the day's own session, or the first one after it."""
    return sessions().get(day) or after(day)


def market_session(moment: datetime) -> str:
    """Return the graph's name for the time of day: pre_market, in_market, post_market or market_closed."""
    local = moment.astimezone(NEW_YORK)
    session = sessions().get(local.date())
    if session is None or not session.pre <= local < session.post:
        return "market_closed"
    if local < session.open:
        return "pre_market"
    return "in_market" if local < session.close else "post_market"


def add_calendar(graph: Graph) -> None:
    """Add date nodes and the NEXT chain, which is broken at the missing day."""
    previous: date | None = None
    for day in days():
        session = sessions().get(day)
        graph.merged(
            "Date",
            day.isoformat(),
            date=day,
            is_trading_day=session is not None,
            previous_trading_date=before(day).day,
            next_trading_date=after(day).day,
            **_times(before(day), "previous_day"),
            **(_times(session, "current_day") if session else {}),
            **_times(after(day), "next_day"),
        )
        if previous == day - timedelta(days=1):
            graph.edge(("Date", "NEXT", "Date"), previous.isoformat(), day.isoformat())
        previous = day


def _times(session: TradingDay, suffix: str) -> dict[str, str]:
    return {
        f"pre_market_{suffix}": blank_new_york(session.pre),
        f"market_open_{suffix}": blank_new_york(session.open),
        f"market_close_{suffix}": blank_new_york(session.close),
        f"post_market_{suffix}": blank_new_york(session.post),
    }


def at(day: date, text: str) -> datetime:
    """Return a New York time from a day and `HH:MM` or `HH:MM:SS`."""
    hour, minute, *second = map(int, text.split(":"))
    return new_york(day, hour, minute, *second)
