"""The server of `pitlake proxy`: an MCP server whose tools are another server's, cut off at T by a policy.

It offers only tools. Their schemas lack the arguments that limit the time, because the proxy sets these in every call.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any, Protocol, Self

import anyio
import mcp_types as types
from anyio import to_thread
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from referencing import Registry

from pitlake import __version__, clock
from pitlake.clock import iso
from pitlake.errors import BadInput, choice
from pitlake.proxy.cutting import FAILED, INCOMPLETE, MISSHAPEN, NOT_ON_TAPE, OPAQUE, SILENT, CutAnswer, receipt
from pitlake.proxy.link import Link
from pitlake.proxy.policy import Pages, Policy, ToolPolicy
from pitlake.proxy.tape import Tape
from pitlake.recorder import digest

CURSOR = "cursor"
LONGEST_COMPLAINT = 300
ROWS_OF_A_PAGE = 50
"""The number of items in a listing tool's answer, unless the caller gives a limit."""
MOST_PAGES_WITHOUT_ROWS, MOST_PAGES, MOST_CURSOR = 50, 1_000, 100_000
"""The most successive server pages without passing items, the most pages, and the highest page of a caller."""
INSTRUCTIONS = (
    "Data that was not public then is left out. Items say when they became public (available_at); gaps say what could "
    "not be dated or fetched."
)
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
        set_by_proxy = set(policy.set_by_proxy)
        for argument in sorted({*policy.arguments, *set_by_proxy} - properties.keys()):
            problem = f"tools.{self.name} names the argument {argument!r}, which the server's tool does not have"
            raise BadInput("policy", problem, choice(argument, properties))
        required = set(schema.get("required") or ()) - set_by_proxy
        if missing := required - set(policy.arguments):
            problem = f"tools.{self.name} leaves out the argument {min(missing)!r}, which the server's tool needs"
            raise BadInput("policy", problem, "add it to arguments, bind or fixed")
        properties_shown = {argument: properties[argument] for argument in policy.arguments}
        if policy.is_list:
            properties_shown[CURSOR] = _CURSOR_SCHEMA
        if policy.limit:
            properties_shown[policy.limit.argument] = {"type": "integer", "minimum": 1, "maximum": policy.limit.most}
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
            # Some clients, such as inspect-ai, refuse a tool without a description.
            description=listing.get("description") or listing.get("title") or self.name,
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
    """The tools of a server as of the instant of a tape. link: None for a replay, which calls no server."""

    def __init__(self, tape: Tape, link: Link | None) -> None:
        self._tape, self._link = tape, link
        self._tools: dict[str, ProxiedTool] = {}
        self._turn = anyio.Lock()  # Answers are cut in the order in which they arrived.

    @property
    def policy(self) -> Policy:
        return self._tape.policy

    @property
    def instructions(self) -> str:
        """Return the instructions for clients about the answers."""
        return f"Answers as of {iso(self._tape.as_of)}. {INSTRUCTIONS}"

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

    @asynccontextmanager
    async def of_request(self, _request: Any) -> AsyncIterator[Self]:
        """Yield the proxy that answers a request. This proxy answers all requests."""
        yield self

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
        if not tool.policy.is_list:
            return self._answer(await self._cut(name, sent), None)
        hashes = (digest([name, own]), self._tape.policy.sha256, digest([iso(self._tape.as_of), {}]))
        page = _page_of(arguments[CURSOR], hashes) if arguments.get(CURSOR) is not None else 1
        most = own[tool.policy.limit.argument] if tool.policy.limit and tool.policy.limit.argument in own else None
        size = int(most or ROWS_OF_A_PAGE)
        first, end = (page - 1) * size, page * size
        items = await self._list(tool, sent, end + 1)
        # Like a cursor of the lake, this one contains only the page number of a call.
        text = json.dumps([page + 1, *hashes], separators=(",", ":"))
        cursor = urlsafe_b64encode(text.encode()).decode() if len(items.rows) > end else None
        return self._answer(replace(items, rows=items.rows[first:end]), cursor)

    async def _list(self, tool: ProxiedTool, sent: Mapping[str, Any], count: int) -> CutAnswer:
        """Read the server's pages until enough items pass, so that no page shows how many later items there are.

        A list that grows while it is read repeats items on its next page. Each item is passed on once.
        """
        pages = tool.policy.pages
        rows: dict[str, dict[str, Any]] = {}
        left_out: dict[str, dict[str, str]] = {}
        token: Any = pages.first if pages and pages.place is None else None
        without_rows, is_read = 0, False
        for number in range(MOST_PAGES):
            cut = await self._cut(
                tool.name, sent if token is None or pages is None else {**sent, pages.argument: token}
            )
            if cut.refusal is not None:
                return cut
            if isinstance(cut.following, list | dict) and cut.following:
                return CutAnswer()  # No next page can be requested, and one page reveals the number of later items.
            new = {row["evidence"]: row for row in cut.rows if row["evidence"] not in rows}
            rows |= new
            left_out |= {gap["reason"]: gap for gap in cut.left_out}
            following = _following(cut, pages, token)
            is_read = len(rows) >= count or (following is None and (number == 0 or _is_page(cut)))
            without_rows = 0 if new else without_rows + 1
            if is_read or following in (None, token) or without_rows >= MOST_PAGES_WITHOUT_ROWS:
                break
            token = following
        if not is_read:
            left_out[INCOMPLETE["reason"]] = INCOMPLETE
        return CutAnswer([*rows.values()], tuple(left_out.values()))

    async def _cut(self, name: str, sent: Mapping[str, Any]) -> CutAnswer:
        cut = self._tape.again(name, sent)
        if cut is not None:
            return cut
        if self._link is None:
            return CutAnswer(refusal=NOT_ON_TAPE)
        asked_at = clock.now()
        answer = await self._link.call(name, sent)
        async with self._turn:
            return await to_thread.run_sync(self._tape.add, name, sent, asked_at, answer)

    def _answer(self, cut: CutAnswer, cursor: str | None) -> dict[str, Any]:
        payload = cut.envelope(self._tape.as_of)
        return {
            **payload,
            "truncated": cursor is not None,
            "next_cursor": cursor,
            "receipt": receipt(payload, self._tape.as_of),
        }


