"""A small desk for tests of memory: records of every kind, turns, and journals cut at an instant."""

import os
import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

from forge.core.clock import Simulated
from forge.fs import ForgeFS
from forge.memory import Memory, WriteCall
from forge.memory.approvals import approve
from forge.memory.guardrails import Guardrails
from forge.memory.tables import Database
from forge.model import Answer, Call
from forge.records import KINDS, Expression, Portfolio, Review, Scenario, Settles, View, content_hash, parse, render
from pitlake import cli

FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""A folder where synced writes are fast. Other tests check durability."""
T0 = datetime(2014, 5, 1, 12, tzinfo=timezone.utc)
NEW_VIEW = View(
    id="new", scope="us_growth", category="macro_regime", confidence=0.6, status="active", horizon="3m",
    scenarios=(Scenario(name="soft", probability=0.7), Scenario(name="hard", probability=0.3)),
    settles=Settles(query="entity_latest_price", params={"ticker": "QBG"}, rule="close < 2.0", by=date(2036, 9, 1)),
    body="## SUMMARY\n\nGrowth slows.",
)  # fmt: skip
NEW_EXPRESSION = Expression(
    id="new", view_id="V-001", category="macro_regime", instrument="TY", status="active", direction="long",
    max_loss_pct=1.0, notional=10.0, duration_impact=1.5, factor_exposures={"rates": 5.0},
)  # fmt: skip
BOOK = Portfolio(id="state", gross=100.0, net=20.0, duration=2.0, factor_exposures={"rates": 10.0})


def now():
    return datetime.now(timezone.utc)


def turn(memory, session="s", at=None, actor="agent", **question):
    """Return the files of a turn that is pinned to now or to `at`."""
    return ForgeFS(memory, memory.hydrate(at or memory.journal.clock.now(), session=session, **question), actor=actor)


def wrote(fs, path, record, call_id):
    """Write a record; return its path."""
    return fs.write_file(path, record if isinstance(record, str) else render(record), call_id=call_id).path


def reviewed(memory, expression, verdict="approve"):
    """Store a review of an Expression's exact text, as the review tool does."""
    review = Review(
        id="R-001", subject=f"/memory/expressions/{expression.id}.md", sha256=content_hash(expression),
        verdict=verdict, reviewer="scripted-1",
    )  # fmt: skip

    def work(writing):
        outcome = replace(review, id=writing.next_id("reviews"))
        writing.put(f"/reviews/{outcome.id}.md", render(outcome))

    memory.journal.write(WriteCall(actor="code", session="review", call_id=os.urandom(8).hex()), work)


def activated(memory, name="E-001"):
    """Review and approve a waiting Expression."""
    fs = turn(memory, at=memory.read_instant(memory.journal.clock.now()))
    expression = parse(KINDS["expressions"], fs.read_file(f"/memory/expressions/{name}.md"))
    reviewed(memory, expression)
    approve(memory, name, content_hash(expression), "pm", Guardrails(), confirmed=True)


def desk_with_proposal(memory, **changed):
    """Write a book, a View and an Expression that waits for approval."""
    wrote(turn(memory, "pm", actor="pm"), "/portfolio/state.md", BOOK, "book")
    fs = turn(memory, "first", memory.read_instant(memory.journal.clock.now()))
    wrote(fs, "/memory/views/new.md", NEW_VIEW, "view")
    wrote(fs, "/memory/expressions/new.md", replace(NEW_EXPRESSION, status="proposed", **changed), "expression")


def desk(memory):
    """Write a book, a View and an active Expression; return the files of a turn."""
    desk_with_proposal(memory)
    activated(memory)
    return turn(memory)


def history(root, writes, seed=0):
    """Return a simulated memory with many writes on few paths and occasional flushes, and the writes' instants."""
    rng = random.Random(f"history/{seed}")
    clock = Simulated("truth", T0)
    memory = Memory(root / "lake", root / "journal.sqlite", clock)
    stamps = []
    for number in range(writes):
        clock.move(clock.now() + timedelta(microseconds=rng.choice((1, 2, 10**6, 10**9))))
        path = f"/memory/views/V-{rng.randint(1, 20):03d}.md"
        text = render(replace(NEW_VIEW, id=path[-8:-3], body=f"write {number}"))
        call = WriteCall(actor="agent", session=f"s{number % 5}", call_id=str(number), event=rng.choice(("", "", "E")))
        stamps.append(memory.journal.append(path, text, call).written_at)
        if rng.random() < 8 / writes:
            memory.flush()
    return memory, stamps


def cut(memory, root, until):
    """Return a memory without a lake whose journal ends at `until`, in microseconds."""
    root.mkdir()
    whole, place = Path(memory.journal.database.place), root / "journal.sqlite"
    Database(f"sqlite:///{place}").close()
    with closing(sqlite3.connect(place)) as db:
        db.execute("ATTACH ? AS whole", (str(whole),))
        db.execute("INSERT INTO forge_journal_name SELECT * FROM whole.forge_journal_name")
        db.execute("INSERT INTO forge_journal SELECT * FROM whole.forge_journal WHERE written_at <= ?", (until,))
        db.commit()
    return Memory(root / "lake", place, memory.journal.clock)


def shown(remembered):
    """Return every version's number and content, by path."""
    return {path: [(row.seq, row.content) for row in remembered.all(path)] for path in remembered.paths()}


def say(text, *calls):
    """Return the answer from a scripted model."""
    outcome = tuple(Call(name, arguments, f"id{number}") for number, (name, arguments) in enumerate(calls))
    return Answer(text, outcome, "tools" if outcome else "stop", "scripted-1", 10, 10)


def run_forge(capsys, *arguments):
    """Run `pitlake forge`; return its exit code, output and errors."""
    return cli.invoke(["forge", *arguments]), *capsys.readouterr()
