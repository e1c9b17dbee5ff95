"""The tape: each thing a decision learns from outside, kept once, before anything follows from it.

Recording, resuming after a kill, strict replay and live-tools replay are one method, `once`, keyed by lane (who asks)
and step (as which), and by the canonical form of what is asked. SQLite, synchronous FULL, no row ever changed.
"""

import fcntl
import hashlib
import json
import os
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pitlake.errors import BadInput, PitlakeError

Mode = Literal["record", "strict", "live-tools"]
Kind = Literal["model", "tool", "order"]
"""order: what depends on when things ended."""
SHOWN = 120
MAIN = "agent"
"""The lane of the agent itself."""
_TABLES = """
CREATE TABLE IF NOT EXISTS decisions (decision TEXT PRIMARY KEY, asked TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS receipts (decision TEXT PRIMARY KEY, receipt TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS steps (
  decision TEXT NOT NULL, lane TEXT NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL, asked TEXT NOT NULL,
  answer TEXT NOT NULL, PRIMARY KEY (decision, lane, step)) STRICT;
CREATE TABLE IF NOT EXISTS requests (
  request INTEGER PRIMARY KEY, decision TEXT NOT NULL, model TEXT NOT NULL, tokens INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS ends (request INTEGER PRIMARY KEY, answered INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS failures (decision TEXT NOT NULL, reason TEXT NOT NULL) STRICT;
"""
TABLES = ("decisions", "receipts", "steps", "requests", "ends", "failures")
_KEPT = """
CREATE TRIGGER IF NOT EXISTS {0}_{1} BEFORE {1} ON {0} BEGIN SELECT RAISE(ABORT, 'a tape is never changed'); END;
"""


_DAY = """
      CAST(strftime('%s', json_extract(decisions.asked, '$.as_of')) AS INTEGER) >= ?
  AND CAST(strftime('%s', json_extract(decisions.asked, '$.as_of')) AS INTEGER) < ?
"""
_SPENT = f"""
SELECT decision, json_extract(steps.asked, '$.model'), count(*),
  sum(json_extract(answer, '$.input_tokens')), sum(json_extract(answer, '$.output_tokens'))
FROM decisions JOIN steps USING (decision)
WHERE {_DAY} AND steps.rowid > ? AND steps.rowid <= ?
  AND kind = 'model' AND json_extract(answer, '$.finish') != 'budget'
GROUP BY 1, 2
"""
# Of one that failed nobody knows what it took; of one that has no end, what it takes at least.
_UNANSWERED = f"""
SELECT decision, model, count(*), sum(iif(answered IS NULL, tokens, 0)), 0
FROM decisions JOIN requests USING (decision) LEFT JOIN ends USING (request)
WHERE {_DAY} AND coalesce(answered, 0) = 0
GROUP BY 1, 2
"""


class Diverged(PitlakeError):
    """A replay came to something else than its tape. lane, step, kind: where; change: what."""

    def __init__(self, lane: str, step: int, kind: str, change: str) -> None:
        self.lane, self.step, self.kind, self.change = lane, step, kind, change
        super().__init__(f"step {step} of {lane} ({kind}) differs: {change}")


class Step(NamedTuple):
    """One kept step. asked, answer: JSON and text."""

    lane: str
    step: int
    kind: str
    asked: str
    answer: str


class Used(NamedTuple):
    """What a decision's requests to a model took. input, output: tokens."""

    decision: str
    model: str
    calls: int
    input: int
    output: int


