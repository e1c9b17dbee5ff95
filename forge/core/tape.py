"""The tape records everything that a decision receives from outside, once, before anything depends on it.

Recording, resuming after a kill, strict replay and live-tools replay are one method, `Lane.once`. The key of a step is
its lane (the agent or sub-agent), its number and the canonical form of the request. The tape is an SQLite file with
synchronous FULL, and its rows are never changed.
"""

import json
import os
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pitlake.clock import now
from pitlake.errors import BadInput, PitlakeError
from pitlake.recorder import canonical, digest, lock

Mode = Literal["record", "strict", "live-tools"]
Kind = Literal["model", "tool", "order", "compaction"]
"""order: a result that depends on which concurrent task ended first. compaction: a shortening of older tool results."""
SHOWN = 120
MAIN = "agent"
"""The lane of the agent itself."""
WORK = "T-"
"""The prefix of tape entries that are not decisions, such as the work of the simulated PM in a backtest."""
_TABLES = """
CREATE TABLE IF NOT EXISTS decisions (decision TEXT PRIMARY KEY, inputs TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS receipts (decision TEXT PRIMARY KEY, receipt TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS steps (
  decision TEXT NOT NULL, lane TEXT NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL, request TEXT NOT NULL,
  answer TEXT NOT NULL, PRIMARY KEY (decision, lane, step)) STRICT;
CREATE TABLE IF NOT EXISTS requests (
  request INTEGER PRIMARY KEY, decision TEXT NOT NULL, model TEXT NOT NULL, tokens INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS sent (request INTEGER PRIMARY KEY, at REAL NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS used (request INTEGER PRIMARY KEY, input INTEGER NOT NULL, output INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS ends (request INTEGER PRIMARY KEY, answered INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS failures (decision TEXT NOT NULL, reason TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS contents (sha256 TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS bundles (
  decision TEXT NOT NULL, name TEXT NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (decision, name)) STRICT;
"""
TABLES = ("decisions", "receipts", "steps", "requests", "sent", "used", "ends", "failures", "contents", "bundles")
_APPEND_ONLY = """
CREATE TRIGGER IF NOT EXISTS {0}_{1} BEFORE {1} ON {0} BEGIN SELECT RAISE(ABORT, 'a tape is never changed'); END;
"""


_DAY = """
      CAST(strftime('%s', json_extract(decisions.inputs, '$.as_of')) AS INTEGER) >= ?
  AND CAST(strftime('%s', json_extract(decisions.inputs, '$.as_of')) AS INTEGER) < ?
"""
_SPENT = f"""
SELECT decision, json_extract(steps.request, '$.model'), count(*),
  sum(json_extract(answer, '$.input_tokens')), sum(json_extract(answer, '$.output_tokens'))
FROM decisions JOIN steps USING (decision)
WHERE {_DAY} AND steps.rowid > ? AND steps.rowid <= ?
  AND kind = 'model' AND json_extract(answer, '$.finish') NOT IN ('budget', 'stopped')
GROUP BY 1, 2
"""
# The usage of a failed request is unknown and counts as 0 tokens. A request without an end counts as its lower bound.
_UNANSWERED = f"""
SELECT decision, model, count(*), sum(iif(answered IS NULL, tokens, 0)), 0
FROM decisions JOIN requests USING (decision) LEFT JOIN ends USING (request)
WHERE {_DAY} AND coalesce(answered, 0) = 0
GROUP BY 1, 2
"""

_SENT = """
SELECT decision, model, count(*), sum(coalesce(input, iif(answered IS NULL, tokens, 0))), sum(coalesce(output, 0))
FROM sent JOIN requests USING (request) LEFT JOIN ends USING (request) LEFT JOIN used USING (request)
WHERE at >= ? AND at < ?
GROUP BY 1, 2
"""


@dataclass
class Sending:
    """A request that is being sent.

    refused: the reason why it may not be sent, or "". used: tokens of the request and its answer.
    """

    refused: str = ""
    used: tuple[int, int] | None = None


class Diverged(PitlakeError):
    """A replay differs from its tape. lane, step, kind: the place of the difference. change: the difference."""

    def __init__(self, lane: str, step: int, kind: str, change: str) -> None:
        self.lane, self.step, self.kind, self.change = lane, step, kind, change
        super().__init__(f"step {step} of {lane} ({kind}) differs: {change}")


