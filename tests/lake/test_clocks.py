"""Commits of a lake are ordered in time: nothing is published under a clock that went back, and every instant
identifies a version.
"""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pitlake
from assets.derived import earnings_events
from assets.runs import attempt_partitions
from pitlake.clock import MICROSECOND, iso
from pitlake.errors import BadInput, ClockWentBack, LakeNotFound
from pitlake.lake.storage.log import SKEW, LakeLog
from pitlake.lake.storage.store import Store
from tests.lake.world import TOY, Toy, publish, rows
from tests.toys import TOY as NOTES
from tests.toys import ToyGraph

NOVEMBER = datetime(2026, 11, 22, 12, tzinfo=timezone.utc)
BACK = NOVEMBER - timedelta(days=21)
SECOND = timedelta(seconds=1)
PRICE = Toy("bar", "101", NOVEMBER - timedelta(days=60))
CHANGED = PRICE._replace(text="99")
FACTS = {"operation": "publish", "run_id": "r", "dataset": "toys", "counts": {}}


@pytest.fixture
def at(monkeypatch) -> Callable[[datetime], None]:
    """A function that sets the machine's clock."""
    return lambda moment: monkeypatch.setattr("pitlake.clock.now", lambda: moment)


@pytest.fixture
def seen(lake, at):
    """A lake whose newest commits are from November, with a month that could be compacted."""
    at(NOVEMBER)
    for number in range(2):
        publish(lake, [PRICE, Toy(f"old {number}", "x", PRICE.available_at)], NOVEMBER)
    return lake


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "work",
    [
        lambda lake: publish(lake, [CHANGED], None),
        lambda lake: publish(lake, [CHANGED], BACK),
        lambda lake: publish(lake, [CHANGED], BACK - timedelta(days=900)),
        lambda lake: publish(lake, [PRICE], None),
        lambda lake: lake.compact(TOY, before="2026-10"),
        lambda lake: lake.vacuum(timedelta(0), grace=timedelta(0)),
        lambda lake: lake.vacuum(timedelta(0), grace=timedelta(0), dry_run=False),
        lambda lake: lake.now(),
        lambda lake: attempt_partitions(NOTES, [], ToyGraph(), lake, run_id="read"),
        lambda lake: earnings_events.derive(lake, run_id="derived"),
    ],
    ids=[
        "publish", "as observed", "replay", "nothing new", "compact", "dry vacuum", "vacuum", "now", "graph", "derived"
    ],
)  # fmt: skip
def test_work_under_a_clock_that_went_back_is_refused_and_names_both_times(seen, at, work):
    before, version = rows(seen), seen.head()
    at(BACK)
    with pytest.raises(ClockWentBack) as refused:
        work(seen)
    newest = iso(seen.entry().committed_at)
    assert str(refused.value).startswith(
        f"this machine's clock says {iso(BACK)}, but the lake's newest commit is from {newest}; nothing was published: "
    )
    assert (rows(seen), seen.head()) == (before, version)


def test_a_run_publishes_nothing_if_the_clock_goes_back_while_it_reads(seen, at):
    with seen.stage(TOY, "run") as stage:
        stage.add(None, extracted=0)
        at(BACK)
        with pytest.raises(ClockWentBack):
            seen.publish(stage)


def test_publishing_works_again_once_the_clock_is_corrected(seen, at):
    at(BACK)
    with pytest.raises(ClockWentBack):
        publish(seen, [CHANGED], None)
    at(NOVEMBER + SECOND)
    assert publish(seen, [CHANGED], None).revisions == 1
    assert max(row.available_at for row in rows(seen)) == NOVEMBER + SECOND


@pytest.mark.parametrize("behind", [timedelta(0), SECOND, SKEW])
def test_commits_stay_ordered_in_time_when_a_writers_clock_is_seconds_behind(seen, at, behind):
    newest = seen.entry().committed_at
    at(newest - behind)
    assert publish(seen, [CHANGED], None).revisions == 1
    (changed,) = [row for row in rows(seen) if row.text == "99"]
    assert newest < changed.available_at == changed.observed_at
    assert newest < seen.entry().committed_at <= newest + 3 * MICROSECOND


def test_a_walk_reaches_the_newest_commit_when_the_local_clock_is_seconds_behind(seen, at):
    newest = seen.entry().committed_at
    at(newest - SECOND)
    pitlake.walk([newest - SECOND, newest], lake=seen)
    with pytest.raises(BadInput, match="instants: is in the future"):
        pitlake.walk([newest + SECOND], lake=seen)


def test_a_clock_behind_by_more_than_the_skew_is_refused(seen, at):
    at(seen.entry().committed_at - SKEW - MICROSECOND)
    with pytest.raises(ClockWentBack):
        publish(seen, [CHANGED], None)


def test_now_is_the_machines_time_when_the_lake_does_not_exist_yet(lake, at):
    at(NOVEMBER)
    assert lake.now() == NOVEMBER


@pytest.fixture
def log(tmp_path, at):
    at(NOVEMBER)
    log = LakeLog(Store(tmp_path))
    log.start()
    return log


@settings(max_examples=40, deadline=None)
@given(data=st.data(), steps=st.lists(st.integers(-5, 9), max_size=20))
def test_entry_at_returns_the_version_that_was_newest_at_an_instant(tmp_path_factory, data, steps):
    log, now = LakeLog(Store(tmp_path_factory.mktemp("log"))), [NOVEMBER]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("pitlake.clock.now", lambda: now[0])
        log.start()
        for number, step in enumerate(steps):
            now[0] += step * SECOND
            if now[0] < log.head().committed_at - SKEW:
                now[0] = log.head().committed_at - SKEW
            log.append(log.head(), {"toys": number}, **FACTS)
        times = [entry.committed_at for entry in log.entries()][::-1]
        assert times == sorted(set(times))
        now[0] = max(now[0], times[-1]) + 60 * SECOND
        question = data.draw(st.sampled_from([each + nudge * MICROSECOND for each in times for nudge in (-1, 0, 1)]))
        expected = [version for version, committed in enumerate(times) if committed <= question]
        if expected:
            assert LakeLog(log._store).entry_at(question).version == expected[-1]
        else:
            with pytest.raises(BadInput, match="known_by: this lake has no state of that time"):
                log.entry_at(question)


def test_entry_at_refuses_an_instant_in_the_future(log, at):
    with pytest.raises(BadInput, match="known_by: is in the future; give a time up to now"):
        log.entry_at(NOVEMBER + 2 * MICROSECOND)
    assert log.entry_at(NOVEMBER).version == 0


def test_entry_at_raises_lake_not_found_when_there_is_no_lake(tmp_path):
    with pytest.raises(LakeNotFound, match="no lake at"):
        LakeLog(Store(tmp_path / "nowhere")).entry_at(NOVEMBER)