class Tape:
    """Tapes of many decisions in one file. place: the SQLite file, made where there is none."""

    def __init__(self, place: str | Path) -> None:
        self.place = Path(place)
        self.place.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as connection:
            connection.executescript(_TABLES)
            for table in TABLES:
                for change in ("UPDATE", "DELETE"):
                    connection.execute(_KEPT.format(table, change))

    def begin(self, decision: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Keep what a decision starts from; one that was begun before starts from what it did then."""
        with self._open() as connection:
            connection.execute("INSERT OR IGNORE INTO decisions VALUES (?, ?)", (decision, canonical(asked)))
        return self.begun(decision)

    def begun(self, decision: str) -> dict[str, Any]:
        """What a decision started from. Raises BadInput for one that is not on the tape."""
        with self._open() as connection:
            found = connection.execute("SELECT asked FROM decisions WHERE decision = ?", (decision,)).fetchone()
        if found is None:
            known = ", ".join(self.decisions()[-3:]) or "none is kept"
            raise BadInput("decision", f"{decision[:SHOWN]!r} is not on the tape", f"the newest are: {known}")
        told: dict[str, Any] = json.loads(found[0])
        return told

    @contextmanager
    def claim(self, decision: str) -> Iterator[None]:
        """Hold a decision while this process works on it. The operating system lets go of it when the process ends.

        Raises:
            BadInput: Another process, or another turn of this one, is working on it.
        """
        with self._locked(digest(decision), blocking=False) as file:
            if file is None:
                raise BadInput("decision", f"{decision[:SHOWN]} is being decided already", "wait until it is answered")
            yield
            file.unlink(missing_ok=True)

    def is_claimed(self, decision: str) -> bool:
        """Return whether a process is working on a decision."""
        with self._locked(digest(decision), blocking=False) as file:
            return file is None

    @contextmanager
    def reserving(self) -> Iterator[None]:
        """Let one process at a time choose a session and a turn."""
        with self._locked("reserving", blocking=True):
            yield

    def turns(self, session: str) -> list[str]:
        """Return the decisions of a session in the order they were begun."""
        chosen = "SELECT decision FROM decisions WHERE json_extract(asked, '$.session') = ? ORDER BY rowid"
        with self._open() as connection:
            return [name for (name,) in connection.execute(chosen, (session,))]

    def fail(self, decision: str, reason: str) -> None:
        """Record why a decision was not answered. It can still be resumed."""
        with self._open() as connection:
            connection.execute("INSERT INTO failures VALUES (?, ?)", (decision, reason))

    def failure(self, decision: str) -> str | None:
        """Return why a decision was not answered; None for one that was, or that nobody knows to have failed."""
        chosen = "SELECT reason FROM failures WHERE decision = ? ORDER BY rowid DESC LIMIT 1"
        with self._open() as connection:
            row = connection.execute(chosen, (decision,)).fetchone()
        return row[0] if row and self.receipt(decision) is None else None

    @contextmanager
    def _locked(self, name: str, *, blocking: bool) -> Iterator[Path | None]:
        """Lock a file beside the tape; None where another holds it."""
        folder = self.place.with_name(f"{self.place.name}-open")
        folder.mkdir(exist_ok=True)
        file = folder / name
        while True:
            with file.open("a") as handle:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | (0 if blocking else fcntl.LOCK_NB))
                except BlockingIOError:
                    yield None
                    return
                # Who held the lock may have removed the file since: then this is a lock on nothing.
                if not file.exists() or not os.path.samestat(os.fstat(handle.fileno()), file.stat()):
                    continue
                yield file
                return

    def decisions(self) -> list[str]:
        """Every decision, in the order they were begun."""
        with self._open() as connection:
            return [one for (one,) in connection.execute("SELECT decision FROM decisions ORDER BY rowid")]

    def steps(self, decision: str) -> list[Step]:
        """A decision's steps, by lane, in their order."""
        chosen = "SELECT lane, step, kind, asked, answer FROM steps WHERE decision = ? ORDER BY lane, step"
        with self._open() as connection:
            return [Step(*one) for one in connection.execute(chosen, (decision,))]

    def spent(self, since: datetime, until: datetime, after: int = 0) -> tuple[list[Used], int]:
        """What models were asked by decisions as of instants from `since` on and before `until`; and how far it looked,
        which as `after` leaves out what was told before.
        """
        with self._open() as connection:
            last: int = connection.execute("SELECT coalesce(max(rowid), 0) FROM steps").fetchone()[0]
            found = connection.execute(_SPENT, (since.timestamp(), until.timestamp(), after, last))
            return [Used(*one) for one in found], last

    def unanswered(self, since: datetime, until: datetime) -> list[Used]:
        """What requests take at least that these decisions' processes have under way, or that failed, or whose process
        ended before they did.
        """
        with self._open() as connection:
            return [Used(*one) for one in connection.execute(_UNANSWERED, (since.timestamp(), until.timestamp()))]

    @contextmanager
    def requesting(self, decision: str, model: str, tokens: int) -> Iterator[None]:
        """Keep that a request is under way, before it leaves, and how it ends. tokens: what it takes at least."""
        with self._open() as connection:
            made = "INSERT INTO requests (decision, model, tokens) VALUES (?, ?, ?)"
            request = connection.execute(made, (decision, model, tokens)).lastrowid
        answered = False
        try:
            yield
            answered = True
        finally:
            with self._open() as connection:
                connection.execute("INSERT INTO ends VALUES (?, ?)", (request, answered))

    def calls(self, decision: str, tool: str) -> list[str]:
        """The ids of a decision's calls of a tool, by lane, in their order."""
        steps = (step for step in self.steps(decision) if step.kind == "tool")
        return [f"{decision}:{step.lane}:{step.step}" for step in steps if json.loads(step.asked)[0] == tool]

    def keep_receipt(self, decision: str, receipt: str) -> str:
        """Keep a decision's receipt; the one that is kept, which the first one stays."""
        with self._open() as connection:
            connection.execute("INSERT OR IGNORE INTO receipts VALUES (?, ?)", (decision, receipt))
        return self.receipt(decision) or receipt

    def receipt(self, decision: str) -> str | None:
        """A decision's receipt, None where it never ended."""
        with self._open() as connection:
            found = connection.execute("SELECT receipt FROM receipts WHERE decision = ?", (decision,)).fetchone()
        return found[0] if found else None

    def lane(self, decision: str, name: str = MAIN, mode: Mode = "record") -> "Lane":
        """One asker's part of a decision's tape."""
        return Lane(self, decision, name, mode)

    def _find(self, decision: str, lane: str, step: int) -> Step | None:
        chosen = "SELECT lane, step, kind, asked, answer FROM steps WHERE decision = ? AND lane = ? AND step = ?"
        with self._open() as connection:
            found = connection.execute(chosen, (decision, lane, step)).fetchone()
        return Step(*found) if found else None

    def _keep(self, decision: str, step: Step) -> None:
        with self._open() as connection:
            connection.execute("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?)", (decision, *step))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.place, timeout=60)) as connection, connection:
            connection.execute("PRAGMA synchronous = FULL")
            yield connection