class Step(NamedTuple):
    """One recorded step. request: canonical JSON. answer: text."""

    lane: str
    step: int
    kind: str
    request: str
    answer: str


class Used(NamedTuple):
    """The tokens that a decision used with one model. input, output: numbers of tokens."""

    decision: str
    model: str
    calls: int
    input: int
    output: int


class Tape:
    """The tapes of many decisions in one SQLite file. place: the file, created if missing."""

    def __init__(self, place: str | Path) -> None:
        self.place = Path(place)
        self.place.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as connection:
            connection.executescript(_TABLES)
            for table in TABLES:
                for change in ("UPDATE", "DELETE"):
                    connection.execute(_APPEND_ONLY.format(table, change))

    def begin(self, decision: str, inputs: dict[str, Any]) -> dict[str, Any]:
        """Record a decision's inputs and return them. A decision that is already on the tape keeps its first inputs."""
        with self._open() as connection:
            connection.execute("INSERT OR IGNORE INTO decisions VALUES (?, ?)", (decision, canonical(inputs)))
        return self.inputs(decision)

    def inputs(self, decision: str) -> dict[str, Any]:
        """Return a decision's recorded inputs. Raises BadInput for a decision that is not on the tape."""
        with self._open() as connection:
            row = connection.execute("SELECT inputs FROM decisions WHERE decision = ?", (decision,)).fetchone()
        if row is None:
            newest = ", ".join(self.decisions()[-3:]) or "none"
            raise BadInput("decision", f"{decision[:SHOWN]!r} is not on the tape", f"the newest are: {newest}")
        inputs: dict[str, Any] = json.loads(row[0])
        return inputs

    @contextmanager
    def claim(self, decision: str) -> Iterator[None]:
        """Lock a decision while this process works on it. The operating system releases the lock when the process ends.

        Raises:
            BadInput: Another process, or another turn of this one, is working on it.
        """
        with self._locked(digest(decision), blocking=False) as file:
            if file is None:
                raise BadInput("decision", f"{decision[:SHOWN]} is already being decided", "wait until it is answered")
            yield
            file.unlink(missing_ok=True)

    def is_claimed(self, decision: str) -> bool:
        with self._locked(digest(decision), blocking=False) as file:
            return file is None

    @contextmanager
    def reserving(self) -> Iterator[None]:
        """Let one process at a time select a session and a turn."""
        with self._locked("reserving", blocking=True):
            yield

    def turns(self, session: str) -> list[str]:
        """Return the decisions of a session in the order in which they started."""
        chosen = "SELECT decision FROM decisions WHERE json_extract(inputs, '$.session') = ? ORDER BY rowid"
        with self._open() as connection:
            return [name for (name,) in connection.execute(chosen, (session,))]

    def fail(self, decision: str, reason: str) -> None:
        """Record why a decision has no answer. It can still be resumed."""
        with self._open() as connection:
            connection.execute("INSERT INTO failures VALUES (?, ?)", (decision, reason))

    def failure(self, decision: str) -> str | None:
        """Return why a decision has no answer; None if it has an answer or has not failed."""
        chosen = "SELECT reason FROM failures WHERE decision = ? ORDER BY rowid DESC LIMIT 1"
        with self._open() as connection:
            row = connection.execute(chosen, (decision,)).fetchone()
        return row[0] if row and self.receipt(decision) is None else None

    @contextmanager
    def _locked(self, name: str, *, blocking: bool) -> Iterator[Path | None]:
        """Lock a file next to the tape; None if another process holds the lock."""
        folder = self.place.with_name(f"{self.place.name}-open")
        folder.mkdir(exist_ok=True)
        file = folder / name
        while True:
            with file.open("a") as handle:
                if not lock(handle, wait=blocking):
                    yield None
                    return
                # The previous holder of the lock may have removed the file meanwhile. The lock then protects nothing.
                if not file.exists() or not os.path.samestat(os.fstat(handle.fileno()), file.stat()):
                    continue
                yield file
                return

    def decisions(self) -> list[str]:
        """Return every decision, in the order in which they started."""
        with self._open() as connection:
            return [decision for (decision,) in connection.execute("SELECT decision FROM decisions ORDER BY rowid")]

    def steps(self, decision: str) -> list[Step]:
        """Return a decision's steps, by lane and step number."""
        chosen = "SELECT lane, step, kind, request, answer FROM steps WHERE decision = ? ORDER BY lane, step"
        with self._open() as connection:
            return [Step(*row) for row in connection.execute(chosen, (decision,))]

    def spent(self, since: datetime, until: datetime, after: int = 0) -> tuple[list[Used], int]:
        """Return the tokens used by decisions whose instant is in [since, until), and the last row that was counted.

        Pass that row as `after` to count only newer rows.
        """
        with self._open() as connection:
            last: int = connection.execute("SELECT coalesce(max(rowid), 0) FROM steps").fetchone()[0]
            rows = connection.execute(_SPENT, (since.timestamp(), until.timestamp(), after, last))
            return [Used(*row) for row in rows], last

    def unanswered(self, since: datetime, until: datetime) -> list[Used]:
        """Return a lower bound of the tokens of unanswered requests: running, failed, or interrupted by a kill."""
        with self._open() as connection:
            return [Used(*row) for row in connection.execute(_UNANSWERED, (since.timestamp(), until.timestamp()))]

    def sent(self, since: datetime, until: datetime) -> list[Used]:
        """Return the tokens of requests that were sent in an interval, regardless of their decisions' instants."""
        with self._open() as connection:
            return [Used(*row) for row in connection.execute(_SENT, (since.timestamp(), until.timestamp()))]

    @contextmanager
    def requesting(
        self, decision: str, model: str, tokens: int, check: Callable[[], str], shared: "Tape | None" = None
    ) -> Iterator[Sending]:
        """Record that a request is sent, and whether it was answered. Only one process at a time checks budgets.

        Args: decision: The decision's name. model: The model's id. tokens: A lower bound of the request's tokens.
        check: Returns why the request is refused, or "". shared: The tape to lock, if several tapes share a budget.
        """
        with (shared or self).spending():
            sending, request = Sending(check()), None
            if not sending.refused:
                with self._open() as connection:
                    insert = "INSERT INTO requests (decision, model, tokens) VALUES (?, ?, ?)"
                    request = connection.execute(insert, (decision, model, tokens)).lastrowid
                    connection.execute("INSERT INTO sent VALUES (?, ?)", (request, now().timestamp()))
        if request is None:
            yield sending
            return
        answered = False
        try:
            yield sending
            answered = True
        finally:
            with self._open() as connection:
                connection.execute("INSERT INTO ends VALUES (?, ?)", (request, answered))
                if sending.used:
                    connection.execute("INSERT INTO used VALUES (?, ?, ?)", (request, *sending.used))

    def spending(self) -> AbstractContextManager[Path | None]:
        """Let one process at a time compare the spending with the budgets."""
        return self._locked("spending", blocking=True)

    def calls(self, decision: str, tool: str) -> list[str]:
        """Return the ids of a decision's calls to a tool, by lane and step number."""
        steps = (step for step in self.steps(decision) if step.kind == "tool")
        return [f"{decision}:{step.lane}:{step.step}" for step in steps if json.loads(step.request)[0] == tool]

    def add_receipt(self, decision: str, receipt: str) -> str:
        """Record a decision's receipt and return the stored one; the first is never replaced."""
        with self._open() as connection:
            connection.execute("INSERT OR IGNORE INTO receipts VALUES (?, ?)", (decision, receipt))
        return self.receipt(decision) or receipt

    def receipt(self, decision: str) -> str | None:
        """Return a decision's receipt, or None if it has not finished."""
        with self._open() as connection:
            row = connection.execute("SELECT receipt FROM receipts WHERE decision = ?", (decision,)).fetchone()
        return row[0] if row else None

    def keep_content(self, decision: str, name: str, content: str) -> str:
        """Record a text that a decision uses, such as its prompt, and return the text on the tape.

        Equal texts of many decisions are stored once. The first text under a name is never replaced.
        """
        sha256 = digest(content)
        with self._open() as connection:
            connection.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", (sha256, content))
            connection.execute("INSERT OR IGNORE INTO bundles VALUES (?, ?, ?)", (decision, name, sha256))
        return self.contents(decision)[name]

    def contents(self, decision: str) -> dict[str, str]:
        """Return the texts that a decision used, by name."""
        chosen = "SELECT name, content FROM bundles JOIN contents USING (sha256) WHERE decision = ?"
        with self._open() as connection:
            return dict(connection.execute(chosen, (decision,)).fetchall())

    def lane(self, decision: str, name: str = MAIN, mode: Mode = "record") -> "Lane":
        return Lane(self, decision, name, mode)

    def find_step(self, decision: str, lane: str, step: int) -> Step | None:
        """Return a recorded step, or None."""
        chosen = "SELECT lane, step, kind, request, answer FROM steps WHERE decision = ? AND lane = ? AND step = ?"
        with self._open() as connection:
            row = connection.execute(chosen, (decision, lane, step)).fetchone()
        return Step(*row) if row else None

    def add_step(self, decision: str, step: Step) -> None:
        with self._open() as connection:
            connection.execute("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?)", (decision, *step))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.place, timeout=60)) as connection, connection:
            connection.execute("PRAGMA synchronous = FULL")
            yield connection


