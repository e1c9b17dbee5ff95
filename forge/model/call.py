"""The one caller of pydantic-ai: our request becomes its messages, its response our answer.

Answers are streamed, so that a long one does not run into a time-out. Busy or failing providers (429, 529, 5xx) are
asked again by their own client, with its pauses; what still fails is a ModelFailed that says what to do.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from forge.model.messages import Answer, Call, Finish, Message, ModelFailed, Request

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponsePart, ToolCallPart
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
            called = {call.id: ToolCallPart(call.name, _object(call.arguments), call.id) for call in message.calls}
            if message.carried:
                return ModelResponse(parts=[_part(told, called) for told in message.carried])
            return ModelResponse(parts=[*([TextPart(message.text)] if message.text else []), *called.values()])
        return ModelRequest(
            parts=[ToolReturnPart(given.call.name, given.text, given.call.id) for given in message.returned]
        )

    return [ModelRequest(parts=[SystemPromptPart(request.system)]), *map(one, request.messages)]


def _part(told: dict[str, Any], called: "Mapping[str, ToolCallPart]") -> "ModelResponsePart":
    from pydantic_ai.messages import TextPart, ThinkingPart

    if "call" in told:
        return called[told["call"]]
    return TextPart(told["text"]) if "text" in told else ThinkingPart(**told)


def _carried(response: "ModelResponse") -> tuple[dict[str, Any], ...]:
    """The parts of a response that has thinking in it: that whole, of the others their text or their call's id."""
    from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart

    def told(part: "ModelResponsePart") -> dict[str, Any] | None:
        if isinstance(part, ThinkingPart):
            return {name: value for name, value in asdict(part).items() if name != "part_kind"}
        if isinstance(part, TextPart):
            return {"text": part.content}
        return {"call": part.tool_call_id} if isinstance(part, ToolCallPart) else None

    thinks = any(isinstance(part, ThinkingPart) for part in response.parts)
    return tuple(one for one in map(told, response.parts) if one is not None) if thinks else ()


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
        carried=_carried(response),
    )


def _arguments(given: Any) -> Any:
    if not isinstance(given, str):
        return given or {}
    try:
        return json.loads(given or "{}")
    except ValueError:
        return given
