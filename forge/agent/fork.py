"""Forks: a decision made again with one input changed, the rest from its tape, and where it comes to differ.

It runs on a copy of memory as it was, so that nothing it writes touches the real one. Models answer from the tape as
long as they are asked the same; tools ask again, at the instant and the version of then.
"""

import json
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from forge.agent.agent import Agent
from forge.core.tape import MAIN, Kind, Lane, Mode, Step, Tape, canonical, difference
from forge.memory import Memory
from forge.model import Answer, Model, NoModel
from forge.model.messages import dumped
from forge.tracking.settlement import Forecast, forecasts, hydrated
from pitlake.clock import instant
from pitlake.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class Change:
    """The one input that is another: of a step's answer (a fact that a tool told, or what a model said), of the models
    from a step on, or of the skills, which stand in the prompt and so change from the first step on.
    """

    step: int = 1
    answer: str | None = None
    models: Callable[[str], Model] | None = None
    skills: Path | None = None

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.answer, self.models, self.skills)) != 1:
            raise BadInput("set", "is not one change", "give one of answer=…, model=… and skills=…")


@dataclass(frozen=True)
class Difference:
    """One step that was asked or answered otherwise. change: how, in a line."""

    lane: str
    step: int
    kind: str
    change: str


@dataclass(frozen=True)
class Forked:
    """What a fork came to. answer: None where a model had to be asked and there is none; same: how many steps were as
    on the tape, differences: which were not, in the order they came; forecasts: what its Views ask of time.
    """

    answer: str | None
    same: int
    differences: tuple[Difference, ...]
    forecasts: tuple[Forecast, ...] = ()


@dataclass
class _Record:
    same: int = 0
    differences: list[Difference] = field(default_factory=list)


class _Tape(Tape):
    """A tape of its own over the tape of the decision that is forked."""

    def __init__(self, place: Path, over: Tape, change: Change) -> None:
        super().__init__(place)
        self.over, self.change, self.record = over, change, _Record()

    def lane(self, decision: str, name: str = MAIN, mode: Mode = "record") -> Lane:
        """A lane that looks at the decision's own first."""
        return _Lane(self, decision, name, mode)


class _Lane(Lane):
    """Steps of a fork."""

    tape: _Tape

    async def once(self, kind: Kind, asked: Any, do: Callable[[], Awaitable[str]]) -> str:
        """The answer of the tape or of the change, else what `do` gives; what differs is kept. Raises NoModel."""
        self.at += 1
        change, told = self.tape.change, canonical(asked)
        kept = next((one for one in self.tape.over.steps(self.decision) if one[:2] == (self.name, self.at)), None)
        here = self.name == MAIN and self.at == change.step
        same = kept is not None and kept.kind == kind and _plain(kept.asked) == _plain(told)
        if here and change.answer is not None:
            if kind == "tool":
                await do()
            answer = dumped(Answer(change.answer)) if kind == "model" else change.answer
        elif kind == "model" and kept and same and not (change.models and self.at >= change.step):
            answer = kept.answer
        else:
            answer = await do()
        self._held(kept, kind, told, answer)
        self.tape._keep(self.decision, Step(self.name, self.at, kind, told, answer))  # noqa: SLF001
        return answer

    def _held(self, kept: Step | None, kind: str, told: str, answer: str) -> None:
        if kept and (kept.kind, _plain(kept.asked), kept.answer) == (kind, _plain(told), answer):
            self.tape.record.same += 1
            return
        if kept is None or kept.kind != kind:
            change = "the tape has no such step" if kept is None else f"the tape has a {kept.kind} here"
        elif _plain(kept.asked) != _plain(told):
            change = f"asked: {difference(json.loads(_plain(kept.asked)), json.loads(_plain(told)))}"
        else:
            change = f"answers: {difference(kept.answer, answer)}"
        self.tape.record.differences.append(Difference(self.name, self.at, kind, change))


async def fork(agent: Agent, decision: str, change: Change) -> Forked:
    """Make a decision again with one input changed. agent: at the desk it was made at.

    Raises BadInput for a decision that is not on the tape or a step it has not, and what a turn raises.
    """
    begun, steps = agent.tape.begun(decision), agent.tape.steps(decision)
    known = [one.step for one in steps if one.lane == MAIN]
    if change.step not in known:
        raise BadInput("step", f"{decision[:60]} has steps 1 to {max(known, default=0)}", "give one of them")
    with tempfile.TemporaryDirectory(prefix="fork-") as folder:
        at = instant(begun["as_of"])
        agent.memory.journal.copy(journal := Path(folder) / "journal.sqlite", instant(begun["remembered"]))
        with closing(Memory(Path(folder) / "memory", journal, agent.memory.journal.clock)) as memory:
            tape = _Tape(Path(folder) / "tape.sqlite", agent.tape, change)
            tape.begin(decision, begun)
            other = replace(
                agent, memory=memory, tape=tape, models=change.models or agent.models, version=begun["market"]
            )
            other = replace(other, skills=change.skills or agent.skills)
            answer = None
            try:
                answer = (await other.ask("", at, decision=decision)).answer
            except NoModel as absent:
                tape.record.differences.append(Difference(MAIN, 0, "model", f"has to be asked, and {absent}"))
            told = [one for one in forecasts(hydrated(memory, at)) if one.decision == decision]
    return Forked(answer, tape.record.same, tuple(tape.record.differences), tuple(told))


def _plain(asked: str) -> str:
    """What was asked, whoever answers it."""
    told = json.loads(asked)
    return canonical({name: one for name, one in told.items() if name != "model"}) if isinstance(told, dict) else asked
