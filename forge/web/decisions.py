"""Decisions on the tape: question, steps, receipt."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from forge.agent.lineage import Edge
from forge.core.clock import LIVE
from forge.core.tape import Step, Tape
from forge.model.usage import RequestUsage, total, usages
from pitlake.clock import instant

SHOWN = 200


class DecisionStart(NamedTuple):
    """A decision on the tape.

    question: the question. as_of: its instant. clock: the clock of its memory. trigger: query, schedule or alert.
    failure: the reason for a missing answer, "" if there is an answer or no failure.
    """

    name: str
    question: str
    as_of: datetime
    clock: str
    trigger: str
    ended: bool
    failure: str = ""

    @property
    def live(self) -> bool:
        return self.clock == LIVE


class Line(NamedTuple):
    """A step in readable form.

    what: the tool's name, or the kind of step. question, answer: the start of each text. whole: the full answer if
    `answer` is cut, else "". tokens: the tokens of a request to a model.
    """

    lane: str
    step: int
    what: str
    question: str
    answer: str
    whole: str = ""
    tokens: str = ""


class Decision(NamedTuple):
    """A decision in full.

    receipt: the stored receipt, None if it has not ended. steps: the steps on the tape. edges: its lineage. requests:
    the tokens that each request to a model used.
    """

    start: DecisionStart
    receipt: dict[str, Any] | None
    steps: list[Step]
    edges: list[Edge]
    requests: tuple[RequestUsage, ...] = ()

    @property
    def tokens(self) -> str:
        """Return one line about the tokens of all requests, "" if there are none."""
        return total(self.requests) if self.requests else ""

    @property
    def answer(self) -> str:
        """Return the agent's last text on the tape."""
        answers = [step.answer for step in self.steps if (step.lane, step.kind) == ("agent", "model")]
        return str(json.loads(answers[-1])["text"]) if answers else ""

    @property
    def lines(self) -> Iterator[Line]:
        """Return its steps, lane by lane."""
        used = {(request.lane, request.step): request.describe() for request in self.requests}
        return (_line(step)._replace(tokens=used.get(step[:2], "")) for step in self.steps)


def decision_start(tape: Tape, name: str) -> DecisionStart:
    row, failure = tape.inputs(name), tape.failure(name) or ""
    ended = tape.receipt(name) is not None
    return DecisionStart(name, row["text"], instant(row["as_of"]), row["clock"], row["trigger"], ended, failure)


def decision(tape: Tape, start: DecisionStart, edges: list[Edge]) -> Decision:
    receipt = tape.receipt(start.name)
    steps, requests = tape.steps(start.name), usages(tape, start.name)
    return Decision(start, json.loads(receipt) if receipt else None, steps, edges, requests)


def _line(step: Step) -> Line:
    # The lane of a review is named after its decision and the step that requested it.
    kind, _, rest = step.lane.partition(" ")
    step = step._replace(lane=f"{kind} {rest.rpartition(':')[2]}".rstrip())
    if step.kind == "tool":
        name, arguments = json.loads(step.request)
        arguments_text = (
            ", ".join(f"{key}: {value}" for key, value in arguments.items()) if isinstance(arguments, dict) else ""
        )
        return Line(step.lane, step.step, str(name), _short(arguments_text), *_cut(step.answer))
    if step.kind == "model":
        answer = json.loads(step.answer)
        calls = ", ".join(str(call["name"]) for call in answer["calls"])
        return Line(step.lane, step.step, "model", f"calls {calls}" if calls else "", *_cut(str(answer["text"])))
    return Line(step.lane, step.step, step.kind, "", *_cut(step.answer))


def _cut(text: str) -> tuple[str, str]:
    """Return the start of a text, and the whole text if it is longer."""
    return _short(text), text if len(text) > SHOWN else ""


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