class Lane:
    """One asker's steps. at: the last step that was taken."""

    def __init__(self, tape: Tape, decision: str, name: str, mode: Mode) -> None:
        self.tape, self.decision, self.name, self.mode = tape, decision, name, mode
        self.at = 0

    @property
    def next_id(self) -> str:
        """What the step to come is called wherever it is done: the same on every resume and replay."""
        return f"{self.decision}:{self.name}:{self.at + 1}"

    async def once(self, kind: Kind, asked: Any, do: Callable[[], Awaitable[str]]) -> str:
        """The answer to what is asked: the tape's, else what `do` gives, which is kept first.

        A live-tools replay does tools again and holds their answers against the tape's. Raises Diverged.
        """
        self.at += 1
        told = canonical(asked)
        kept = self.tape._find(self.decision, self.name, self.at)  # noqa: SLF001 - a lane is part of its tape
        if kept is None:
            if self.mode != "record":
                raise Diverged(self.name, self.at, kind, f"the tape ends before it; asked: {told[:SHOWN]}")
            answer = await do()
            self.tape._keep(self.decision, Step(self.name, self.at, kind, told, answer))  # noqa: SLF001
            return answer
        if kept.kind != kind:
            raise Diverged(self.name, self.at, kind, f"the tape has a {kept.kind} here")
        if kept.asked != told:
            raise Diverged(self.name, self.at, kind, f"asked: {difference(json.loads(kept.asked), asked)}")
        if kind == "tool" and self.mode == "live-tools":
            answer = await do()
            if answer != kept.answer:
                raise Diverged(self.name, self.at, kind, f"{_name(asked)} answers: {difference(kept.answer, answer)}")
        return kept.answer

    def told(self, asked: Any, answer: str) -> None:
        """Keep what something came to. Raises Diverged where the tape has that it came to something else."""
        self.at += 1
        kept = self.tape._find(self.decision, self.name, self.at)  # noqa: SLF001
        if kept is None and self.mode == "record":
            self.tape._keep(self.decision, Step(self.name, self.at, "order", canonical(asked), answer))  # noqa: SLF001
        elif kept is None or kept.answer != answer:
            change = difference(kept.answer, answer) if kept else "the tape ends before it"
            raise Diverged(self.name, self.at, "order", change)

    def first(self) -> Step | None:
        """The lane's first step, None before there is one."""
        return self.tape._find(self.decision, self.name, 1)  # noqa: SLF001

    def ended(self) -> None:
        """Raises Diverged where a replay stopped before its tape did."""
        following = self.tape._find(self.decision, self.name, self.at + 1)  # noqa: SLF001
        if following is not None:
            raise Diverged(self.name, self.at + 1, following.kind, "the tape goes on here and the replay does not")


def canonical(value: Any) -> str:
    """The one spelling of a JSON value, in ASCII: also a half character is kept as it came."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(value: Any) -> str:
    """sha256 of a value's canonical form, as hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def difference(then: Any, now: Any, where: str = "") -> str:
    """Where two JSON values first differ, and how, in a line."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted({*then, *now}):
            if then.get(key) != now.get(key):
                return difference(then.get(key), now.get(key), f"{where}.{key}")
    if isinstance(then, list | tuple) and isinstance(now, list | tuple):
        for place, (a, b) in enumerate(zip(then, now, strict=False)):
            if a != b:
                return difference(a, b, f"{where}[{place}]")
        return f"{where or 'all'} had {len(then)} parts, now {len(now)}"
    if isinstance(then, str) and isinstance(now, str):
        first = next((at for at, (a, b) in enumerate(zip(then, now, strict=False)) if a != b), min(len(then), len(now)))
        start = max(0, first - 20)
        then, now = then[start : start + SHOWN], now[start : start + SHOWN]
    return f"{where.lstrip('.') or 'it'} was {then!r}, now {now!r}"


def _name(asked: Any) -> str:
    return str(asked[0]) if isinstance(asked, list) and asked else "it"
