"""Many rows become one file per year, month and run of days. Rows up to T decide the layout, and files are kept."""

import errno
import os
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import chain, count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pitlake.clock import micros, new_york_day, start_of_new_york_day
from pitlake.errors import LakeError, QueryFailed, SessionRefused
from pitlake.lake.storage import signed_cache
from pitlake.session.visible import cuts
from pitlake.session.visible.binding import Binding
from pitlake.session.visible.cut_cache import CutCache
from tests.session.toylake import CATALOGUE, CHARTS, T, ToyLake, gap, row
from tests.sessions import open_at

DAY = timedelta(days=1)
US = timedelta(microseconds=1)
MARCH = datetime(2024, 3, 12, 15, 0, tzinfo=timezone.utc)  # clocks changed on the 10th
FEW = 3


def days_before(moment, count, a_day=2):
    return [
        row(f"t{number}-{each}", moment - number * DAY - each * US) for number in range(count) for each in range(a_day)
    ]


def rows_of(session):
    return sorted(track for (track,) in session.sql("SELECT track FROM charts_revisions").rows())


def paths_of_files(session):
    """Return the path of every file that a session can read."""
    setting = session.sql("SELECT current_setting('allowed_paths')").rows()[0][0]
    return sorted(setting if isinstance(setting, list) else setting.strip("[]").split(", "))


def bytes_of_files(session):
    """Return the bytes of every file that a session can read, in order."""
    read = "SELECT content FROM read_blob('{}')"
    return [session.sql(read.format(path)).rows()[0][0] for path in paths_of_files(session)]


@pytest.fixture
def cached_inodes(home):
    """A function that returns the inodes of the cached files, by name."""
    return lambda: {path.name: path.stat().st_ino for path in home.glob("*.parquet")}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("as_of", [T, MARCH, start_of_new_york_day(T.date()), start_of_new_york_day(T.date()) - US])
@pytest.mark.parametrize("rows", [1, 2, 3, 11])
def test_the_layout_of_session_files_depends_only_on_rows_up_to_the_instant(ask_of, tmp_path, as_of, rows):
    past = days_before(as_of, rows)
    later = [row(f"later{number}", as_of + US + number * DAY / 8) for number in range(20)]
    together, landed, bare = (ToyLake(tmp_path / name) for name in ("together", "landed", "bare"))
    together.add("charts", [*later, *past])
    for each in (*past[::2], *past[1::2], *later):
        landed.add("charts", [each])
    bare.add("charts", past[::-1])
    result = []
    for lake in (together, landed, bare):
        cuts = CutCache(tmp_path / f"cuts of {lake.root.name}", few=FEW)
        session = ask_of(lake, as_of, datasets=["charts"], cut_cache=cuts)
        result.append(bytes_of_files(session))
        assert rows_of(session) == sorted(each["track"] for each in past)
    assert result[0] == result[1] == result[2]
    today = new_york_day(as_of).day
    days = [new_york_day(each["available_at"]).day for each in past]
    closed = [day for day in days if day < today]
    runs = runs_of_days(today - 1)
    parts = {next((run for run in runs if day in run), None) for day in days}
    assert len(result[0]) == (len(parts) if len(closed) > FEW else 1)


def runs_of_days(count):
    """Return the days of each file, from the first of a month on: eight, or the greatest power of two that is left."""
    runs, first = [], 1
    while first <= count:
        after = first + min(8, 1 << ((count - first + 1).bit_length() - 1))
        runs.append(range(first, after))
        first = after
    return runs


@pytest.mark.parametrize(("rows", "files"), [(1, 1), (3, 2), (5, 2), (6, 3), (8, 4), (40, 4)])
def test_the_layout_of_past_files_does_not_reveal_publishes_or_compaction(ask_of, tmp_path, rows, files):
    starts = (T - 800 * DAY, T - 430 * DAY, T - 16 * DAY, T)  # two earlier years, two earlier months
    as_of = T + 60 * DAY
    past = [row(f"t{number}", starts[number % 4] + number * US) for number in range(rows)]
    merged, landed, daily = (ToyLake(tmp_path / name) for name in ("merged", "landed", "daily"))
    merged.add("charts", past[::-1])
    for each in past:
        landed.add("charts", [each | {"observed_at": T + 900 * DAY}])
    for first in range(0, rows, 3):
        daily.add("charts", past[first : first + 3])
    daily.add("charts", [row("later", T + 99 * DAY)])
    result = []
    for lake in (merged, landed, daily):
        cuts = CutCache(tmp_path / f"cuts of {lake.root.name}", few=FEW)
        session = ask_of(lake, as_of, datasets=["charts"], cut_cache=cuts)
        result.append(bytes_of_files(session))
        assert rows_of(session) == sorted(each["track"] for each in past)
        with pytest.raises(QueryFailed, match="observed_at"):
            session.sql("SELECT observed_at FROM read_parquet('/proc/self/fd/300')")
    assert result[0] == result[1] == result[2]
    assert len(result[0]) == files  # no files for the month of as_of and for gaps, which have no rows