def _is_page(cut: CutAnswer) -> bool:
    return not {FAILED, MISSHAPEN, SILENT, OPAQUE}.intersection(cut.counts) or bool(cut.rows)


def _following(cut: CutAnswer, pages: Pages | None, token: Any) -> Any:
    """Return the value that requests the next page; None at the end."""
    if pages is None:
        return None
    if pages.place is None:
        return token + pages.step if _is_page(cut) and cut.counts else None
    is_token = (
        isinstance(cut.following, str | int | float) and not isinstance(cut.following, bool) and cut.following != ""
    )
    return cut.following if is_token else None


def _page_of(cursor: Any, hashes: tuple[str, ...]) -> int:
    """Return the page that a cursor requests. Raises BadInput if it belongs to no answer, or to another call."""
    try:
        page, *own = json.loads(urlsafe_b64decode(str(cursor)))
    except (ValueError, TypeError):
        page, own = 0, []
    if type(page) is not int or not 1 < page <= MOST_CURSOR or len(own) != len(hashes):
        raise BadInput(CURSOR, "belongs to no answer", "leave it out to start at the beginning")
    if tuple(own) != hashes:
        raise BadInput(CURSOR, "belongs to another call", "repeat the other arguments unchanged")
    return page


class Source(Protocol):
    """A source of the proxy for a request: a single `Proxy`, or one for each instant."""

    @property
    def policy(self) -> Policy: ...

    @property
    def instructions(self) -> str: ...

    def of_request(self, request: Any) -> AbstractAsyncContextManager[Proxy]: ...


def server(source: Source) -> Server[Any]:
    async def list_tools(context: Any, _params: Any) -> types.ListToolsResult:
        async with source.of_request(context.request) as proxy:
            return types.ListToolsResult(tools=proxy.tools())

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            async with source.of_request(context.request) as proxy:
                answer = await proxy.call(params.name, params.arguments or {})
        except BadInput as problem:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(problem))], is_error=True)
        except Exception:  # noqa: BLE001  The boundary: the SDK would pass on what an error says of an answer.
            return types.CallToolResult(content=[types.TextContent(type="text", text=BROKEN)], is_error=True)
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=answer)

    return Server(
        source.policy.server,
        version=__version__,
        instructions=source.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(mcp_server: Server[Any]) -> None:
    """Serve one client over stdin and stdout until it disconnects."""
    async with stdio_server() as (reading, writing):
        await mcp_server.run(reading, writing, mcp_server.create_initialization_options())
