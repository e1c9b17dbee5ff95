"""A lost journal is reported in one sentence and rebuilt from the memory lake, and memory continues as before."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from forge.memory import Memory, flush
from pitlake.cli import invoke
from pitlake.errors import BadInput
from tests.forge.world import NEW_VIEW, desk, now, shown, turn, wrote


def lose(memory):
    file = Path(memory.journal.database.place)
    memory.close()
    for item in file.parent.glob(f"{file.name}*"):
        item.unlink()


def test_a_lost_journal_is_rebuilt_from_the_lake_and_memory_goes_on(place, capsys):
    memory = Memory()
    desk(memory)
    memory.flush()
    rows, head, remembered = memory.journal.rows(), memory.journal.head(), shown(memory.hydrate(now()))
    wrote(turn(memory), "/memory/observations/new.md", "# new\nscope: x\nstatus: active\n---\n", "never-flushed")
    lose(memory)

    memory = Memory()
    with pytest.raises(BadInput, match=r"journal: is not the one .* `pitlake forge rebuild`"):
        memory.flush()
    memory.close()
    assert invoke(("forge", "rebuild")) == 0
    assert capsys.readouterr().out == f"{len(rows)} rows, 0 missing or wrong\n"

    memory = Memory()
    assert (memory.journal.rows(), memory.journal.head()) == (rows, head)
    assert shown(memory.hydrate(now())) == remembered
    assert wrote(turn(memory), "/memory/views/new.md", NEW_VIEW, "next") == "/memory/views/V-002.md"
    assert memory.flush().rows == 1
    assert memory.audit() == []
    with (
        pytest.raises(sqlite3.IntegrityError, match="memory is append-only"),
        closing(sqlite3.connect(memory.journal.database.place)) as journal,
    ):
        journal.execute("DELETE FROM forge_journal")
    memory.close()


def test_rebuild_refuses_a_lake_without_memory_and_a_journal_with_rows(place, capsys):
    assert invoke(("forge", "rebuild")) == 2
    assert "lake: has memory of 0 journals" in capsys.readouterr().err
    memory = Memory()
    desk(memory)
    memory.flush()
    memory.close()
    assert invoke(("forge", "rebuild")) == 2
    assert "journal: is not empty" in capsys.readouterr().err


def test_rebuild_refuses_an_altered_lake(place, monkeypatch):
    memory = Memory()
    desk(memory)
    memory.flush()
    lose(memory)
    memory = Memory()
    stored = flush.stored_rows

    def altered(session):
        first, *rest = stored(session)
        return [replace(first, actor="somebody"), *rest]

    monkeypatch.setattr(flush, "stored_rows", altered)
    with pytest.raises(BadInput, match=r"lake: was altered: rows \[1"):
        memory.rebuild()
    assert memory.journal.rows() == []
    memory.close()
