"""Typed writes: one tool per kind of record, with the record's own schema, so that a provider can enforce it.

The settings enable them. A typed call becomes the text of a `write`, so the same model validates both.
"""

import json
import re
from collections.abc import Mapping
from inspect import cleandoc
from typing import Any

from forge.agent.help import agents_schema
from forge.agent.tools.write import WriteTool
from forge.fs import ForgeFS
from forge.model.messages import ToolSpec
from forge.records import KINDS, Kind
from forge.records.examples import EXAMPLES
from forge.records.kinds import NEW


class TypedWrite:
    """The tool that writes one kind of record, such as `write_view`."""

    def __init__(self, fs: ForgeFS, kind: Kind) -> None:
        self._tool, self._kind = WriteTool(fs), kind
        words = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.cls.__name__).lower()
        name = {"type": "string", "description": f"new, or the id of the record to change, such as {kind.prefix}-001"}
        body = {"type": "string", "description": "Markdown, with a section ## SUMMARY"}
        fields = {field: enforced(part) for field, part in agents_schema(kind).items()}
        self.spec = ToolSpec(
            f"write_{words}",
            f"Write to {kind.folder}. {cleandoc(kind.cls.__doc__ or '')}",
            closed_object({"id": name, **fields, "body": body}),
        )

    async def execute(self, call_id: str, /, **fields: Any) -> str:
        """Write the record, and return the path or the error."""
        name = str(fields.pop("id", None) or NEW).strip()
        return self._tool.execute(self._kind.path(name), json.dumps(fields), call_id=call_id)


def typed_writes(fs: ForgeFS) -> list[TypedWrite]:
    """Return the typed tools of a turn."""
    return [TypedWrite(fs, KINDS[name]) for name in EXAMPLES]


def closed_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with exactly these properties."""
    return {"type": "object", "properties": dict(properties), "required": [*properties], "additionalProperties": False}


def enforced(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a field's schema as providers enforce it: all properties are required, and optional ones may be null."""
    whole = {name: value for name, value in part.items() if name not in ("needed", "optional")}
    if "items" in part:
        whole["items"] = enforced(part["items"])
    if "properties" in part:
        whole |= closed_object({name: enforced(inner) for name, inner in part["properties"].items()})
    may_be_null = not part.get("needed", True) and whole.get("type") not in ("array", None)
    if may_be_null and (part.get("optional") or whole["type"] != "string"):
        return {"anyOf": [whole, {"type": "null"}]}
    return whole
