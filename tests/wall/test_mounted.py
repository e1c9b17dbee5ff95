"""Mounted tables under truncation, late polls and attacks. `make truth late attack` runs the large campaigns."""

from datetime import timedelta

import pytest

from pitlake.clock import micros
from pitlake.lake.mounting.contract import Mount
from pitlake.lake.mounting.reading import MountReading
from pitlake.lake.publishing import diff
from pitlake.lake.publishing.stage import Stage
from pitlake.session.sealed.process import SealedProcess
from pitlake.session.visible.binding import Binding
from tests.wall import mounted, walks

JUDGES = {"truth": mounted.truth, "late": mounted.late}
SEEDS = (3, 5)
ATTACKED = 4  # the seed of a table with a lag, and with rows in the day after the attacks' instants
DAY = 86_400 * 10**6  # microseconds
SAMPLE = {"count": 20, "every": 60}


@pytest.mark.parametrize("judge", JUDGES)
def test_later_rows_and_later_mounts_change_no_answer(tmp_path, judge):
    tally = JUDGES[judge](SEEDS[0], tmp_path, moments=2, count=25)
    assert tally.failures == []
    assert tally.answered > 0.9 * tally.compared > 0


def test_no_attack_shows_what_was_mounted_later(tmp_path):
    report = mounted.attack(SEEDS[0], tmp_path, **SAMPLE)
    assert (report.failures, report.noisy) == ([], [])
    assert report.compared > report.answered > 20


WEAKER = {
    "a session shows a day more": (Binding, "_bound", property(lambda binding: micros(binding.as_of) + DAY)),
    "a row is known without its lag": (Mount, "delay", timedelta()),
}  # fmt: skip


@pytest.mark.parametrize("mutant", WEAKER)
def test_attacks_find_the_leaks_of_a_weakened_wall(tmp_path, monkeypatch, mutant):
    monkeypatch.setattr(*WEAKER[mutant])
    report = mounted.attack(ATTACKED, tmp_path, **SAMPLE)
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
    assert any(JUDGES[judge](seed, tmp_path / str(seed), moments=2, count=25).failures for seed in SEEDS)


WALKS = {"truth": walks.truth, "late": walks.late}
SEED = 3  # the seed of a table with midnights, ends, removed rows and four mounts


@pytest.mark.parametrize("judge", WALKS)
def test_moving_and_new_sessions_show_exactly_what_the_mounts_make_due(tmp_path, judge):
    tally = WALKS[judge](SEED, tmp_path, count=24)
    assert tally.failures == []
    assert tally.answered > 0.5 * tally.compared > 0


COUNTED, NEW_ROWS = MountReading._counted, diff.RowFindings.new_rows


def _counted_a_day_early(reading, mounted_column):
    early = " - INTERVAL 1 DAY" if mounted_column.column.name == reading.mount.until else ""
    return COUNTED(reading, mounted_column) + early


def _without_the_last_row(findings, staged, observed_at):
    fresh = NEW_ROWS(findings, staged, observed_at)
    return fresh.without([len(fresh.positions) - 1])


FAULTS = {
    "a row is shown a microsecond early": (Binding, "_bound", property(lambda binding: micros(binding.as_of) + 1)),
    "a midnight counts at its start": (MountReading, "counts_as_days", False),
    "a removed row leaves no gap": (MountReading, "deletions", lambda *_: []),
    "a row is missing": (diff.RowFindings, "new_rows", _without_the_last_row),
    "an end is shown early": (MountReading, "_counted", _counted_a_day_early),
    "a moved session shows what it showed before": (SealedProcess, "advance", lambda *_: True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_one_row_gap_or_instant_is_found(tmp_path, monkeypatch, fault):
    monkeypatch.setattr(*FAULTS[fault])
    assert walks.truth(SEED, tmp_path, count=24).failures
