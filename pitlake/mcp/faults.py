"""What is wrong with a call's arguments, in pitlake's own words: the field, and what to give instead."""

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
    """A tool of the SDK that says what is wrong with its arguments as every other door of pitlake does."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        """The SDK's `run`; arguments that don't fit are an answer that is an error."""
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            said = "\n".join(str(self._fault(one)) for one in error.__cause__.errors())
            return CallToolResult(content=[TextContent(type="text", text=said)], is_error=True)

    def _fault(self, found: Any) -> BadInput:
        field, known = str(found["loc"][0]), self.parameters["properties"]
        if field not in known:
            return BadInput(field, f"{self.name} takes no such argument", f"it takes {', '.join(known)}")
        if found["type"] == "missing":
            return BadInput(field, "missing", known[field]["description"])
        if "enum" in known[field]:
            allowed = ", ".join(known[field]["enum"])
            return BadInput(field, f"{found['input']!r} is not one of its values", f"give one of {allowed}")
        taken = [one["type"] for one in known[field].get("anyOf", [known[field]]) if one["type"] != "null"]
        return BadInput(field, f"is not {KINDS[taken[0]]}", known[field]["description"])
