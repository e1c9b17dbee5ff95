"""The journal: append-only, with one rising clock and one hash chain. Each call is stored once, each fault detected."""

import random
import sqlite3
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from forge.core.clock import Simulated
from forge.core.errors import CallDiffers, ClockBehind, ClocksMixed, ContentRefused, Stale
from forge.datasets import MEMORY, contracts
from forge.memory import Journal, Memory, WriteCall, chain, flush
from forge.memory.chain import Row
from forge.memory.flush import memory_audit, staged_table
from forge.memory.tables import COLUMNS
from pitlake.errors import BadInput, CheckFailed
from tests.forge.world import T0, cut, now, shown


def call(number=0, session="s", **more):
    return WriteCall(actor="agent", session=session, call_id=str(number), **more)


def fill(memory, count=6, text="text"):
    return [memory.journal.append(f"/session/s/{n}.md", f"{text} {n}", call(n)) for n in range(count)]


def raw(memory):
    """Open the journal's database without its triggers, as anyone with access to the machine can."""
    db = sqlite3.connect(memory.journal.database.place, isolation_level=None)
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='trigger'").fetchall():
        db.execute(f"DROP TRIGGER {name}")
    return db


@pytest.mark.parametrize("statement", ["UPDATE {} SET {}='x'", "DELETE FROM {}"])
@pytest.mark.parametrize(("name", "column"), [("forge_journal", "content"), ("forge_journal_name", "clock")])
def test_journal_rows_cannot_be_updated_or_deleted(memory, statement, name, column):
    fill(memory)
    with sqlite3.connect(memory.journal.database.place) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            db.execute(statement.format(name, column))


def test_the_journal_uses_fully_synchronous_writes(memory):
    with memory.journal.database.reading() as execute:
        assert execute("PRAGMA synchronous") == [(2,)]


def test_timestamps_strictly_increase_and_a_clock_set_back_is_refused(tmp_path):
    clock = Simulated("run", T0)
    journal = Journal(tmp_path / "j.sqlite", clock)
    stamps = [journal.append("/session/s/a.md", str(n), call(n)).written_at for n in range(5)]
    assert [later - each for each, later in pairwise(stamps)] == [1] * 4
    behind = Simulated("run", T0 - timedelta(minutes=1))
    with pytest.raises(ClockBehind):
        Journal(tmp_path / "j.sqlite", behind).append("/session/s/a.md", "x", call(9))
    assert len(journal.rows()) == 5


def test_no_write_of_a_turn_is_visible_at_its_own_instant(memory):
    later = 1 + max(row.written_at for row in fill(memory)) + 10**5
    assert memory.journal.append("/session/s/z.md", "z", call("z", after=later)).written_at > later


def test_a_repeated_call_writes_once_and_different_content_is_refused(memory):
    first = memory.journal.append("/session/s/a.md", "one", call(1))
    assert memory.journal.append("/session/s/a.md", "one", call(1)) == first
    with pytest.raises(CallDiffers):
        memory.journal.append("/session/s/a.md", "two", call(1))
    memory.journal.append("/session/s/a.md", "two", call(1, session="other"))
    assert [row.content for row in memory.journal.rows()] == ["one", "two"]


def test_a_call_that_fails_writes_nothing(memory):
    def work(writing):
        writing.put("/session/s/a.md", "fine")
        writing.put("/session/s/b.md", "\x00")

    with pytest.raises(ContentRefused):
        memory.journal.write(call(), work)
    assert memory.journal.rows() == []


@pytest.mark.parametrize("based", [False, True])
def test_an_append_reads_few_rows_of_a_path_that_was_written_often(memory, monkeypatch, based):
    def append(number):
        return memory.journal.append("/session/s/a.md", "text", call(str(number)), last.seq if based and last else None)

    last = None
    for number in range(20):
        last = append(number)
    outcome = []
    monkeypatch.setattr("forge.memory.journal.Row", lambda *inputs, **reply: outcome.append(1) or Row(*inputs, **reply))
    append(20)
    assert len(outcome) <= 2


