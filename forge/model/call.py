"""The one caller of pydantic-ai: our request becomes its messages, its response our answer.

Answers are streamed, so that a long one does not run into a time-out. Busy or failing providers (429, 529, 5xx) are
asked again by their own client, with its pauses; what still fails is a ModelFailed that says what to do.
"""

import json
from typing import TYPE_CHECKING, Any

from forge.model.messages import Answer, Call, Finish, Message, ModelFailed, Request

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model as Library

_FINISH: dict[str, Finish] = {
    "stop": "stop",
    "tool_call": "tools",
    "length": "length",
    "content_filter": "refused",
}


class Provided:
    """A provider's model. id: as configured; seconds: how long one request may take."""

    def __init__(self, id: str, model: "Library", seconds: float) -> None:  # noqa: A002 - what it is
        self.id = id
        self._model = model
        self._seconds = seconds

    async def ask(self, request: Request) -> Answer:
        """Its answer. Raises ModelFailed."""
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.exceptions import AgentRunError
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.settings import ModelSettings
        from pydantic_ai.tools import ToolDefinition

        settings = ModelSettings(timeout=self._seconds)
        if request.max_tokens is not None:
            settings["max_tokens"] = request.max_tokens
        tools = [
            ToolDefinition(name=one.name, description=one.description, parameters_json_schema=one.schema)
            for one in request.tools
        ]
        try:
            async with model_request_stream(
                self._model,
                _messages(request),
                model_settings=settings,
                model_request_parameters=ModelRequestParameters(function_tools=tools),
            ) as stream:
                async for _ in stream:
                    pass
                response = stream.get()
        except (AgentRunError, RuntimeError, OSError, ValueError) as problem:
            raise ModelFailed(_said(self.id, problem)) from problem
        return _answer(self.id, response)


def _said(model: str, problem: Exception) -> str:
    told = " ".join(str(problem).split())[:300]
    return f"{model} gave no answer ({type(problem).__name__}: {told}); go on later from the tape: ask with --resume"


def _messages(request: Request) -> "list[ModelMessage]":
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

    def one(message: Message) -> "ModelMessage":
        if isinstance(message, str):
            return ModelRequest(parts=[UserPromptPart(message)])
        if isinstance(message, Answer):
            said = [TextPart(message.text)] if message.text else []
            called = [ToolCallPart(call.name, _object(call.arguments), call.id) for call in message.calls]
            return ModelResponse(parts=[*said, *called])
        return ModelRequest(
            parts=[ToolReturnPart(given.call.name, given.text, given.call.id) for given in message.returned]
        )

    return [ModelRequest(parts=[SystemPromptPart(request.system)]), *map(one, request.messages)]


def _object(arguments: Any) -> dict[str, Any]:
    """Providers take back only objects, also where the model gave none."""
    return arguments if isinstance(arguments, dict) else {"unreadable": str(arguments)[:300]}


def _answer(model: str, response: "ModelResponse") -> Answer:
    from pydantic_ai.messages import TextPart, ToolCallPart

    finish = _FINISH.get(response.finish_reason or "")
    if finish is None:
        raise ModelFailed(f"{model}'s answer broke off before its end; go on from the tape: ask with --resume")
    return Answer(
        text="".join(part.content for part in response.parts if isinstance(part, TextPart)),
        calls=tuple(
            Call(part.tool_name, _arguments(part.args), part.tool_call_id)
            for part in response.parts
            if isinstance(part, ToolCallPart)
        ),
        finish=finish,
        model=response.model_name or model,
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
    )


def _arguments(given: Any) -> Any:
    if not isinstance(given, str):
        return given or {}
    try:
        return json.loads(given or "{}")
    except ValueError:
        return given
