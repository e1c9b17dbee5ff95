"""A copy of what was public at an instant: the session's rows as Delta tables, complete with a receipt, or absent."""

import hashlib
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from pitlake.answers.export import MONTHS, OF_MONTH, RECEIPT, export, order
from pitlake.cli import invoke
from pitlake.errors import BadInput, LakeError, QueryFailed
from pitlake.lake import Lake
from pitlake.lake.storage.store import Store
from pitlake.session import connect
from tests.doors.conftest import AS_OF, build_twins
from tests.every import every
from tests.object_store import object_store, settings

EARLY = "2024-03-02T15:00:00Z"
SOME = ["news", "xbrl_facts", "prices", "av_estimates"]


@pytest.fixture(scope="module")
def lake(market_lake):
    return Lake(market_lake)


def rows(table):
    """Return rows as sorted strings, which do not depend on an engine's types."""
    return sorted(map(str, (table if isinstance(table, list) else table.to_pylist())))


@pytest.mark.parametrize("revisions", [False, True], ids=["newest", "all revisions"])
@pytest.mark.parametrize("as_of", [EARLY, AS_OF])
def test_a_copy_read_by_two_engines_has_the_sessions_rows(lake, tmp_path, as_of, revisions):
    with connect(as_of, lake=lake, datasets=SOME) as session:
        output = export(session, str(tmp_path / "copy"), revisions=revisions)
        assert [each.table for each in output] == [*sorted(SOME), "gaps"]
        for item in output:
            view = f"{item.table}_revisions" if revisions and item.table != "gaps" else item.table
            due = session.sql(f"FROM {view}").arrow()
            copied = DeltaTable(tmp_path / "copy" / item.table).to_pyarrow_table()
            assert copied.column_names == due.column_names
            assert rows(copied) == rows(due)
            assert rows(pl.read_delta(str(tmp_path / "copy" / item.table)).to_arrow()) == rows(copied)
            assert item.rows == len(due)
    assert every(each.rows for each in output if each.table not in ("av_estimates", "gaps"))


def test_the_receipt_records_the_question_and_its_hashes_are_reproducible(lake, tmp_path):
    with connect(AS_OF, lake=lake, datasets=SOME, hindsight="omit") as session:
        export(session, str(tmp_path / "copy"))
        reply = {row["table"]: row for row in DeltaTable(tmp_path / "copy" / RECEIPT).to_pyarrow_table().to_pylist()}
        question = session.sql("SELECT 1").receipt.to_dict()["question"]
        assert list(reply) == [*sorted(SOME), "gaps"]
        for name in ("as_of", "version", "known_by", "hindsight", "filings_count_from"):
            assert {row[name] for row in reply.values()} == {question[name]}
        hashed = hashlib.sha256()
        for (month,) in session.sql(MONTHS.format(view="prices")).rows():
            by = ", ".join(order(session.contracts["prices"].key, session.sql("FROM prices LIMIT 0").columns))
            answer = session.sql(OF_MONTH.format(view="prices", order=by), {"month": month})
            hashed.update(bytes.fromhex(answer.receipt.result_sha256))
        result = reply["prices"]
        assert (result["rows"], result["sha256"]) == (len(session.sql("FROM prices")), hashed.hexdigest())
    assert {path.name for path in (tmp_path / "copy").iterdir()} == {*reply, RECEIPT}


@pytest.mark.parametrize("hindsight", [pytest.param("show", marks=pytest.mark.long), "omit"])
@pytest.mark.parametrize(
    "revisions", [pytest.param(False, marks=pytest.mark.long), True], ids=["newest", "all revisions"]
)
def test_copies_of_lakes_that_differ_after_t_have_the_same_row_order(tmp_path, revisions, hindsight):
    """The two lakes differ only in their later rows, and so in their files."""
    copies = []
    for number, lake in enumerate(build_twins(tmp_path)):
        with connect(AS_OF, lake=lake, hindsight=hindsight) as session:
            export(session, str(tmp_path / f"copy{number}"), revisions=revisions)
            for name in session.datasets:
                view = f"{name}_revisions" if revisions else name
                columns = session.sql(f"SELECT * FROM {view} LIMIT 0").columns
                by = ", ".join(order(session.contracts[name].key, columns))
                ((rows, different),) = session.sql(f"SELECT count(*), count(DISTINCT ROW({by})) FROM {view}").rows()
                assert rows == different, f"{view} has rows that its order does not tell apart"
        copies.append(
            {
                path.name: DeltaTable(path).to_pyarrow_table().to_pylist()
                for path in (tmp_path / f"copy{number}").iterdir()
                if path.name != RECEIPT
            }
        )
    assert copies[0] == copies[1]


