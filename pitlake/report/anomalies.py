"""Days with an unusual volume: a pure function of a dataset's rows per day.

A day is compared with the same weekday of the weeks before. Empty days on which the exchange is closed are expected and
are not compared.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median

from pitlake import exchange

LOOKED_BACK = timedelta(days=3 * 365)
WEEKS = 8
FEWEST_WEEKS = 4
# The number of typical deviations from which a day is anomalous. Such days are rare by chance and worth checking.
THRESHOLD = 5.0
# A few more or fewer rows mean nothing in seasonal datasets.
FEWEST_ROWS = 10


@dataclass(frozen=True)
class Anomaly:
    """A day with far more or fewer rows than the same weekday of the weeks before. `score` is in typical deviations."""

    day: date
    rows: int
    usual: float
    score: float


def anomalies(rows: Mapping[date, int]) -> tuple[Anomaly, ...]:
    """Return the anomalous days of the last three years that have rows, newest first."""
    filled = [day for day, count in rows.items() if count]
    if not filled:
        return ()
    last = max(filled)
    first = max(min(filled), last - LOOKED_BACK)
    span = [first + timedelta(days=offset) for offset in range((last - first).days + 1)]
    judged = (_judge(day, rows, first) for day in span)
    return tuple(
        sorted((anomaly for anomaly in judged if anomaly is not None), key=lambda anomaly: anomaly.day, reverse=True)
    )


def _judge(day: date, rows: Mapping[date, int], first: date) -> Anomaly | None:
    count = rows.get(day, 0)
    if not count and _is_closed(day):
        return None
    before = [day - timedelta(weeks=weeks) for weeks in range(1, WEEKS + 1)]
    counts = [
        rows.get(earlier, 0)
        for earlier in before
        if earlier >= first and (rows.get(earlier, 0) or not _is_closed(earlier))
    ]
    if len(counts) < FEWEST_WEEKS:
        return None
    usual = median(counts)
    ordered = sorted(counts)
    spread = (ordered[-2] - ordered[1]) / 2  # A single extreme day does not widen it.
    # Counts of independent events vary by the square root of their mean, so a smaller spread is luck.
    score = (count - usual) / max(spread, math.sqrt(usual), 1.0)
    telling = abs(score) >= THRESHOLD and abs(count - usual) >= FEWEST_ROWS
    return Anomaly(day, count, usual, score) if telling else None


def _is_closed(day: date) -> bool:
    """Return whether a day is a weekday without a session in New York."""
    return day.weekday() < 5 and exchange.session(day) is None
