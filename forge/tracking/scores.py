"""Scores of forecasts: the Brier score and its parts, the log score, reliability by band, and the errors that chance
alone would produce.

A fixed bound on the calibration error would be meaningless: for 500 forecasts by a perfect forecaster, its median is
0.044. The error is therefore compared with the errors of a perfect forecaster with the same probabilities.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

BANDS = 10
FEWEST = 30
"""The minimum number of forecasts for scores."""
LEVEL = 0.05
DRAWS = 2_000
Z95 = 1.959963984540054
SURE = 1e-6
"""The amount by which probabilities of 0 and 1 are moved, so that the log score is finite."""


@dataclass(frozen=True)
class Reliability:
    """The forecasts of one band.

    low, high: the bounds of the band. forecast: the mean probability. came_true: the share that came true. least, most:
    the 95 % Wilson interval of that share.
    """

    low: float
    high: float
    count: int
    forecast: float
    came_true: float
    least: float
    most: float


@dataclass(frozen=True)
class Scores:
    """The scores of a set of forecasts, all from 0 to 1 except log_score, in nats.

    brier = reliability - resolution + uncertainty + within, where `within` is the variation inside bands (0 if all
    forecasts of a band are equal). base_brier: the score of always forecasting the share that came true. ece: the mean
    distance between forecast and outcome over the bands. null_ece: its 95th percentile for a perfect forecaster.
    calibrated: whether chance explains ece, at a level of 5 %.
    """

    count: int
    brier: float
    base_brier: float
    log_score: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float
    ece: float
    null_ece: float
    calibrated: bool
    bands: tuple[Reliability, ...]


def scores(probabilities: Sequence[float], came_true: Sequence[bool], draws: int = DRAWS) -> Scores:
    """Score forecasts against outcomes. Raises ValueError without forecasts, or for one outside 0 to 1."""
    forecast, outcome = np.asarray(probabilities, float), np.asarray(came_true, float)
    if not len(forecast) or len(forecast) != len(outcome) or not ((forecast >= 0) & (forecast <= 1)).all():
        raise ValueError("give forecasts from 0 to 1, and one outcome for each")
    place = np.minimum((forecast * BANDS).astype(int), BANDS - 1)
    member = (place[:, None] == np.arange(BANDS)).astype(float)
    count = member.sum(axis=0)
    used = count > 0
    member, count = member[:, used], count[used]
    mean_forecast, happened = forecast @ member / count, outcome @ member / count
    base = outcome.mean()
    ece = float(count @ np.abs(mean_forecast - happened) / len(forecast))
    # Simulate the calibration errors of perfect forecasters with these probabilities, reproducibly.
    chance = np.random.default_rng(len(forecast))
    drawn = (chance.random((draws, len(forecast))) < forecast).astype(float)
    null = np.abs(drawn @ member - forecast @ member).sum(axis=1) / len(forecast)
    spread = forecast - member @ mean_forecast
    assigned = np.where(outcome > 0, forecast, 1 - forecast)
    bands = tuple(
        Reliability(place / BANDS, (place + 1) / BANDS, int(n), float(p), float(share), *wilson(float(share), int(n)))
        for place, n, p, share in zip(np.flatnonzero(used).tolist(), count, mean_forecast, happened, strict=True)
    )
    return Scores(
        count=len(forecast),
        brier=float(np.mean((forecast - outcome) ** 2)),
        base_brier=float(base * (1 - base)),
        log_score=float(-np.mean(np.log(np.clip(assigned, SURE, 1 - SURE)))),
        reliability=float(count @ (mean_forecast - happened) ** 2 / len(forecast)),
        resolution=float(count @ (happened - base) ** 2 / len(forecast)),
        uncertainty=float(base * (1 - base)),
        within=float(np.mean(spread**2) - 2 * np.mean(spread * (outcome - member @ happened))),
        ece=ece,
        null_ece=float(np.quantile(null, 1 - LEVEL)),
        calibrated=bool((1 + (null >= ece).sum()) / (1 + draws) > LEVEL),
        bands=bands,
    )


def share_of_interval(least: float, most: float, count: int) -> float:
    """Return the share that has this `wilson` interval, up to the interval's precision."""
    spread = Z95**2 / count
    return min(1.0, max(0.0, (least + most) / 2 * (1 + spread) - spread / 2))


def chance_interval(probability: float, count: int) -> tuple[float, float]:
    """Return the exact 95 % range of the share that comes true, if each case has this probability."""
    sure = min(max(probability, SURE), 1 - SURE)
    log = np.log(np.arange(1, count + 1)).cumsum()
    ways = np.concatenate(([0.0], log))
    came = np.arange(count + 1)
    weight = ways[-1] - ways - ways[::-1] + came * np.log(sure) + (count - came) * np.log1p(-sure)
    whole = np.exp(weight).cumsum()
    return float(np.searchsorted(whole, LEVEL / 2)) / count, float(np.searchsorted(whole, 1 - LEVEL / 2)) / count


def wilson(share: float, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share observed in `count` cases."""
    centre, wide = share + Z95**2 / (2 * count), Z95 * sqrt(share * (1 - share) / count + (Z95 / (2 * count)) ** 2)
    whole = 1 + Z95**2 / count
    return max(0.0, (centre - wide) / whole), min(1.0, (centre + wide) / whole)


def multi_class_brier(probabilities: Sequence[float], happened: int) -> float:
    """Return the Brier score over several classes, from 0 to 2. happened: the index of the class that came true."""
    return sum((share - (place == happened)) ** 2 for place, share in enumerate(probabilities))


def log_score_of(probability: float) -> float:
    """Return the log score, in nats. probability: the forecast probability of the outcome that came true."""
    return float(-np.log(np.clip(probability, SURE, 1 - SURE)))


def skill(probabilities: Sequence[float], base_rates: Sequence[float], came_true: Sequence[bool]) -> float | None:
    """Return 1 - Brier score / Brier score of forecasting the base rates; None if the base rates made no error."""
    outcome = np.asarray(came_true, float)
    base = float(np.mean((np.asarray(base_rates, float) - outcome) ** 2))
    return 1 - float(np.mean((np.asarray(probabilities, float) - outcome) ** 2)) / base if base else None
