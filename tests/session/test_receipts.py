"""The same question returns the same bytes in every session, after later publishes, and in batches of any size."""

from datetime import timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitlake.errors import QueryFailed
from pitlake.session import Limits
from pitlake.session.digest import sha256_of
from tests.session.toylake import T, gap, row

DAY = timedelta(days=1)
QUESTIONS = [
    "FROM charts",
    "SELECT artist, sum(score), avg(score * 1.1) FROM charts GROUP BY artist",
    "SELECT * FROM charts USING SAMPLE 3",
    "SELECT random(), uuid(), gen_random_uuid()",
    "SELECT now(), current_date, age(TIMESTAMP '2020-01-01')",
    "SELECT any_value(track), list(track), string_agg(track) FROM charts",
    "EXPLAIN SELECT track FROM charts WHERE position = 3",
    "SELECT function_name FROM duckdb_functions() WHERE NOT internal",
    "SELECT name, value FROM duckdb_settings()",
    "FROM lake_info",
]


@pytest.fixture
def grown(lake):
    lake.add("charts", [row(f"old {number}", T - 90 * DAY, number) for number in range(50)])
    lake.add("charts", [row(f"new {number}", T - number * timedelta(hours=1), number) for number in range(50)])
    return lake


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_question_gets_the_same_answer(grown, ask, question):
    reply = {ask().sql(question).receipt for _ in range(2)}
    session = ask()
    session.sql("SELECT random(), setseed(0.1)")
    assert len(reply | {session.sql(question).receipt}) == 1


def test_later_rows_change_no_answer(grown, ask):
    before = [ask().sql(question).receipt.result_sha256 for question in QUESTIONS]
    grown.add("charts", [row("later", T + DAY)])
    grown.add("charts", [row("much later", T + 90 * DAY)])
    grown.add("gaps/charts", [gap(T + DAY)])
    assert [ask().sql(question).receipt.result_sha256 for question in QUESTIONS] == before


def test_a_receipt_holds_all_that_the_answer_depends_on(grown, ask):
    receipt = ask(datasets=["charts"]).sql("SELECT ? + 1", [1], max_rows=5).receipt
    assert (receipt.as_of, receipt.version, receipt.rows, receipt.truncated) == ("2024-02-15T21:00:00Z", 7, 1, False)
    reply = receipt.to_dict()["question"]
    assert reply["engine"].startswith("duckdb 2")
    assert {name: reply[name] for name in ("sql", "parameters", "max_rows", "datasets", "prelude", "threads")} == {
        "sql": "SELECT ? + 1",
        "parameters": "[1]",
        "max_rows": 5,
        "datasets": ("charts",),
        "prelude": (),
        "threads": 1,
    }


def test_reading_leaves_no_prelude(ask):
    session = ask()
    session.sql("SELECT 1")
    session.sql("WITH x AS (SELECT 1) FROM x; SUMMARIZE charts")
    assert session.sql("SELECT 2").receipt.question.prelude == ()


def test_statements_that_may_change_the_session_become_part_of_the_prelude(ask):
    session = ask()
    session.sql("CREATE TABLE mine (a INTEGER)")
    session.sql("WITH put AS (INSERT INTO mine VALUES (?) RETURNING a) FROM put", [7])
    session.load("given", [{"b": 1}])
    steps = session.sql("FROM mine").receipt.question.prelude
    assert [step.sql for step in steps[:2]] == ["CREATE TABLE mine (a INTEGER)", steps[1].sql]
    assert steps[1].parameters == "[7]"
    assert (steps[2].sql, len(steps[2].parameters)) == ("load given", 64)


def test_failed_statements_that_may_change_the_session_are_in_the_prelude_too(ask):
    session = ask()
    with pytest.raises(Exception, match="does not exist"):
        session.sql("SET VARIABLE v = 1; FROM nowhere")
    assert len(session.sql("SELECT 1").receipt.question.prelude) == 1


@pytest.mark.parametrize("isolation", ["process", "in_process"])
@pytest.mark.parametrize("sql", ["SELCT 1", "FROM nowhere", "SELECT error('no')", "SELECT 1; FROM nowhere", ""])
def test_a_failed_read_leaves_no_prelude(ask, isolation, sql):
    session = ask(isolation=isolation)
    with pytest.raises(QueryFailed):
        session.sql(sql)
    assert session.sql("SELECT 1").receipt.question.prelude == ()


