"""Sessions use compacted files directly. These are the same as the files that would be written without compaction."""

import os
import random
import shutil
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from pitlake.clock import start_of_new_york_day
from pitlake.errors import MachineExhausted, SessionRefused
from pitlake.lake import Lake
from pitlake.lake.tables import compacted
from pitlake.lake.tables.query import calculator, reading
from pitlake.lake.upkeep import merge
from pitlake.session.contracts import Catalogue
from pitlake.session.visible import cut_cache
from pitlake.session.visible.cut_cache import CutCache
from tests.every import every
from tests.lake.world import TOY, Toy, publish, rows
from tests.session.test_days import bytes_of_files, paths_of_files
from tests.sessions import open_at

FEW = 3
FIRST, LAST = datetime(2022, 10, 20, tzinfo=timezone.utc), datetime(2024, 3, 20, tzinfo=timezone.utc)
SECONDS = int((LAST - FIRST).total_seconds())
YEAR_ENDS = [start_of_new_york_day(datetime(year, 1, 1).date()) for year in (2023, 2024)]  # noqa: DTZ001  a day alone
US = timedelta(microseconds=1)
WORLDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 20))]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """A low minimum number of rows for splitting a period by month, so that small periods are split."""
    for room in (merge, cut_cache):
        monkeypatch.setattr(room, "FEW_ROWS", FEW)


def looks(rng):
    """Yield toys and a publish time per poll, with instants at the ends of months, late toys and changed toys."""
    ends = [start_of_new_york_day(datetime(2023, month, 1).date()) for month in (2, 6, 12)]  # noqa: DTZ001
    instants = [*ends, *(end - US for end in ends), *YEAR_ENDS, *(end - US for end in YEAR_ENDS)]
    instants += [FIRST + timedelta(seconds=rng.randrange(SECONDS)) for _ in range(40)]
    toys = [Toy(f"{number}{rng.choice('ab')}", "x", at) for number, at in enumerate(sorted(instants))]
    for first in range(0, len(toys), 4):
        seen = toys[first : first + 4]
        yield seen, seen[-1].available_at + timedelta(hours=rng.choice((1, 30)))
    reply = [Toy(f"late{number}", "y", at) for number, at in enumerate(rng.sample(instants, 4))]
    yield reply, LAST + timedelta(days=1)


def opened(lake, as_of, cuts, dataset=TOY, **changes):
    return open_at(lake.snapshot(), as_of, catalogue=Catalogue({"toys": dataset}), cut_cache=cuts, **changes)


@pytest.mark.parametrize("seed", WORLDS)
def test_a_session_gets_the_same_bytes_from_compacted_and_uncompacted_lakes(tmp_path, seed):
    rng = random.Random(seed)
    landed, compacted = Lake(tmp_path / "landed"), Lake(tmp_path / "compacted")
    inputs = list(looks(rng))
    at_these = {rng.randrange(len(inputs)) for _ in range(3)} | {len(inputs) - 2}
    if seed % 2:
        at_these.add(len(inputs) - 1)  # otherwise late rows lie next to compacted years
    for number, (toys, observed) in enumerate(inputs):
        for lake in (landed, compacted):
            publish(lake, toys, observed)
        if number in at_these:
            compacted.compact(TOY, before=rng.choice((None, None, "2023-05")))
    assert any(file.of_year for file in compacted.snapshot().files("toys"))
    assert rows(compacted) == rows(landed)
    some = [FIRST + timedelta(seconds=rng.randrange(SECONDS)) for _ in range(6)]
    early = [datetime(2023, month, 20, tzinfo=timezone.utc) for month in (2, 3)]
    june = datetime(2023, 6, 1, 4, tzinfo=timezone.utc)
    for as_of in (*some, *early, *YEAR_ENDS, YEAR_ENDS[1] - US, june, LAST):
        answers = []
        few = rng.choice((FEW, 1, 8))
        for lake in (landed, compacted):
            cuts = CutCache(tmp_path / f"cuts of {lake.root.name}", few=few)
            with opened(lake, as_of, cuts) as first, opened(lake, as_of, cuts) as again:
                answers += [bytes_of_files(first), bytes_of_files(again)]
        assert every(each == answers[0] for each in answers), as_of


