"""Proves the split basis of a stored bar, so that it can be converted back to the traded price.

The graph stores bars adjusted for the splits that had been executed when it loaded them, but not the time of the load.
A bar without later splits is as traded. Any other bar may have been adjusted for none, some or all of the later splits.
One of these readings is proven by a figure that is known to be as traded, or by continuity with a neighbour whose
reading is proven. Pure.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import accumulate, pairwise
from math import inf, log
from operator import mul
from typing import NamedTuple

from assets.splits import LEAST_SPLIT, SAME_SPLIT_WITHIN, Split, between

# A reading is proven if its price move is at most this large, and the move of every other reading is at least twice as
# large.
MOST_MOVE = 0.4
SHARE_OF_DISTANCE = 1 / 3
MOST_APART = timedelta(days=31)
# The largest logarithmic difference between two sources' closes of one day, and the smallest difference between two
# readings that such closes can distinguish.
SAME_CLOSE, LEAST_APART = 0.02, 0.03


class Bar(NamedTuple):
    """One stored bar."""

    day: date
    open: float
    close: float


def factors(bars: Sequence[Bar], splits: Sequence[Split], traded: Mapping[date, float]) -> dict[date, float | None]:
    """Return the factor that makes each stored price as traded, by day; None if it is not proven.

    bars: the bars of one entity, in order of days. splits: the splits executed so far. traded: closes as traded.
    """
    readings = {bar.day: _readings(bar.day, splits) for bar in bars}
    factor_of: dict[date, float | None] = {}
    for bar in bars:
        choices = readings[bar.day]
        if bar.day in traded:
            factor_of[bar.day] = _nearest(choices or [1.0], log(traded[bar.day] / bar.close), SAME_CLOSE, LEAST_APART)
        else:
            factor_of[bar.day] = 1.0 if choices == [1.0] else None
    for order, forward in ((bars[::-1], False), (bars, True)):
        # Derive each bar's basis from the previous bar in `order`, if that bar proves it.
        sure = True
        for earlier_bar, bar in pairwise(order):
            earlier, later = (earlier_bar, bar) if forward else (bar, earlier_bar)
            factor, settled = factor_of[earlier_bar.day], factor_of[bar.day]
            shares = between(splits, earlier.day, later.day)
            if settled is not None:
                parted = factor is not None and _parted(earlier, later, factor_of, shares, splits)
                sure = bar.day in traded or (sure and not parted)
            elif sure and factor is not None and shares is not None and later.day - earlier.day <= MOST_APART:
                # The earlier close as traded equals the later opening as traded, times the number of shares that one
                # share has become.
                jump = log(later.open * shares / earlier.close)
                target = log(factor) - jump if forward else log(factor) + jump
                factor_of[bar.day] = _nearest(readings[bar.day], target, MOST_MOVE, LEAST_SPLIT)
    return factor_of


def _readings(day: date, splits: Sequence[Split]) -> list[float]:
    """Return the possible divisors of a bar, by none, one or more of the later splits, in order.

    The result is empty if an uncertain split makes every reading doubtful.
    """
    after = [split for split in splits if split.last > day]
    if any(split.ratio is None or split.first <= day for split in after):
        return []
    return sorted(set(accumulate((split.ratio or 1.0 for split in after), mul, initial=1.0)))


def _nearest(choices: Sequence[float], target: float, most: float, least: float) -> float | None:
    """Return the choice whose logarithm is nearest to the target. Return None if its distance exceeds `most`, or if its
    distance to another choice is below `least`.
    """
    ranked = sorted(choices, key=lambda factor: abs(log(factor) - target))
    apart = min((abs(log(ranked[0]) - log(other)) for other in ranked[1:]), default=inf)
    if not ranked or apart < least or abs(log(ranked[0]) - target) > min(most, apart * SHARE_OF_DISTANCE):
        return None
    return ranked[0]


def _parted(
    earlier: Bar, later: Bar, factor_of: Mapping[date, float | None], shares: float | None, splits: Sequence[Split]
) -> bool:
    """Return whether two proven neighbours differ as if a recorded split near them had a different day than stated.

    If so, they prove no other bar.
    """
    if shares is None:
        return True
    first, second = (factor_of[bar.day] or 1.0 for bar in (earlier, later))
    move = abs(log(later.open * second * shares / (earlier.close * first)))
    near = [
        abs(log(split.ratio))
        for split in splits
        if split.ratio
        and split.first - SAME_SPLIT_WITHIN <= later.day
        and earlier.day <= split.last + SAME_SPLIT_WITHIN
    ]
    return any(size >= LEAST_SPLIT and abs(move - size) <= min(MOST_MOVE, size / 4) for size in near)
