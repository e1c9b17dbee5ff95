"""Tables of DuckDB and Postgres, Delta tables and stored objects can be mounted and mounted again like files."""

import json
from datetime import date, datetime, time, timezone

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import pitlake
from pitlake.errors import BadInput
from pitlake.lake import Lake
from pitlake.times import END, INSTANTS, MIDNIGHTS
from tests.mounting.origins import ORIGINS, in_duckdb, in_parquet, in_postgres, needs_postgres
from tests.mounting.test_mount import EARLY, estimates, gaps, rows

KINDS = [pytest.param(outcome, marks=needs_postgres if outcome is in_postgres else ()) for outcome in ORIGINS]


def nullable(values):
    return st.none() | values


DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))
MOMENTS = st.datetimes(datetime(1000, 1, 1), datetime(9000, 1, 1))  # noqa: DTZ001 - of timestamps without a zone
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8) | st.sampled_from(
    ["", "\\N", "\\.", "NULL", '"', "a,b", "a\nb", "a\r\nb", "\\", "NaN", "{}", " x "]
)
COLUMNS = {
    "i": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "f": (pa.float64(), st.floats()),
    "r": (pa.float32(), st.floats(width=32)),
    "n": (pa.decimal128(12, 3), st.decimals(-(10**9) + 1, 10**9 - 1, places=3)),
    "t": (pa.string(), TEXTS),
    "b": (pa.bool_(), st.booleans()),
    "d": (pa.date32(), DAYS),
    "z": (pa.timestamp("us", "UTC"), MOMENTS.map(lambda at: at.replace(tzinfo=timezone.utc))),
    "w": (pa.timestamp("us"), MOMENTS),
    "l": (pa.list_(pa.string()), st.lists(nullable(TEXTS), max_size=3)),
    "s": (pa.struct([("q", pa.int64())]), st.fixed_dictionaries({"q": nullable(st.integers(-(2**63), 2**63 - 1))})),
}
SCHEMA = pa.schema(
    [("id", pa.int64()), ("seen", pa.timestamp("us", "UTC")), *((name, kind) for name, (kind, _) in COLUMNS.items())]
)
MIXED = pa.Table.from_pylist(
    [{"id": number, "seen": datetime(2020, 3, 9, hour, tzinfo=timezone.utc)} for number, hour in enumerate((0, 15))],
    SCHEMA,
)
"""A table with a midnight and another time."""
SEEN = st.datetimes(datetime(2000, 1, 1), datetime(2024, 1, 1), timezones=st.just(timezone.utc))  # noqa: DTZ001
ROWS = st.tuples(SEEN, *(nullable(values) for _, values in COLUMNS.values()))
FRAMES = st.lists(ROWS, min_size=1, max_size=12).map(
    lambda values: pa.Table.from_pylist(
        [dict(zip(SCHEMA.names, (number, *row), strict=True)) for number, row in enumerate(values)], SCHEMA
    )
)


@needs_postgres
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frame=FRAMES, midnights=st.sampled_from((None, *MIDNIGHTS)))
@example(frame=MIXED, midnights=None)
@example(frame=MIXED, midnights=END)
@example(frame=MIXED, midnights=INSTANTS)
def test_the_same_frame_mounts_alike_from_every_kind_of_source(server, tmp_path_factory, frame, midnights):
    folder = tmp_path_factory.mktemp("same")
    lake, answers = Lake(folder / "lake"), {}
    is_ambiguous = midnights is None and len({seen.time() == time() for seen in frame["seen"].to_pylist()}) == 2
    for outcome in ORIGINS:
        name = outcome.__name__
        options = {"key": ["id"], "available_at": "seen", "timezone": "UTC", "midnights": midnights}
        try:
            done = lake.mount(outcome(frame, folder, server), name, **options)
        except BadInput as refused:
            answers[name] = refused.field, refused.problem
            continue
        assert done.rows == frame.num_rows == done.published + sum(done.gaps.values())
        types = {mounted.column.name: mounted.column.type for mounted in done.mount.columns}
        with pitlake.connect(open_mode=True, lake=lake, isolation="in_process", datasets=[name]) as session:
            result = session.sql(f"SELECT {', '.join(types)}, available_at FROM {name} ORDER BY id").rows()
        at = [*types].index("s")
        result = [(*row[:at], json.loads(row[at] or "null"), *row[at + 1 :]) for row in result]
        answers[name] = types, done.gaps, result
    first = answers.pop("in_parquet")
    assert (first[0] == "midnights") == is_ambiguous
    assert answers == dict.fromkeys(answers, first)