def test_session_files_do_not_reveal_how_many_later_rows_a_closed_year_has(tmp_path):
    early = [datetime(2023, month, 10, tzinfo=timezone.utc) for month in (1, 2)]
    late = [datetime(2023, month, 10, tzinfo=timezone.utc) for month in range(5, 13) for _ in range(3)]
    answers = []
    for name, more in (("few", []), ("many", late)):
        lake = Lake(tmp_path / name)
        toys = [Toy(f"{number}a", "x", at) for number, at in enumerate([*early, *more])]
        publish(lake, [*toys, Toy("last", "x", LAST)], LAST + US)
        lake.compact(TOY)
        assert sum(file.of_year for file in lake.snapshot().files("toys")) == 1
        cuts = CutCache(tmp_path / f"cuts {name}", few=8)
        with opened(lake, datetime(2023, 3, 20, tzinfo=timezone.utc), cuts) as session:
            answers.append(bytes_of_files(session))
    assert answers[0] == answers[1]


def test_closed_files_are_not_cached_again_and_show_no_modification_time(tmp_path):
    lake, cuts = Lake(tmp_path / "lake"), CutCache(tmp_path / "cuts", few=FEW)
    for number in range(30):
        at = FIRST + number * timedelta(days=17)
        publish(lake, [Toy(f"{number}{name}", "x", at) for name in "abcd"], at + US)
    lake.compact(TOY)
    existing = {Path(file.path).read_bytes() for file in lake.snapshot().files("toys") if file.form}
    with opened(lake, LAST, cuts) as session:
        assert session.sql("SELECT count(*) FROM toys").rows() == [(120,)]
        for path in paths_of_files(session):
            ((moment,),) = session.sql(f"SELECT last_modified FROM read_blob('{path}')").rows()
            assert moment.timestamp() == 0
    assert not existing & {path.read_bytes() for path in (tmp_path / "cuts").glob("*.parquet")}
    with opened(lake, LAST, cuts, hindsight="omit", dataset=replace(TOY, knowable={"text": "hindsight"})) as session:
        for path in paths_of_files(session):
            assert not session.sql(f"SELECT name FROM parquet_schema('{path}') WHERE name = 'text'").rows()
        assert session.sql("SELECT count(*) FROM toys").rows() == [(120,)]


def test_running_out_of_memory_for_a_footer_raises_and_leaves_no_file_open(tmp_path, monkeypatch):
    lake = Lake(tmp_path / "lake")
    publish(lake, [Toy(f"{number}a", "x", FIRST + number * timedelta(days=17)) for number in range(30)], LAST)
    lake.compact(TOY)
    lacking = MachineExhausted("memory", "the lake", str(lake.root), "no memory is left")

    def refuse(_descriptor):
        raise lacking

    monkeypatch.setattr(cut_cache.footer, "read", refuse)
    with pytest.raises(MachineExhausted):
        opened(lake, LAST, CutCache(tmp_path / "cuts", few=FEW))
    assert not [file.path for file in psutil.Process().open_files() if Path(file.path).is_relative_to(lake.root)]


