"""Scores of forecasts: closed forms, identities, and how often biased forecasters are detected."""

import math
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.tracking.scores import LEVEL, chance_interval, scores, share_of_interval, wilson
from tests.every import every


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_o2_the_components_of_the_brier_score_add_up(forecasts):
    result = scores(*zip(*forecasts, strict=True), draws=1)
    parts = result.reliability - result.resolution + result.uncertainty + result.within
    assert result.brier == pytest.approx(parts, abs=1e-9)
    assert sum(band.count for band in result.bands) == result.count == len(forecasts)
    assert every(band.least - 1e-9 <= band.came_true <= band.most + 1e-9 for band in result.bands)


def test_o2_scores_of_four_forecasts_match_a_calculation_by_hand():
    result = scores([0.9, 0.9, 0.2, 1.0], [True, False, False, True])
    assert result.brier == pytest.approx((0.01 + 0.81 + 0.04 + 0) / 4)
    assert result.base_brier == 0.25
    assert result.log_score == pytest.approx(-(log(0.9) + log(0.1) + log(0.8)) / 4, abs=1e-6)
    assert [(band.low, band.count, band.came_true) for band in result.bands] == [(0.2, 1, 0), (0.9, 3, 2 / 3)]
    assert result.ece == pytest.approx((0.2 + abs(2.8 - 2)) / 4)


def test_o2_intervals_match_wilsons_formula():
    assert wilson(0.5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(0.0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)


@pytest.mark.parametrize("reply", [([], []), ([0.5], []), ([1.1], [True]), ([float("nan")], [True])])
def test_o2_invalid_forecasts_are_refused(reply):
    with pytest.raises(ValueError, match="forecasts from 0 to 1"):
        scores(*reply)


def alarms(bias, forecasters=200, count=500):
    """Return the share of forecasters with `count` forecasts each that are judged worse than chance allows."""
    chance, result = np.random.default_rng(7), 0
    for _ in range(forecasters):
        true = chance.uniform(0.1, 0.9, count)
        message = np.clip(true + bias, 0, 1)
        result += not scores(message, chance.random(count) < true, draws=400).calibrated
    return result / forecasters


def test_o2_calibrated_forecasters_are_rarely_flagged_and_biased_forecasters_mostly():
    """With 4,000 of each, 4.7 and 97.8 % are flagged. With 200, a rate of 5 % exceeds 9.6 % once in 1,000 runs."""
    assert alarms(0.0) <= 0.096
    assert alarms(0.10) >= 0.93


@pytest.mark.parametrize("count", [1, 30, 500])
def test_a_share_is_recovered_from_its_interval(count):
    for came in {0, 1, count // 2, count}:
        assert share_of_interval(*wilson(came / count, count), count) == pytest.approx(came / count, abs=1e-9)


@pytest.mark.parametrize(("probability", "count"), [(0.55, 40), (0.0, 30), (1.0, 30), (0.05, 400), (0.5, 1)])
def test_the_chance_interval_matches_exact_binomial_quantiles(probability, count):
    def under(came):
        return sum(math.comb(count, k) * probability**k * (1 - probability) ** (count - k) for k in range(came + 1))

    low, high = (round(count * share) for share in chance_interval(probability, count))
    assert under(low) >= LEVEL / 2 > (under(low - 1) if low else 0.0)
    assert under(high) >= 1 - LEVEL / 2 > (under(high - 1) if high else 0.0)