def test_a_failed_read_inside_a_transaction_is_part_of_the_prelude(ask):
    session = ask()
    session.sql("BEGIN")
    with pytest.raises(QueryFailed):
        session.sql("SELECT error('no')")
    with pytest.raises(QueryFailed, match="aborted"):
        session.sql("SELECT 1")
    session.sql("ROLLBACK")
    assert len(session.sql("SELECT 1").receipt.question.prelude) == 4


def test_the_receipt_states_the_number_of_threads(ask):
    assert ask(limits=Limits(threads=2)).sql("SELECT 1").receipt.question.threads == 2


TABLES = st.lists(
    st.fixed_dictionaries(
        {
            "i": st.none() | st.integers(-5, 5),
            "s": st.none() | st.text("aé", max_size=3),
            "b": st.none() | st.booleans(),
            "f": st.none() | st.floats(allow_nan=False, width=32),
            "l": st.none() | st.lists(st.none() | st.text("x", max_size=2), max_size=3),
            "r": st.none() | st.fixed_dictionaries({"a": st.none() | st.integers(0, 3)}),
            "t": st.none() | st.just(T),
        }
    ),
    max_size=8,
)
SCHEMA = pa.schema(
    {
        "i": pa.int64(),
        "s": pa.string(),
        "b": pa.bool_(),
        "f": pa.float64(),
        "l": pa.list_(pa.string()),
        "r": pa.struct({"a": pa.int32()}),
        "t": pa.timestamp("us", "UTC"),
    }
)


@given(rows=TABLES, cut=st.integers(0, 8), other=TABLES)
def test_the_content_hash_depends_only_on_the_content(rows, cut, other):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    halves = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    padded = pa.concat_tables([pa.Table.from_pylist(other, schema=SCHEMA), table]).slice(len(other))
    assert sha256_of(table) == sha256_of(halves) == sha256_of(padded)
    different = pa.Table.from_pylist(other, schema=SCHEMA)
    alike = repr(table.to_pylist()) == repr(different.to_pylist())
    assert (sha256_of(table) == sha256_of(different)) == alike


def test_the_content_hash_ignores_bytes_under_nulls():
    values, valid = pa.array([1, 2, 3]).buffers()[1], pa.array([1, None, 3]).buffers()[0]
    dirty = pa.Array.from_buffers(pa.int64(), 3, [valid, values])
    assert sha256_of(pa.table({"a": dirty})) == sha256_of(pa.table({"a": [1, None, 3]}))


def test_the_content_hash_of_large_lists_depends_only_on_their_values():
    def content_hash(values):
        return sha256_of(pa.table({"a": pa.array(values, pa.large_list(pa.int64()))}).slice(1))

    assert content_hash([[7], [1], None, [2, 3]]) == content_hash([None, [1], None, [2, 3]])
    assert content_hash([[7], [1], None, [2, 3]]) != content_hash([[7], [1, 2], None, [3]])


def test_the_content_hash_is_pinned():
    table = pa.table({"a": [1, None], "b": ["x", "yz"], "c": [[1.5], []]})
    assert sha256_of(table) == "80b475230374f8c061ea471d983b9433a8d533b08f0d2e3cafb4f1346050f93e"


def test_every_duckdb_result_type_can_be_hashed(ask):
    kinds = """SELECT [1, NULL] AS l, {'x': 1, 'y': [true]} AS s, map {'k': 1} AS m, INTERVAL 3 DAY AS i, uuid() AS u,
        'a'::ENUM('a', 'b') AS e, ['b'::ENUM('a', 'b')] AS el, map {'a'::ENUM('a', 'b'): 1} AS em,
        '{}'::JSON AS j, 1::HUGEINT AS h, TIME '10:00:00' AS t, NULL AS n, [NULL] AS nl,
        'x'::BLOB AS bl, 1.5::DECIMAL(20, 3) AS d, TIMESTAMP_NS '2020-01-01' AS ns,
        DATE '2020-01-01' AS da, [1.0, 2.0]::DOUBLE[2] AS ar, 1.5::FLOAT AS f, 'x' AS v"""
    reply = {ask().sql(kinds).receipt.result_sha256 for _ in range(2)}
    assert len(reply) == 1


def test_results_convert_to_rows_pandas_polars_and_arrow(grown, ask):
    result = ask().sql("SELECT track, available_at FROM charts ORDER BY available_at, track LIMIT 2")
    assert result.rows() == [("old 0", T - 90 * DAY), ("old 1", T - 90 * DAY)]
    assert str(result.df()["available_at"].dt.tz) == "UTC"
    assert result.pl().shape == (2, 2)
    assert (result.columns, len(result)) == (["track", "available_at"], 2)
    assert isinstance(result.arrow(), pa.Table)
