"""Explains the faults of a call's arguments in pitlake's words: the field, and the value to pass instead."""

from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent
from pydantic import ValidationError

from pitlake.errors import BadInput

KINDS = {
    "string": "text",
    "integer": "a whole number",
    "object": "an object of values by name",
    "boolean": "true or false",
}


class PlainTool(Tool):
    """A tool of the SDK that reports wrong arguments in pitlake's words."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        """Run the tool. Wrong arguments become an error result."""
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            message = "\n".join(str(self._fault(fault)) for fault in error.__cause__.errors())
            return CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)

    def _fault(self, fault: Any) -> BadInput:
        field, properties = str(fault["loc"][0]), self.parameters["properties"]
        if field not in properties:
            return BadInput(field, f"{self.name} takes no such argument", f"it takes {', '.join(properties)}")
        if fault["type"] == "missing":
            return BadInput(field, "missing", properties[field]["description"])
        if "enum" in properties[field]:
            allowed = ", ".join(properties[field]["enum"])
            return BadInput(field, f"{fault['input']!r} is not a valid value", f"give one of {allowed}")
        if not fault["type"].endswith(("_type", "_parsing", "_from_float")):
            return BadInput(field, f"{fault['input']!r} is not a valid value", properties[field]["description"])
        taken = [
            schema["type"] for schema in properties[field].get("anyOf", [properties[field]]) if schema["type"] != "null"
        ]
        return BadInput(field, f"is not {KINDS[taken[0]]}", properties[field]["description"])
