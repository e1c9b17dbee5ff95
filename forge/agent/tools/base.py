"""Tools, the files they use, and the execution of calls. Every failure becomes the result of the call.

Unknown tools, invalid arguments and errors are reported to the model, which can try again. Of an unexpected error, only
the type is shown, because its message may come from a provider or a disk.
"""

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

from forge.core.tape import Diverged
from forge.model.messages import Call, ModelFailed, ToolSpec
from forge.records.spelling import load_json
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
        """The name, description and schema that a model sees."""

    @property
    def execute(self) -> Callable[..., Coroutine[Any, Any, str]]:
        """Run the tool. Takes a call id, the same on every resume and replay, and the schema's arguments.

        Raises PitlakeError for faults that the model can correct.
        """


class ListingEntry(Protocol):
    """An entry of a listing."""

    @property
    def name(self) -> str:
        """The name of a file, or of a folder, which ends in a slash."""

    @property
    def meta(self) -> str:
        """The text next to the name in the listing."""


class Readable(Protocol):
    """The files of a turn, as in forge.fs.ReadFS."""

    def read_file(self, path: str) -> str:
        """Return the text at a path. Raises BadInput."""

    def list_dir(self, path: str, query: str | None = None) -> Sequence[ListingEntry]:
        """Return the entries of a folder. Raises BadInput."""

    def exists(self, path: str) -> bool:
        """Return whether a path exists. Raises BadInput."""

    def is_dir(self, path: str) -> bool:
        """Return whether a path is a folder. Raises BadInput."""


class Files(Readable, Protocol):
    """The writable files of a turn, as in forge.fs.ForgeFS."""

    def write_file(self, path: str, content: str, *, call_id: str) -> Any:
        """Write content, once per call id. Raises BadInput."""


async def run_tool(tools: Mapping[str, Tool], call: Call, call_id: str) -> str:
    """Run a call and return its result as text that can be stored."""
    text = await _answered(tools, call, call_id)
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}\n[{len(text) - MOST_CHARACTERS:,} more characters — ask for less]"
    return text.encode("utf-8", "replace").decode()


async def _answered(tools: Mapping[str, Tool], call: Call, call_id: str) -> str:
    tool = tools.get(call.name)
    if tool is None:
        return f"[{_short(call.name)}{FAILED}there is no such tool. Available: {', '.join(tools)}"
    arguments = natural_arguments(call.arguments, tool.spec.schema)
    if problem := argument_problem(arguments, tool.spec.schema) if not tool.spec.strict else "":
        right_call = getattr(tool, "right_call", None) if isinstance(arguments, dict) else None
        return f"[{call.name}{FAILED}{problem}{right_call(arguments) if right_call else ''}"
    try:
        return await tool.execute(call_id, **arguments)
    except (Diverged, ModelFailed):
        raise
    except PitlakeError as refused:
        return f"[{call.name}{FAILED}{for_agents(refused)}"
    except Exception as problem:  # noqa: BLE001 - a tool's fault must not end a turn
        return f"[{call.name}{FAILED}{type(problem).__name__}; try another way, or report it as missing"


def natural_arguments(arguments: Any, schema: Mapping[str, Any]) -> Any:
    """Return arguments converted to the types of the schema, if what a model wrote has only one meaning.

    Objects, lists and whole numbers may be given as JSON text, an object may be given for text, and null omits an
    optional argument.
    """
    arguments = _from_text(arguments, "object")
    if not isinstance(arguments, dict):
        return arguments
    kinds = {name: part.get("type", "") for name, part in schema["properties"].items()}
    return {
        name: _from_text(value, kinds.get(name, ""))
        for name, value in arguments.items()
        if value is not None or name not in kinds or name in schema["required"]
    }


def _from_text(value: Any, kind: str) -> Any:
    """Parse JSON text as the object, list or whole number that `kind` requires, and convert an object to JSON text
    if `kind` is a string. Return any other value unchanged.
    """
    if kind == "string" and isinstance(value, dict):
        return json.dumps(value)
    if not isinstance(value, str) or kind not in ("object", "array", "integer") or len(value) > MOST_CHARACTERS:
        return value
    try:
        read = load_json(value)
    except ValueError:
        return value
    return read if isinstance(read, _TYPES[kind]) and not isinstance(read, bool) else value


def argument_problem(arguments: Any, schema: Mapping[str, Any]) -> str:
    """Return how arguments violate a tool's schema, or "". Covers the parts of JSON Schema that our tools use."""
    if not isinstance(arguments, dict):
        return f"arguments: give an object, not {_short(arguments)}"
    properties = schema["properties"]
    for name in () if "retry_of" in arguments else schema["required"]:  # a retry inherits these
        if name not in arguments:
            return f"{name}: is missing; give {', '.join(schema['required'])}"
    for name, value in arguments.items():
        if name not in properties:
            return f"{_short(name)}: unknown argument; use {', '.join(properties)}"
        if problem := _value_problem(value, properties[name]):
            return f"{name}: {problem}"
    return ""


def _value_problem(value: Any, schema: Mapping[str, Any]) -> str:
    kind, items = schema["type"], value
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind == "integer"):
        return f"{_short(value)} is not of type {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{_short(value)} is not one of {', '.join(schema['enum'])}"
    if kind == "integer" and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return f"{value} is not between {schema['minimum']} and {schema['maximum']}"
    if kind == "array":
        return next((problem for item in items if (problem := _value_problem(item, schema["items"]))), "")
    return ""


def _short(value: Any) -> str:
    return repr(value)[:SHOWN]


def schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments."""
    return {"type": "object", "required": list(required), "properties": properties}


def tokens(text: str) -> int:
    return -(-len(text) // 4)
