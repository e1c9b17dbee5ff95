"""Anybody's SQL over tables of one's own, sealed, without a lake."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pitlake
from pitlake.errors import BadInput, LimitExceeded, PitlakeError, SessionLost
from pitlake.session import Limits
from tests.wall.attacks import CLASSES, FOLDER

LIMITS = Limits(seconds=5.0)
T = "2024-02-12T15:00:00Z"
PAST = {"ticker": ["A", "A", "A"], "note": ["x", "x", "y"], "at": ["2024-02-01", "2024-02-01", "2024-02-12T15:00:00Z"]}
FUTURE = {"ticker": ["A", "B"], "note": ["CANARY", "CANARY"], "at": ["2024-02-12T15:00:00.000001Z", "2024-03-01"]}


def table(*parts):
    return pa.concat_tables(map(pa.table, parts))


def statements(kind, path):
    aim = {"dataset": "own", "lake": path.parent, "tables": path.parent, "parent_pid": 1, "port": 9}
    files = ("future_file", "past_file", "straddling_file", "bound_file", "log_file", "delta_log_file")
    for line in (FOLDER / f"{kind}.sql").read_text().splitlines():
        if line.strip() and not line.startswith("--"):
            sql = line
            for name, value in (aim | dict.fromkeys(files, path)).items():
                sql = sql.replace(f"{{{name}}}", str(value))
            yield sql


def test_rows_up_to_the_instant_and_no_others():
    with pitlake.sealed({"own": table(FUTURE, PAST)}, as_of=T, available_at="at") as session:
        assert session.sql("SELECT ticker, note FROM own ORDER BY ALL").rows() == [("A", "x"), ("A", "x"), ("A", "y")]
        assert session.sql("SELECT count(DISTINCT row) FROM own").rows() == [(3,)]
        assert session.sql("FROM gaps").rows() == []


def test_with_a_key_the_newest_statement_is_shown():
    tables = {"own": table(PAST, FUTURE).slice(1), "other": table(FUTURE)}
    with pitlake.sealed(tables, as_of=T, available_at={"own": "at", "other": "at"}, key={"own": ["ticker"]}) as session:
        assert session.sql("SELECT ticker, note FROM own").rows() == [("A", "y")]
        assert session.sql("FROM other").rows() == []


def test_the_future_does_not_show_in_any_byte():
    answers = []
    for future in (FUTURE, FUTURE | {"note": ["other", "texts"], "at": ["2025-01-01", "2999-01-01"]}):
        with pitlake.sealed({"own": table(PAST, future)}, as_of=T, available_at="at") as session:
            answers.append(
                [session.sql(sql).receipt.result_sha256 for sql in ("FROM own", "FROM lake_info", "FROM gaps")]
            )
    assert answers[0] == answers[1]


@pytest.mark.parametrize("kind", CLASSES)
def test_hostile_sql_gets_nothing_of_the_future(tmp_path, kind):
    path = tmp_path / "own.parquet"
    pq.write_table(table(PAST, FUTURE), path)
    session, asked = pitlake.sealed({"own": path}, as_of=T, available_at="at", limits=LIMITS), 0
    for sql in statements(kind, path):
        try:
            said = str(session.sql(sql, max_rows=1000).arrow().to_pylist())
        except PitlakeError as error:
            said = str(error)
            if isinstance(error, SessionLost | LimitExceeded):
                session.close()
                session = pitlake.sealed({"own": path}, as_of=T, available_at="at", limits=LIMITS)
        assert "CANARY" in sql or "CANARY" not in said, sql
        asked += 1
    session.close()
    assert asked > 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tables": {}}, "tables: names no table"),
        ({"available_at": {"other": "at"}}, "available_at: does not name a column of own"),
        ({"available_at": "when"}, "available_at: the table has no column 'when'"),
        ({"as_of": "2024-02-12"}, "as_of: a date without time and offset"),
        (
            {"tables": {"own": pa.table({"row": [1], "at": ["2024-01-01"]})}},
            "columns: row identifies rows",
        ),
    ],
)
def test_bad_input_is_one_error(options, message):
    with pytest.raises(BadInput, match=message):
        pitlake.sealed(**({"tables": {"own": table(PAST)}, "as_of": T, "available_at": "at"} | options))
