"""Tables with rare values: times at the ends of the calendar, finer clocks, odd file names and keys."""

import json
from datetime import date, datetime, timezone
from decimal import Decimal

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pitlake.errors import BadInput
from pitlake.lake.mounting import reading, source
from pitlake.session import sealing
from tests.mounting.test_mount import gaps, rows

FIRST_DAY, LAST_MOMENT = date(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc)


def mounted(lake, table, **options):
    return lake.mount(table, "estimates", **({"key": ["ticker"], "available_at": "seen"} | options))


def in_duckdb(folder, seen, value="1"):
    """Create a table with an ordinary row and an odd row."""
    with duckdb.connect(folder / "own.duckdb") as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute(f"CREATE TABLE own AS SELECT 'ODD' AS ticker, {seen} AS seen, {value} AS value")
        database.execute("INSERT INTO own VALUES ('QBG', '2024-01-01', NULL)")
    return folder / "own.duckdb", "own"


UNSET = ["'0001-01-01T00:00:00Z'", "'0000-01-01'", "DATE '0001-01-01'", "'0044-03-15 (BC)'::DATE"]


@pytest.mark.parametrize("seen", UNSET)
def test_a_row_with_an_unset_knowledge_time_becomes_a_gap(lake, tmp_path, seen):
    done = mounted(lake, in_duckdb(tmp_path, seen), timezone="UTC")
    assert (done.published, done.gaps) == (1, {"the knowledge time is unset": 1})


@pytest.mark.parametrize(
    "seen", ["DATE '9999-12-31'", "'5881580-07-10'::DATE", "'9999-12-31'", "'20000-01-01 00:00:00+00'::TIMESTAMPTZ"]
)
def test_a_row_dated_at_the_end_of_the_calendar_becomes_a_gap(lake, tmp_path, seen):
    done = mounted(lake, in_duckdb(tmp_path, seen), timezone="UTC")
    assert done.published == 1
    assert list(done.gaps) == [f"the knowledge time is {'unreadable' if '5881580' in seen else 'unset'}"]


