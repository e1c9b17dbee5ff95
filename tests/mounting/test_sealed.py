"""Sealed sessions for untrusted SQL over a user's own tables, without a lake: whole tables, and as of an instant."""

from types import SimpleNamespace

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pitlake
from pitlake import cli
from pitlake.errors import BadInput, LimitExceeded, PitlakeError, QueryFailed, SessionLost
from pitlake.session import Limits
from tests.wall import whole
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


def test_a_sealed_session_shows_rows_up_to_the_instant_and_no_others():
    with pitlake.sealed({"own": table(FUTURE, PAST)}, as_of=T, available_at="at") as session:
        assert session.sql("SELECT ticker, note FROM own ORDER BY ALL").rows() == [("A", "x"), ("A", "x"), ("A", "y")]
        assert session.sql("SELECT count(DISTINCT row) FROM own").rows() == [(3,)]
        assert session.sql("FROM gaps").rows() == []


def test_a_sealed_table_with_a_key_shows_the_newest_row_per_key():
    tables = {"own": table(PAST, FUTURE).slice(1), "other": table(FUTURE)}
    with pitlake.sealed(tables, as_of=T, available_at={"own": "at", "other": "at"}, key={"own": ["ticker"]}) as session:
        assert session.sql("SELECT ticker, note FROM own").rows() == [("A", "y")]
        assert session.sql("FROM other").rows() == []


def test_later_rows_do_not_change_any_byte_of_an_answer():
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
    session, question = pitlake.sealed({"own": path}, as_of=T, available_at="at", limits=LIMITS), 0
    for sql in statements(kind, path):
        try:
            message = str(session.sql(sql, max_rows=1000).arrow().to_pylist())
        except PitlakeError as error:
            message = str(error)
            if isinstance(error, SessionLost | LimitExceeded):
                session.close()
                session = pitlake.sealed({"own": path}, as_of=T, available_at="at", limits=LIMITS)
        assert "CANARY" in sql or "CANARY" not in message, sql
        question += 1
    session.close()
    assert question > 5


def test_whole_tables_keep_their_columns_and_rows(tmp_path):
    pq.write_table(pa.table({"Order ID": [1, 2], "nested": [{"a": 1}, None], "raw": [b"x", b"y"]}), tmp_path / "o.pq")
    tables = {"orders": tmp_path / "o.pq", "users": [{"id": 7}], "own": table(PAST, FUTURE)}
    with pitlake.sealed(tables, limits=LIMITS) as session:
        assert session["orders"].rows() == [(1, {"a": 1}, b"x"), (2, None, b"y")]
        assert session["orders"].columns == ["Order ID", "nested", "raw"]
        assert session.sql("SELECT count(*) FROM own, users").rows() == [(5,)]
        assert session.datasets == ("orders", "users", "own")
        with pytest.raises(QueryFailed, match="this session has orders, users, own, and nothing else"):
            session.sql("FROM others")


def test_whole_tables_have_limits():
    rows = {"a": list(range(1000))}
    with pitlake.sealed({"own": pa.table(rows)}, limits=Limits(seconds=0.5, rows=10)) as session:
        for sql, limit in (("FROM own", "rows"), ("SELECT sum(a.a * b.a) FROM own a, own b, own c, own d", "seconds")):
            with pytest.raises(LimitExceeded) as caught:
                session.sql(sql)
            assert caught.value.limit == limit


def test_attacks_on_whole_tables_reach_nothing_outside(tmp_path):
    report = whole.attack(0, tmp_path, count=40, every=10)
    assert report.compared > 60
    assert report.failures == []


def test_the_attacks_on_whole_tables_succeed_without_a_seal(tmp_path, monkeypatch):
    monkeypatch.setattr(whole, "opened", Unsealed)
    monkeypatch.chdir(tmp_path)
    result = {finding.kind for finding in whole.attack(0, tmp_path, count=200, every=2).failures}
    assert {"value", "write"} <= result


class Unsealed:
    """Plain DuckDB over the same tables."""

    def __init__(self):
        self.connection = duckdb.connect()
        self.connection.register(whole.NAME, whole.ROWS)
        self.connection.register(f"{whole.NAME}_revisions", whole.ROWS)

    def ask(self, sql, _values, *, max_rows):
        try:
            rows = self.connection.sql(sql)
            rows = pa.table({}) if rows is None else rows.limit(max_rows).to_arrow_table()
        except (duckdb.Error, RuntimeError, ValueError) as error:
            raise PitlakeError(str(error)) from None
        return SimpleNamespace(arrow=lambda: rows, receipt=SimpleNamespace(result_sha256=""))

    def close(self):
        self.connection.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tables": {}}, "tables: names no table"),
        ({"available_at": {"other": "at"}}, "available_at: does not name a column of own"),
        ({"available_at": "when"}, "available_at: the table has no column 'when'"),
        ({"as_of": "2024-02-12"}, "as_of: a date without time and offset"),
        ({"as_of": None}, "available_at: needs an instant"),
        ({"as_of": None, "available_at": None, "lag": "1 day"}, "lag: needs an instant"),
        ({"available_at": None}, "available_at: is missing"),
        ({"as_of": None, "available_at": None, "tables": {"gaps": [{"a": 1}]}}, "'gaps' can't name loaded rows"),
        ({"as_of": None, "available_at": None, "tables": {"own": "none.csv"}}, "none.csv"),
        ({"tables": {"own": pa.table({"row": [1], "at": ["2024-01-01"]})}}, "columns: row identifies rows"),
    ],
)
def test_invalid_arguments_of_sealed_raise_bad_input(options, message):
    with pytest.raises(BadInput, match=message):
        pitlake.sealed(**({"tables": {"own": table(PAST)}, "as_of": T, "available_at": "at"} | options))


def test_the_sealed_command_accepts_unicode_names_and_its_errors_name_options(tmp_path, capfd):
    (tmp_path / "own.csv").write_text("代码,seen\nA,2024-01-01\n")
    command = ["sealed", f"表={tmp_path}/own.csv", "--sql", "SELECT 代码 FROM 表"]
    assert cli.invoke(command) == 0
    assert "A" in capfd.readouterr().out
    assert cli.invoke([*command, "--as-of", T]) == 2
    assert capfd.readouterr().err.startswith("pitlake: --available-at: is missing; name the column")
