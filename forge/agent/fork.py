"""Forks: a decision is repeated with one changed input, and the differences are reported.

A fork runs on a copy of the memory of that time, so the real memory does not change. Models answer from the tape as
long as the requests are the same. Tools run again, as of the decision's instant and lake version.
"""

import json
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from forge.agent.agent import Agent
from forge.core.tape import MAIN, Kind, Lane, Mode, Step, Tape, difference
from forge.memory import Memory
from forge.model import Answer, Model, NoModel
from forge.model.messages import dump_answer
from forge.tracking.settlement import Forecast, forecasts, whole_memory
from pitlake.clock import instant
from pitlake.errors import BadInput
from pitlake.recorder import canonical


@dataclass(frozen=True, kw_only=True)
class ForkChange:
    """The one input that a fork changes: a step's answer, the models from the given step onwards, or the skills.

    Changed skills change the prompt and therefore every step. Raises BadInput unless exactly one is given.
    """

    step: int = 1
    answer: str | None = None
    models: Callable[[str], Model] | None = None
    skills: Path | None = None

    def __post_init__(self) -> None:
        if sum(value is not None for value in (self.answer, self.models, self.skills)) != 1:
            raise BadInput("set", "is not exactly one change", "give one of answer=…, model=… or skills=…")


@dataclass(frozen=True)
class Difference:
    """A step whose request or answer differs. change: the difference in one line."""

    lane: str
    step: int
    kind: str
    change: str


@dataclass(frozen=True)
class Forked:
    """The result of a fork.

    answer: None if a model was needed and none is configured. same: the number of steps that match the tape.
    differences: the other steps, in order. forecasts: the forecasts of the fork's Views.
    """

    answer: str | None
    same: int
    differences: tuple[Difference, ...]
    forecasts: tuple[Forecast, ...] = ()


@dataclass
class _Comparison:
    same: int = 0
    differences: list[Difference] = field(default_factory=list)


class _Tape(Tape):
    def __init__(self, place: Path, over: Tape, change: ForkChange) -> None:
        super().__init__(place)
        self.over, self.change, self.comparison = over, change, _Comparison()

    def lane(self, decision: str, name: str = MAIN, mode: Mode = "record") -> Lane:
        """Return a lane that compares its steps with the forked decision's."""
        return _Lane(self, decision, name, mode)


class _Lane(Lane):
    """The steps of a fork."""

    tape: _Tape

    async def once(self, kind: Kind, request: Any, do: Callable[[], Awaitable[str]]) -> str:
        """Return the answer from the tape, the change or `do`, and record any difference. Raises NoModel."""
        self.at += 1
        change, request_text = self.tape.change, canonical(request)
        recorded = next(
            (step for step in self.tape.over.steps(self.decision) if step[:2] == (self.name, self.at)), None
        )
        here = self.name == MAIN and self.at == change.step
        same = (
            recorded is not None
            and recorded.kind == kind
            and _without_model(recorded.request) == _without_model(request_text)
        )
        if here and change.answer is not None:
            if kind == "tool":
                await do()
            answer = dump_answer(Answer(change.answer)) if kind == "model" else change.answer
        elif kind == "model" and recorded and same and not (change.models and self.at >= change.step):
            answer = recorded.answer
        else:
            answer = await do()
        if recorded and same and recorded.answer == answer:
            self.tape.comparison.same += 1
        else:
            if recorded is None or recorded.kind != kind:
                differs = "the tape has no such step" if recorded is None else f"the tape has a {recorded.kind} here"
            elif not same:
                requests = (json.loads(_without_model(text)) for text in (recorded.request, request_text))
                differs = f"request: {difference(*requests)}"
            else:
                differs = f"answer: {difference(recorded.answer, answer)}"
            self.tape.comparison.differences.append(Difference(self.name, self.at, kind, differs))
        self.tape.add_step(self.decision, Step(self.name, self.at, kind, request_text, answer))
        return answer


async def fork(agent: Agent, decision: str, change: ForkChange) -> Forked:
    """Run a decision again with one input changed. agent: the agent that made the decision.

    Raises BadInput for a decision or step that is not on the tape, and the errors of `Agent.ask`.
    """
    inputs, steps = agent.tape.inputs(decision), agent.tape.steps(decision)
    numbers = [step.step for step in steps if step.lane == MAIN]
    if change.step not in numbers:
        raise BadInput("step", f"{decision[:60]} has steps 1 to {max(numbers, default=0)}", "give one of them")
    with tempfile.TemporaryDirectory(prefix="fork-") as folder:
        at = instant(inputs["as_of"])
        agent.memory.journal.copy(journal := Path(folder) / "journal.sqlite", instant(inputs["remembered"]))
        with closing(Memory(Path(folder) / "memory", journal, agent.memory.journal.clock)) as memory:
            tape = _Tape(Path(folder) / "tape.sqlite", agent.tape, change)
            tape.begin(decision, inputs)
            if change.skills is None:
                for name, content in agent.tape.contents(decision).items():
                    tape.keep_content(decision, name, content)
            other = replace(
                agent, memory=memory, tape=tape, models=change.models or agent.models, version=inputs["market"]
            )
            other = replace(other, skills=change.skills or agent.skills)
            answer = None
            try:
                answer = (await other.ask("", at, decision=decision)).answer
            except NoModel as absent:
                tape.comparison.differences.append(Difference(MAIN, 0, "model", f"is needed, and {absent}"))
            own_forecasts = [
                forecast for forecast in forecasts(whole_memory(memory, at)) if forecast.decision == decision
            ]
    return Forked(answer, tape.comparison.same, tuple(tape.comparison.differences), tuple(own_forecasts))


def _without_model(request_text: str) -> str:
    request = json.loads(request_text)
    return (
        canonical({name: value for name, value in request.items() if name != "model"})
        if isinstance(request, dict)
        else request_text
    )
