"""The tools that a PM shares with other agents over MCP. They read memory and decisions as of an instant.

The settings choose the tools, `[mcp] tools = ["read", "search", "decisions"]`; none are shared by default. The book,
sessions' files and skills are never shared.
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
from forge.core.tape import WORK
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
    """The tools, bound to an instant. The agent reads each method's docstring."""

    def __init__(self, own: Desk, memory: Memory, at: datetime) -> None:
        self._own, self._memory, self._at = own, memory, at

    async def read(
        self,
        path: Annotated[str, Field(description="A folder or a record below /memory/, such as /memory/views/.")],
        depth: Annotated[Depth | None, Field(description="How much of a record to show (default: header).")] = None,
        query: Filters = None,
    ) -> CallToolResult:
        """Read the portfolio manager's Views, Expressions, observations, outcomes and lessons, as of the instant."""
        return await _guarded(lambda: ReadTool(self._files(path)).execute("", path=path, depth=depth, query=query))

    async def search(
        self,
        query: Annotated[str, Field(description="What to look for.")],
        scope: Annotated[str, Field(description="A folder below /memory/.")] = SHARED,
        filters: Filters = None,
    ) -> CallToolResult:
        """Search the portfolio manager's memory by meaning, as of the instant."""
        meaning = self._own.meaning()
        return await _guarded(
            lambda: SearchTool(self._files(scope), meaning).execute("", scope=scope, query=query, filters=filters)
        )

    async def decisions(
        self, name: Annotated[str | None, Field(description="One decision in full (default: list all).")] = None
    ) -> CallToolResult:
        """List decisions up to the instant, or show the receipt and the lineage of one decision."""

        async def answer() -> str:
            if not name:
                return "\n".join(self._known()) or "none yet"
            if name not in [line.partition(" ")[0] for line in self._known()]:
                problem = f"there is no decision {name[:60]!r}"
                raise BadInput("name", problem, "call decisions without a name for the list")
            edges = lineage.lineage(self._memory, self._own.tape, name, self._at)
            receipt = json.loads(self._own.tape.receipt(name) or "null")
            return f"{json.dumps(receipt, indent=1)}\n\n{lineage.as_text(edges)}"

        return await _guarded(answer)

    def _files(self, path: str) -> ReadFS:
        if not path.startswith(SHARED):
            raise BadInput("path", f"{path[:80]!r} is not shared", f"give a path below {SHARED}")
        return ReadFS(self._memory.hydrate(self._memory.read_instant(self._at)))

    def _known(self) -> list[str]:
        names = [name for name in self._own.tape.decisions() if not name.startswith(WORK)]
        inputs = {name: self._own.tape.inputs(name) for name in names}
        return [
            f"{name}  {start['as_of']}  {start['text'][:80]}"
            for name, start in inputs.items()
            if start["clock"] == self._memory.journal.clock.name and instant(start["as_of"]) <= self._at
        ]


def server(own: Desk, memory: Memory, at: datetime) -> MCPServer[None]:
    """Return a server with the tools that the settings choose. Raises BadInput if they choose none."""
    names = own.config.mcp.tools
    if not names:
        raise BadInput("mcp.tools", "is empty, so nothing is shared", f"set it in {own.settings}")
    box = SharedTools(own, memory, at)
    tools: dict[str, Callable[..., Awaitable[CallToolResult]]] = {
        "read": box.read,
        "search": box.search,
        "decisions": box.decisions,
    }
    return MCPServer(
        name="forge",
        title="A portfolio manager's memory",
        instructions=f"Answers as of {iso(at)}; later writes are not included. Read-only.",
        tools=[strict_tool(tools[name]) for name in names],
        log_level="WARNING",
    )


async def _guarded(make: Callable[[], Awaitable[str]]) -> CallToolResult:
    try:
        return CallToolResult(content=[TextContent(type="text", text=await make())])
    except PitlakeError as error:
        return CallToolResult(content=[TextContent(type="text", text=for_agents(error))], is_error=True)
