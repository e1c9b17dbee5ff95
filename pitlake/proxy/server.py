"""`pitlake proxy` itself: an MCP server whose tools are another server's, cut off at T by a policy.

It offers only tools. Their schemas lack the arguments that limit the time; the proxy sets these in every call.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from referencing import Registry

from pitlake import __version__, clock
from pitlake.clock import iso
from pitlake.errors import BadInput, choice
from pitlake.proxy.cutting import NOT_ON_TAPE, CutAnswer, receipt
from pitlake.proxy.link import Link
from pitlake.proxy.policy import ToolPolicy
from pitlake.proxy.tape import Tape, call_key

CURSOR = "cursor"
LONGEST_COMPLAINT = 300
BROKEN = "the proxy could not read the tool's answer, so nothing is passed on"
_CURSOR_SCHEMA = {"type": "string", "description": "`next_cursor` of the last page; repeat the other arguments."}
_ENVELOPE = {
    "type": "object",
    "properties": {
        "data": {"type": "array", "items": {"type": "object"}, "description": "Items, with available_at."},
        "gaps": {"type": "array", "items": {"type": "object"}, "description": "What is missing: type and reason."},
        "truncated": {"type": "boolean", "description": "There is another page: ask again with next_cursor."},
        "next_cursor": {"type": ["string", "null"]},
        "receipt": {"type": "object"},
    },
    "required": ["data", "gaps", "truncated", "next_cursor", "receipt"],
}


class ProxiedTool:
    """One tool: the schema that callers see, and the arguments that are sent."""

    def __init__(self, listing: Mapping[str, Any], policy: ToolPolicy) -> None:
        self.name, self.policy = str(listing["name"]), policy
        schema = listing["schema"] if isinstance(listing["schema"], dict) else {}
        properties = schema.get("properties") or {}
        set_by_proxy = {*policy.bind, *policy.fixed, *([policy.pages.argument] if policy.pages else [])}
        for argument in sorted({*policy.arguments, *set_by_proxy} - properties.keys()):
            problem = f"tools.{self.name} names the argument {argument!r}, which the server's tool does not have"
            raise BadInput("policy", problem, choice(argument, properties))
        required = set(schema.get("required") or ()) - set_by_proxy
        if missing := required - set(policy.arguments):
            problem = f"tools.{self.name} leaves out the argument {min(missing)!r}, which the server's tool needs"
            raise BadInput("policy", problem, "add it to arguments, bind or fixed")
        properties_shown = {argument: properties[argument] for argument in policy.arguments}
        if policy.pages:
            properties_shown[CURSOR] = _CURSOR_SCHEMA
        self.schema: dict[str, Any] = {
            "type": "object",
            "properties": properties_shown,
            "required": sorted(required | set(policy.required)),
            "additionalProperties": False,
        } | {name: schema[name] for name in ("$defs", "definitions") if name in schema}
        try:
            Draft202012Validator.check_schema(self.schema)
        except SchemaError:
            raise BadInput(
                "policy", f"tools.{self.name} has a schema that can't be read", "leave the tool out"
            ) from None
        self._validator = Draft202012Validator(self.schema, registry=Registry())
        self.shown = types.Tool(
            name=self.name,
            title=listing.get("title"),
            description=listing.get("description"),
            input_schema=self.schema,
            output_schema=_ENVELOPE,
            annotations=types.ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=True),
        )

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Refuse arguments that the tool does not take. Raises BadInput, which reveals nothing of an answer."""
        for name in arguments.keys() - self.schema["properties"].keys():
            raise BadInput(
                name, f"{self.name} takes no such argument", f"it takes {', '.join(self.schema['properties'])}"
            )
        fault = best_match(self._validator.iter_errors(dict(arguments)))
        if fault is not None:
            field = str(fault.path[0]) if fault.path else "arguments"
            raise BadInput(field, fault.message[:LONGEST_COMPLAINT])


