"""Sessions: the conversations of a trigger, by the trigger's clock, and the history that a turn sees."""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Literal

from forge.agent.tools.text import quoted
from forge.fs import ForgeFS
from forge.fs.paths import HISTORY
from forge.memory import Memory, Remembered, WriteCall, Writing
from forge.memory.effects import CODE
from forge.memory.journal import digest
from forge.records import KINDS, SessionRecord, parse, render
from forge.records.base import UNSTORED
from pitlake.clock import micros

MOST_PRIOR = 16_000
"""The characters of earlier turns that a turn sees: about 4,000 tokens."""
MOST_RECORDED = 20_000
MOST_HISTORY = 400_000
SHORT_QUERY, SHORT_RESULT = 200, 300
_TURN = re.compile(r"\n+(?=## Turn [0-9]+\nQuery: )")
Trigger = Literal["query", "schedule", "alert"]


@dataclass(frozen=True)
class SessionContext:
    """A turn of a session."""

    session_id: str
    turn_number: int
    prior_summary: str | None = None


def resolve_session(
    remembered: Remembered, trigger: Trigger, user: str, at: datetime, minutes: float, event: str = ""
) -> SessionContext:
    """Return the session of a trigger: the user's open one, unless it was idle too long.

    A scheduled turn starts a new session. So does a turn that decides an event, because the session of an earlier
    attempt would reveal the result.
    """
    records = [remembered.record(row) for row in remembered.rows("sessions")]
    mine = [
        record
        for record in records
        if isinstance(record, SessionRecord) and record.user == user and record.status == "open"
    ]
    mine = [session for session in mine if not session.event]
    if trigger == "query" and mine and not event:
        last = max(mine, key=lambda session: (session.last_active, session.id))
        if timedelta(0) <= at - last.last_active <= timedelta(minutes=minutes):
            return SessionContext(last.id, last.turn + 1)
    return new(at)


def new(at: datetime) -> SessionContext:
    """Return the first turn of a new session."""
    return SessionContext(f"sess_{micros(at):013x}{token_hex(5)}", 1)


def history_tail(fs: ForgeFS) -> str | None:
    """Return the session's earlier turns, or None: the newest in full, older ones shortened, within the budget."""
    if not fs.exists(HISTORY):
        return None
    turns, left = list[str](), MOST_PRIOR
    for turn in reversed(_TURN.split(fs.read_file(HISTORY).strip())):
        query, _, result = turn.partition("\nResult: ")
        short = f"{query[:SHORT_QUERY]}\nResult: {result[:SHORT_RESULT]}… (the rest is in {HISTORY})"
        text = turn if len(turn) <= left else short
        if len(text) > left:
            break
        turns.insert(0, text)
        left -= len(text)
    return "\n\n".join(turns)


def record_turn(
    memory: Memory,
    fs: ForgeFS,
    context: SessionContext,
    trigger: Trigger,
    user: str,
    at: datetime,
    exchange: tuple[str, str],
    stopped: str = "",
) -> None:
    """Record a turn's question and answer, and mark the session as active. Repeating the call changes nothing.

    Args:
        memory: The memory that records the session.
        fs: The turn's files.
        context: The session and turn.
        trigger: The trigger of the turn.
        user: The owner of the session.
        at: The turn's instant.
        exchange: The question and the answer.
        stopped: The reason if the turn ended without an answer.
    """
    event, name = fs.remembered.event, f"{context.session_id}:{context.turn_number}"
    query, result = (quoted(UNSTORED.sub("", text)[:MOST_RECORDED]) for text in exchange)
    entry = f"\n## Turn {context.turn_number}\nQuery: {query}\nResult: {result}\n"
    entry += f"Stopped: {quoted(stopped)}\n" if stopped else ""
    call = WriteCall(
        actor=CODE,
        session=context.session_id,
        call_id=f"{name}:history",
        event=event,
        request_hash=digest(entry),
        after=micros(fs.remembered.as_of),
    )

    def append(writing: Writing) -> None:
        path = HISTORY.replace("/session/", f"/session/{context.session_id}/", 1)
        row = writing.newest(path)
        writing.put(path, ((row.content if row else "") + entry)[-MOST_HISTORY:])

    memory.journal.write(call, append)
    record = SessionRecord(
        id=context.session_id,
        user=user,
        trigger=trigger,
        turn=context.turn_number,
        status="open",
        last_active=at,
        event=event,
    )
    call = WriteCall(actor=CODE, session=context.session_id, call_id=f"{name}:session", event=event, after=micros(at))
    path = KINDS["sessions"].path(context.session_id)
    memory.journal.append(path, render(replace(record, updated=at)), call)


def archive_expired(memory: Memory, fs: ForgeFS, context: SessionContext, at: datetime, minutes: float) -> None:
    """Archive the sessions that were idle too long at the instant of a turn. Repeating the call changes nothing.

    Args:
        memory: The memory that records the sessions.
        fs: The turn's files.
        context: The session and turn.
        at: The turn's instant.
        minutes: The idle minutes that end a session.
    """

    def archive(writing: Writing) -> None:
        kind = KINDS["sessions"]
        for row in writing.all_of(kind.name):
            record = parse(kind, row.content)
            if not isinstance(record, SessionRecord) or record.status != "open":
                continue
            if at - record.last_active > timedelta(minutes=minutes):
                writing.put(row.path, render(replace(record, status="archived", updated=at)))

    name = f"{context.session_id}:{context.turn_number}:archive"
    call = WriteCall(
        actor=CODE,
        session=context.session_id,
        call_id=name,
        event=fs.remembered.event,
        request_hash=digest(name),
        after=micros(at),
    )
    memory.journal.write(call, archive)
