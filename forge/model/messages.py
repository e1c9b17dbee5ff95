"""Requests to models and their answers, in provider-neutral types, and their canonical form.

The keys of the tape depend only on that form: roles, texts, tool names, arguments and results. A library's own
serialisation may change with its next release, which would invalidate every recorded answer.
"""

import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from pitlake.errors import BadInput, PitlakeError

Finish = Literal["stop", "tools", "length", "refused", "budget", "stopped", "too_long"]
"""budget, stopped: the model was not called, because a budget is exceeded or the PM stopped the decision.

too_long: the request is too long for the model. The answer's text then names the budget, the reason, or the provider's
message.
"""


_FAILED_RESULT = re.compile(r"\[[^\]\n]*FAILED|Not written\.|GUARDRAIL VIOLATIONS:")


class ModelFailed(PitlakeError):
    """A model could not be reached, or gave no complete answer. The turn can be resumed from its tape."""


class AnswerCut(ModelFailed):
    """An answer was cut off. The same request can be sent again."""


class NoModel(BadInput):
    """A role needs a model and none is configured for it."""


@dataclass(frozen=True)
class Call:
    """A tool call by the model. arguments: an object if they match the schema."""

    name: str
    arguments: Any
    id: str


@dataclass(frozen=True)
class Answer:
    """A model's answer. model: the id that the provider reports; tokens as the provider counts them.

    cached_tokens: the tokens of the input that the provider had in its cache. carried: the parts of the answer in
    order, if some of them, such as thinking, must be sent back to the provider unchanged. The tape stores them too.
    """

    text: str
    calls: tuple[Call, ...] = ()
    finish: Finish = "stop"
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    carried: tuple[dict[str, Any], ...] = ()
    cached_tokens: int = 0


@dataclass(frozen=True)
class Returned:
    """The result of one call."""

    call: Call
    text: str

    @property
    def failed(self) -> bool:
        """Whether the tool failed, so that providers mark the result as an error."""
        return bool(_FAILED_RESULT.match(self.text))


@dataclass(frozen=True)
class Results:
    """The results of all calls of one answer, in order."""

    returned: tuple[Returned, ...]


Message = str | Answer | Results
"""A message: a user's text, a model's answer, or the results of its calls."""


@dataclass(frozen=True)
class ToolSpec:
    """A tool as a model sees it. schema: the JSON schema of an object."""

    name: str
    description: str
    schema: dict[str, Any]

    @property
    def strict(self) -> bool:
        """Whether the schema is complete, so that a provider can enforce it."""
        return self.schema.get("additionalProperties") is False


@dataclass(frozen=True)
class Request:
    """A request to a model. max_tokens: the limit of the answer; None for the provider's limit.

    stable: the length of the start of `system` that is the same in every turn of a session; None for all of `system`.
    form: if set, the whole answer must be a call to this tool, as JSON.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    role: str = field(default="agent")
    stable: int | None = None
    form: ToolSpec | None = None

    def canonical(self) -> dict[str, Any]:
        """Return the request as JSON, without ids, timestamps and fields that a library adds."""
        messages = list[dict[str, Any]]()
        for message in self.messages:
            if isinstance(message, str):
                messages.append({"role": "user", "text": message})
            elif isinstance(message, Answer):
                calls = [[call.name, call.arguments] for call in message.calls]
                messages.append({"role": "assistant", "text": message.text, "calls": calls})
            else:
                results = [[result.call.name, result.text] for result in message.returned]
                messages.append({"role": "tools", "results": results})
        return {
            "role": self.role,
            "system": self.system,
            "messages": messages,
            "tools": [asdict(tool) for tool in self.tools],
            "max_tokens": self.max_tokens,
            **({"form": self.form.name} if self.form else {}),
        }


class Model(Protocol):
    """A model. id: its configured id, such as `anthropic:claude-opus-4-5`."""

    @property
    def id(self) -> str:
        """The provider and the model."""

    async def ask(self, request: Request) -> Answer:
        """Answer a request. Raises ModelFailed."""


def dump_answer(answer: Answer) -> str:
    return json.dumps(asdict(answer), sort_keys=True)


def load_answer(text: str) -> Answer:
    fields = json.loads(text)
    calls, carried = tuple(Call(**call) for call in fields["calls"]), tuple(fields.get("carried", ()))
    return Answer(**{**fields, "calls": calls, "carried": carried})
