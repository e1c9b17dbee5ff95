"""What a tool is, the files it works on, and how a call is done: whatever goes wrong becomes its answer.

An unknown tool, arguments that do not fit and errors of any kind are told to the model, which can do better; nothing
a model says raises. What a provider or a disk says of itself stays out: an unexpected error is told by its kind alone.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

from forge.core.tape import Diverged
from forge.model.messages import Call, ModelFailed, ToolSpec
from pitlake.errors import PitlakeError, for_agents

MOST_CHARACTERS = 200_000
SHOWN = 80
FAILED = " FAILED] "
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "object": dict,
    "array": list,
    "boolean": bool,
    "integer": int,
}


class Tool(Protocol):
    """A tool. spec: its name, description and schema."""

    @property
    def spec(self) -> ToolSpec:
        """What a model is told of it."""

    @property
    def execute(self) -> Callable[..., Coroutine[Any, Any, str]]:
        """Its answer, of a call id, the same on every resume and replay, and the arguments its schema names. Raises
        PitlakeError for what the model can mend.
        """


class ListingEntry(Protocol):
    """A line of a listing."""

    @property
    def name(self) -> str:
        """Of a file, or of a folder with a slash."""

    @property
    def meta(self) -> str:
        """What is told beside it."""


class Readable(Protocol):
    """The files of a turn, as forge.fs.ReadFS has them."""

    def read_file(self, path: str) -> str:
        """The text at a path. Raises BadInput."""

    def list_dir(self, path: str, query: str | None = None) -> Sequence[ListingEntry]:
        """What is in a folder. Raises BadInput."""

    def exists(self, path: str) -> bool:
        """Whether something is there. Raises BadInput."""

    def is_dir(self, path: str) -> bool:
        """Whether it is a folder. Raises BadInput."""


class Files(Readable, Protocol):
    """The files of a turn that may be written, as forge.fs.ForgeFS has them."""

    def write_file(self, path: str, content: str, *, call_id: str) -> Any:
        """Write a text, once a call id. Raises BadInput."""


async def run(tools: Mapping[str, Tool], call: Call, call_id: str) -> str:
    """What a call gives, always a text that can be stored."""
    text = await _answered(tools, call, call_id)
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}\n[{len(text) - MOST_CHARACTERS:,} more characters — ask for less]"
    return text.encode("utf-8", "replace").decode()


async def _answered(tools: Mapping[str, Tool], call: Call, call_id: str) -> str:
    tool = tools.get(call.name)
    if tool is None:
        return f"[{_short(call.name)}{FAILED}there is no such tool. Available: {', '.join(tools)}"
    if problem := wrong(call.arguments, tool.spec.schema):
        return f"[{call.name}{FAILED}{problem}"
    try:
        return await tool.execute(call_id, **call.arguments)
    except (Diverged, ModelFailed):
        raise
    except PitlakeError as refused:
        return f"[{call.name}{FAILED}{for_agents(refused)}"
    except Exception as problem:  # noqa: BLE001 - a tool's fault must not end a turn
        return f"[{call.name}{FAILED}{type(problem).__name__}; try it in another way, or say that it is missing"


def wrong(arguments: Any, schema: Mapping[str, Any]) -> str:
    """What does not fit a tool's schema, "" where all does: names, types, enums; all that our schemas use."""
    if not isinstance(arguments, dict):
        return f"arguments: give an object, not {_short(arguments)}"
    known = schema["properties"]
    for name in () if "retry_of" in arguments else schema["required"]:  # a retry inherits
        if name not in arguments:
            return f"{name}: is missing; give {', '.join(schema['required'])}"
    for name, value in arguments.items():
        if name not in known:
            return f"{_short(name)}: no such argument; known are {', '.join(known)}"
        if problem := _unlike(value, known[name]):
            return f"{name}: {problem}"
    return ""


def _unlike(value: Any, schema: Mapping[str, Any]) -> str:
    kind, items = schema["type"], value
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind == "integer"):
        return f"{_short(value)} is no {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{_short(value)} is not one of {', '.join(schema['enum'])}"
    if kind == "integer" and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return f"{value} is not within {schema['minimum']} and {schema['maximum']}"
    if kind == "array":
        return next((problem for one in items if (problem := _unlike(one, schema["items"]))), "")
    return ""


def _short(value: Any) -> str:
    return repr(value)[:SHOWN]


def schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    return {"type": "object", "required": list(required), "properties": properties}


def tokens(text: str) -> int:
    """About how many tokens a text is."""
    return -(-len(text) // 4)