VALUES = [
    ("DATE '0001-01-01'", FIRST_DAY),
    ("DATE '9999-12-31'", LAST_MOMENT.date()),
    ("'9999-12-31 23:59:59+00'::TIMESTAMPTZ", LAST_MOMENT),
    ("'0044-03-15 (BC)'::DATE", None),
    ("'20000-01-01'::DATE", None),
    ("'0044-03-15 (BC) 00:00:00'::TIMESTAMP", None),
    ("'20000-01-01 00:00:00+00'::TIMESTAMPTZ", None),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_a_row_with_a_date_that_python_cannot_represent_becomes_a_gap(lake, tmp_path, value, expected):
    done = mounted(lake, in_duckdb(tmp_path, "'2024-01-01'", value), timezone="UTC")
    assert done.gaps == ({} if expected else {"value is unreadable": 1})
    assert rows(lake, None, "ticker, value") == [*([("ODD", expected)] if expected else []), ("QBG", None)]


NANOSECONDS = {
    1_708_012_800_000_000_001: "2024-02-15T16:00:00.000001Z",
    1_708_012_800_000_000_000: "2024-02-15T16:00:00Z",
    -(10**18) - 1: "1938-04-24T22:13:20Z",
    -(10**18) - 1_001: "1938-04-24T22:13:19.999999Z",
}


@pytest.mark.parametrize("zone", ["UTC", None])
@pytest.mark.parametrize("outcome", ["frame", "parquet"])
def test_timestamps_in_nanoseconds_are_rounded_up(lake, tmp_path, zone, outcome):
    """pandas frames have such timestamps, with and without a zone."""
    seen = pa.array(NANOSECONDS, pa.timestamp("ns", zone))
    table = pa.table({"ticker": [*"ABCD"], "seen": seen, "value": seen})
    pq.write_table(table, tmp_path / "own.parquet")
    mounted(lake, table if outcome == "frame" else tmp_path / "own.parquet", timezone="UTC")
    expected = [(datetime.fromisoformat(text),) * 2 for text in NANOSECONDS.values()]
    assert rows(lake, None, "available_at, value") == sorted(expected)


def test_date_columns_may_later_arrive_as_nanosecond_timestamps(lake):
    day = pa.table({"ticker": ["QBG"], "seen": ["2024-01-01"], "value": [date(2024, 1, 1)]})
    mounted(lake, day)
    at_midnight = pa.array([1_704_067_200 * 10**9], pa.timestamp("ns", "UTC"))
    assert lake.mount(day.set_column(2, "value", at_midnight), "estimates").unchanged == 1


@pytest.mark.parametrize("offset", ["+99:99", "+24:00", "+05:60"])
def test_a_row_with_an_impossible_utc_offset_becomes_a_gap(lake, offset):
    seen = [f"2024-02-15T10:00:00{offset}", "2024-02-15T10:00:00+14:00", "2024-02-15T10:00:00-1200"]
    done = mounted(lake, pa.table({"ticker": ["A", "B", "C"], "seen": seen}))
    assert done.gaps == {"the knowledge time is unreadable": 1}
    assert gaps(lake) == [("the knowledge time is unreadable", f"estimates#A&refused=2024-02-15T10:00:00{offset}")]


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


def test_identifiers_stored_as_decimals_stay_distinct(lake):
    """Warehouses export integers as decimals without digits after the point."""
    ids = [2**53 + 1, 2**53 + 2, 2**53 + 3]
    ticker = pa.array([*map(Decimal, ids), Decimal(10**30)], pa.decimal128(38, 0))
    done = mounted(lake, pa.table({"ticker": ticker, "seen": ["2024-01-01"] * 4}))
    assert (done.published, done.gaps) == (3, {"ticker is unreadable": 1})
    assert rows(lake, None, "ticker") == [(number,) for number in ids]


CENTS = [Decimal("12345678901234567.01"), Decimal("12345678901234567.02")]
ALIKE = {
    "decimals of a float": pa.array(CENTS, pa.decimal128(19, 2)),
    "few decimals": pa.array([Decimal("0.01"), Decimal("0.02")], pa.decimal128(15, 2)),
    "nanoseconds": pa.array([1_708_012_800_000_000_001, 1_708_012_800_000_000_002], pa.timestamp("ns", "UTC")),
    "wide integers": pa.array([2**64 - 1, 2**64 - 2], pa.uint64()),
    "floats": pa.array([2.0**53, 2.0**53 + 1]),
}


@pytest.mark.parametrize("ticker", ALIKE.values(), ids=ALIKE)
def test_distinct_keys_are_never_merged_by_rounding_to_a_lake_type(lake, ticker):
    table = pa.table({"ticker": ticker, "seen": ["2024-02-15"] * 2, "value": [1, 1]})
    if "decimal" in str(ticker.type):
        assert mounted(lake, table).published == 2
        return
    with pytest.raises(BadInput, match=r"rows with the same key .* differ|ticker is unreadable|floats round them"):
        mounted(lake, table)


def test_a_list_column_is_refused_as_a_key(lake):
    with pytest.raises(BadInput, match="key: ticker holds lists; name columns of text, numbers or dates"):
        mounted(lake, pa.table({"ticker": [["QBG"]], "seen": ["2024-01-01"]}))
    assert not lake.root.exists()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("key", ["content", "statement", "suspect", "position", "day", "name", "select", "a b", "📈"])
def test_contradicting_rows_are_refused_for_key_columns_of_any_name(lake, key):
    table = pa.table({key: ["QBG", "QBG"], "seen": ["2024-01-01"] * 2, "value": [1, 2]})
    with pytest.raises(BadInput, match="rows with the same key and known at the same time differ, such as estimates#"):
        mounted(lake, table, key=[key])


ALPHABETS = {
    "代码": "代码", "株価（円）": "株価_円", "Цена, руб.": "цена_руб", "Größe": "größe", "Gro\u0308ße": "größe",
    "कीमत": "कीमत", "ＥＰＳ": "eps", "E.P.S. ²": "e_p_s_2", "_Émission__1": "émission_1",
    "2024 EPS": "c_2024_eps", "📈": "c_",
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("column", "name"), ALPHABETS.items())
def test_a_column_keeps_the_letters_of_its_alphabet(lake, tmp_path, column, name):
    (tmp_path / "own.csv").write_text(f'"{column}",价格,seen\nQBG,1.5,2024-01-01\n')
    for key in (column, name):
        assert mounted(lake, tmp_path / "own.csv", key=[key], available_at="SEEN").rows == 1
    assert rows(lake, None, f"{name}, 价格") == [("QBG", 1.5)]


def test_a_renamed_column_that_collides_with_another_is_refused(lake):
    table = pa.table({"source_available_at": ["x"], "ticker": ["QBG"], "available_at": ["2024-01-01"]})
    with pytest.raises(BadInput, match="columns: two columns would be called source_available_at; rename one of them"):
        mounted(lake, table, available_at="available_at")


def test_fractional_text_in_an_integer_column_is_not_rounded(lake):
    first = pa.table({"ticker": [*"ABCD"], "seen": ["2024-01-01"] * 4, "value": [1, 2, 3, 2**53 + 1]})
    mounted(lake, first)
    texts = pa.array(["1.5", "2.0", "1e3", str(2**53 + 1)])
    done = lake.mount(first.set_column(2, "value", texts), "estimates")
    assert (done.unchanged, done.gaps) == (2, {"value is unreadable": 2})


def as_csv(folder, lines, name="own.csv"):
    (folder / name).write_text("\n".join(("ticker,seen,value,note", *lines, "")))
    return folder / name


@pytest.mark.parametrize("lines", ["QBG,2024-01-01\nQBH,2024-01-02\n", "ticker,seen\nQBG,2024-01-01,1\nQBH\n"])
def test_the_error_for_a_file_without_a_header_asks_for_column_names(lake, tmp_path, lines):
    (tmp_path / "own.csv").write_text(lines)
    with pytest.raises(BadInput, match=r"no column 'seen'; its columns are .*; begin the file with a line of"):
        mounted(lake, tmp_path / "own.csv")


GROWN = ["ticker,seen", *(f"T{number},2024-01-01" for number in range(9))]
SHORT = r"own.csv has lines of fewer fields before the names of columns, such as 'ticker.{1,2}seen'; give every line"
STARTS = {
    "a second line of names": ([*GROWN, "ticker,seen,value", "QBG,2024-01-02,1"], SHORT),
    "a longer line": ([line.replace(",", "\t") for line in [*GROWN, "QBG,2024-01-02,1"]], SHORT),
    "a title": (["Estimates", "", *GROWN], None),
}


@pytest.mark.parametrize(("lines", "message"), STARTS.values(), ids=STARTS)
def test_rows_above_a_later_header_are_not_skipped_as_titles(lake, tmp_path, lines, message):
    """A file that gains a column would lose all earlier rows."""
    (tmp_path / "own.csv").write_text("\n".join(lines))
    if message is None:
        assert mounted(lake, tmp_path / "own.csv").rows == 9
        return
    with pytest.raises(BadInput, match=message):
        mounted(lake, tmp_path / "own.csv")


def test_the_tickers_t_and_f_are_not_read_as_booleans(lake, tmp_path):
    lines = ("T,2024-01-01,F,true", "F,2024-01-01,T,FALSE")
    done = mounted(lake, as_csv(tmp_path, lines))
    types = {column.column.name: column.column.type for column in done.mount.columns}
    assert types == {"ticker": "string", "seen": "date", "value": "string", "note": "bool"}
    assert rows(lake, None, "ticker, value, note") == [("F", "T", False), ("T", "F", True)]


def test_identifiers_that_look_like_fractions_stay_texts(lake, tmp_path):
    keys = ["12345E100", "1.10", "1.1", "123456789012345678901234567890", "123456789012345678901234567891"]
    assert mounted(lake, as_csv(tmp_path, [f"{key},2024-01-01,1.50,1" for key in keys])).published == 5
    assert rows(lake, None, "ticker, value") == [(key, 1.5) for key in sorted(keys)]


@pytest.mark.parametrize("codes", [["00700", "09988"], ["0000320193", "7"], ["06738E204", "17275102"],
                                   ["12345678901234567890", "12345678901234567891"]])  # fmt: skip
def test_codes_of_digits_keep_their_spelling_in_any_column(lake, tmp_path, codes):
    lines = [f"{code},2024-01-01,0.50,{code}" for code in codes]
    assert mounted(lake, as_csv(tmp_path, lines)).published == 2
    assert rows(lake, None, "ticker, value, note") == [(code, 0.5, code) for code in sorted(codes)]
    assert sealing.read(tmp_path / "own.csv")["note"].to_pylist() == codes


@pytest.mark.parametrize("later", ["007", "T", "1.10", "12E3", "true", "2024-2-5", "10:00"])
def test_values_of_a_later_file_stay_text_where_the_contract_says_text(lake, tmp_path, later):
    mounted(lake, as_csv(tmp_path, ["QBG,2024-01-01,x,a"]), partial=True)
    lake.mount(as_csv(tmp_path, [f"{later},2024-01-01,{later},{later}"]), "estimates")
    assert (later, later, later) in rows(lake, None, "ticker, value, note")


@pytest.mark.parametrize("name", ["own.csv", "own.jsonl"])
def test_a_file_changed_after_opening_still_reads_the_same_rows(tmp_path, name):
    (tmp_path / "own.csv").write_text('ticker,value,note\n007,"1,5",\n"",,12345678901234567890123\n"8"," 2.5 ",\n')
    (tmp_path / "own.jsonl").write_text('{"note": 123456789012345678901, "value": 1.50}\n')
    with source.opened(tmp_path / name) as reader:
        (tmp_path / name).write_text("")
        values = reader.connection.sql(f"FROM {reader.rows}").fetchall()
    texts = [("007", "1,5", None), (None, None, "12345678901234567890123"), ("8", " 2.5 ", None)]
    assert values == (texts if name == "own.csv" else [("123456789012345678901", 1.5)])


def test_identifiers_of_json_lines_keep_their_spelling(lake, tmp_path):
    key = "6F9619FF-8B86-D011-B42D-00CF4FC964FF"
    (tmp_path / "own.jsonl").write_text(json.dumps({"ticker": key, "seen": "2024-01-01", "value": key}) + "\n")
    mounted(lake, tmp_path / "own.jsonl")
    assert rows(lake, None, "ticker, value") == [(key, key)]


def test_json_fields_that_differ_only_in_case_are_refused(lake, tmp_path):
    place = tmp_path / "own.jsonl"
    place.write_text('{"ticker": "QBG", "seen": "2024-01-01", "eps": 1, "eps_1": 2}\n')
    mounted(lake, place)
    assert rows(lake, None, "eps, eps_1") == [(1, 2)]
    place.write_text('{"ticker": "QBG", "seen": "2024-01-01", "eps": 1, "EPS": 2}\n')
    with pytest.raises(BadInput, match="columns: fields called EPS differ only in case; rename one of them"):
        lake.mount(place, "others", key=["ticker"], available_at="seen")


def test_the_error_for_a_file_that_is_not_utf_8_says_so(lake, tmp_path):
    (tmp_path / "own.csv").write_bytes("ticker,seen\nN\xd6G,2024-01-01\n".encode("latin-1"))
    with pytest.raises(BadInput, match=r"CSV Error on Line: 2 Invalid unicode .* This file is not utf-8 encoded"):
        mounted(lake, tmp_path / "own.csv")


@pytest.mark.parametrize("column", ["entity", "last", "next"])
def test_a_key_column_may_share_a_name_with_an_internal_poll_column(lake, column):
    for score, name in ((1.0, "A"), (2.0, "B")):
        seen = ["2024-02-01", "2024-02-10T10:00:00-05:00"]
        table = pa.table({column: ["Z", name], "seen": seen, "score": [0.0, score]})
        result = lake.mount(table, "scores", key=[column], available_at="seen")
    assert (result.published, result.deleted) == (1, 1)


@pytest.mark.parametrize("column", ["instant of seen", "Day of Seen", "has_clock of seen"])
def test_a_column_with_the_name_of_a_part_of_a_time_dates_no_row(lake, column):
    frame = pd.DataFrame({"ticker": ["A"], "seen": ["2024-02-01T10:00:00Z"], column: ["2020-02-01T10:00:00Z"]})
    with pytest.raises(BadInput, match=f"it has a column '{column}', a name that is used .*rename the column"):
        lake.mount(frame, "scores", key="ticker", available_at="seen")


def test_categorical_columns_are_read_as_text_and_times(lake, tmp_path):
    frame = pd.DataFrame({"ticker": ["A", "B"], "seen": ["2024-01-01", "2024-01-02"], "value": ["x", None]})
    mounted(lake, frame.astype("category"))
    assert rows(lake, None, "ticker, seen, value") == [("A", date(2024, 1, 1), "x"), ("B", date(2024, 1, 2), None)]
    with duckdb.connect(tmp_path / "own.duckdb") as database:
        database.execute("CREATE TABLE own AS SELECT * REPLACE (ticker::ENUM('A', 'B') AS ticker) FROM frame")
    assert lake.mount((tmp_path / "own.duckdb", "own"), "estimates").unchanged == 2


def test_rows_without_a_key_match_despite_column_order_and_number_types(lake):
    first = pd.DataFrame({"ticker": ["A", "B"], "seen": ["2024-01-01"] * 2, "value": [1, 2], "score": [0.5, 1.0]})
    mounted(lake, first, key=())
    later = first.astype({"value": float})[::-1][["score", "value", "seen", "ticker"]].assign(more=3)
    done = lake.mount(later, "estimates")
    assert (done.unchanged, done.published, done.deleted, done.left_out) == (2, 0, 0, ("more",))
    done = lake.mount(later.assign(score=[Decimal("1.50"), Decimal("0.50")]), "estimates")
    assert (done.unchanged, done.published, done.deleted) == (1, 1, 1)


def test_a_hive_partitioned_folder_is_mounted_with_its_partition_columns(lake, tmp_path):
    for year in (2023, 2024):
        folder = tmp_path / "bars" / f"year={year}" / "market=us"
        folder.mkdir(parents=True)
        pd.DataFrame({"ticker": ["A"], "seen": [f"{year}-01-01"]}).to_parquet(folder / "part-0.parquet")
    (tmp_path / "bars" / "_SUCCESS").touch()
    mounted(lake, tmp_path / "bars", key=["ticker", "year"])
    assert rows(lake, None, "ticker, year, market") == [("A", 2023, "us"), ("A", 2024, "us")]
    pd.DataFrame({"ticker": ["B"], "seen": ["2024-01-01"]}).to_parquet(tmp_path / "bars" / "own.parquet")
    mounted_again = lake.mount(tmp_path / "bars", "others", key="ticker", available_at="seen")
    assert (mounted_again.rows, rows(lake, None, "year")) == (1, [(2023,), (2024,)])


@pytest.mark.parametrize("few", [0, reading.FEW])
def test_odd_values_are_read_alike_whether_the_rows_are_copied_or_not(lake, monkeypatch, few):
    monkeypatch.setattr(reading, "FEW", few)
    frame = pa.table({
        "ticker": ["QAA", "QAB", "QAC", None, "QAE"],
        "seen": ["2024-01-01", "2024-01-02", "1900-01-01", "2024-01-01", "soon"],
        "until": ["2024-02-01", None, None, None, None],
        "reported": ["2024-03-01T10:00:00Z", None, None, None, None],
        "note": ["in 2024-05-01", "2024-05-01", "", None, "x"],
        "day": ["2024-05-01", None, "2024-05-02", None, None],
    })  # fmt: skip
    done = mounted(lake, frame, until="until", timezone="UTC")
    assert (done.published, done.later) == (3, {"until": 1, "reported": 1, "day": 1})
    assert done.gaps == {
        "the knowledge time is unset": 1, "the knowledge time is unreadable": 1, "a key column is null": 1
    }  # fmt: skip
    again = lake.mount(frame.slice(1), "estimates")
    assert (again.unchanged, again.deleted) == (1, 2)
    assert rows(lake, None, "ticker, until") == [("QAA", date(2024, 2, 1)), ("QAB", None)]
