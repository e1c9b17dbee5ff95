"""Z-scores of values against their history, and Kelly stakes."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean, stdev

from pitlake.errors import BadInput

FEWEST = 3


@dataclass(frozen=True)
class ZScore:
    """The newest value against its history: its z-score and its percentile."""

    value: float
    mean: float
    deviation: float
    score: float
    percentile: float


def z_score(values: Sequence[float], window: int | None = None) -> ZScore:
    """Compare the last value with the `window` values before it (default: all).

    Raises BadInput for fewer than three earlier values, a value that is not finite, or a constant history.
    """
    numbers = [float(value) for value in values]
    history = numbers[:-1] if window is None else numbers[:-1][-window:]
    if len(history) < FEWEST or not all(map(isfinite, numbers)) or (window is not None and window < FEWEST):
        raise BadInput("values", f"fewer than {FEWEST} finite values before the last one", "use a longer history")
    mean, deviation = fmean(history), stdev(history)
    if deviation == 0:
        raise BadInput("values", "the history is constant", "use a longer history")
    below = sum(value < numbers[-1] for value in history) + sum(value == numbers[-1] for value in history) / 2
    return ZScore(numbers[-1], mean, deviation, (numbers[-1] - mean) / deviation, below / len(history))


def kelly(probability: float, win: float, loss: float = 1.0, fraction: float = 1.0) -> float:
    """Return the share of capital to stake on a bet that wins `win` or loses `loss` per 1 staked; 0 without an edge.

    fraction: the part of the full Kelly stake to use, such as 0.5. Raises BadInput for an invalid probability, gain,
    loss or fraction.
    """
    if not 0 <= probability <= 1:
        raise BadInput("probability", f"{probability} is not between 0 and 1", "give a fraction")
    for name, value, most in (("win", win, float("inf")), ("loss", loss, float("inf")), ("fraction", fraction, 1.0)):
        if not 0 < value <= most or not isfinite(value):
            raise BadInput(name, f"{value} is out of range", "give a number above 0; a fraction is at most 1")
    return fraction * max(0.0, probability / loss - (1 - probability) / win)
