"""The footer proof: no session opens with a file that is not proven public at T, or that differs from the contract."""

import errno
import os
import shutil
from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pitlake.clock import micros
from pitlake.errors import LakeFault, MachineExhausted, SessionRefused
from pitlake.session.visible import footer
from tests.session.toylake import CHARTS, T, row

MONTH = timedelta(days=31)
DAY = timedelta(days=1)
BEFORE = [row("a", T - 2 * MONTH), row("b", T - 2 * MONTH + DAY)]


def table(rows, **changes):
    result = pa.Table.from_pylist(list(rows), schema=CHARTS.arrow_schema)
    for name, values in changes.items():
        place = result.column_names.index(name) if name in result.column_names else result.num_columns
        result = result.drop([name]) if name in result.column_names else result
        result = result.add_column(place, name, values)
    return result


def refused(ask, **changes):
    with pytest.raises(SessionRefused) as caught:
        ask(**changes)
    assert caught.value.table == "charts"
    return str(caught.value)


def test_a_manifest_that_understates_a_files_latest_instant_is_refused(lake, ask):
    file = lake.add("charts", [row("a", T), row("later", T + DAY)])
    lake.replace("charts", file, replace(file, hi=T))
    assert "later row" in refused(ask)


def test_a_manifest_that_lies_about_the_month_of_a_file_is_caught(lake, ask):
    file = lake.add("charts", [row("later", T + MONTH)])
    lake.replace("charts", file, replace(file, lo=T - 2 * MONTH, hi=T - 2 * MONTH))
    assert "later row" in refused(ask)


def test_a_file_of_several_months_that_reaches_beyond_t_is_refused(lake, ask):
    lake.add_file("charts", table([*BEFORE, row("later", T + MONTH)]))
    assert "later row" in refused(ask)


def test_a_later_row_in_any_row_group_is_caught(lake, ask):
    early = T - 300 * DAY
    lake.add("charts", [row(f"t{number}", early) for number in range(3)])
    lake.add_file("charts", table([row("u", early + MONTH), row("later", T + DAY)]))  # a separate row group in the cut
    assert "later row" in refused(ask)


@pytest.mark.parametrize("order", list(permutations(["a", "b", "c"])), ids="".join)
def test_the_newest_row_is_found_across_all_row_groups(lake, order):
    rows = {"a": row("a", T - DAY), "b": row("b", T), "c": row("c", T + DAY)}
    file = lake.add_file("charts", table([rows[track] for track in order]), row_group_size=1)
    with Path(file.path).open("rb") as session:
        result = footer.read(session.fileno())
    assert (pq.read_metadata(file.path).num_row_groups, result.rows, result.newest) == (3, 3, micros(T + DAY))


@pytest.mark.parametrize("place", range(3))
def test_a_row_without_an_instant_is_found_in_any_row_group(lake, place):
    instants = pa.array([T if number != 2 * place else None for number in range(6)], pa.timestamp("us", "UTC"))
    path = lake.root / "nulls.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(table([row("a", T)] * 6, available_at=instants), path, row_group_size=2)
    with path.open("rb") as session:
        assert "rows without available_at" in footer.read(session.fileno()).fault


def test_a_manifest_that_lies_about_the_number_of_rows_is_caught(lake, ask):
    file = lake.add("charts", BEFORE)
    lake.replace("charts", file, replace(file, rows=1))
    reply = refused(ask)
    assert "the number of rows of a file differs" in reply
    assert not any(char.isdigit() for char in reply)  # the number of rows after T is not revealed


def test_a_file_without_statistics_is_refused(lake, ask):
    lake.add("charts", BEFORE, write_statistics=False)
    assert "no statistics" in refused(ask)


def test_a_file_with_statistics_of_other_columns_only_is_refused(lake, ask):
    lake.add("charts", BEFORE, write_statistics=["track", "observed_at"])
    assert "no statistics" in refused(ask)