@pytest.mark.parametrize("outcome", KINDS)
def test_a_table_mounted_again_is_a_poll(lake, tmp_path, server, outcome):
    lake.mount(
        outcome(estimates(), tmp_path, server), "estimates", key=["ticker", "period"], available_at="published_at"
    )
    assert rows(lake, EARLY) == [("A", "q1", 1.0), ("A", "q2", 2.0)]
    seen = lake.now()
    done = lake.mount(outcome(estimates(eps=[1.5, 2.0, 3.0]).slice(0, 2), tmp_path, server), "estimates")
    assert (done.rows, done.published, done.revisions, done.unchanged, done.deleted) == (2, 1, 1, 1, 1)
    assert rows(lake, seen.isoformat())[0] == ("A", "q1", 1.0)
    assert rows(lake, None) == [("A", "q1", 1.5), ("A", "q2", 2.0), ("B", "q1", 3.0)]
    assert [locator.partition("@")[0] for _, locator in gaps(lake)] == ["estimates#B/q1"]
    again = lake.mount(outcome(estimates(eps=[1.5, 2.0, 3.0]).slice(0, 2), tmp_path, server), "estimates")
    assert (again.version, again.published) == (done.version, 0)


def refusal(lake, table, **options):
    with pytest.raises(BadInput) as raised:
        lake.mount(table, "own", **({"key": ["ticker", "period"], "available_at": "published_at"} | options))
    assert raised.value.exit_code == 2
    assert not lake.root.exists()
    return str(raised.value)


@pytest.mark.parametrize("outcome", [in_duckdb, pytest.param(in_postgres, marks=needs_postgres)])
def test_the_error_for_a_missing_table_lists_the_existing_tables(lake, tmp_path, server, outcome):
    place, name = outcome(estimates(), tmp_path, server)
    assert refusal(lake, (place, "estimate")) == f"table: there is no table 'estimate'; its tables are {name}"
    assert refusal(lake, place) == f"table: missing; its tables are {name}"


def test_naming_a_table_in_a_file_without_tables_is_refused(lake, tmp_path):
    message = "table: own.parquet is not a database, so it has no table 'x'; leave it out"
    assert refusal(lake, (in_parquet(estimates(), tmp_path, None), "x")) == message
    duckdb.connect(tmp_path / "empty.duckdb").close()
    assert refusal(lake, (tmp_path / "empty.duckdb", "x")).endswith("it has no tables")


def test_the_error_for_a_duckdb_file_open_for_writing_says_what_to_do(lake, tmp_path):
    place, name = in_duckdb(estimates(), tmp_path, None)
    with duckdb.connect(place) as database:
        database.execute("CREATE VIEW half AS SELECT * FROM mine.own WHERE period = 'q1'")
        assert "own.duckdb can't be opened: " in (message := refusal(lake, (place, name)))
        assert message.endswith("close the program that writes to it, or mount a copy")
    assert lake.mount((place, "half"), "half", key=["ticker"], available_at="published_at").rows == 2


def test_a_delta_table_is_read_with_its_deletions(lake, tmp_path):
    """This includes deletion vectors, which readers of just the files do not see."""
    write_deltalake(tmp_path / "own", estimates(), configuration={"delta.enableDeletionVectors": "true"})
    DeltaTable(tmp_path / "own").delete("ticker = 'B'")
    done = lake.mount(tmp_path / "own", "own", key=["ticker", "period"], available_at="published_at")
    assert done.rows == 2
    next((tmp_path / "own" / "_delta_log").glob("*0.json")).write_text("{")
    assert "own can't be read: " in refusal(Lake(tmp_path / "other"), tmp_path / "own")


EMPTY = {"empty.csv": "", "header.csv": "ticker,published_at\n", "empty.jsonl": ""}


@pytest.mark.parametrize("name", [*EMPTY, "empty.parquet", "empty.duckdb"])
def test_an_empty_table_is_reported_as_having_no_rows(lake, tmp_path, name):
    place = tmp_path / name
    if name in EMPTY:
        place.write_text(EMPTY[name])
    elif name == "empty.parquet":
        pq.write_table(pa.table({"other": pa.array([], pa.int64())}), place)
    else:
        with duckdb.connect(place) as database:
            database.execute("CREATE TABLE own (other INTEGER)")
        place = (place, "own")
    assert refusal(lake, place) == "the table: has no rows; mount it once it has some"


def test_a_folder_of_files_is_mounted_as_one_table(lake, tmp_path):
    (tmp_path / "[days]").mkdir()
    for number in range(3):
        pq.write_table(estimates().slice(number, 1), tmp_path / "[days]" / f"{number}.parquet")
    done = lake.mount(tmp_path / "[days]", "own", key=["ticker", "period"], available_at="published_at")
    assert done.published == 3
