"""A fixed sample of the campaign (`make faults`): one or two rounds of each kind that takes seconds."""

import random

import pytest

from tests.faults import outside, rounds, work
from tests.faults.rounds import Pair

DELETE = ("pathlib:Path", "unlink", 2, "after")
KILLS = [("vacuuming", DELETE), ("receipt", ("pitlake.lake.storage.store:Store", "put_new", 1, "after"))]


def test_kills_inside_a_vacuum_and_a_receipt_leave_an_undisturbed_lake(tmp_path):
    pair = Pair(tmp_path, random.Random(0))
    killed, problems = [], []
    for name, kill in KILLS:
        item, wrong = pair.befall(name, kill)
        killed.append(item)
        problems += wrong
    assert problems == []
    assert killed == [True, True]


@pytest.mark.parametrize("kind", [rounds.clocks, rounds.limits])
def test_a_round_of_clock_and_limit_faults_finds_no_problem(tmp_path, kind):
    counts, problems = kind(random.Random(2), tmp_path)
    assert (problems, counts.total() > 0) == ([], True)


@pytest.mark.parametrize("kind", [outside.providers, outside.stores])
def test_a_round_of_provider_and_store_faults_finds_no_problem(tmp_path, kind):
    with kind() as surroundings:
        counts, problems = surroundings(random.Random(3), tmp_path)
    assert (problems, counts.total() > 0) == ([], True)


def test_a_lake_that_lost_a_row_is_reported_as_a_problem(tmp_path, monkeypatch):
    pair = Pair(tmp_path, random.Random(0))
    real = work.shown

    def without_one(root):
        result = real(root)
        return result | {"rows": result["rows"][1:]} if root == pair.disturbed else result

    monkeypatch.setattr(work, "shown", without_one)
    _, problems = pair.befall("day", None)
    assert any(problem.startswith("lost: 1 rows") for problem in problems)
