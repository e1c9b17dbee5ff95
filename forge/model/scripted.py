"""A scripted model for tests and the demo, labelled as scripted. It shows that the parts work, not good judgement."""

from collections.abc import Callable, Sequence

from forge.model.messages import Answer, ModelFailed, Request

Script = Sequence[Answer] | Callable[[Request], Answer]


class Scripted:
    """A model that returns prepared answers in order, or a function's answers. asked: all requests to date."""

    def __init__(self, script: Script, name: str = "1") -> None:
        self.id = f"scripted:{name}"
        self.asked: list[Request] = []
        self._script = script

    async def ask(self, request: Request) -> Answer:
        """Return the next answer. Raises ModelFailed at the end of the script."""
        self.asked.append(request)
        if callable(self._script):
            return self._script(request)
        if len(self.asked) > len(self._script):
            raise ModelFailed(f"the script has {len(self._script)} answers and was called again")
        return self._script[len(self.asked) - 1]
