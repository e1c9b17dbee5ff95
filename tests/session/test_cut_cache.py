"""Cut files contain only rows up to T, are private, are proven at every use, and have a limited total size."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pitlake.clock import micros
from pitlake.errors import BadInput
from pitlake.lake.storage import signed_cache
from pitlake.lake.tables.compacted import Form
from pitlake.session.visible import cut_cache, footer
from pitlake.session.visible.cut_cache import CutCache
from pitlake.session.visible.cuts import Cut, Sources
from pitlake.session.visible.plan import Period
from tests.session.toylake import CHARTS, T, row

HOUR = timedelta(hours=1)


def cached_files(home):
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in home.glob("*.parquet")}


def rows_of(session):
    return sorted(session.sql("SELECT track FROM charts").rows())


def test_a_cut_file_depends_only_on_the_rows_up_to_the_instant(lake, ask_of, tmp_path):
    other = type(lake)(tmp_path / "other")
    past = [row(f"t{number}", T - number * HOUR) for number in range(5)]
    lake.add("charts", [*past, row("z", T + HOUR)])
    other.add("charts", [*past[::-2], row("y", T + 5 * HOUR), row("x", T + 6 * HOUR)])
    other.add("charts", past[-2::-2])
    cuts = []
    for number, each in enumerate((lake, other)):
        home = tmp_path / f"cuts{number}"
        ask_of(each, cut_cache=CutCache(home), datasets=["charts"]).close()
        cuts.append(sorted(cached_files(home).values()))
    assert cuts[0] == cuts[1]


CHANGES = [
    {"table": "sales"}, {"form": Form(CHARTS.arrow_schema.remove(0), ("track",))},
    {"form": Form(CHARTS.arrow_schema, ("position",))}, {"since": 1}, {"until": 2}, {"groups": (1, 2)},
    {"mapped": True}, {"periods": ()},
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_cuts_with_different_contents_have_different_names(lake, change):
    file, stored = lake.add("charts", [row("a", T)]), CHARTS.arrow_schema
    form = Form(stored, ("track",))
    cut = Cut(table="charts", periods=(Period((file,)),), stored=stored, form=form, until=1, bound=1, groups=(1, 3))
    names = set()
    for each in (cut, replace(cut), replace(cut, **change)):
        with Sources(each) as sources:
            names.add(sources.identity())
    assert len(names) == 2


@pytest.mark.parametrize("change", [*CHANGES, {"bound": 2}, {"parts": (0, 2)}], ids=lambda change: next(iter(change)))
def test_open_again_never_returns_a_cut_with_different_contents(lake, home, change):
    file, stored = lake.add("charts", [row("a", T)]), CHARTS.arrow_schema
    bound = micros(T) + 1
    form = Form(stored, ("track",))
    cut = Cut(
        table="charts", periods=(Period((file,)),), stored=stored, form=form, until=bound, bound=bound, parts=(0,)
    )
    cuts = CutCache(home, few=0)
    first = [os.fstat(descriptor).st_ino for descriptor in cuts.open(cut)]
    assert [os.fstat(descriptor).st_ino for descriptor in cuts.open_again(replace(cut)) or ()] == first
    changed = replace(cut, **{name: bound + 1 if value == 2 else value for name, value in change.items()})
    assert cuts.open_again(changed) == ([] if not changed.files else None)
    assert CutCache(home, few=1).open_again(cut) is CutCache(home.parent, few=0).open_again(cut) is None


def test_reopening_an_instant_reads_no_unchanged_file_of_the_lake(lake, ask, home, monkeypatch):
    lake.add("charts", [row(f"t{number}", T - number * 9 * HOUR) for number in range(20)])
    right = rows_of(ask(cut_cache=CutCache(home, few=2)))
    monkeypatch.setattr(cut_cache, "Sources", None)
    assert rows_of(ask(cut_cache=CutCache(home, few=2))) == right
    with pytest.raises(TypeError):
        ask(T - HOUR, cut_cache=CutCache(home, few=2))
    (file,) = lake.root.rglob("*.parquet")
    os.utime(file)
    with pytest.raises(TypeError):
        ask(cut_cache=CutCache(home, few=2))


def test_a_cut_is_made_once_for_the_same_question(lake, ask, home):
    lake.add("charts", [row("a", T), row("b", T + HOUR)])
    ask(cut_cache=CutCache(home))
    before = {path: path.stat().st_ino for path in home.iterdir()}
    ask(cut_cache=CutCache(home))
    assert {path: path.stat().st_ino for path in home.iterdir()} == before


@pytest.mark.parametrize("few", [1, 100])
@pytest.mark.parametrize("as_of", [T, T - 3 * HOUR, T + 40 * HOUR])
def test_no_cached_file_contains_a_row_after_the_instant(lake, ask, home, as_of, few):
    lake.add("charts", [row(f"t{number}", T + number * HOUR) for number in range(-99, 99, 3)])
    ask(as_of, cut_cache=CutCache(home, few=few)).close()
    newest = [pq.read_table(path)["available_at"] for path in home.rglob("*") if path.suffix == ".parquet"]
    assert max(at for each in newest for at in each.to_pylist()) == max(
        T + number * HOUR for number in range(-99, 99, 3) if T + number * HOUR <= as_of
    )
    assert {path.suffix for path in home.rglob("*")} == {".parquet", ".sum", ".tally"}
    assert not any(any(path.read_bytes()) for path in home.glob("*.tally"))


def rewritten(path):
    """Change a value in the cached file, and restore all of its times that can be set."""
    facts, rows = path.stat(), pq.read_table(path)
    if "track" not in rows.column_names or not rows.num_rows:
        return
    column = rows.column_names.index("track")
    pq.write_table(rows.set_column(column, "track", pa.array(["forged"] * rows.num_rows)), path)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def forged(path):
    rewritten(path)
    *_, signature = json.loads(signed_cache.signature_path(path).read_text())
    now = path.stat()
    existing = [now.st_dev, now.st_ino, now.st_size, now.st_ctime_ns]
    signed_cache.signature_path(path).write_text(
        json.dumps([sha256(path.read_bytes()).hexdigest(), existing, signature])
    )


def swapped(path):
    """Replace the file and its signature with another cached file's."""
    other = next(each for each in path.parent.glob("*.parquet") if each != path)
    for put, taken in ((path, other), (signed_cache.signature_path(path), signed_cache.signature_path(other))):
        put.write_bytes(taken.read_bytes())


