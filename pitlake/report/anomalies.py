"""Days whose volume is out of the ordinary: a pure judgement over a dataset's rows per day.

A day is compared with the same weekday of the weeks before it. Days the exchange is closed are compared with nothing
where they are empty, for that is what they are expected to be.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from statistics import median

LOOKED_BACK = timedelta(days=3 * 365)
WEEKS = 8
FEWEST_WEEKS = 4
# A day counts when it is so many typical deviations away: rare by chance, and worth a look each time.
THRESHOLD = 5.0
# A handful of rows more or less says nothing of datasets that come in seasons.
FEWEST_ROWS = 10


@dataclass(frozen=True)
class Anomaly:
    """A day with far more or fewer rows than the same weekday of the weeks before. `score` is in typical deviations."""

    day: date
    rows: int
    usual: float
    score: float


def anomalies(rows: Mapping[date, int]) -> tuple[Anomaly, ...]:
    """The anomalous days between the first and the last day with rows, of three years at most, newest first."""
    filled = [day for day, count in rows.items() if count]
    if not filled:
        return ()
    last = max(filled)
    first = max(min(filled), last - LOOKED_BACK)
    span = [first + timedelta(days=offset) for offset in range((last - first).days + 1)]
    closed = _closed(first.year, last.year)
    judged = (_judge(day, rows, first, closed) for day in span)
    return tuple(sorted((one for one in judged if one is not None), key=lambda one: one.day, reverse=True))


def _judge(day: date, rows: Mapping[date, int], first: date, closed: frozenset[date]) -> Anomaly | None:
    count = rows.get(day, 0)
    if day in closed and not count:
        return None
    before = [day - timedelta(weeks=weeks) for weeks in range(1, WEEKS + 1)]
    known = [rows.get(one, 0) for one in before if one >= first and (one not in closed or rows.get(one, 0))]
    if len(known) < FEWEST_WEEKS:
        return None
    usual = median(known)
    ordered = sorted(known)
    spread = (ordered[-2] - ordered[1]) / 2  # one flood and one drought of the past do not widen it
    # Counts of independent events scatter by the square root of their mean; less spread than that is luck.
    score = (count - usual) / max(spread, math.sqrt(usual), 1.0)
    telling = abs(score) >= THRESHOLD and abs(count - usual) >= FEWEST_ROWS
    return Anomaly(day, count, usual, score) if telling else None


@cache
def _closed(first_year: int, last_year: int) -> frozenset[date]:
    """Weekdays of these years without a session in New York."""
    import exchange_calendars

    start, end = date(first_year, 1, 1), date(last_year, 12, 31)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # it has yet to follow pandas 3.1
        calendar = exchange_calendars.get_calendar("XNYS", start=start.isoformat(), end=end.isoformat())
    sessions = {session.date() for session in calendar.sessions}
    days = (start + timedelta(days=offset) for offset in range((end - start).days + 1))
    return frozenset(day for day in days if day.weekday() < 5 and day not in sessions)
