"""The times of rows of a mounted table: days stored as midnights, unset values, formats, intervals, daily bars."""

from datetime import date, datetime

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pitlake
from pitlake import cli
from pitlake.errors import BadInput
from pitlake.session import sealing
from tests.mounting.test_mount import gaps, rows

DAY, ITS_END = "2024-02-15", datetime.fromisoformat("2024-02-16T05:00:00Z")


def frame(spellings, **columns):
    return pa.table({"k": range(len(spellings)), "seen": spellings} | columns)


def mounted(lake, table, **options):
    return lake.mount(table, "estimates", **({"key": "k", "available_at": "seen"} | options))


AS_MIDNIGHTS = {
    "naive": pd.DataFrame({"k": [0], "seen": [pd.Timestamp(DAY)]}),
    "UTC": pd.DataFrame({"k": [0], "seen": [pd.Timestamp(DAY, tz="UTC")]}),
    "New York": pd.DataFrame({"k": [0], "seen": [pd.Timestamp(DAY, tz="America/New_York")]}),
    "Tokyo": pd.DataFrame({"k": [0], "seen": [pd.Timestamp(DAY, tz="Asia/Tokyo")]}),
    "period": pd.DataFrame({"k": [0], "seen": pd.PeriodIndex([DAY], freq="D")}),
    "text": frame([f"{DAY}T00:00:00-05:00"]),
    "text of a day": frame([DAY]),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("table", AS_MIDNIGHTS.values(), ids=AS_MIDNIGHTS)
@pytest.mark.parametrize("as_file", [False, True])
def test_a_day_stored_as_a_midnight_counts_at_its_end(lake, tmp_path, table, as_file):
    if as_file and isinstance(table, pd.DataFrame) and "period" not in str(table.dtypes["seen"]):
        table.to_parquet(tmp_path / "own.parquet")
        table = tmp_path / "own.parquet"
    mounted(lake, table)
    assert rows(lake, None, "seen, available_at") == [(date(2024, 2, 15), ITS_END)]


def test_a_table_that_is_read_for_a_sealed_session_keeps_its_zones(lake, tmp_path):
    AS_MIDNIGHTS["Tokyo"].to_parquet(tmp_path / "own.parquet")
    mounted(lake, sealing.read(tmp_path / "own.parquet"))
    assert rows(lake, None, "seen, available_at") == [(date(2024, 2, 15), ITS_END)]


@pytest.mark.parametrize("other", [None, "Asia/Tokyo"])
def test_files_of_a_table_with_different_time_zones_are_refused(lake, tmp_path, other):
    """DuckDB would read a time without a zone as UTC, regardless of --timezone."""
    for number, zone in enumerate(("UTC", other, "UTC")):
        seen = pd.DataFrame({"k": [number], "seen": [pd.Timestamp(f"{DAY} 16:30", tz=zone)]})
        seen.to_parquet(tmp_path / f"{number}.parquet")
    with pytest.raises(BadInput, match="columns: seen has a different time zone, or none, in some of the files; write"):
        mounted(lake, tmp_path, timezone="America/New_York")


def test_midnights_in_any_zone_count_at_the_end_of_the_day_and_unset_dates_are_gaps(lake):
    spellings = [f"{DAY}T00:00:00-05:00", f"{DAY}T00:00:00Z", "1970-01-01T00:00:00Z", "1900-01-01"]
    assert mounted(lake, frame(spellings)).gaps == {"the knowledge time is unset": 2}
    assert rows(lake, None, "k, available_at") == [(0, ITS_END), (1, ITS_END)]
    assert [locator for _, locator in gaps(lake)] == [
        "estimates#2&refused=1970-01-01T00:00:00Z", "estimates#3&refused=1900-01-01"
    ]  # fmt: skip
    own = frame([pd.Timestamp(DAY, tz="UTC")])
    with pitlake.sealed({"own": own}, as_of=f"{DAY}T12:00:00Z", available_at="seen") as session:
        assert session.sql("FROM own").rows() == []


def test_midnights_mixed_with_clock_times_require_a_choice(lake):
    table = frame([pd.Timestamp(DAY, tz="UTC"), pd.Timestamp(f"{DAY} 10:00", tz="UTC")])
    with pytest.raises(BadInput, match=r"midnights: seen has 1 midnights and 1 other clock times, .* --midnights end"):
        mounted(lake, table)
    assert not lake.root.exists()
    mounted(lake, table, midnights="end")
    lake.mount(table, "others", key="k", available_at="seen", midnights="instants")
    assert rows(lake, f"{DAY}T12:00:00Z", "k") == [(1,)]
    with pitlake.connect(f"{DAY}T12:00:00Z", lake=lake, isolation="in_process", datasets=["others"]) as session:
        assert session.sql("SELECT k FROM others ORDER BY k").rows() == [(0,), (1,)]


@pytest.mark.parametrize(
    ("spellings", "form", "instant"),
    [
        ([20240215], "%Y%m%d", ITS_END),
        (["20240215"], "%Y%m%d", ITS_END),
        (["02/15/2024"], "%m/%d/%Y", ITS_END),
        ([1_708_000_000], "epoch", datetime.fromisoformat("2024-02-15T12:26:40Z")),
        ([1_708_000_000_000], "epoch_ms", datetime.fromisoformat("2024-02-15T12:26:40Z")),
    ],
)
def test_time_format_reads_spellings_that_cannot_be_inferred(lake, spellings, form, instant):
    with pytest.raises(
        BadInput, match=rf"available_at: seen can't be read as times, such as {spellings[0]}; .* --time-format"
    ):
        mounted(lake, frame(spellings))
    mounted(lake, frame(spellings), time_format=form)
    assert rows(lake, None, "available_at") == [(instant,)]


MEMBERS = pa.table({
    "k": ["A", "B", "C"], "seen": ["2020-01-02", "2020-01-02", "2021-01-04"], "to": ["2024-05-01", None, "9999-12-31"],
})  # fmt: skip


def test_the_end_of_an_interval_is_null_until_the_interval_ends(lake, tmp_path, capfd):
    mounted(lake, MEMBERS, until="to")
    assert rows(lake, "2021-06-01T00:00:00Z", 'k, "to"') == [("A", None), ("B", None), ("C", None)]
    assert rows(lake, "2024-06-01T00:00:00Z", 'k, "to"') == [("A", date(2024, 5, 1)), ("B", None), ("C", None)]
    assert mounted(lake, MEMBERS).unchanged == 4
    pq.write_table(MEMBERS, tmp_path / "own.parquet")
    command = f"mount {tmp_path}/own.parquet --name others --key k --available-at seen --lake {lake.location}"
    assert cli.invoke(command.split()) == 0
    question = "to: 1 of 3 rows has a day after the row became known: a plan or hindsight? --not-before to"
    assert question in capfd.readouterr().err
    assert cli.invoke([*command.replace("others", "thirds").split(), "--not-before", "to"]) == 0
    printed = capfd.readouterr()
    assert "not before" in printed.out
    assert "hindsight" not in printed.err
    assert cli.invoke([*command.replace("others", "plans").split(), "--valid-at", "to"]) == 0
    assert "hindsight" not in capfd.readouterr().err


def test_later_days_within_nested_values_are_counted(lake):
    values = [{"revised": "2024-03-01"}, {"revised": "2024-02-01", "until": "9999-12-31"}, None]
    at = [[date(2024, 3, 1), date(2024, 1, 1)], [date(2023, 1, 1)], []]
    table = frame([DAY] * 3, figures=values, tags=[["2024-02-16"], ["2024-02-15", "x"], None], at=at)
    assert mounted(lake, table).later == {"figures": 1, "tags": 1, "at": 1}


CALLS = pa.table({
    "k": ["A", "B", "C"], "seen": [f"{DAY}T14:00:00Z", f"{DAY}T14:00:00Z", f"{DAY}T20:00:00Z"],
    "ends": [f"{DAY}T15:00:00Z", None, "9999-12-31"], "said": ["all", "half", "none"],
})  # fmt: skip


def test_not_before_delays_a_row_until_the_end_of_its_event(lake):
    with pytest.raises(BadInput, match="not_before: seen can't delay rows; name columns of times other than"):
        mounted(lake, CALLS, not_before="seen")
    done = mounted(lake, CALLS, not_before=["ends"])
    assert (done.later, done.mount.dataset.availability.partition(";")[0]) == ({}, "The latest of `seen` and `ends`")
    assert rows(lake, f"{DAY}T14:59:59Z", "k, said") == [("B", "half")]
    assert rows(lake, f"{DAY}T15:00:00Z", "k, said") == [("A", "all"), ("B", "half")]
    assert rows(lake, f"{DAY}T20:00:00Z", "k") == [("A",), ("B",), ("C",)]
    assert mounted(lake, CALLS).unchanged == 3
    with pytest.raises(BadInput, match="not_before: estimates is mounted with ends; leave"):
        mounted(lake, CALLS, not_before="k")


def test_an_edit_is_available_from_its_own_time_and_unreadable_times_are_gaps(lake):
    texts = pa.table({
        "k": ["A", "A", "B"], "seen": [DAY] * 3, "updated": [None, "2024-03-01T10:00:00-05:00", "soon"],
        "said": ["first", "second", "none"],
    })  # fmt: skip
    assert mounted(lake, texts, not_before="updated").gaps == {"updated is unreadable": 1}
    assert rows(lake, "2024-03-01T14:59:59Z", "k, said") == [("A", "first")]
    assert rows(lake, "2024-03-01T15:00:00Z", "k, said") == [("A", "second")]


def test_an_initially_empty_not_before_column_may_later_have_clock_times(lake):
    mounted(lake, CALLS.set_column(2, "ends", pa.array([None] * 3, pa.string())), not_before="ends")
    assert mounted(lake, CALLS).gaps == {}


def test_daily_bars_may_use_the_same_date_as_key_and_knowledge_time(lake):
    bars = pd.DataFrame({"k": ["A", "A"], "seen": pd.to_datetime([DAY, "2024-02-16"]), "close": [1.0, 2.0]})
    mounted(lake, bars, key=["k", "seen"], valid_at="seen")
    assert rows(lake, "2024-02-16T05:00:00Z", "k, seen, close") == [("A", date(2024, 2, 15), 1.0)]
    assert rows(lake, "2024-02-17T05:00:00Z", "count(*)") == [(2,)]


def test_a_table_that_is_mostly_unreadable_is_refused(lake):
    spellings = ["soon"] * 1900 + [DAY] * 100
    with pytest.raises(BadInput, match=r"the table: 1,900 of 2,000 rows can't be mounted .* such as soon"):
        mounted(lake, frame(spellings))
    assert not lake.root.exists()
    assert mounted(lake, frame(spellings), most_refused=0.95).published == 100


def test_a_wide_table_is_mounted(lake):
    wide = pa.table({"k": [1], "seen": [DAY]} | {f"c{number}": [number] for number in range(600)})
    assert mounted(lake, wide).published == 1