def test_rows_that_came_after_the_as_of_do_not_change_a_copy(tmp_path):
    copies = []
    for number, lake in enumerate(build_twins(tmp_path)):
        with connect(AS_OF, lake=lake) as session:
            output = export(session, str(tmp_path / f"copy{number}"))
        tables = {
            each.table: rows(DeltaTable(tmp_path / f"copy{number}" / each.table).to_pyarrow_table()) for each in output
        }
        copies.append((output, tables))
    assert copies[0] == copies[1]
    assert sum(each.rows for each in copies[0][0]) > 100


def test_a_target_that_holds_files_is_left_alone(lake, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with connect(AS_OF, lake=lake, datasets=["news"]) as session, pytest.raises(BadInput, match="contains files"):
        export(session, str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_of_two_concurrent_copies_the_second_fails_and_the_first_stays_whole(lake, tmp_path, monkeypatch):
    target = str(tmp_path / "copy")
    with connect(AS_OF, lake=lake, datasets=["news"]) as session:
        (item,) = [each for each in export(session, target) if each.table == "news"]
        walk, looks = Store.walk, [iter(())]  # the target looks empty once, and is then listed as it is
        monkeypatch.setattr(Store, "walk", lambda *inputs: looks.pop() if looks else walk(*inputs))
        with pytest.raises(LakeError, match="could not be written"):
            export(session, target)
    assert DeltaTable(tmp_path / "copy" / "news").to_pyarrow_table().num_rows == item.rows > 0


@pytest.mark.parametrize("failing", ["news", "gaps"])
def test_a_copy_that_fails_leaves_no_file(lake, tmp_path, monkeypatch, failing):
    with connect(AS_OF, lake=lake, datasets=["news", "prices"]) as session:
        sql = session.sql

        def fails(query, *inputs):
            if f"FROM {failing} WHERE" in query:
                raise QueryFailed("Lost", "in the middle", "try again")
            return sql(query, *inputs)

        monkeypatch.setattr(session, "sql", fails)
        with pytest.raises(QueryFailed, match="in the middle"):
            export(session, str(tmp_path / "copy"))
    assert [path for path in (tmp_path / "copy").rglob("*") if path.is_file()] == []


KILLED = """
import os, signal, sys
from pitlake import cli
from tests.processes import kill_at

kill_at("pitlake.answers.copies:_Deltas", "_put", int(sys.argv.pop(1)) + 1, "before")
cli.invoke(sys.argv[1:])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("tables", range(6))
def test_a_copy_whose_writer_was_killed_is_whole_or_has_no_row_of_a_receipt(lake, tmp_path, tables):
    target = tmp_path / "copy"
    question = f"export --lake {lake.root} --to {target} --dataset news --dataset prices --as-of {AS_OF}".split()
    done = subprocess.run([sys.executable, "-c", KILLED, str(tables), *question], check=False)
    assert done.returncode == -signal.SIGKILL
    reply = DeltaTable(target / RECEIPT).to_pyarrow_table().to_pylist() if tables else []
    assert [row["table"] for row in reply] == (["news", "prices", "gaps"] if tables == 5 else [])
    for row in reply:
        assert row["rows"] == DeltaTable(target / row["table"]).to_pyarrow_table().num_rows
    assert invoke(question) == (2 if tables else 0)


def test_a_copy_goes_to_an_object_store(lake, tmp_path, monkeypatch):
    with object_store() as endpoint:
        for name, value in (settings(endpoint) | {"PITLAKE_CACHE": str(tmp_path / "cache")}).items():
            monkeypatch.setenv(name, value)
        with connect(AS_OF, lake=lake, datasets=["news"]) as session:
            export(session, "s3://lakes/copies/first")
            due = rows(session.sql("FROM news").arrow())
            with pytest.raises(BadInput, match="already contains files"):
                export(session, "s3://lakes/copies/first")
        options = {"aws_endpoint_url": endpoint, "aws_allow_http": "true"}
        assert rows(DeltaTable("s3://lakes/copies/first/news", storage_options=options).to_pyarrow_table()) == due


def test_the_export_command_reports_its_receipt_and_refuses_bad_options(lake, tmp_path, capsys):
    question = ("export", "--lake", str(lake.root), "--dataset", "news", "--to", str(tmp_path / "copy"))
    assert invoke([*question, "--as-of", AS_OF]) == 0
    output = capsys.readouterr()
    assert (output.out, "the table receipt records the question" in output.err) == ("", True)
    assert Path(tmp_path / "copy" / "news" / "_delta_log").is_dir()
    assert invoke(question) == 2
    assert "--as-of: missing" in capsys.readouterr().err
    assert invoke([*question[:-1], "ftp://somewhere", "--as-of", AS_OF]) == 2
    assert "--to: ftp:// roots are not supported" in capsys.readouterr().err
