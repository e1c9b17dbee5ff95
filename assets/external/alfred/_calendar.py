"""The times of FRED's releases: times of day by release, and the public instant of a vintage's day.

A time of day is used only from the day on which the agency adopted it, and only on weekdays on which the release's
calendar shows data. Every other vintage is public at the end of its New York day: up to 24 hours late, never early. A
release that is delayed to another day is dated on that day. The calendar does not show a delay within the day, so the
time is then too early by the delay. Callers that can't accept this can ignore times. Pure.
"""

from collections.abc import Collection
from datetime import date, datetime, time
from typing import NamedTuple

from assets.feeds.dating import end_of_day, new_york_at


class ReleaseTime(NamedTuple):
    """A release's time of day in New York, and its first day."""

    at: time
    since: date


SATURDAY = 5
RELEASE_CLOCK, END_OF_DAY = "release_clock", "end_of_day"
MORNING = ReleaseTime(time(8, 30), date(1997, 1, 1))

CLOCKS = {
    10: MORNING,  # Consumer Price Index, Bureau of Labor Statistics
    50: MORNING,  # Employment Situation, Bureau of Labor Statistics
    53: MORNING,  # Gross Domestic Product, Bureau of Economic Analysis
}


def public_at(vintage: date, release: int | None, released_on: Collection[date]) -> datetime:
    """Return when a vintage of a day became public. released_on: the days in the release's calendar."""
    clock = _clock(vintage, release, released_on)
    return end_of_day(vintage) if clock is None else new_york_at(vintage, clock.at)


def rule(vintage: date, release: int | None, released_on: Collection[date]) -> str:
    """Return the rule that `public_at` uses, as named in evidence."""
    return RELEASE_CLOCK if _clock(vintage, release, released_on) else END_OF_DAY


def _clock(vintage: date, release: int | None, released_on: Collection[date]) -> ReleaseTime | None:
    clock = CLOCKS.get(release) if release is not None else None
    if clock is None or vintage < clock.since or vintage not in released_on or vintage.weekday() >= SATURDAY:
        return None
    return clock
