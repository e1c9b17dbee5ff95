"""The only caller of pydantic-ai: converts our requests to its messages and its responses to our answers.

Answers are streamed, so that a long one does not time out. The provider's own client retries a busy or failing provider
(429, 529, 5xx), with pauses. Remaining failures are raised as ModelFailed, which gives the next step.
"""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from forge.model.messages import Answer, AnswerCut, Call, Finish, Message, ModelFailed, Request, load_answer

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponsePart
    from pydantic_ai.models import Model as Library

_FINISH: dict[str, Finish] = {"stop": "stop", "tool_call": "tools", "length": "length", "content_filter": "refused"}


_TOO_LONG = re.compile(
    r"(prompt|input|request) is too long|context[_ ](length|size)|maximum context|context window"
    r"|too many (input )?tokens",
    re.IGNORECASE,
)
CACHED = {"anthropic_cache_tool_definitions": True, "anthropic_cache_instructions": True, "anthropic_cache": True}


class Provided:
    """A provider's model. id: its configured id. seconds: the time limit of one request."""

    def __init__(self, id: str, model: "Library", seconds: float) -> None:  # noqa: A002 - what it is
        self.id = id
        self._model = model
        self._seconds = seconds

    async def ask(self, request: Request) -> Answer:
        """Send a request and return the answer. Raises ModelFailed."""
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.exceptions import AgentRunError
        from pydantic_ai.messages import InstructionPart
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition
        from pydantic_ai.settings import ModelSettings
        from pydantic_ai.tools import ToolDefinition

        settings = ModelSettings(timeout=self._seconds)
        if request.max_tokens is not None:
            settings["max_tokens"] = request.max_tokens
        stable, changing = request.system, ""
        if self._model.system == "anthropic":
            # Cache breakpoints follow the tools, the part of the prompt that never changes, and the newest message.
            settings.update(CACHED)  # type: ignore[typeddict-item]
            stable = request.system[: request.stable]
            changing = request.system[len(stable) :]
        tools = [
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=tool.schema,
                strict=tool.strict or None,
            )
            for tool in request.tools
        ]
        form = None
        if request.form:
            properties = {"name": {"type": "string", "const": request.form.name}, "arguments": request.form.schema}
            schema = {"type": "object", "properties": properties, "required": [*properties]}
            form = OutputObjectDefinition(schema | {"additionalProperties": False}, request.form.name, strict=False)
        is_begun = False
        try:
            async with model_request_stream(
                self._model,
                _messages(stable, request.messages),
                model_settings=settings,
                model_request_parameters=ModelRequestParameters(
                    function_tools=tools,
                    output_mode="native" if form else "text",
                    output_object=form,
                    instruction_parts=[InstructionPart(changing, dynamic=True)] if changing else None,
                ),
            ) as stream:
                async for _ in stream:
                    is_begun = True
                response = stream.get()
        except (AgentRunError, RuntimeError, OSError, ValueError) as problem:
            if is_too_long(str(problem)):
                return Answer(_reason(problem), finish="too_long", model=self.id)
            fault = f"{type(problem).__name__}: {_reason(problem)}"
            text = f"{self.id} gave no answer ({fault}); resume later with ask --resume"
            raise (AnswerCut if is_begun else ModelFailed)(text) from problem
        return _answer(self.id, response)


def is_too_long(reason: str) -> bool:
    """Return whether a provider refused a request because it exceeds the model's context window."""
    return bool(_TOO_LONG.search(reason))


def _reason(problem: Exception) -> str:
    return " ".join(str(problem).split())[:300]


def _messages(system: str, messages: Iterable[Message]) -> "list[ModelMessage]":
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

    def convert(message: Message) -> "ModelMessage":
        if isinstance(message, str):
            return ModelRequest(parts=[UserPromptPart(message)])
        if isinstance(message, Answer):
            # A model can write lone surrogates in JSON, but no request can contain them.
            text = json.dumps(asdict(message), ensure_ascii=False).encode("utf-8", "replace").decode()
            message = load_answer(text)
            # Providers accept only objects as arguments.
            called = {
                call.id: ToolCallPart(
                    call.name,
                    call.arguments if isinstance(call.arguments, dict) else {"unreadable": str(call.arguments)[:300]},
                    call.id,
                )
                for call in message.calls
            }
            if message.carried:
                parts: list[ModelResponsePart] = [
                    called[part["call"]]
                    if "call" in part
                    else TextPart(part["text"])
                    if "text" in part
                    else ThinkingPart(**part)
                    for part in message.carried
                ]
                return ModelResponse(parts=parts)
            return ModelResponse(parts=[*([TextPart(message.text)] if message.text else []), *called.values()])
        return ModelRequest(
            parts=[
                ToolReturnPart(
                    result.call.name, result.text, result.call.id, outcome="failed" if result.failed else "success"
                )
                for result in message.returned
            ]
        )

    return [ModelRequest(parts=[SystemPromptPart(system)]), *map(convert, messages)]


def _answer(model: str, response: "ModelResponse") -> Answer:
    from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart

    def describe(part: "ModelResponsePart") -> dict[str, Any] | None:
        if isinstance(part, ThinkingPart):
            return {name: value for name, value in asdict(part).items() if name != "part_kind"}
        if isinstance(part, TextPart):
            return {"text": part.content}
        return {"call": part.tool_call_id} if isinstance(part, ToolCallPart) else None

    finish = _FINISH.get(response.finish_reason or "")
    if finish is None:
        raise AnswerCut(f"{model}'s answer was incomplete; resume with ask --resume")
    # A response that has thinking is carried: thinking in full, other parts as text or call id.
    thinks = any(isinstance(part, ThinkingPart) for part in response.parts)
    calls = list[Call]()
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            arguments: Any = part.args or {}
            if isinstance(arguments, str):
                with suppress(ValueError):
                    arguments = json.loads(arguments)
            calls.append(Call(part.tool_name, arguments, part.tool_call_id))
    return Answer(
        text="".join(part.content for part in response.parts if isinstance(part, TextPart)),
        calls=tuple(calls),
        finish=finish,
        model=response.model_name or model,
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        carried=tuple(part for part in map(describe, response.parts) if part is not None) if thinks else (),
        cached_tokens=response.usage.cache_read_tokens,
    )
