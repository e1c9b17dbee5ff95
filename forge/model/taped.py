"""Taped models: a recorded answer is returned again without calling the model."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import NoReturn

from forge.core.config import ContextSettings
from forge.core.tape import Lane, Mode, Tape
from forge.model.messages import Answer, Model, ModelFailed, NoModel, Request, ToolSpec, dump_answer, load_answer
from forge.model.usage import Window, recorded_window
from pitlake.recorder import canonical


class Taped:
    """A model whose answers are recorded on a lane of the tape."""

    def __init__(self, model: Model, lane: Lane) -> None:
        self.id = model.id
        self._model, self._lane = model, lane

    async def ask(self, request: Request) -> Answer:
        """Return the recorded answer, else the model's. Raises ModelFailed, Diverged."""
        # Use the prompt and tools from the start of the lane, even if these have changed since.
        tools = canonical([asdict(tool) for tool in request.tools])
        recorded = json.loads(self._lane.keep_content("tools", tools))
        system = self._lane.keep_content("system", request.system)
        request = replace(request, system=system, tools=tuple(ToolSpec(**tool) for tool in recorded))

        async def ask() -> str:
            return dump_answer(await self._model.ask(request))

        return load_answer(await self._lane.once("model", {"model": self.id, **request.canonical()}, ask))


@dataclass(frozen=True)
class Recorded:
    """A model that exists only as recorded answers."""

    id: str
    problem: Exception

    async def ask(self, request: Request) -> NoReturn:
        """Raise the error that explains why the model can't be called."""
        raise self.problem


@dataclass(frozen=True)
class Retrying:
    """A model that is retried after failures and timeouts.

    seconds: the time limit of an attempt, None for none. retries: more attempts. after: the failures to retry after.
    """

    model: Model
    seconds: float | None
    retries: int
    after: type[ModelFailed] = ModelFailed

    @property
    def id(self) -> str:
        return self.model.id

    async def ask(self, request: Request) -> Answer:
        """Answer a request. Raises ModelFailed after the last try."""
        for left in range(self.retries, -1, -1):
            try:
                async with asyncio.timeout(self.seconds):
                    return await self.model.ask(request)
            except TimeoutError:
                if not left:
                    raise ModelFailed(f"{self.id} gave no answer within {self.seconds:g} s") from None
            except self.after:
                if not left:
                    raise
        raise AssertionError("unreachable")


@dataclass(frozen=True)
class Models:
    """The models of a decision: real ones while it is recorded, taped ones when it is replayed."""

    tape: Tape
    decision: str
    mode: Mode
    chosen: Callable[[str], Model]
    context: ContextSettings = field(default_factory=ContextSettings)

    def lane(self, name: str) -> Lane:
        """Return a lane of this decision's tape."""
        return self.tape.lane(self.decision, name, self.mode)

    def window(self, lane: Lane, model: str) -> Window:
        """Return the window of a lane's model at the start of the lane."""
        return recorded_window(lane, model, self.context)

    def model(self, role: str, lane: Lane, recorded_name: str = "") -> Model:
        """Return the model of a role, without a tape. recorded_name: its name if the lane has no step with it."""
        first = lane.first_step()
        name = str(json.loads(first.request)["model"]) if first and first.kind == "model" else recorded_name
        if self.mode != "record":
            return Recorded(name, AssertionError("a replay calls no model"))
        try:
            return self.chosen(role)
        except NoModel as absent:
            if not name:
                raise
            return Recorded(name, absent)
