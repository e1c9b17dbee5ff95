"""Mounted tables by truncation, late looks and attacks; `make truth late attack` asks many."""

from datetime import timedelta

import pytest

from pitlake.clock import micros
from pitlake.lake.mounting.contract import Mount
from pitlake.lake.publishing import diff
from pitlake.lake.publishing.stage import Stage
from pitlake.session.visible.binding import Binding
from tests.wall import mounted

JUDGES = {"truth": mounted.truth, "late": mounted.late}
SEEDS = (3, 5)
DAY = 86_400 * 10**6  # microseconds
SAMPLE = {"count": 20, "every": 60}


@pytest.mark.parametrize("judge", JUDGES)
def test_later_rows_and_later_mounts_change_no_answer(tmp_path, judge):
    tally = JUDGES[judge](SEEDS[0], tmp_path, moments=2, count=25)
    assert tally.mismatches == []
    assert tally.answered > 0.9 * tally.pairs > 0


def test_no_attack_shows_what_was_mounted_later(tmp_path):
    report = mounted.attack(SEEDS[0], tmp_path, **SAMPLE)
    assert (report.findings, report.noisy) == ([], [])
    assert report.statements > report.answered > 20


WEAKER = {
    "a session shows a day more": (Binding, "_bound", property(lambda binding: micros(binding.as_of) + DAY)),
    "a row is known without its lag": (Mount, "delay", timedelta()),
}  # fmt: skip


@pytest.mark.parametrize("mutant", WEAKER)
def test_attacks_find_the_leaks_of_a_weakened_wall(tmp_path, monkeypatch, mutant):
    monkeypatch.setattr(*WEAKER[mutant])
    report = mounted.attack(SEEDS[0], tmp_path, **SAMPLE)
    assert report.of("value")
    assert report.of("oracle")


MUTANTS = {
    "a new row of an earlier date was always there": ("late", Stage, "cover", lambda stage: None),
    "an earlier mount proves nothing of a row": ("late", diff.RowFindings, "apply_polls", lambda *_: None),
    "a row is known without its lag": ("truth", Mount, "delay", timedelta()),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_weaker_mount_is_caught(tmp_path, monkeypatch, mutant):
    judge, where, name, weaker = MUTANTS[mutant]
    monkeypatch.setattr(where, name, weaker)
    assert any(JUDGES[judge](seed, tmp_path / str(seed), moments=2, count=25).mismatches for seed in SEEDS)
