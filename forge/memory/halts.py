"""The kill switch: while trading is halted, nothing is approved and no entry is executed. Only the PM releases it."""

import os
from dataclasses import replace
from datetime import datetime
from typing import cast

from forge.memory.effects import CODE, PM
from forge.memory.journal import WriteCall
from forge.memory.memory import Memory
from forge.memory.remembered import Remembered
from forge.records import KINDS, Halt, render
from forge.records.base import read_reason
from pitlake import clock
from pitlake.errors import BadInput

HALT = KINDS["halts"].path("halt")
Span = tuple[datetime, datetime | None]


def halted(remembered: Remembered) -> Halt | None:
    """Return the current halt, None if trading is not halted."""
    row = remembered.newest(HALT)
    switch = cast("Halt", remembered.record(row)) if row else None
    return switch if switch and switch.status == "halted" else None


def halted_spans(remembered: Remembered) -> tuple[Span, ...]:
    """Return the start and end of each halt of trading; the end is None if trading is still halted."""
    spans: list[Span] = []
    for row in remembered.all(HALT):
        switch, written_at = cast("Halt", remembered.record(row)), remembered.written_at(row)
        if spans and spans[-1][1] is None:
            if switch.status == "released":
                spans[-1] = spans[-1][0], written_at
        elif switch.status == "halted":
            spans.append((written_at, None))
    return tuple(spans)


def switch(memory: Memory, record: Halt) -> None:
    """Halt or release trading. Raises BadInput for an empty reason, and for a release when trading is not halted."""
    reason = read_reason(record.reason, "--reason")
    now = memory.read_instant(memory.journal.clock.now())
    if record.status == "released" and halted(memory.hydrate(now)) is None:
        raise BadInput("release", "trading is not halted", "nothing needs a release")
    call_id = f"{record.status}:{os.urandom(8).hex()}"
    actor = CODE if record.by == CODE else PM
    call = WriteCall(actor=actor, session=PM, call_id=call_id, after=clock.micros(now))
    memory.journal.append(HALT, render(replace(record, reason=reason, updated=now)), call)
