"""The statistics agree with the examples of the papers that define them."""

import math

import numpy as np
import pytest

from pitlake.studies.overfitting import (
    deflated,
    deflated_sharpe_ratio,
    expected_best,
    probability_of_overfitting,
    sharpe_ratio,
)

YEAR = 250
EXAMPLE = {"periods": 1250, "variance": 0.5 / YEAR}  # Bailey and Lopez de Prado (2014), "A numerical example"


def test_the_expected_best_of_unskilled_trials_equals_the_papers_value():
    assert expected_best(EXAMPLE["variance"], 100) == pytest.approx(0.1132, abs=5e-5)
    assert expected_best(1, 1) == 0
    assert expected_best(1, 2) == pytest.approx(0.5198, abs=5e-5)  # the first of the two quantiles is the median


@pytest.mark.parametrize(
    ("trials", "skewness", "kurtosis", "probability"), [(100, -3, 10, 0.9004), (46, -3, 10, 0.9505), (88, 0, 3, 0.9505)]
)
def test_the_deflated_sharpe_ratio_equals_the_papers_values(trials, skewness, kurtosis, probability):
    ratio = deflated_sharpe_ratio(2.5 / math.sqrt(YEAR), trials=trials, skewness=skewness, kurtosis=kurtosis, **EXAMPLE)
    assert ratio == pytest.approx(probability, abs=5e-4)


def test_a_single_trial_is_not_deflated_but_many_trials_are():
    returns = np.random.default_rng(3).normal(0, 1, (200, 500))
    best = max(returns, key=sharpe_ratio)
    assert deflated([best]) > 0.9
    assert deflated(returns) < deflated([best]) - 0.2


def test_the_probability_of_overfitting_is_high_when_no_trial_has_skill():
    """In the paper's first test case, all trials have a mean of zero, so the winner of one half loses in the other."""
    returns = np.random.default_rng(1).normal(0, 1, (50, 480))
    returns -= returns.mean(axis=1, keepdims=True)
    assert probability_of_overfitting(returns, 10) > 0.95


def test_the_probability_of_overfitting_is_zero_for_a_truly_better_trial():
    returns = np.random.default_rng(2).normal(0, 1, (50, 480))
    returns[7] += 0.6
    assert probability_of_overfitting(returns, 10) == 0


def test_the_probability_of_overfitting_equals_values_computed_by_hand():
    rise, fall = [1.0, 2.0, 1.5, 2.5], [-1.0, -2.0, -1.5, -2.5]
    assert probability_of_overfitting([rise, fall], 2) == 0
    assert probability_of_overfitting([[1, 2, -1, -2], [-1, -2, 1, 2]], 2) == 1
