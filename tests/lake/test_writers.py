"""Concurrent writers in separate processes: no commit is lost, no row is duplicated, every version is complete."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from pitlake.errors import LakeConflict
from pitlake.lake import Lake
from pitlake.lake.publishing import commit_queue
from pitlake.lake.publishing.commit_queue import WriterTurn
from pitlake.lake.publishing.publish import Publisher
from pitlake.lake.publishing.stage import StagedGap
from pitlake.lake.storage.log import LakeLog
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.delta import DeltaTables
from tests.lake.world import TOY, Toy, gaps, publish, rows, utc

NOON = utc("2024-03-05T12:00:00-05:00")
SEEN = utc("2024-06-01T12:00:00-04:00")
GAMES = replace(TOY, name="games")
RUNS = int(os.environ.get("PITLAKE_RACES", "6"))
SLOW_SECONDS, FEW_ATTEMPTS = 0.5, 8
as_long_as_it_takes = pytest.mark.timeout(max(900, 30 * RUNS))

WRITER = """
import sys
from pitlake.lake import Lake
from tests.lake import test_writers
print("ready", flush=True)
sys.stdin.readline()
print(getattr(test_writers, sys.argv[2])(Lake(sys.argv[1]), sys.argv[3]), flush=True)
"""


def day_of(number):
    return NOON + timedelta(days=number % 80)


def own_and_common(lake, name):
    """Publish a separate row and a row common to all writers for each day, and return the number of published rows."""
    published = 0
    for number in range(RUNS):
        at = day_of(number)
        toys = [Toy(f"{number}{name}", "x", at), Toy(f"{number} common", "x", at)]
        missing = {at.date(): [StagedGap("no_data", "no text", f"Toy:{number}", at)]}
        published += publish(lake, toys, SEEN, missing).total.published
    return published


def games(lake, name):
    return sum(
        publish(lake, [Toy(f"{n}{name}", "x", day_of(n))], SEEN, dataset=GAMES).total.published for n in range(RUNS)
    )


def compactions(lake, name):
    return sum(lake.compact(TOY, before="2025-01").changed for _ in range(RUNS))


def race(lake, *work):
    lake.start()
    command = [sys.executable, "-c", WRITER, lake.location]
    writers = [
        subprocess.Popen([*command, task, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name, task in zip("pqr", work, strict=False)
    ]
    assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * len(writers)
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    message = [writer.communicate()[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * len(writers)
    return [int(count) for count in message]


def assert_whole(lake, published):
    """Check that every version has as many rows as the previous version plus those that its log entry says it added."""
    assert sum(entry.counts.get("published", 0) for entry in lake.versions()) == published
    counts = [len(rows(lake, version)) for version in range(lake.head() + 1)]
    added = [lake.entry(version).counts.get("published", 0) for version in range(lake.head() + 1)]
    assert counts == [sum(added[: place + 1]) for place in range(len(added))]


@as_long_as_it_takes
def test_two_writers_of_one_dataset_do_not_lose_or_duplicate_rows(lake):
    published = race(lake, "own_and_common", "own_and_common")
    expected = {f"{number}{name}" for number in range(RUNS) for name in ("p", "q", " common")}
    assert sorted(row.key for row in rows(lake)) == sorted(expected)
    assert sorted(gap["locator"] for gap in gaps(lake)) == [f"Toy:{number}" for number in range(RUNS)]
    assert sum(published) == len(expected)
    assert_whole(lake, len(expected))


@as_long_as_it_takes
def test_writers_of_different_datasets_share_the_log(lake):
    assert race(lake, "own_and_common", "games") == [2 * RUNS, RUNS]
    assert (len(rows(lake)), len(rows(lake, dataset=GAMES))) == (2 * RUNS, RUNS)
    assert lake.head() == 2 * RUNS
    assert [entry.version for entry in lake.versions()] == list(range(2 * RUNS, -1, -1))


@as_long_as_it_takes
def test_compaction_beside_a_writer_loses_nothing(lake):
    publish(lake, [Toy("before", "x", NOON)], SEEN)
    race(lake, "own_and_common", "compactions")
    assert len(rows(lake)) == 1 + 2 * RUNS
    assert_whole(lake, 1 + 2 * RUNS)


def overtake(monkeypatch, lake, times, toys):
    """Have another writer, which never yields, publish before each of the first `times` commits."""
    monkeypatch.setattr(commit_queue, "PATIENCE_SECONDS", 0)
    monkeypatch.setattr(commit_queue, "PATIENCE_ATTEMPTS", 0)
    commit, left = DeltaTables.commit, [times]

    def overtaken(self, *args, **options):
        if left[0]:
            left[0] -= 1
            number, rest = left[0], left[0]
            left[0] = 0
            publish(Lake(lake.root), [toy._replace(key=f"{toy.key}{number}") for toy in toys], SEEN)
            left[0] = rest
        return commit(self, *args, **options)

    monkeypatch.setattr(DeltaTables, "commit", overtaken)


def test_an_overtaken_writer_looks_again_and_publishes_on_top(lake, monkeypatch):
    publish(lake, [Toy("first", "x", NOON)], SEEN)
    overtake(monkeypatch, lake, 2, [Toy("other", "x", NOON)])
    result = publish(lake, [Toy("mine", "x", NOON)], SEEN)
    assert sorted(row.key for row in rows(lake)) == ["first", "mine", "other0", "other1"]
    assert result.version == 4


def test_an_overtaken_writer_does_not_publish_what_the_other_already_did(lake, monkeypatch):
    overtake(monkeypatch, lake, 1, [Toy("mine", "x", NOON)])
    result = publish(lake, [Toy("mine0", "x", NOON)], SEEN)
    assert (result.changed, result.version, len(rows(lake))) == (False, 1, 1)
    assert not turns(lake)  # a remaining turn would delay the next writer, since no commit ends it


def test_a_writer_that_never_wins_gives_up_with_nothing_published(lake, monkeypatch):
    from tenacity import stop_after_attempt, wait_none

    publish(lake, [Toy("first", "x", NOON)], SEEN)
    monkeypatch.setattr(commit_queue, "RETRY", commit_queue.RETRY.copy(stop=stop_after_attempt(3), wait=wait_none()))
    overtake(monkeypatch, lake, 99, [Toy("other", "x", NOON)])
    with pytest.raises(LakeConflict):
        publish(lake, [Toy("mine", "x", NOON)], SEEN)
    assert "mine" not in {row.key for row in rows(lake)}


def slow_beside_quick(lake, monkeypatch):
    """Run a slow writer together with a quick one that never pauses, and return the number of the former's attempts."""
    publish(lake, [Toy("first", "x", NOON)], SEEN)
    plan, attempts, done, others = Publisher._plan, [], threading.Event(), []

    def slowly(self, *args):
        planned = plan(self, *args)
        if threading.current_thread() is threading.main_thread():
            attempts.append(planned)
            time.sleep(SLOW_SECONDS)
        return planned

    def quick():
        while not done.is_set():
            publish(Lake(lake.location), [Toy(f"quick {len(others)}", "x", NOON)], SEEN)
            others.append(f"quick {len(others)}")

    monkeypatch.setattr(Publisher, "_plan", slowly)
    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(quick)
        try:
            publish(lake, [Toy("slow", "x", NOON)], SEEN)
        finally:
            done.set()
        beside.result()
    assert sorted(row.key for row in rows(lake)) == sorted(["first", "slow", *others])
    return len(attempts)