class Lane:
    """The steps of one agent or sub-agent. at: the number of the last step."""

    def __init__(self, tape: Tape, decision: str, name: str, mode: Mode) -> None:
        self.tape, self.decision, self.name, self.mode = tape, decision, name, mode
        self.at = 0
        self._contents: dict[str, str] = {}

    @property
    def next_id(self) -> str:
        """The id of the next step: the same on every resume and replay."""
        return f"{self.decision}:{self.name}:{self.at + 1}"

    async def once(self, kind: Kind, request: Any, do: Callable[[], Awaitable[str]]) -> str:
        """Return the recorded answer to a request, or call `do` and record its answer before returning it.

        A live-tools replay runs tools again and compares their answers with the tape. Raises Diverged.
        """
        self.at += 1
        request_text = canonical(request)
        recorded = self.tape.find_step(self.decision, self.name, self.at)
        if recorded is None:
            if self.mode != "record":
                raise Diverged(self.name, self.at, kind, f"the tape ends before it; request: {request_text[:SHOWN]}")
            answer = await do()
            self.tape.add_step(self.decision, Step(self.name, self.at, kind, request_text, answer))
            return answer
        if recorded.kind != kind:
            raise Diverged(self.name, self.at, kind, f"the tape has a {recorded.kind} here")
        if recorded.request != request_text:
            raise Diverged(self.name, self.at, kind, f"request: {difference(json.loads(recorded.request), request)}")
        if kind == "tool" and self.mode == "live-tools":
            answer = await do()
            if answer != recorded.answer:
                tool = str(request[0]) if isinstance(request, list) and request else "it"
                change = f"answer of {tool}: {difference(recorded.answer, answer)}"
                raise Diverged(self.name, self.at, kind, change)
        return recorded.answer

    def keep_content(self, name: str, content: str) -> str:
        """Return the text that the tape has under this name.

        If there is none, return the given text, and record it unless the lane is replayed.
        """
        key = f"{self.name} {name}"
        if key not in self._contents:
            recorded = self.tape.contents(self.decision).get(key)
            if recorded is None and self.mode == "record":
                recorded = self.tape.keep_content(self.decision, key, content)
            self._contents[key] = content if recorded is None else recorded
        return self._contents[key]

    def record(self, request: Any, answer: str) -> None:
        """Record an outcome as the next step. Raises Diverged if the tape has a different outcome at that step."""
        self.at += 1
        recorded = self.tape.find_step(self.decision, self.name, self.at)
        if recorded is None and self.mode == "record":
            self.tape.add_step(self.decision, Step(self.name, self.at, "order", canonical(request), answer))
        elif recorded is None or recorded.answer != answer:
            change = difference(recorded.answer, answer) if recorded else "the tape ends before it"
            raise Diverged(self.name, self.at, "order", change)

    def first_step(self) -> Step | None:
        """Return the lane's first step, or None."""
        return self.tape.find_step(self.decision, self.name, 1)

    def check_end(self) -> None:
        """Raise Diverged if the tape continues after the replay's last step."""
        following = self.tape.find_step(self.decision, self.name, self.at + 1)
        if following is not None:
            raise Diverged(self.name, self.at + 1, following.kind, "the tape continues here but the replay does not")


def difference(then: Any, now: Any, where: str = "") -> str:
    """Describe in one line the first difference of two JSON values."""
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