def test_a_file_with_rows_without_an_instant_is_refused(lake, ask):
    instants = pa.array([T - MONTH, None], pa.timestamp("us", "UTC"))
    file = lake.add("charts", BEFORE)
    pq.write_table(table(BEFORE, available_at=instants), file.path)
    assert "rows without available_at" in refused(ask)


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.int64(), pa.timestamp("ns", "UTC")])
def test_a_file_whose_instants_are_not_in_utc_microseconds_is_refused(lake, ask, kind):
    file = lake.add("charts", BEFORE)
    rows = table(BEFORE)
    pq.write_table(table(BEFORE, available_at=rows["available_at"].cast(kind)), file.path)
    assert "not an instant in microseconds" in refused(ask)


def test_a_column_the_contract_does_not_know_is_refused(lake, ask):
    lake.add_table("charts", table(BEFORE, superseded_at=pa.array([T, T])))
    assert "superseded_at" in refused(ask)


def test_a_missing_required_column_is_refused(lake, ask):
    lake.add_table("charts", table(BEFORE).drop(["evidence"]))
    assert "lacks required columns: evidence" in refused(ask)


@pytest.mark.parametrize("isolation", ["process", "in_process"])
def test_a_column_added_to_the_contract_later_is_null_in_older_files(lake, ask, isolation):
    lake.add_table("charts", table([row("a", T - 2 * MONTH)]).drop(["score"]))
    lake.add_table("charts", table([row("b", T)]).drop(["score"]))
    lake.add("charts", [row("c", T, 7)])
    result_rows = ask(isolation=isolation).sql("SELECT track, score FROM charts ORDER BY track").rows()
    assert result_rows == [("a", None), ("b", None), ("c", 0.7)]


def test_a_file_without_the_column_available_at_is_refused(lake, ask):
    file = lake.add("charts", BEFORE)
    pq.write_table(table(BEFORE).drop(["available_at"]), file.path)
    assert "no column available_at" in refused(ask)


def test_the_error_for_a_missing_file_names_its_path(lake, ask):
    lake.add("charts", BEFORE)
    shutil.rmtree(lake.root / "charts")
    with pytest.raises(LakeFault, match=r"charts/part-0.parquet is missing; restore it"):
        ask()


def test_a_file_that_is_not_parquet_is_reported_as_damaged(lake, ask):
    file = lake.add("charts", BEFORE)
    Path(file.path).write_bytes(b"PAR1 no more")
    with pytest.raises(LakeFault, match=r"part-0.parquet is damaged; restore it"):
        ask()


def test_damage_in_a_file_with_an_intact_footer_is_reported_as_damage(lake, ask):
    file = Path(lake.add_table("charts", table([*BEFORE, row("z" * 9000, T - 2 * MONTH)]), use_dictionary=False).path)
    content = bytearray(file.read_bytes())
    content[4:200] = bytes(196)
    file.write_bytes(content)
    with pytest.raises(LakeFault, match="damaged") as caught:
        ask()
    assert caught.value.path == str(file)


@pytest.mark.parametrize("fault", ["rows", "statistics"])
def test_faulty_files_that_straddle_the_instant_are_refused(lake, ask, fault):
    file = lake.add("charts", [row("a", T), row("b", T + DAY)], write_statistics=fault != "statistics")
    if fault == "rows":
        lake.replace("charts", file, replace(file, rows=1))
    refused(ask)


def test_in_process_sessions_also_refuse_files_with_later_rows(lake, ask):
    file = lake.add("charts", [row("a", T), row("later", T + DAY)])
    lake.replace("charts", file, replace(file, hi=T))
    assert "later row" in refused(ask, isolation="in_process")


def test_refusing_leaves_no_process_and_no_descriptor(lake, ask, leftovers):
    lake.add("charts", BEFORE, write_statistics=False)
    refused(ask)
    before = leftovers()
    refused(ask)
    children, descriptors = leftovers()
    assert children == before[0]
    assert descriptors <= before[1]


def test_running_out_of_descriptors_is_not_reported_as_a_damaged_footer(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    descriptor, duplicate = os.open(path, os.O_RDONLY), os.dup

    def none_left(_descriptor):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("pitlake.session.visible.footer.os.dup", none_left)
    with pytest.raises(MachineExhausted, match=r"Too many open files: this process may have \d+ \(ulimit -n\)"):
        footer.read(descriptor)
    monkeypatch.setattr("pitlake.session.visible.footer.os.dup", duplicate)
    assert footer.read(descriptor).rows == 1
    os.close(descriptor)
