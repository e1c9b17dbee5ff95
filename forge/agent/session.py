"""Sessions: which conversation a trigger belongs to, by the trigger's own clock, and what is told of its past."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Literal

from forge.fs import ForgeFS
from forge.memory import Memory, Remembered, WriteCall, Writing
from forge.memory.effects import CODE
from forge.memory.journal import digest
from forge.records import KINDS, Session, render
from pitlake.clock import micros

HISTORY = "/session/turn_history.md"
PRIOR_LINES = 15
Trigger = Literal["query", "schedule", "alert"]


@dataclass(frozen=True)
class SessionContext:
    """A session's turn. prior_summary: the end of its history, None in the first turn."""

    session_id: str
    turn_number: int
    prior_summary: str | None = None


def resolved(
    known: Remembered, trigger: Trigger, user: str, at: datetime, minutes: float, event: str = ""
) -> SessionContext:
    """The session of a trigger: the user's open one, unless it has been idle too long; schedules begin their own.

    So does whoever decides an event: an earlier try's session would tell him what it came to.
    """
    rows = [known.newest(path) for path in known.paths(KINDS["sessions"].folder)]
    records = [known.record(row) for row in rows if row is not None]
    mine = [one for one in records if isinstance(one, Session) and one.user == user and one.status == "open"]
    mine = [one for one in mine if not one.event]
    if trigger == "query" and mine and not event:
        last = max(mine, key=lambda one: (one.last_active, one.id))
        if timedelta(0) <= at - last.last_active <= timedelta(minutes=minutes):
            return SessionContext(last.id, last.turn + 1)
    return new(at)


def new(at: datetime) -> SessionContext:
    """Return the first turn of a new session."""
    return SessionContext(f"sess_{micros(at):013x}{token_hex(5)}", 1)


def prior(fs: ForgeFS) -> str | None:
    """The last lines of the session's history."""
    if not fs.exists(HISTORY):
        return None
    return "\n".join(fs.read_file(HISTORY).strip().split("\n")[-PRIOR_LINES:])


def _append(writing: Writing, path: str, entry: str) -> None:
    row = writing.newest(path)
    writing.put(path, (row.content if row else "") + entry)


def record_turn(
    memory: Memory,
    fs: ForgeFS,
    context: SessionContext,
    trigger: Trigger,
    user: str,
    at: datetime,
    said: tuple[str, str],
    stopped: str = "",
) -> None:
    """Keep what was asked and answered, and that the session is alive. Done again, it changes nothing.

    stopped: why the turn came to an end without an answer.
    """
    event, name = fs.remembered.event, f"{context.session_id}:{context.turn_number}"
    query, result = said
    entry = f"\n## Turn {context.turn_number}\nQuery: {query[:200]}\nResult: {result[:300]}\n"
    entry += f"Stopped: {stopped}\n" if stopped else ""
    call = WriteCall(
        actor=CODE,
        session=context.session_id,
        call_id=f"{name}:history",
        event=event,
        asked=digest(entry),
        after=micros(fs.remembered.as_of),
    )
    memory.journal.write(
        call,
        lambda writing: _append(writing, HISTORY.replace("/session/", f"/session/{context.session_id}/", 1), entry),
    )
    record = Session(
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
