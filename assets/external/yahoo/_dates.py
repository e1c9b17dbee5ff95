"""When Yahoo's dated items became public. Pure.

Yahoo has stated days as UTC midnights, which fall on the previous evening in New York, and as New York times labelled
UTC. Times of day are therefore ignored, and the latest possible day is used.
"""

import re
from datetime import date, datetime, timedelta, timezone
from typing import Any, NamedTuple

from assets.feeds import dating
from pitlake.clock import new_york_day
from pitlake.errors import BadInstant, Unreadable
from pitlake.times import read

# A stated instant is within its day, which ends at 05:00 UTC on the next day. A bare day may be a day too early.
INSTANT_BOUND = timedelta(hours=29)
DAY_BOUND = timedelta(hours=24) + dating.DATE_ONLY_BOUND

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class DatedDay(NamedTuple):
    """The day of an item, and the latest instant at which it became public."""

    day: date
    available_at: datetime


def of_instant(moment: datetime) -> DatedDay:
    """Return the end of the instant's day in UTC or New York, whichever is later. Late by INSTANT_BOUND at most."""
    try:
        day = max(moment.astimezone(timezone.utc).date(), new_york_day(moment))
    except (BadInstant, OverflowError):
        raise Unreadable("outside of the calendar") from None
    return DatedDay(day, dating.believed(dating.end_of_day(day)))


def of_text(text: Any) -> DatedDay:
    """Date a text with an offset like `of_instant`.

    A day alone may be the day before the item's own day, so the result is late by DAY_BOUND at most. A time without an
    offset is unreadable, because it is in the zone of the requesting machine. Raises Unreadable.
    """
    spelled = text.strip() if isinstance(text, str) else ""
    if _DAY.fullmatch(spelled):
        try:
            day = dating.day(spelled) + timedelta(days=1)
        except OverflowError:
            raise Unreadable("outside of the calendar") from None
        return DatedDay(day, dating.believed(dating.end_of_day(day)))
    return of_instant(dating.iso(spelled))


def instant_of_epoch(seconds: Any) -> datetime:
    """Return an instant given as seconds since 1970, plain or wrapped as {"raw": ...}. Raises Unreadable."""
    if isinstance(seconds, dict):
        seconds = seconds.get("raw")
    return read(seconds, "epoch").instant