def test_a_path_that_changed_since_it_was_read_is_refused(memory):
    seen = memory.journal.append("/session/s/a.md", "one", call(1), based_on=0).seq
    memory.journal.append("/session/s/a.md", "two", call(2), based_on=seen)
    with pytest.raises(Stale, match="changed since you read it"):
        memory.journal.append("/session/s/a.md", "three", call(3), based_on=seen)


@pytest.mark.parametrize(
    ("content", "line"),
    [('{"daily_return": 1}', 1), ('{\n "a": 1,\n "daily_stock": 2}', 3), ("a\n\x07", 2), ("a\nb\ud800", 2)],
)
def test_content_that_the_gate_would_refuse_is_refused_at_once_with_its_line(memory, content, line):
    fill(memory)
    with pytest.raises(ContentRefused) as caught:
        memory.journal.append("/session/s/bad.md", content, call("bad"))
    assert caught.value.line == line
    assert memory.flush().rows == 6


def test_live_and_simulated_never_mix(tmp_path):
    live = Memory(tmp_path / "forge")
    live.journal.append("/session/s/a.md", "live", call())
    live.flush()
    clock = Simulated("run", T0)
    with pytest.raises(ClocksMixed):
        Journal(tmp_path / "forge-journal.sqlite", clock)
    apart = Memory(tmp_path / "forge", clock=clock)
    assert apart.lake.root != live.lake.root
    assert shown(apart.hydrate(T0, session="s")) == {}
    stray = Memory(tmp_path / "forge", tmp_path / "stray.sqlite")
    stray.journal.append("/session/s/b.md", "of another journal", call())
    with pytest.raises(BadInput, match="is not the one that this memory was published from"):
        stray.flush()
    simulated = apart.journal.append("/session/s/b.md", "simulated", call())
    assert apart.flush().rows == 1
    assert shown(apart.hydrate(T0 + timedelta(seconds=1), session="s")) == {"/session/s/b.md": [(1, simulated.content)]}


def _altered_and_hashed_again(db):
    row = chain.Row(
        *db.execute(f"SELECT {', '.join(chain.Row.__dataclass_fields__)} FROM forge_journal WHERE seq = 3").fetchone()
    )
    forged = chain.link(replace(row, content="forged"), row.prev)
    db.execute("UPDATE forge_journal SET content = 'forged', chain = ? WHERE seq = 3", (forged.chain,))


def _back_dated(db):
    names = list(chain.Row.__dataclass_fields__)
    row = chain.Row(*db.execute(f"SELECT {', '.join(names)} FROM forge_journal ORDER BY seq DESC").fetchone())
    forged = chain.link(
        replace(row, seq=row.seq + 1, written_at=row.written_at - 3_600_000_000, call_id="f"), row.chain
    )
    reply = [getattr(forged, name) for name in names]
    db.execute(f"INSERT INTO forge_journal ({', '.join(names)}, number) VALUES ({'?,' * len(names)} 0)", reply)


@pytest.mark.parametrize(
    ("harm", "wrong", "seq"),
    [
        pytest.param(
            lambda db: db.execute("UPDATE forge_journal SET content = 'forged' WHERE seq = 3"), "tampered", 3,
            id="_altered-tampered-3",
        ),
        (_altered_and_hashed_again, "tampered", 3),
        pytest.param(
            lambda db: db.execute("DELETE FROM forge_journal WHERE seq = 3"), "lost", 3, id="_removed-lost-3"
        ),
        (_back_dated, "back-dated", 7),
    ],
)  # fmt: skip
def test_tampering_with_the_journal_is_detected_and_other_rows_are_unharmed(memory, harm, wrong, seq):
    rows = fill(memory)
    harm(raw(memory))
    sound = {row.path: [(row.seq, row.content)] for row in rows if row.seq != seq}
    assert [(fault.seq, fault.wrong) for fault in memory.audit()] == [(seq, wrong)]
    assert shown(memory.hydrate(now(), session="s")) == sound
    flushed = memory.flush()
    assert (flushed.rows, [(fault.seq, fault.wrong) for fault in flushed.faults]) == (len(sound), [(seq, wrong)])
    assert shown(memory.hydrate(now(), session="s")) == sound
    memory.journal.append("/session/s/next.md", "next", call("next"))
    assert memory.flush().rows == 1


