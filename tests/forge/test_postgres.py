"""The journal in the Postgres of `make serve`: killing a decision or the server loses nothing."""

import os
import signal
import time

import pytest
import sqlalchemy as sa

from forge.memory import Memory, WriteCall
from forge.records import render
from pitlake.cli import invoke
from resources.postgres import DATABASE, USER, postgres, programs
from tests.forge.killed import killed, outcome
from tests.forge.world import NEW_VIEW
from tests.shared import postgres_folder

pytestmark = pytest.mark.skipif(programs() is None, reason="no Postgres server: install the package postgresql")


def url(running):
    sample = sa.URL.create("postgresql+psycopg2", USER, running.password, "127.0.0.1", running.port, DATABASE)
    return sample.render_as_string(hide_password=False)


@pytest.fixture(scope="module")
def data():
    with postgres_folder() as place:
        yield place / "data"


def test_killing_a_decision_or_the_server_loses_and_duplicates_nothing(data, tmp_path):
    killed(tmp_path / "whole", 0, 0.0)
    with postgres(data) as running:
        assert killed(tmp_path / "mortal", 3, 0.08, url(running)) > 0
        assert outcome(tmp_path / "mortal", url(running)) == outcome(tmp_path / "whole")
        memory = Memory(tmp_path / "mortal" / "forge", url(running))
        assert memory.flush().rows == 8
        journal = sa.create_engine(url(running))
        for statement in (
            "UPDATE forge_journal SET content = ''",
            "DELETE FROM forge_journal",
            "TRUNCATE forge_journal",
        ):
            with pytest.raises(sa.exc.DBAPIError, match="memory is append-only"), journal.begin() as connection:
                connection.exec_driver_sql(statement)
        with pytest.raises(sa.exc.IntegrityError, match="forge_journal_of_cause"), journal.begin() as connection:
            connection.exec_driver_sql(
                "INSERT INTO forge_journal SELECT (jsonb_populate_record(NULL::forge_journal, to_jsonb(row) || "
                "jsonb_build_object('seq', 9998 + nth, 'call_id', 'effect', 'part', nth, 'cause', 'X-001'))).* "
                "FROM (SELECT * FROM forge_journal LIMIT 1) AS row, generate_series(1, 2) AS nth"
            )
        journal.dispose()
        last = memory.journal.append(
            "/memory/views/V-001.md", render(NEW_VIEW), WriteCall(actor="a", session="s", call_id="1")
        )
        server = int((data / "postmaster.pid").read_text().split()[0])
        os.killpg(server, signal.SIGKILL)
        memory.close()
    time.sleep(0.5)  # until the killed server's other processes have ended
    with postgres(data) as running:
        memory = Memory(tmp_path / "mortal" / "forge", url(running))
        assert memory.journal.head() == (last.seq, last.chain)
        assert memory.audit() == []
        with memory.journal.database.writing() as execute:
            memory.journal.database.drop(execute)
        memory.close()
        memory = Memory(tmp_path / "mortal" / "forge", url(running))
        assert (memory.rebuild(), memory.audit()) == (8, [])
        memory.close()


@pytest.mark.parametrize(
    ("place", "reply"),
    [
        ("postgresql+psycopg2://dagster:the-secret@127.0.0.1:9/dagster", "Connection refused"),
        ("postgresql+nothing://dagster:the-secret@127.0.0.1:9/dagster", "nothing"),
        ("://dagster:the-secret@127.0.0.1", "parse"),
    ],
)
def test_an_unopenable_journal_gives_a_one_line_error_without_its_password(place, reply, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("FORGE_JOURNAL", place)
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    assert invoke(("forge", "views")) == 2
    output = capsys.readouterr().err
    assert "journal: cannot be opened: " in output
    assert reply in output
    assert ("the-secret" in output, output.count("\n")) == (False, 1)
