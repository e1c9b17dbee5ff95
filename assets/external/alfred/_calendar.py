"""When FRED's releases happen: clock times by release, and the instant a vintage's day stands for.

Clock times are stated only from a day on since when the agency has kept to them; an earlier vintage, or one on a day
the release's calendar does not name, counts as public at the END of its New York day: late by up to 24 hours, never
early. Pure; called by macro_observations.
"""

from collections.abc import Collection
from datetime import date, datetime, time
from typing import NamedTuple

from assets.external.dating import end_of_day, new_york_at


class Clock(NamedTuple):
    """A release's time of day in New York, and since when."""

    at: time
    since: date


MORNING = Clock(time(8, 30), date(1997, 1, 1))

CLOCKS = {
    10: MORNING,  # Consumer Price Index, Bureau of Labor Statistics
    50: MORNING,  # Employment Situation, Bureau of Labor Statistics
    53: MORNING,  # Gross Domestic Product, Bureau of Economic Analysis
}


def public_at(vintage: date, release: int | None, released_on: Collection[date]) -> datetime:
    """When a vintage of this day became public. `released_on` are the days the release's calendar names."""
    clock = CLOCKS.get(release) if release is not None else None
    if clock is None or vintage < clock.since or vintage not in released_on:
        return end_of_day(vintage)
    return new_york_at(vintage, clock.at)