def test_the_database_refuses_a_second_effect_of_one_cause(memory):
    fill(memory)  # any number of rows may have no cause
    new = {"seq": "seq + {0}", "call_id": "'effect-{0}'", "cause": "'X-001:closed'"}
    columns = (*COLUMNS, "number")
    copy = f"INSERT INTO forge_journal ({', '.join(columns)}) SELECT " + ", ".join(
        new.get(column, column) for column in columns
    )
    raw(memory).execute(copy.format(10) + " FROM forge_journal WHERE seq = 1")
    with pytest.raises(sqlite3.IntegrityError, match=r"UNIQUE constraint failed: forge_journal\.cause"):
        raw(memory).execute(copy.format(20) + " FROM forge_journal WHERE seq = 1")


@pytest.mark.parametrize("same", [("seq",), ("session", "call_id", "part")])
def test_a_colliding_write_is_refused_and_other_rows_are_unharmed(memory, same):
    rows = fill(memory)
    names = list(chain.Row.__dataclass_fields__)
    fresh = {"seq": 99, "session": "s", "call_id": "fresh", "part": 0}
    row = replace(rows[2], **{name: value for name, value in fresh.items() if name not in same})
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        raw(memory).execute(
            f"INSERT INTO forge_journal ({', '.join(names)}, number) VALUES ({'?,' * len(names)} 0)",
            [getattr(row, name) for name in names],
        )
    with pytest.raises(CallDiffers):
        memory.journal.append("/session/s/2.md", "something else", call(2))
    assert (memory.audit(), memory.flush().rows) == ([], 6)


def test_the_memory_audit_refuses_rows_older_than_the_newest_published(memory):
    rows = fill(memory)
    memory.flush()
    old = chain.link(replace(rows[0], seq=99, path="/session/s/old.md"), rows[-1].chain)
    with memory.lake.stage(contracts()[MEMORY], "forged") as stage:
        stage.add(None, staged_table([old], memory.journal), extracted=1)
        with pytest.raises(CheckFailed, match="older_than_published=1"):
            memory.lake.publish(stage, audits=[memory_audit(rows[-1], memory.journal)])


def test_a_row_published_without_the_journal_is_detected(memory):
    rows = fill(memory)
    memory.flush()
    forged = chain.link(replace(rows[0], seq=99, path="/session/s/forged.md"), rows[-1].chain)
    with memory.lake.stage(contracts()[MEMORY], "forged") as stage:
        stage.add(None, staged_table([forged], memory.journal), extracted=1)
        memory.lake.publish(stage)
    assert [(fault.seq, fault.wrong) for fault in memory.audit()] == [(99, "forged")]


def test_a_cut_journal_equals_the_full_journal_as_of_the_cut(tmp_path, memory):
    rows = fill(memory, 8)
    at = random.Random(1).choice(rows).written_at
    whole = {row.path for row in rows if row.written_at <= at}
    assert {row.path for row in cut(memory, tmp_path / "cut", at).journal.rows()} == whole


def test_the_lake_is_read_once_per_instant_and_version(memory, monkeypatch):
    handle, original = [], flush.open_session

    def counted(lake, as_of, version=None):
        handle.append(version)
        return original(lake, as_of, version)

    fill(memory)
    monkeypatch.setattr(flush, "open_session", counted)
    memory.flush()
    handle.clear()
    then = now()
    first = shown(memory.hydrate(then, session="s"))
    later = memory.journal.append("/session/s/later.md", "later", call("later"))
    assert shown(memory.hydrate(then, session="s")) == first
    assert len(handle) == 1
    memory.flush()
    handle.clear()
    reply = shown(memory.hydrate(now(), session="s"))
    assert reply == first | {later.path: [(later.seq, "later")]}
    assert shown(memory.hydrate(then, session="s")) == first
    assert len(handle) == 2
