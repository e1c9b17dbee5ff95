"""The content of an address: an instant and a company. Also the instants to which a reader may move.

The address contains the state: `as_of` (RFC 3339), and `ticker` on a company's pages. Controls are GET forms, whose
fields this module turns into instants. Moves back go to instants of public events; moves forward use only the calendar.
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
_CONTROLS = {"as_of": "", "with": "with_"}
"""The instants of an address, each with the prefix of its controls' names."""
_YEAR = timedelta(days=365)
_LONGEST_BREAK, CIK_DIGITS = 10, 10


@dataclass(frozen=True)
class Address:
    """An instant and a company: its ticker, or its CIK with all ten digits; "" for none."""

    as_of: datetime
    ticker: str

    def url(self, page: str = "/at", **more: str) -> str:
        return f"{page}?{self._state}{f'&{urlencode(more)}' if more else ''}"

    @cached_property
    def _state(self) -> str:
        return urlencode({"as_of": iso(self.as_of), "ticker": self.ticker})

    @property
    def first_page(self) -> str:
        """Return the URL of the company's page; without a company, that of the list of companies."""
        return self.url() if self.ticker else url_at("/companies", self.as_of, {})

    def at(self, as_of: datetime) -> "Address":
        """Return the same company at another instant."""
        return Address(as_of, self.ticker)


@dataclass(frozen=True)
class Move:
    """A step to another instant. label: its text."""

    label: str
    to: datetime


def url_at(path: str, at: datetime, query: Mapping[str, str]) -> str:
    """Return the URL of a page at an instant. query: its other parameters."""
    return f"{path}?{urlencode({'as_of': iso(at), **query})}"


def names_company(text: str) -> bool:
    """Return whether a string has the form of a ticker, or is a whole CIK."""
    return _TICKER.fullmatch(text) is not None and (not text.isdecimal() or len(text) == CIK_DIGITS)


def parse_instant(query: Mapping[str, str]) -> datetime:
    """Parse the instant of an address. Raises BadInstant, and BadInput if it is missing or in the future."""
    if "as_of" not in query:
        raise BadInput("as_of", "missing", "give a time, such as ?as_of=2024-05-22T16:30:00-04:00&ticker=NVDA")
    return clock.past(query["as_of"], "as_of")


def parse_address(query: Mapping[str, str]) -> Address:
    """Parse an address. Raises BadInstant, and BadInput if the instant is in the future or the ticker is missing."""
    at = parse_instant(query)
    ticker = query.get("ticker", "").strip().upper()
    if not _TICKER.fullmatch(ticker):
        problem = f"{ticker!r} is not a ticker" if ticker else "is missing"
        raise BadInput("ticker", problem, "give letters, digits, dots and hyphens, such as NVDA")
    return Address(at, ticker)


def settled(query: Mapping[str, str]) -> dict[str, str] | None:
    """Return an address with the controls replaced by the requested instants; None without controls.

    Raises BadInput for controls that can't be read, and for an instant in the future.
    """
    rest, moved = dict(query), False
    for name, prefix in _CONTROLS.items():
        parts = {part: rest.pop(f"{prefix}{part}", "") for part in ("date", "time", "day")}
        if name in rest and any(parts.values()):
            at = _moved_to(instant(rest[name], name), parts)
            rest[name], moved = iso(clock.past(at, name)), True
    return rest if moved else None


def _moved_to(moment: datetime, query: Mapping[str, str]) -> datetime:
    """Return the instant of a form's controls: its date and time if they were changed, otherwise its slider's day."""
    local = moment.astimezone(NEW_YORK)
    local_day, local_time = local.date(), local.time()
    try:
        day = date.fromisoformat(query["date"]) if query.get("date") else local_day
    except ValueError:
        raise BadInput("date", f"{query['date']!r} is not a date", "give a date such as 2024-05-22") from None
    try:
        clock_time = time.fromisoformat(query["time"]) if query.get("time") else local_time
    except ValueError:
        raise BadInput("time", f"{query['time']!r} is not a time of day", "give a time such as 16:30") from None
    # A form may show the current time less precisely; then the time was not changed.
    is_unchanged = clock_time == local_time.replace(microsecond=0)
    clock_time = local_time if is_unchanged else clock_time.replace(tzinfo=None)
    if (day, clock_time) == (local_day, local_time):
        try:
            # A slider's position counts days as `date.toordinal` does.
            day = date.fromordinal(int(query["day"])) if query.get("day") else local_day
        except (ValueError, OverflowError):
            raise BadInput("day", f"{query['day']!r} is not a day number", "give a number such as 738886") from None
    if (day, clock_time) == (local_day, local_time):
        return moment
    return instant(datetime.combine(day, clock_time, NEW_YORK), "date")


def forward(at: datetime) -> list[Move]:
    """Return moves that reveal nothing of the future: the next close, and the same time a day and a week later.

    The close is the planned one, because a cancelled or shortened session is not known in advance.
    """
    local = at.astimezone(NEW_YORK)
    days = (local.date() + timedelta(days=ahead) for ahead in range(_LONGEST_BREAK))
    closes = (session.close for day in days if (session := session_by(day, at)) and session.close > at)
    moves = [Move("1 day", _on(local, 1)), Move("1 week", _on(local, 7))]
    return [*(Move("Next close", close) for close in islice(closes, 1)), *moves]


def back(at: datetime, releases: Sequence[Move]) -> list[Move]:
    """Return moves to the previous release and close, and a week back. releases: newest first."""
    local = at.astimezone(NEW_YORK)
    days = (local.date() - timedelta(days=before) for before in range(_LONGEST_BREAK))
    closes = (session.close for day in days if (session := session_by(day, at)) and session.close < at)
    earlier = (release for release in releases if release.to < at)
    moves = [*islice(earlier, 1), *(Move("Last close", close) for close in islice(closes, 1))]
    return [*moves, Move("1 week", _on(local, -7))]


def _on(local: datetime, days: int) -> datetime:
    return instant(datetime.combine(local.date() + timedelta(days=days), local.time(), NEW_YORK))


def slider(at: datetime, first: datetime) -> tuple[date, date]:
    """Return the days of a slider: from the first with data to the end of T's year.

    The end depends only on T, so that it does not reveal how far the lake's data reaches.
    """
    day = at.astimezone(NEW_YORK).date()
    start = min(first, at - _YEAR).astimezone(NEW_YORK).date()
    return date(start.year, 1, 1), date(day.year, 12, 31)
