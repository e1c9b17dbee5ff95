"""A decision as the tape has it: what it began with, its steps as they come, its receipt."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from forge.agent.lineage import Edge
from forge.core.clock import LIVE
from forge.core.tape import Step, Tape
from pitlake.clock import instant

SHOWN = 200


class Begun(NamedTuple):
    """A decision on the tape. asked: its question; as_of: the instant it was decided as of; clock: of its memory;
    trigger: query, schedule or alert; failure: why it was not answered, "" where it was or is not known to have failed.
    """

    name: str
    asked: str
    as_of: datetime
    clock: str
    trigger: str
    ended: bool
    failure: str = ""

    @property
    def live(self) -> bool:
        """Whether it was made on live memory."""
        return self.clock == LIVE


class Line(NamedTuple):
    """A step to read. what: the tool's name, or the kind of step; asked, told: the beginnings of both."""

    lane: str
    step: int
    what: str
    asked: str
    told: str


class Decision(NamedTuple):
    """A decision in full. receipt: as kept, None where it has not ended; steps: the tape's; edges: its lineage."""

    begun: Begun
    receipt: dict[str, Any] | None
    steps: list[Step]
    edges: list[Edge]

    @property
    def answer(self) -> str:
        """What it was answered with: the agent's last words on the tape."""
        said = [step.answer for step in self.steps if (step.lane, step.kind) == ("agent", "model")]
        return str(json.loads(said[-1])["text"]) if said else ""

    @property
    def lines(self) -> Iterator[Line]:
        """Its steps, lane by lane."""
        return (_line(step) for step in self.steps)


def begun(tape: Tape, name: str) -> Begun:
    """What a decision began with."""
    told = tape.inputs(name)
    ended, failure = tape.receipt(name) is not None, tape.failure(name) or ""
    return Begun(name, told["text"], instant(told["as_of"]), told["clock"], told["trigger"], ended, failure)


def decision(tape: Tape, begun: Begun, edges: list[Edge]) -> Decision:
    """The whole of it."""
    kept = tape.receipt(begun.name)
    return Decision(begun, json.loads(kept) if kept else None, tape.steps(begun.name), edges)


def _line(step: Step) -> Line:
    if step.kind == "tool":
        name, arguments = json.loads(step.request)
        asked = ", ".join(f"{key}: {value}" for key, value in arguments.items()) if isinstance(arguments, dict) else ""
        return Line(step.lane, step.step, str(name), _short(asked), _short(step.answer))
    if step.kind == "model":
        told = json.loads(step.answer)
        calls = ", ".join(str(one["name"]) for one in told["calls"])
        return Line(step.lane, step.step, "model", f"calls {calls}" if calls else "", _short(str(told["text"])))
    return Line(step.lane, step.step, step.kind, "", _short(step.answer))


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
