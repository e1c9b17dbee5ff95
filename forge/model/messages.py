"""What a model is asked and what it answers, in words that belong to no provider, and their canonical form.

The tape is keyed by that form alone: roles, texts, tool names, arguments, results. A library's own dump changes with
its next release, and with it every recorded answer would be lost.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from pitlake.errors import BadInput, PitlakeError

Finish = Literal["stop", "tools", "length", "refused", "budget"]
"""budget: the model was not asked, since a budget is reached; the answer's text says which."""


class ModelFailed(PitlakeError):
    """A model could not be asked, or gave no whole answer. The turn can be resumed from its tape."""


class NoModel(BadInput):
    """A role needs a model and none is configured for it."""


@dataclass(frozen=True)
class Call:
    """A tool the model wants called. arguments: what it gave, an object if it keeps to the schema."""

    name: str
    arguments: Any
    id: str


@dataclass(frozen=True)
class Answer:
    """What a model said. model: the id the provider names; tokens as the provider counts them.

    carried: its parts in their order where some, such as thinking, are for the provider alone, which wants them back
    unchanged. They are kept on the tape, beside what was said.
    """

    text: str
    calls: tuple[Call, ...] = ()
    finish: Finish = "stop"
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    carried: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Returned:
    """What one call gave."""

    call: Call
    text: str


@dataclass(frozen=True)
class Results:
    """What all calls of one answer gave, in their order."""

    returned: tuple[Returned, ...]


Message = str | Answer | Results
"""A message: a person's text, a model's answer, or the results of the calls in it."""


@dataclass(frozen=True)
class ToolSpec:
    """A tool as a model is told of it. schema: JSON schema of an object."""

    name: str
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True)
class Request:
    """All that a model is asked with. max_tokens: of the answer; None is the provider's own limit."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    role: str = field(default="agent")

    def canonical(self) -> dict[str, Any]:
        """What the request says, as JSON, without ids, stamps and anything a library adds."""
        return {
            "role": self.role,
            "system": self.system,
            "messages": [_told(one) for one in self.messages],
            "tools": [asdict(one) for one in self.tools],
            "max_tokens": self.max_tokens,
        }


class Model(Protocol):
    """What answers requests. id: as configured, such as `anthropic:claude-opus-4-5`."""

    @property
    def id(self) -> str:
        """Of the provider and of the model."""

    async def ask(self, request: Request) -> Answer:
        """Its answer. Raises ModelFailed."""


def dumped(answer: Answer) -> str:
    """An answer as the tape keeps it."""
    return json.dumps(asdict(answer), sort_keys=True)


def loaded(text: str) -> Answer:
    """The answer of a tape's text."""
    told = json.loads(text)
    calls, carried = tuple(Call(**call) for call in told["calls"]), tuple(told.get("carried", ()))
    return Answer(**{**told, "calls": calls, "carried": carried})


def _told(message: Message) -> dict[str, Any]:
    if isinstance(message, str):
        return {"role": "user", "text": message}
    if isinstance(message, Answer):
        return {
            "role": "assistant",
            "text": message.text,
            "calls": [[one.name, one.arguments] for one in message.calls],
        }
    return {"role": "tools", "results": [[one.call.name, one.text] for one in message.returned]}
