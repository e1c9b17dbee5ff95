"""A model on tape: what it answered once it answers again, without being asked."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from forge.core.tape import Lane, Mode, Tape
from forge.model.messages import Answer, Model, ModelFailed, NoModel, Request, dumped, loaded


class Taped:
    """A model whose answers go over a lane of the tape."""

    def __init__(self, model: Model, lane: Lane) -> None:
        self.id = model.id
        self._model, self._lane = model, lane

    async def ask(self, request: Request) -> Answer:
        """The tape's answer, else the model's. Raises ModelFailed, Diverged."""

        async def ask() -> str:
            return dumped(await self._model.ask(request))

        return loaded(await self._lane.once("model", {"model": self.id, **request.canonical()}, ask))


@dataclass(frozen=True)
class Recorded:
    """A model whose answers are on the tape alone."""

    id: str
    problem: Exception

    async def ask(self, request: Request) -> NoReturn:
        """Nothing. Raises why it can't be asked."""
        raise self.problem


@dataclass(frozen=True)
class Patient:
    """A model that is asked again where it fails or takes too long. seconds: of one try; retries: after the first."""

    model: Model
    seconds: float
    retries: int

    @property
    def id(self) -> str:
        """The model's."""
        return self.model.id

    async def ask(self, request: Request) -> Answer:
        """Its answer. Raises ModelFailed after the last try."""
        for left in range(self.retries, -1, -1):
            try:
                async with asyncio.timeout(self.seconds):
                    return await self.model.ask(request)
            except TimeoutError:
                if not left:
                    raise ModelFailed(f"{self.id} gave no answer within {self.seconds:g} s") from None
            except ModelFailed:
                if not left:
                    raise
        raise AssertionError("unreachable")


@dataclass(frozen=True)
class Models:
    """The models of a decision: role to model where one may be asked, the tape's own where it is replayed."""

    tape: Tape
    decision: str
    mode: Mode
    chosen: Callable[[str], Model]

    def lane(self, name: str) -> Lane:
        """A lane of this decision's tape."""
        return self.tape.lane(self.decision, name, self.mode)

    def model(self, role: str, lane: Lane, begun: str = "") -> Model:
        """The model of a role, not yet taped. begun: its name, where the lane has no step that tells it."""
        first = lane.first()
        kept = str(json.loads(first.asked)["model"]) if first and first.kind == "model" else begun
        if self.mode != "record":
            return Recorded(kept, AssertionError("a replay asks no model"))
        try:
            return self.chosen(role)
        except NoModel as absent:
            if not kept:
                raise
            return Recorded(kept, absent)
