"""A model on tape: what it answered once it answers again, without being asked."""

from forge.model.messages import Answer, Model, Request, dumped, loaded
from forge.tape import Lane


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