@pytest.mark.parametrize("harm", [rewritten, forged, swapped])
@pytest.mark.parametrize("few", [1, 100])
def test_a_cached_file_changed_by_hand_is_not_trusted(lake, ask, home, few, harm):
    lake.add("charts", [row(f"t{number}", T - number * 9 * HOUR) for number in range(20)])
    ask(T - 30 * HOUR, cut_cache=CutCache(home, few=few)).close()
    right = rows_of(ask(cut_cache=CutCache(home, few=few)))
    good = cached_files(home)
    for path in home.glob("*.parquet"):
        harm(path)
    assert cached_files(home) != good
    ask(T - 30 * HOUR, cut_cache=CutCache(home, few=few)).close()
    assert rows_of(ask(cut_cache=CutCache(home, few=few))) == right
    assert cached_files(home) == good


def test_cuts_in_a_copied_directory_are_verified_by_their_bytes_and_reused(lake, ask, home, tmp_path):
    lake.add("charts", [row("a", T), row("b", T + HOUR)])
    ask(cut_cache=CutCache(home)).close()
    shutil.copytree(home, tmp_path / "copy")
    (tmp_path / "copy").chmod(0o700)
    before = {path.name: path.stat().st_ino for path in (tmp_path / "copy").glob("*.parquet")}
    assert rows_of(ask(cut_cache=CutCache(tmp_path / "copy"))) == [("a",)]
    assert {path.name: path.stat().st_ino for path in (tmp_path / "copy").glob("*.parquet")} == before


def test_cuts_of_different_instants_are_different_files(lake, ask, home):
    lake.add("charts", [row("a", T), row("b", T + HOUR), row("c", T + 2 * HOUR)])
    assert rows_of(ask(T, cut_cache=CutCache(home))) == [("a",)]
    assert rows_of(ask(T + HOUR, cut_cache=CutCache(home))) == [("a",), ("b",)]


def test_cuts_are_reused_until_a_publish_adds_rows(lake, ask, home):
    lake.add("charts", [row("a", T - HOUR)])
    ask(T, cut_cache=CutCache(home))
    before = set(cached_files(home))
    ask(T + HOUR, cut_cache=CutCache(home))
    assert set(cached_files(home)) == before
    lake.add("charts", [row("b", T)])
    assert rows_of(ask(T, cut_cache=CutCache(home))) == [("a",), ("b",)]


def test_the_cache_directory_is_private(lake, ask, home):
    lake.add("charts", [row("a", T), row("b", T + HOUR)])
    ask(cut_cache=CutCache(home))
    assert home.stat().st_mode & 0o777 == 0o700


def test_a_cut_does_not_reveal_when_it_was_made(lake, ask, home):
    lake.add("charts", [row("a", T), row("b", T + HOUR)])
    session = ask(cut_cache=CutCache(home))
    result_rows = session.sql("SELECT epoch(last_modified) FROM read_blob('/proc/self/fd/300')").rows()
    assert result_rows == [(0.0,)]


def test_a_damaged_cut_is_rebuilt(lake, ask, home):
    lake.add("charts", [row("a", T), row("b", T + HOUR)])
    ask(cut_cache=CutCache(home)).close()
    good = cached_files(home)
    for path in home.iterdir():
        path.write_bytes(b"PAR1")
    assert rows_of(ask(cut_cache=CutCache(home))) == [("a",)]
    assert cached_files(home) == good