@pytest.mark.parametrize("count", [1, 9])
def test_gaps_are_shown_up_to_the_instant_for_few_and_many_gaps(lake, ask, home, count):
    for moment in (T - 400 * DAY, T - US, T, T + US):
        lake.add("gaps/charts", [gap(moment, locator=f"{moment} {number}") for number in range(count)])
    lake.add("charts", [row("a", T)])
    session = ask(cut_cache=CutCache(home, few=FEW), datasets=["charts"])
    assert session.sql("SELECT count(*), max(available_at) FROM gaps").rows() == [(3 * count, T)]


def test_a_file_with_rows_outside_the_months_of_its_manifest_is_refused(lake, ask, home):
    january = T - 400 * DAY
    rows = [row(f"t{number}", january + number * US) for number in range(6)] + [row("later", january + 90 * DAY)]
    file = lake.add_file("charts", pa.Table.from_pylist(rows, schema=CHARTS.arrow_schema))
    lake.replace("charts", file, replace(file, hi=january + DAY))
    with pytest.raises(SessionRefused, match="rows of other months"):
        ask(cut_cache=CutCache(home, few=FEW), datasets=["charts"])


def test_files_of_past_periods_are_reused_for_every_later_instant(lake, ask, home):
    lake.add("charts", [row(f"t{number}", T - number * 20 * DAY) for number in range(40)])
    ask(T, cut_cache=CutCache(home, few=FEW), datasets=["charts"]).close()
    before = {path.name: path.stat().st_ino for path in home.iterdir()}
    ask(T + 90 * DAY, cut_cache=CutCache(home, few=FEW), datasets=["charts"]).close()
    assert before.items() <= {path.name: path.stat().st_ino for path in home.iterdir()}.items()
    new = {path.name for path in home.iterdir()} - before.keys()
    assert len(new) <= 4  # the months between, and the month of T


def test_another_instant_of_the_same_day_makes_a_single_new_file(lake, ask, home, cached_inodes):
    lake.add("charts", days_before(T + 5 * DAY, 12))
    ask(T + 3 * DAY, cut_cache=CutCache(home, few=FEW), datasets=["charts"])
    before = cached_inodes()
    earlier = ask(T + 2.9 * DAY, cut_cache=CutCache(home, few=FEW), datasets=["charts"])
    assert before.items() <= cached_inodes().items()
    assert len(cached_inodes()) - len(before) == 1
    assert rows_of(earlier) == sorted(f"t{number}-{each}" for number in range(3, 12) for each in range(2))


def test_closed_days_are_grouped_in_files_of_8_4_2_and_1_days_newest_first(ask_of, tmp_path):
    month = T.replace(day=1)
    rows = [row(f"t{17 - day}", month + day * DAY) for day in range(17) if day != 3]
    orders = []
    for name, each in (("together", [rows]), ("landed", [[each] for each in rows])):
        lake = ToyLake(tmp_path / name)
        for item in each:
            lake.add("charts", item)
        cuts = CutCache(tmp_path / f"cuts of {name}", few=FEW)
        for days, files in ((6, 3), (7, 4), (8, 2), (9, 3), (15, 5), (16, 3)):
            session = ask_of(lake, month + days * DAY, datasets=["charts"], cut_cache=cuts)
            assert len(paths_of_files(session)) == files
            orders.append(session.sql("SELECT track FROM charts_revisions").rows())
    assert orders[:6] == orders[6:]
    last_day, second_eight, first_eight = rows[15:], rows[7:15], rows[:7]
    assert orders[5] == [(each["track"],) for each in (*last_day, *second_eight, *first_eight)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("at_once", [1, 2, 5])
@pytest.mark.parametrize("broken", range(4))
def test_a_failure_to_write_a_day_file_leaks_no_descriptor(lake, home, monkeypatch, leftovers, at_once, broken):
    lake.add("charts", days_before(T, 12))
    outcome = Binding(lake.snapshot, T, [CHARTS]).relations[0].cuts[-1]
    real, question = CutCache._make, count()

    def failing(self, cut, already=None):
        if next(question) == broken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, cut, already)

    monkeypatch.setattr(CutCache, "_make", failing)
    _, before = leftovers()
    with pytest.raises(LakeError, match="No space left"):
        CutCache(home, few=FEW).open(outcome, at_once)
    assert leftovers()[1] <= before
    monkeypatch.undo()
    files = [CutCache(home / name, few=FEW).open(outcome, many) for name, many in (("together", at_once), ("alone", 1))]
    contents = [[Path(f"/proc/self/fd/{item}").read_bytes() for item in each] for each in files]
    for item in chain(*files):
        os.close(item)
    assert contents[0] == contents[1]
    assert len(contents[0]) > 2


