"""Serves untrusted SQL over tables to one agent, in sessions opened by `pitlake.sealed`.

Every call has a separate session, so that no statement affects what later ones see. The next session is opened ahead.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from pitlake import __version__
from pitlake.answers.formats import rows
from pitlake.errors import PitlakeError, for_agents
from pitlake.mcp.tools import strict_tool
from pitlake.session.result import Result
from pitlake.session.session import Session

ROWS, MOST_ROWS = 100, 1000
PAGE_BYTES = 256 << 10
COLUMNS = """
    SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE table_name IN $tables
    ORDER BY table_name, column_index
"""


class SealedTools:
    """The tools of the server. A method's docstring is its description for agents."""

    def __init__(self, open_session: Callable[[], Session]) -> None:
        self._open, self._opening, self._lock = open_session, ThreadPoolExecutor(1), Lock()
        self._next = self._opening.submit(open_session)
        self._next.result()

    def query(
        self,
        sql: Annotated[str, Field(description="DuckDB SQL; the rows of its last statement are returned.")],
        max_rows: Annotated[int, Field(description="Most rows of the answer.", ge=1, le=MOST_ROWS)] = ROWS,
    ) -> dict[str, Any]:
        """Run SQL over the tables. Nothing else can be read, and what a call changes is gone with it."""
        result = self._answer(lambda session: session.sql(sql, max_rows=max_rows, max_bytes=PAGE_BYTES))
        return {"columns": result.columns, "rows": [*map(list, rows(result.arrow()))], "truncated": result.truncated}

    def tables(self) -> dict[str, Any]:
        """List the tables and the types of their columns."""
        result = self._answer(lambda session: session.sql(COLUMNS, {"tables": list(session.datasets)}))
        tables: dict[str, dict[str, str]] = {}
        for table, column, kind in result.rows():
            tables.setdefault(table, {})[column] = kind
        return {"tables": tables}

    def close(self) -> None:
        """End the session that was opened ahead."""
        self._next.result().close()
        self._opening.shutdown()

    def _answer(self, ask: Callable[[Session], Result]) -> Result:
        with self._lock:
            ready, self._next = self._next, self._opening.submit(self._open)
        try:
            with ready.result() as session:
                return ask(session)
        except PitlakeError as error:
            raise ToolError(for_agents(error)) from None


def server(tools: SealedTools) -> MCPServer[None]:
    """Return a server with these tools."""
    return MCPServer[None](
        name="pitlake-sealed",
        title="Tables in a sealed DuckDB",
        version=__version__,
        instructions="Call tables first. SQL sees these tables and nothing else: no file, no network, no extension.",
        tools=[strict_tool(tools.tables), strict_tool(tools.query)],
        log_level="WARNING",
    )