def test_a_cut_with_later_rows_put_in_its_place_is_not_used(lake, ask, home):
    file = lake.add("charts", [row("a", T), row("b", T + HOUR)])
    ask(cut_cache=CutCache(home)).close()
    for path in home.iterdir():
        path.write_bytes(Path(file.path).read_bytes())
    assert rows_of(ask(cut_cache=CutCache(home))) == [("a",)]


def test_cuts_are_evicted_when_the_cache_exceeds_its_size(lake, ask, home):
    lake.add("charts", [row(f"t{number}", T + number * HOUR) for number in range(8)])
    for number in range(6):
        ask(T + number * HOUR, datasets=["charts"], cut_cache=CutCache(home, most=9_000)).close()
    assert sum(path.stat().st_size for path in home.glob("*.parquet")) <= 9_000
    assert {path.name for path in home.glob("*.sum")} == {f"{name}.sum" for name in cached_files(home)}
    assert rows_of(ask(T, cut_cache=CutCache(home, most=9_000))) == [("t0",)]


def test_a_cut_used_again_counts_as_newly_used(lake, ask, home):
    lake.add("charts", [row(f"t{number}", T + number * HOUR) for number in range(8)])
    for hour in (0, 2):
        ask(T + hour * HOUR, datasets=["charts"], cut_cache=CutCache(home)).close()
    for path in home.glob("*.sum"):
        os.utime(path, (1e9, 1e9))
    ask(T, datasets=["charts"], cut_cache=CutCache(home)).close()
    used = [path for path in home.glob("*.sum") if path.stat().st_mtime > 1e9]
    assert 0 < len(used) < len(cached_files(home))


def test_the_footers_of_unchanged_cuts_are_not_read_again(lake, ask, home, monkeypatch):
    lake.add("charts", [row("a", T), row("b", T + HOUR)])
    for _ in range(2):  # the first use of a new file is recorded, which changes its metadata
        ask(cut_cache=CutCache(home)).close()
    monkeypatch.setattr(footer, "_read", lambda descriptor: pytest.fail("a footer was read again"))
    assert rows_of(ask(cut_cache=CutCache(home))) == [("a",)]


WRITER = """
import sys, time
from pathlib import Path
from pitlake.session.visible.cut_cache import CutCache
time.time = lambda: 7200.0
cache = CutCache(Path(sys.argv[1]), most=64 * 4096 * 100)
print(sum(cache._sweep_is_due(4000) for _ in range(int(sys.argv[2]))))
"""


def test_sweeps_of_the_cache_depend_on_what_all_processes_write_together(home, monkeypatch):
    home.mkdir(mode=0o700, parents=True)

    def looks(files):
        command = [sys.executable, "-c", WRITER, str(home), str(files)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert [looks(files) for files in (1, 50, 40, 50)] == [1, 0, 0, 1]
    monkeypatch.setattr(time, "time", lambda: 7200.0)
    here = CutCache(home, most=64 * 4096 * 100)
    assert sum(here._sweep_is_due(4000) for _ in range(150)) == 1


def test_temporary_files_of_a_killed_process_are_removed(lake, ask, home):
    home.mkdir(mode=0o700, parents=True)
    stale = home / ".dead.tmp"
    stale.write_bytes(b"half a file")
    os.utime(stale, (0, 0))
    lake.add("charts", [row("a", T), row("b", T + HOUR)])
    ask(cut_cache=CutCache(home))
    assert not stale.exists()


def test_a_directory_others_may_enter_is_not_trusted(lake, ask, home):
    home.mkdir(mode=0o755, parents=True)
    lake.add("charts", [row("a", T), row("b", T + HOUR)])
    assert rows_of(ask(cut_cache=CutCache(home))) == [("a",)]
    assert list(home.iterdir()) == []


def test_sessions_outlive_the_eviction_of_their_cuts(lake, ask, home):
    lake.add("charts", [row("a", T), row("b", T + HOUR)])
    session = ask(cut_cache=CutCache(home))
    for path in home.iterdir():
        path.unlink()
    assert rows_of(session) == [("a",)]


def test_the_cache_size_can_be_set_by_an_environment_variable(home, monkeypatch):
    monkeypatch.setenv("PITLAKE_CACHE_MIB", "5")
    assert CutCache(home)._most == 5 << 20
    for wrong in ("-1", "1.5", "much"):
        monkeypatch.setenv("PITLAKE_CACHE_MIB", wrong)
        with pytest.raises(BadInput, match="PITLAKE_CACHE_MIB: must be a whole number of MiB"):
            CutCache(home)
    monkeypatch.setenv("PITLAKE_CACHE_MIB", " ")
    assert CutCache(home)._most >= 2 << 30