def test_a_slow_writer_succeeds_beside_a_fast_writer_that_never_pauses(lake, monkeypatch):
    assert 2 <= slow_beside_quick(lake, monkeypatch) <= FEW_ATTEMPTS


def turn_of_a_dead_writer(lake, monkeypatch, seconds):
    """Leave a turn on top of the newest version, as a killed writer does, and return its file."""
    monkeypatch.setattr(commit_queue, "PATIENCE_SECONDS", seconds)
    WriterTurn(Store(lake.root), LakeLog(Store(lake.root)), TOY.name)._take()
    [file] = turns(lake)
    return file


def turns(lake):
    return [file for file in (lake.root / commit_queue.TURNS).rglob("*") if file.is_file()]


def test_a_dead_writers_turn_delays_other_writers_only_for_a_while(lake, monkeypatch):
    publish(lake, [Toy("first", "x", NOON)], SEEN)
    turn_of_a_dead_writer(lake, monkeypatch, 0.5)
    start = time.monotonic()
    assert publish(lake, [Toy("mine", "x", NOON)], SEEN).changed
    assert time.monotonic() - start > 0.4


def test_a_turn_does_not_delay_other_datasets_or_writers_with_nothing_new(lake, monkeypatch):
    publish(lake, [Toy("first", "x", NOON)], SEEN)
    turn_of_a_dead_writer(lake, monkeypatch, 3600.0)
    assert publish(lake, [Toy("first", "x", NOON)], SEEN).total.unchanged == 1
    assert publish(lake, [Toy("first", "x", NOON)], SEEN, dataset=GAMES).changed


def test_a_damaged_turn_delays_no_writer_and_old_turns_are_vacuumed(lake, monkeypatch):
    publish(lake, [Toy("first", "x", NOON)], SEEN)
    file = turn_of_a_dead_writer(lake, monkeypatch, 3600.0)
    file.write_bytes(b"")
    assert publish(lake, [Toy("mine", "x", NOON)], SEEN).changed
    lake.vacuum(grace=timedelta(days=1), dry_run=False)
    assert file.exists()
    lake.vacuum(grace=timedelta(0), dry_run=False)
    assert not file.exists()
