"""What an address asks for: an instant, a company; and the instants that a reader may move to.

The address is the state: `as_of` (RFC 3339) and `ticker`. Controls are GET forms, which send what they show; here that
becomes one instant. Back, moves go to what was public already; forward, by the calendar alone.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property
from itertools import islice
from urllib.parse import urlencode

from pitlake import clock
from pitlake.clock import NEW_YORK, instant, iso
from pitlake.errors import BadInput
from pitlake.exchange import session_by

_TICKER = re.compile(r"[A-Za-z0-9.\-]{1,12}")
_MOVED = ("date", "time", "day")
_YEAR = timedelta(days=365)
_LONGEST_BREAK = 10


@dataclass(frozen=True)
class Asked:
    """An instant and a company's ticker. moved: told by a form's controls, so that another address names it."""

    as_of: datetime
    ticker: str
    moved: bool = False

    def address(self, page: str = "/at", **more: str) -> str:
        """A page's address for it."""
        return f"{page}?{self._state}{f'&{urlencode(more)}' if more else ''}"

    @cached_property
    def _state(self) -> str:
        return urlencode({"as_of": iso(self.as_of), "ticker": self.ticker})

    def at(self, as_of: datetime) -> "Asked":
        """The same company at another instant."""
        return Asked(as_of, self.ticker)


@dataclass(frozen=True)
class Move:
    """A step to another instant. label: in words."""

    label: str
    to: datetime


def asked(told: Mapping[str, str], names: tuple[str, str] = ("as_of", "ticker")) -> Asked:
    """What an address asks for. Raises BadInstant, and BadInput for an instant in the future or no ticker."""
    field, _ = names
    if field not in told:
        raise BadInput(field, "missing", f"name an instant, such as ?{field}=2024-05-22T16:30:00-04:00&ticker=NVDA")
    moment = instant(told[field], field)
    moved = any(told.get(name) for name in _MOVED)
    at = _moved_to(moment, told) if moved else moment
    clock.past(at, field)
    ticker = told.get("ticker", "").strip().upper()
    if not _TICKER.fullmatch(ticker):
        raise BadInput("ticker", "missing, or not one", "give letters, digits, dots and hyphens, such as NVDA")
    return Asked(at, ticker, moved)


def _moved_to(moment: datetime, told: Mapping[str, str]) -> datetime:
    """Where a form's controls point: its date and clock where they were changed, else its slider's day."""
    local = moment.astimezone(NEW_YORK)
    day, clock_time = _day(told.get("date"), local.date()), _time(told.get("time"), local.time())
    if (day, clock_time) == (local.date(), local.time()):
        day = _slid(told.get("day"), local.date())
    if (day, clock_time) == (local.date(), local.time()):
        return moment
    return instant(datetime.combine(day, clock_time, NEW_YORK), "date")


def _day(text: str | None, otherwise: date) -> date:
    try:
        return date.fromisoformat(text) if text else otherwise
    except ValueError:
        raise BadInput("date", "is not a day", "give one such as 2024-05-22") from None


def _slid(text: str | None, otherwise: date) -> date:
    """The day a slider stands at, which counts days as `date.toordinal` does."""
    try:
        return date.fromordinal(int(text)) if text else otherwise
    except (ValueError, OverflowError):
        raise BadInput("day", "is not a day", "give a day's number, as the slider does") from None


def _time(text: str | None, otherwise: time) -> time:
    """The clock a form shows, to the second; what it shows less exactly than it stands was not changed."""
    try:
        given = time.fromisoformat(text) if text else otherwise
    except ValueError:
        raise BadInput("time", "is not a time of day", "give one such as 16:30") from None
    same = given == otherwise.replace(microsecond=0)
    return otherwise if same else given.replace(tzinfo=None)


def forward(at: datetime) -> list[Move]:
    """The next close of the exchange, the same clock a day and a week on: moves that tell nothing of what comes.

    The close is the planned one: that a day's session was called off, or ended early, is known when it was.
    """
    local = at.astimezone(NEW_YORK)
    days = (local.date() + timedelta(days=ahead) for ahead in range(_LONGEST_BREAK))
    closes = (held.close for day in days if (held := session_by(day, at)) and held.close > at)
    moves = [Move("1 day", _on(local, 1)), Move("1 week", _on(local, 7))]
    return [*(Move("Next close", close) for close in islice(closes, 1)), *moves]


def back(at: datetime, releases: Sequence[Move]) -> list[Move]:
    """The release before this instant, the close before it, and the same clock a week ago. releases: newest first."""
    local = at.astimezone(NEW_YORK)
    days = (local.date() - timedelta(days=before) for before in range(_LONGEST_BREAK))
    closes = (held.close for day in days if (held := session_by(day, at)) and held.close < at)
    earlier = (release for release in releases if release.to < at)
    moves = [*islice(earlier, 1), *(Move("Last close", close) for close in islice(closes, 1))]
    return [*moves, Move("1 week", _on(local, -7))]


def _on(local: datetime, days: int) -> datetime:
    return instant(datetime.combine(local.date() + timedelta(days=days), local.time(), NEW_YORK))


def slider(at: datetime, first: datetime) -> tuple[date, date]:
    """The days a slider reaches: from the first that anything is known of, to the end of T's own year.

    The end is a matter of T alone, so that it does not tell how far the lake goes.
    """
    day = at.astimezone(NEW_YORK).date()
    start = min(first, at - _YEAR).astimezone(NEW_YORK).date()
    return date(start.year, 1, 1), date(day.year, 12, 31)