def test_a_session_uses_a_copy_if_it_may_not_reset_a_files_modification_time(tmp_path, monkeypatch):
    lake = Lake(tmp_path / "lake")
    for number in range(20):
        at = FIRST + number * timedelta(days=25)
        publish(lake, [Toy(f"{number}{name}", "x", at) for name in "abcd"], at + US)
    lake.compact(TOY)
    closed_files = [Path(file.path) for file in lake.snapshot().files("toys") if file.form]
    assert {path.stat().st_mtime for path in closed_files} == {0}
    with opened(lake, LAST, CutCache(tmp_path / "cuts", few=FEW)) as session:
        right = bytes_of_files(session)
    for path in closed_files:
        os.utime(path)
    utime = os.utime

    def refuse(path, *inputs, **names):
        if Path(path) in closed_files:
            raise PermissionError
        utime(path, *inputs, **names)

    monkeypatch.setattr(os, "utime", refuse)
    with opened(lake, LAST, CutCache(tmp_path / "others", few=FEW)) as session:
        assert bytes_of_files(session) == right
        for path in paths_of_files(session):
            ((moment,),) = session.sql(f"SELECT last_modified FROM read_blob('{path}')").rows()
            assert moment.timestamp() == 0


def test_files_of_another_form_are_recut_until_they_are_compacted_again(tmp_path, monkeypatch):
    lake, cuts = Lake(tmp_path / "lake"), CutCache(tmp_path / "cuts", few=FEW)
    for number in range(20):
        at = FIRST + number * timedelta(days=25)
        publish(lake, [Toy(f"{number}a", "x", at)], at + US)
    with monkeypatch.context() as before:
        before.setattr(compacted, "FORM", compacted.FORM + 1)
        lake.compact(TOY)
    result_rows = rows(lake)
    with opened(lake, LAST, cuts) as session:
        right = bytes_of_files(session)
    earlier = [file for file in lake.snapshot().files("toys") if file.form]
    remaining = {path.read_bytes() for path in (tmp_path / "cuts").glob("*.parquet")}
    assert not remaining.isdisjoint(Path(file.path).read_bytes() for file in earlier)
    assert {file.form for file in lake.snapshot().files("toys")} == {compacted.FORM + 1, None}
    assert lake.compact(TOY).changed
    assert {file.form for file in lake.snapshot().files("toys")} == {compacted.FORM, None}
    assert rows(lake) == result_rows
    with opened(lake, LAST, CutCache(tmp_path / "other cuts", few=FEW)) as session:
        assert bytes_of_files(session) == right
    assert not lake.compact(TOY).changed


def test_closed_and_landed_files_are_read_together_with_their_observation_times(tmp_path):
    lake = Lake(tmp_path / "lake")
    for number in range(12):
        at = FIRST + number * timedelta(days=40)
        publish(lake, [Toy(f"{number}{name}", "x", at) for name in "ab"], at + number * US)
    expected = {(row.key, row.available_at, row.observed_at) for row in rows(lake)}
    lake.compact(TOY)
    files = lake.snapshot().files("toys")
    assert {bool(file.beside) for file in files} == {True, False}
    for question in (files, [file for file in files if file.beside], [file for file in files if not file.beside]):
        with calculator() as sql:
            result_rows = sql.sql(f"SELECT key, available_at, observed_at FROM {reading(question)} e").fetchall()
        assert len(result_rows) == sum(file.rows for file in question)
        assert set(result_rows) <= expected
    assert pq.read_schema(next(file.path for file in files if file.beside)).names == [
        name for name in TOY.arrow_schema.names if name != "observed_at"
    ]


def test_a_closed_file_with_later_rows_than_its_name_says_is_refused(tmp_path):
    lake, cuts = Lake(tmp_path / "lake"), CutCache(tmp_path / "cuts", few=FEW)
    for number in range(20):
        at = FIRST + number * timedelta(days=25)
        publish(lake, [Toy(f"{number}{name}", "x", at) for name in "abcd"], at + US)
    lake.compact(TOY)
    early, later = sorted((file for file in lake.snapshot().files("toys") if file.of_year), key=lambda file: file.lo)
    shutil.copy(later.path, early.path)  # rows of another year under the name of this year
    with pytest.raises(SessionRefused, match="a later row"):
        opened(lake, YEAR_ENDS[0] + timedelta(days=3), cuts)
