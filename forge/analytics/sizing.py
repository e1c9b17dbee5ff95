"""How far a value is from its history, and how much to stake on an edge."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean, stdev

from pitlake.errors import BadInput

FEWEST = 3


@dataclass(frozen=True)
class ZScore:
    """The newest value against the others: how many of their sample deviations from their mean, and its percentile."""

    value: float
    mean: float
    deviation: float
    score: float
    percentile: float


def z_score(values: Sequence[float], window: int | None = None) -> ZScore:
    """The last value against the `window` values before it (default: all). It is not part of what it is measured by.

    Raises BadInput for fewer than three values before it, one that is not finite, and a history that never moved.
    """
    known = [float(value) for value in values]
    history = known[:-1] if window is None else known[:-1][-window:]
    if len(history) < FEWEST or not all(map(isfinite, known)) or (window is not None and window < FEWEST):
        raise BadInput("values", f"fewer than {FEWEST} finite values stand before the last", "ask for a longer history")
    mean, deviation = fmean(history), stdev(history)
    if deviation == 0:
        raise BadInput("values", "the history never moved, so nothing is far from it", "ask for a longer history")
    below = sum(value < known[-1] for value in history) + sum(value == known[-1] for value in history) / 2
    return ZScore(known[-1], mean, deviation, (known[-1] - mean) / deviation, below / len(history))


def kelly(probability: float, win: float, loss: float = 1.0, fraction: float = 1.0) -> float:
    """The share of capital to stake on a bet that wins `win` or loses `loss` per 1 staked; 0 without an edge.

    fraction: of the full Kelly stake, such as 0.5. Raises BadInput for an invalid probability, gain, loss or fraction.
    """
    if not 0 <= probability <= 1:
        raise BadInput("probability", "is not between 0 and 1", "give a fraction")
    for name, value, most in (("win", win, float("inf")), ("loss", loss, float("inf")), ("fraction", fraction, 1.0)):
        if not 0 < value <= most or not isfinite(value):
            raise BadInput(name, "is not a share above 0", "give a number above 0; of fraction 1 at most")
    return fraction * max(0.0, probability / loss - (1 - probability) / win)
