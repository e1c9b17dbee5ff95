"""A model that knows the prompt, the help pages and the schemas alone does the job on the first try."""

import pytest

from tests.forge.naive import FETCHES, KINDS, market, measure, run


@pytest.mark.parametrize(
    ("first", "runs"), [(0, 1), *(pytest.param(first, 20, marks=pytest.mark.long) for first in range(0, 100, 20))]
)
def test_a_naive_model_is_right_at_the_first_try(first, runs):
    share, refused, reasons = measure(runs, first)
    assert share >= 0.9, reasons
    assert refused <= 2, reasons


def test_a_naive_run_tries_every_record_and_fetch(tmp_path):
    naive = run(0, market(tmp_path), tmp_path)
    paths = [path for path, _, _ in naive.first]
    assert paths == [*(f"/memory/{kind}/new.md" for kind in KINDS), *["fetch"] * FETCHES]
