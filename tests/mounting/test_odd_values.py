"""Tables with values that few tables have: times at the ends of the calendar, finer clocks, names of files and keys."""

from datetime import date, datetime, timezone

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.mounting.test_mount import gaps, rows

FIRST_DAY, LAST_MOMENT = date(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc)


def mounted(lake, table, **options):
    return lake.mount(table, "estimates", **({"key": ["ticker"], "available_at": "seen"} | options))


def in_duckdb(folder, seen, value="1"):
    """A table with one ordinary row and an odd one."""
    with duckdb.connect(folder / "own.duckdb") as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute(f"CREATE TABLE own AS SELECT 'ODD' AS ticker, {seen} AS seen, {value} AS value")
        database.execute("INSERT INTO own VALUES ('NOG', '2024-01-01', NULL)")
    return folder / "own.duckdb", "own"


UNSET = ["'0001-01-01T00:00:00Z'", "'0000-01-01'", "DATE '0001-01-01'", "'0044-03-15 (BC)'::DATE"]


@pytest.mark.parametrize("seen", UNSET)
def test_a_time_that_is_unset_makes_no_row_known_since_ever(lake, tmp_path, seen):
    done = mounted(lake, in_duckdb(tmp_path, seen), timezone="UTC")
    assert (done.published, done.gaps) == (1, {"the knowledge time is unreadable": 1})


@pytest.mark.parametrize(
    "seen", ["DATE '9999-12-31'", "'5881580-07-10'::DATE", "'9999-12-31'", "'20000-01-01 00:00:00+00'::TIMESTAMPTZ"]
)
def test_a_time_after_the_calendar_is_not_public_yet(lake, tmp_path, seen):
    done = mounted(lake, in_duckdb(tmp_path, seen), timezone="UTC")
    assert (done.published, done.gaps) == (1, {"not public yet": 1})


VALUES = [
    ("DATE '0001-01-01'", FIRST_DAY),
    ("DATE '9999-12-31'", LAST_MOMENT.date()),
    ("'9999-12-31 23:59:59+00'::TIMESTAMPTZ", LAST_MOMENT),
    ("'0044-03-15 (BC)'::DATE", None),
    ("'20000-01-01'::DATE", None),
    ("'0044-03-15 (BC) 00:00:00'::TIMESTAMP", None),
    ("'20000-01-01 00:00:00+00'::TIMESTAMPTZ", None),
]


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_a_day_that_no_calendar_of_python_has_is_a_gap_and_no_error_of_each_answer(lake, tmp_path, value, expected):
    done = mounted(lake, in_duckdb(tmp_path, "'2024-01-01'", value), timezone="UTC")
    assert done.gaps == ({} if expected else {"value is unreadable": 1})
    assert rows(lake, None, "ticker, value") == [("NOG", None), *([("ODD", expected)] if expected else [])]


NANOSECONDS = {
    1_708_012_800_000_000_001: "2024-02-15T16:00:00.000001Z",
    1_708_012_800_000_000_000: "2024-02-15T16:00:00Z",
    -1: "1970-01-01T00:00:00Z",
    -1_001: "1969-12-31T23:59:59.999999Z",
}


@pytest.mark.parametrize("zone", ["UTC", None])
@pytest.mark.parametrize("made", ["frame", "parquet"])
def test_timestamps_in_nanoseconds_are_rounded_up(lake, tmp_path, zone, made):
    """Frames of pandas have them, with and without a zone."""
    seen = pa.array(NANOSECONDS, pa.timestamp("ns", zone))
    table = pa.table({"ticker": [*"ABCD"], "seen": seen, "value": seen})
    pq.write_table(table, tmp_path / "own.parquet")
    mounted(lake, table if made == "frame" else tmp_path / "own.parquet", timezone="UTC")
    expected = [(datetime.fromisoformat(text),) * 2 for text in NANOSECONDS.values()]
    assert rows(lake, None, "available_at, value") == sorted(expected)


def test_days_of_a_contract_may_come_as_nanoseconds(lake):
    day = pa.table({"ticker": ["NOG"], "seen": ["2024-01-01"], "value": [date(2024, 1, 1)]})
    mounted(lake, day)
    at_midnight = pa.array([1_704_067_200 * 10**9], pa.timestamp("ns", "UTC"))
    assert lake.mount(day.set_column(2, "value", at_midnight), "estimates").unchanged == 1


@pytest.mark.parametrize("offset", ["+99:99", "+24:00", "+05:60"])
def test_an_offset_that_no_zone_has_makes_no_row_known_early(lake, offset):
    seen = [f"2024-02-15T10:00:00{offset}", "2024-02-15T10:00:00+14:00", "2024-02-15T10:00:00-1200"]
    done = mounted(lake, pa.table({"ticker": ["A", "B", "C"], "seen": seen}))
    assert done.gaps == {"the knowledge time is unreadable": 1}
    assert gaps(lake) == [("the knowledge time is unreadable", "estimates#A")]


@pytest.mark.parametrize(
    ("name", "other"), [("own[1].csv", "own1.csv"), ("own*.jsonl", "owners.jsonl"), ("own?.parquet", "own2.parquet")]
)
def test_the_name_of_a_file_is_not_a_pattern(lake, tmp_path, name, other):
    for file, ticker in ((name, "RIGHT"), (other, "WRONG")):
        path, frame = tmp_path / file, pd.DataFrame({"ticker": [ticker], "seen": ["2024-01-01"]})
        if path.suffix == ".csv":
            frame.to_csv(path, index=False)
        elif path.suffix == ".jsonl":
            frame.to_json(path, orient="records", lines=True)
        else:
            frame.to_parquet(path)
    mounted(lake, tmp_path / name)
    assert rows(lake, None, "ticker") == [("RIGHT",)]
