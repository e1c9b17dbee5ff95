"""What a PM shares with other agents over MCP: memory and decisions, to read, as of one instant, and only by name.

The settings name the tools, `[mcp] tools = ["read", "search", "decisions"]`; without them there is nothing to serve.
The book, sessions' files and skills are shared by none of them.
"""

import json
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, TextContent
from pydantic import Field

from forge.agent import lineage
from forge.agent.tools.read import ReadTool
from forge.agent.tools.search import SearchTool
from forge.desk import Desk
from forge.fs import ReadFS
from forge.memory import Memory
from pitlake.clock import instant, iso
from pitlake.errors import BadInput, PitlakeError, for_agents
from pitlake.mcp.tools import strict_tool

SHARED = "/memory/"
Depth = Literal["header", "summary", "full"]
Filters = Annotated[str | None, Field(description="key:value, key>=N, since:date.")]


class SharedTools:
    """The tools, bound to an instant. A method's docstring is what the agent reads of it."""

    def __init__(self, own: Desk, memory: Memory, at: datetime) -> None:
        self._own, self._memory, self._at = own, memory, at

    async def read(
        self,
        path: Annotated[str, Field(description="A folder or a record below /memory/, such as /memory/views/.")],
        depth: Annotated[Depth | None, Field(description="How much of a record; left out: its header.")] = None,
        query: Filters = None,
    ) -> CallToolResult:
        """Read the portfolio manager's Views, Expressions, observations, outcomes and lessons, as of the instant."""
        return await _guarded(lambda: ReadTool(self._files(path)).execute("", path=path, depth=depth, query=query))

    async def search(
        self,
        query: Annotated[str, Field(description="What it should be about.")],
        scope: Annotated[str, Field(description="A folder below /memory/.")] = SHARED,
        filters: Filters = None,
    ) -> CallToolResult:
        """Search the portfolio manager's memory by meaning, as of the instant."""
        meaning = self._own.meaning()
        return await _guarded(
            lambda: SearchTool(self._files(scope), meaning).execute("", scope=scope, query=query, filters=filters)
        )

    async def decisions(
        self, name: Annotated[str | None, Field(description="One decision in full; left out: which there are.")] = None
    ) -> CallToolResult:
        """List decisions up to the instant, or tell of one what it rested on: its receipt and its lineage."""

        async def told() -> str:
            return self._decision(name) if name else "\n".join(self._known()) or "none yet"

        return await _guarded(told)

    def _files(self, path: str) -> ReadFS:
        if not path.startswith(SHARED):
            raise BadInput("path", f"{path[:80]!r} is not shared", f"give one below {SHARED}")
        return ReadFS(self._memory.hydrate(self._memory.standing(self._at)))

    def _known(self) -> list[str]:
        begun = {name: self._own.tape.begun(name) for name in self._own.tape.decisions()}
        mine = {name: told for name, told in begun.items() if self._seen(told["clock"], told["as_of"])}
        return [f"{name}  {told['as_of']}  {told['text'][:80]}" for name, told in mine.items()]

    def _seen(self, clock: str, as_of: str) -> bool:
        return clock == self._memory.journal.clock.name and instant(as_of) <= self._at

    def _decision(self, name: str) -> str:
        if name not in [line.partition(" ")[0] for line in self._known()]:
            raise BadInput("name", f"there is no decision {name[:60]!r}", "call decisions without a name to see which")
        edges = lineage.lineage(self._memory, self._own.tape, name, self._at)
        receipt = json.loads(self._own.tape.receipt(name) or "null")
        return f"{json.dumps(receipt, indent=1)}\n\n{lineage.as_text(edges)}"


def server(own: Desk, memory: Memory, at: datetime) -> MCPServer[None]:
    """A server with the tools that the settings name. Raises BadInput where they name none."""
    names = own.config.mcp.tools
    if not names:
        raise BadInput("mcp.tools", "names none, so nothing is shared", f"name some in {own.settings}")
    box = SharedTools(own, memory, at)
    known: dict[str, Callable[..., Awaitable[CallToolResult]]] = {
        "read": box.read,
        "search": box.search,
        "decisions": box.decisions,
    }
    return MCPServer(
        name="forge",
        title="A portfolio manager's memory",
        instructions=f"Answers as of {iso(at)}; what was written later is not there. It only reads.",
        tools=[strict_tool(known[name]) for name in names],
        log_level="WARNING",
    )


async def _guarded(make: Callable[[], Awaitable[str]]) -> CallToolResult:
    try:
        return CallToolResult(content=[TextContent(type="text", text=await make())])
    except PitlakeError as error:
        return CallToolResult(content=[TextContent(type="text", text=for_agents(error))], is_error=True)