def test_a_failure_to_write_a_day_file_beside_cached_days_leaks_no_descriptor(lake, home, monkeypatch, leftovers):
    lake.add("charts", days_before(T + 5 * DAY, 20))
    cuts_of = lambda at: Binding(lake.snapshot, at, [CHARTS]).relations[0].cuts[-1]  # noqa: E731
    for item in CutCache(home, few=FEW).open(cuts_of(T)):
        os.close(item)

    def failing(self, cut, already=None):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(CutCache, "_make", failing)
    _, before = leftovers()
    with pytest.raises(LakeError, match="No space left"):
        CutCache(home, few=FEW).open(cuts_of(T + DAY))
    assert leftovers()[1] <= before


@pytest.mark.parametrize(
    ("days", "expected"),
    [({*range(20)} - {6}, [4, 2, 1]), (range(4), [4, 0])],
    ids=["not the seventh", "only the first"],
)
def test_a_run_of_days_without_rows_gets_no_file(lake, home, days, expected):
    start = start_of_new_york_day(T.date().replace(day=1))
    lake.add("charts", [row(f"t{day}", start + day * DAY) for day in days])
    outcome = Binding(lake.snapshot, start + 7.5 * DAY, [CHARTS]).relations[0].cuts[-1]  # four days, two and one
    session = CutCache(home, few=FEW).open(outcome)
    result = [pq.read_table(f"/proc/self/fd/{each}").num_rows for each in session]
    for item in session:
        os.close(item)
    assert result == expected


def test_a_file_is_read_once_for_all_the_days_made_of_it(lake, ask, home, monkeypatch):
    lake.add("charts", days_before(T, 10))
    read, session = cuts.Sources._stored, []
    monkeypatch.setattr(cuts.Sources, "_stored", lambda *inputs: session.append(inputs[1].path) or read(*inputs))
    ask(cut_cache=CutCache(home, few=FEW), datasets=["charts"])
    assert len(session) == len(set(session)) == 1


def test_a_cached_month_is_read_once_while_advancing_day_by_day(lake, home, monkeypatch):
    lake.add("charts", days_before(T + 5 * DAY, 16))
    read, files_read = cuts.Sources._stored, []
    monkeypatch.setattr(cuts.Sources, "_stored", lambda *inputs: files_read.append(inputs[1].path) or read(*inputs))
    cache = CutCache(home, few=FEW)
    cache.keep_months()
    for days in range(3):
        for item in cache.open(Binding(lake.snapshot, T + days * DAY, [CHARTS]).relations[0].cuts[-1]):
            os.close(item)
    assert len(files_read) == 1


def test_only_the_rows_of_days_without_a_cached_file_are_read(lake, ask, home, monkeypatch):
    lake.add("charts", days_before(T + 5 * DAY, 25))
    ask(T, cut_cache=CutCache(home, few=FEW), datasets=["charts"])
    read, question = cuts.compacted.read, []

    def noted(source, names, since, until):
        question.append((since, until))
        return read(source, names, since, until)

    monkeypatch.setattr(cuts.compacted, "read", noted)
    session = ask(T + DAY, cut_cache=CutCache(home, few=FEW), datasets=["charts"])
    assert question == [(micros(start_of_new_york_day(T.date())), micros(T + DAY))]  # the day of T has ended at T + DAY
    assert rows_of(session) == sorted(f"t{number}-{each}" for number in range(4, 25) for each in range(2))


@pytest.mark.parametrize(("day", "a_day", "files"), [(2, 2, 1), (2, 4, 2), (4, 2, 3)])
def test_closed_days_with_few_rows_get_no_files_of_their_own(lake, ask, home, cached_inodes, day, a_day, files):
    start = start_of_new_york_day(T.date().replace(day=1))
    lake.add(
        "charts",
        [row(f"t{number}-{each}", start + number * DAY + each * US) for number in range(9) for each in range(a_day)],
    )
    session = ask(start + day * DAY - US, cut_cache=CutCache(home, few=FEW), datasets=["charts"])
    assert len(cached_inodes()) == files
    assert rows_of(session) == sorted(f"t{number}-{each}" for number in range(day) for each in range(a_day))