class Proxy:
    """The tools of a server, as of the instant of a tape. link: None for a replay, which calls no server."""

    def __init__(self, tape: Tape, link: Link | None) -> None:
        self._tape, self._link = tape, link
        self._tools: dict[str, ProxiedTool] = {}
        self._following: dict[str, Any] = {}

    async def prepare(self) -> None:
        """Read the server's tools, or the tape's. Raises BadInput if the policy does not fit them."""
        if self._link is not None:
            self._tape.list_tools(await self._link.tools())
        tools_by_name = {str(tool["name"]): tool for tool in self._tape.tools or ()}
        for name, policy in self._tape.policy.tools.items():
            if name not in tools_by_name:
                raise BadInput(
                    "policy", f"names the tool {name!r}, which the server does not have", choice(name, tools_by_name)
                )
            self._tools[name] = ProxiedTool(tools_by_name[name], policy)

    def tools(self) -> list[types.Tool]:
        """Return the tools that the policy allows, as callers see them."""
        return [tool.shown for tool in self._tools.values()]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return a tool's answer as the envelope of T. Raises BadInput for an invalid call."""
        tool = self._tools.get(name)
        if tool is None:
            raise BadInput("tool", f"there is no tool {name!r}", choice(name, self._tools))
        tool.check(arguments)
        own = {argument: setting for argument, setting in arguments.items() if argument != CURSOR}
        sent = {**own, **tool.policy.bound(self._tape.as_of)}
        page = 1
        if tool.policy.pages and arguments.get(CURSOR) is not None:
            if arguments[CURSOR] not in self._following:
                raise BadInput(CURSOR, "belongs to no answer", "leave it out to start at the beginning")
            page, call, token = self._following[arguments[CURSOR]]
            if call != call_key(name, own):
                raise BadInput(CURSOR, "belongs to another call", "repeat the other arguments unchanged")
            sent[tool.policy.pages.argument] = token
        cut = self._tape.again(name, sent)
        if cut is None:
            cut = await self._ask(name, sent)
        return self._envelope(cut, call_key(name, own), page)

    async def _ask(self, name: str, sent: Mapping[str, Any]) -> CutAnswer:
        if self._link is None:
            return CutAnswer({"data": [], "gaps": [NOT_ON_TAPE]})
        asked_at = clock.now()
        return self._tape.add(name, sent, asked_at, await self._link.call(name, sent))

    def _envelope(self, cut: CutAnswer, call: str, page: int) -> dict[str, Any]:
        cursor = None
        if isinstance(cut.following, str | int) and cut.following not in ("", False):
            cursor = _cursor(page, call, self._tape.policy.sha256, call_key(iso(self._tape.as_of), {}))
            self._following[cursor] = (page + 1, call, cut.following)
        return {
            **cut.payload,
            "truncated": cursor is not None,
            "next_cursor": cursor,
            "receipt": receipt(cut.payload, self._tape.as_of),
        }


def _cursor(page: int, *hashes: str) -> str:
    """Return a cursor in the form of the lake's own. It contains only the number of a page of a call."""
    return urlsafe_b64encode(json.dumps([page, *hashes], separators=(",", ":")).encode()).decode()


def server(proxy: Proxy, tape: Tape) -> Server[Any]:
    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=proxy.tools())

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            answer = await proxy.call(params.name, params.arguments or {})
        except BadInput as problem:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(problem))], is_error=True)
        except Exception:  # noqa: BLE001  The boundary: the SDK would pass on what an error says of an answer.
            return types.CallToolResult(content=[types.TextContent(type="text", text=BROKEN)], is_error=True)
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=answer)

    return Server(
        tape.policy.server,
        version=__version__,
        instructions=(
            f"Answers as of {iso(tape.as_of)}. Data that was not public then is left out. Items say when "
            "they became public (available_at); gaps say what could not be dated or fetched."
        ),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(mcp_server: Server[Any]) -> None:
    """Serve one client over stdin and stdout until it disconnects."""
    async with stdio_server() as (reading, writing):
        await mcp_server.run(reading, writing, mcp_server.create_initialization_options())
