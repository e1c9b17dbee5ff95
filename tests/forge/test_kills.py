"""Resuming after kill -9: nothing is lost or repeated. `tests.forge.killed` is the campaign."""

from tests.forge.killed import WRITES, killed, outcome


def test_a1_a_decision_killed_at_random_steps_ends_like_an_undisturbed_decision(tmp_path):
    assert killed(tmp_path / "whole", 0, 0.0) == 0
    due = outcome(tmp_path / "whole")
    assert len(due["written"]) == WRITES
    assert len(due["steps"]) == 4 * WRITES + 1
    assert killed(tmp_path / "cut", 1, 0.08) >= 3
    left = outcome(tmp_path / "cut")
    assert left["results"] == due["results"]
    assert left == due
    assert due["faults"] == []