@pytest.mark.parametrize("harm", ["truncated", "gone", "later"])
def test_damaged_or_replaced_day_files_are_not_used(lake, ask, home, cached_inodes, harm):
    later = [row(f"later{number}", T + US) for number in range(2)]
    lake.add("charts", [*days_before(T, 6), *later])
    ask(cut_cache=CutCache(home, few=FEW), datasets=["charts"]).close()
    count = len(cached_inodes())
    for path in home.glob("*.parquet"):
        columns = pq.ParquetFile(path).schema_arrow.names
        if "track" not in columns:
            continue
        path.unlink()
        if harm == "truncated":
            path.write_bytes(b"PAR1")
        elif harm == "later":
            pq.write_table(pa.Table.from_pylist(later, schema=CHARTS.arrow_schema).select(columns), path)
    for _ in range(2):
        result = rows_of(ask(cut_cache=CutCache(home, few=FEW), datasets=["charts"]))
        assert result == sorted(f"t{number}-{each}" for number in range(6) for each in range(2))
    assert len(cached_inodes()) == count


def test_days_in_a_directory_others_may_enter_are_not_kept(lake, ask, home):
    home.mkdir(mode=0o755, parents=True)
    lake.add("charts", [*days_before(T, 6), row("later", T + US)])
    assert len(rows_of(ask(cut_cache=CutCache(home, few=FEW)))) == 12
    assert list(home.iterdir()) == []


def test_evicted_day_files_are_rebuilt(lake, ask, home, cached_inodes):
    lake.add("charts", [*days_before(T, 6), row("later", T + US)])
    small = CutCache(home, most=1, few=FEW)
    ask(cut_cache=small, datasets=["charts"])
    assert cached_inodes() == {}
    assert len(rows_of(ask(cut_cache=small, datasets=["charts"]))) == 12


def test_day_files_evicted_before_signing_still_reach_the_session(lake, ask, home, cached_inodes, monkeypatch):
    lake.add("charts", [*days_before(T, 6), row("later", T + US)])
    sign = signed_cache.sign

    def evicted_first(path):
        path.unlink()
        sign(path)

    monkeypatch.setattr(signed_cache, "sign", evicted_first)
    assert len(rows_of(ask(cut_cache=CutCache(home, few=FEW), datasets=["charts"]))) == 12
    assert cached_inodes() == {}


def test_day_files_being_written_are_not_evicted(lake, ask, home, monkeypatch):
    lake.add("charts", [*days_before(T, 6), row("later", T + US)])
    moved = Path.replace

    def swept_first(path, target):
        if path.suffix == ".tmp" and path.parent == home:
            CutCache(home, few=FEW)._evict()
        return moved(path, target)

    monkeypatch.setattr(Path, "replace", swept_first)
    assert len(rows_of(ask(cut_cache=CutCache(home, few=FEW), datasets=["charts"]))) == 12


def test_day_files_without_a_signature_are_rebuilt_without_leaking_descriptors(lake, home, leftovers):
    lake.add("charts", [*days_before(T, 6), row("later", T + US)])
    settings = {"datasets": ["charts"], "catalogue": CATALOGUE, "cut_cache": CutCache(home, few=FEW)}
    open_at(lake.snapshot, T, **settings).close()
    before = leftovers()[1]
    for record in home.glob(f"*{signed_cache.SUFFIX}"):
        record.unlink()
    with open_at(lake.snapshot, T, **settings) as session:
        assert len(rows_of(session)) == 12
    assert leftovers()[1] <= before


def test_a_session_outlives_the_eviction_of_its_days(lake, ask, home):
    lake.add("charts", [*days_before(T, 6), row("later", T + US)])
    session = ask(cut_cache=CutCache(home, few=FEW))
    for path in home.iterdir():
        path.unlink()
    assert len(rows_of(session)) == 12


def test_a_file_with_a_wrong_row_count_is_refused_without_leaking_descriptors(lake, ask, home, leftovers):
    file = lake.add("charts", [*days_before(T, 6), row("later", T + US)])
    lake.replace("charts", file, replace(file, rows=12))
    for _ in range(2):
        with pytest.raises(SessionRefused, match="the number of rows of a file differs"):
            ask(cut_cache=CutCache(home, few=FEW))
        before = leftovers()
    children, descriptors = leftovers()
    assert children == before[0]
    assert descriptors <= before[1]
    assert not list(home.glob(".*.tmp"))
