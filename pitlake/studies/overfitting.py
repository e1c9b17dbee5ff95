"""Measures of how much of a Sharpe ratio is due to many trials: pure functions of returns, one per period.

Sources:
    Bailey, D. H. and Lopez de Prado, M. (2014). The Deflated Sharpe Ratio: Correcting for Selection Bias, Backtest
    Overfitting and Non-Normality. Journal of Portfolio Management 40(5), 94-107.
    Bailey, D. H., Borwein, J. M., Lopez de Prado, M. and Zhu, Q. J. (2017). The Probability of Backtest Overfitting.
    Journal of Computational Finance 20(4), 39-69.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

_NORMAL = NormalDist()
_EULER_MASCHERONI = 0.5772156649015329
BLOCKS = 16
"""The number of blocks into which the periods are cut, as in the paper. If there are few periods, there are fewer
blocks.
"""
LEAST_PERIODS = 4

Returns = Sequence[float] | NDArray[np.float64]


def sharpe_ratio(returns: Returns) -> float:
    """Return the mean of returns divided by their standard deviation, for one period; 0 if they never differ."""
    values = np.asarray(returns, float)
    deviation = float(values.std(ddof=1))
    return float(values.mean()) / deviation if deviation > 1e-15 else 0.0


def expected_best(variance: float, trials: int) -> float:
    """Return the expected Sharpe ratio of the best of this many trials without any skill.

    variance: of the trials' Sharpe ratios. Equation 1 of the Deflated Sharpe Ratio.
    """
    if trials < 2:
        return 0.0
    first = _NORMAL.inv_cdf(1 - 1 / trials)
    second = _NORMAL.inv_cdf(1 - 1 / (trials * math.e))
    return math.sqrt(variance) * ((1 - _EULER_MASCHERONI) * first + _EULER_MASCHERONI * second)


def deflated_sharpe_ratio(
    sharpe: float, *, periods: int, skewness: float, kurtosis: float, variance: float, trials: int
) -> float:
    """Return the probability that a strategy's true Sharpe ratio is above zero, given the number of trials.

    Args:
        sharpe: The best trial's Sharpe ratio for one period.
        periods: The number of returns it was measured on.
        skewness: Skewness of its returns.
        kurtosis: Kurtosis of its returns; 3 for a normal distribution.
        variance: Variance of the Sharpe ratios of all trials.
        trials: The number of independent trials.
    """
    error = math.sqrt(max(1 - skewness * sharpe + (kurtosis - 1) / 4 * sharpe**2, 1e-12))
    return _NORMAL.cdf((sharpe - expected_best(variance, trials)) * math.sqrt(periods - 1) / error)


def deflated(trials: Sequence[Returns]) -> float:
    """Return the deflated Sharpe ratio of the best of these trials, each given by its returns."""
    ratios = [sharpe_ratio(returns) for returns in trials]
    best = np.asarray(trials[int(np.argmax(ratios))], float)
    deviation = best.std()
    scores = (best - best.mean()) / deviation if deviation > 1e-15 else np.zeros(len(best))
    return deflated_sharpe_ratio(
        max(ratios),
        periods=len(best),
        skewness=float((scores**3).mean()),
        kurtosis=float((scores**4).mean()) if deviation > 1e-15 else 3.0,
        variance=float(np.var(ratios, ddof=1)) if len(ratios) > 1 else 0.0,
        trials=len(ratios),
    )


def probability_of_overfitting(trials: Sequence[Returns], blocks: int = BLOCKS) -> float:
    """Return how often the best trial of one half of the periods is below the median in the other half.

    Combinatorially symmetric cross-validation: the periods are cut into an even number of blocks, and each selection of
    half of the blocks selects the best trial once.

    Args:
        trials: At least two, with a return for each of the same periods.
        blocks: The number of blocks; fewer if there are fewer than two periods per block.
    """
    table = np.asarray(trials, float).T
    blocks = max(2, min(blocks, len(table) // 2) // 2 * 2)
    parts = np.array_split(table, blocks)
    chosen_halves = list(combinations(range(blocks), blocks // 2))
    below = 0
    for chosen in chosen_halves:
        inside = np.concatenate([parts[number] for number in chosen])
        outside = np.concatenate([part for number, part in enumerate(parts) if number not in chosen])
        best = int(np.argmax(_ratios(inside)))
        ratios = _ratios(outside)
        rank = 1 + float((ratios < ratios[best]).sum()) + float((ratios == ratios[best]).sum() - 1) / 2
        below += rank / (len(ratios) + 1) <= 0.5
    return below / len(chosen_halves)


def _ratios(table: NDArray[np.float64]) -> NDArray[np.float64]:
    deviations = table.std(axis=0, ddof=1)
    ratios: NDArray[np.float64] = np.divide(
        table.mean(axis=0), deviations, out=np.zeros(table.shape[1]), where=deviations > 1e-15
    )
    return ratios
