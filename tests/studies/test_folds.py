"""Cross-validation of a panel never trains on a label that overlaps a test label or reaches into the holdout."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import pitlake
from pitlake.errors import BadInput
from tests.cli.conftest import lake

__all__ = ["lake"]
DAYS, TICKERS = 30, 3


@pytest.fixture
def study(lake, tmp_path):
    import shutil

    return pitlake.study("drift", holdout=("2024-03-01", "2024-03-31"), lake=shutil.copytree(lake, tmp_path / "lake"))


@pytest.fixture
def panel():
    """A panel of some companies per day, with labels of one to six days."""
    rng = np.random.default_rng(4)
    known_at = pd.date_range("2024-01-02T21:00Z", periods=DAYS, freq="D").repeat(TICKERS)
    return pd.DataFrame(
        {"known_at": known_at, "label_end": (known_at + pd.to_timedelta(rng.integers(1, 7, len(known_at)), "D"))}
    )


@pytest.mark.parametrize(("splits", "test_splits", "count"), [(5, 1, 5), (6, 2, 15)])
def test_no_training_label_overlaps_a_test_label(study, panel, splits, test_splits, count):
    folds = study.folds(panel["known_at"], panel["label_end"], splits=splits, test_splits=test_splits, embargo="2D")
    starts, ends = (panel[name].dt.tz_localize(None).to_numpy() for name in ("known_at", "label_end"))
    blocks = np.array_split(np.arange(len(panel)), splits)
    expected = [np.concatenate(chosen) for chosen in combinations(blocks, test_splits)]
    pairs = list(folds.split(panel))
    assert len(pairs) == count
    for (train, test), tested in zip(pairs, expected, strict=True):
        assert list(test) == list(tested)
        clear = [
            row
            for row in range(len(panel))
            if row not in tested
            and not ((starts[row] < ends[tested]) & (starts[tested] < ends[row])).any()
            and not ((ends[tested] <= starts[row]) & (starts[row] <= ends[tested] + np.timedelta64(2, "D"))).any()
        ]
        assert list(train) == clear
        assert clear


def test_labels_that_reach_into_the_holdout_are_refused(study, panel):
    late = panel["label_end"].where(panel.index < 80, pd.Timestamp("2024-03-04"))
    with pytest.raises(BadInput, match=r"label_ends: reach into the holdout.*drop the rows whose labels end after"):
        study.folds(panel["known_at"], late)


def test_an_unsorted_panel_is_refused_and_the_error_says_to_sort(study, panel):
    with pytest.raises(BadInput, match=r"known_at must be monotonic.*sort the panel"):
        study.folds(panel["known_at"][::-1], panel["label_end"][::-1])
