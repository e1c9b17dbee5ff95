"""mcp-server-motherduck over stdio: an agent's SQL on a DuckDB file that the server opens read-only."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from asofbench.adapters.base import Rows
from asofbench.adapters.duck import NEWEST, Duck, answer, attacked
from asofbench.model import Question, read


class Server:
    """One running server and its file; it opens the file for every call, so the file may be written between calls."""

    def __init__(self, init: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="asofbench-mcp-")
        self.file = Path(self._folder.name) / "facts.duckdb"
        duckdb.connect(str(self.file)).close()
        command = str(Path(sys.executable).with_name("mcp-server-motherduck"))
        arguments = ["--db-path", str(self.file), *(["--init-sql", init] if init else [])]
        self._loop = asyncio.new_event_loop()
        self._client = Client(StdioTransport(command=command, args=arguments, env={"HOME": self._folder.name}))
        self._loop.run_until_complete(self._client.__aenter__())

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query by the tool `execute_query`. Raises RuntimeError with the server's message."""
        called = self._client.call_tool("execute_query", {"sql": text}, raise_on_error=False)
        reply = self._loop.run_until_complete(called)
        reply_text = "".join(getattr(part, "text", "") for part in reply.content)
        reply_json = json.loads(reply_text) if reply_text.startswith("{") else {}
        if reply.is_error or not reply_json.get("success", False):
            raise RuntimeError(reply_text)
        return [tuple(row) for row in reply_json["rows"]]


SERVERS: dict[str, Server] = {}


class MotherDuck(Duck):
    """options: init (SQL that the server runs on every connection), stamp and careful as for DuckDB."""

    def load(self, rows: Rows) -> None:
        """Write the rows as a table of the server's file."""
        super().load(rows)
        init = self.options.get("init", "")
        if init not in SERVERS:
            SERVERS[init] = Server(init)
        self.server = SERVERS[init]
        self.server.file.unlink(missing_ok=True)
        if not self.options.get("cut"):
            self._write(f"CREATE TABLE facts AS FROM read_parquet('{self.file}')")

    def ask(self, question: Question) -> Any:
        """Ask the view `known`, which ends at T, as the user is told to."""
        if question.as_of != self.at:
            source = f"read_parquet('{self.file}')" if self.options.get("cut") else "facts"
            kind = "TABLE" if self.options.get("cut") else "VIEW"
            self._write(
                f"CREATE OR REPLACE {kind} history AS {self.visible(read(question.as_of), source)}",
                f"CREATE OR REPLACE {kind} known AS {NEWEST.format(newest=self.newest)}",
            )
            self.at = question.as_of
        if question.kind == "hostile":
            question = attacked(self.server.sql, question, self.names())
        return answer(self.server.sql, question, self.names())

    def _write(self, *statements: str) -> None:
        with duckdb.connect(str(self.server.file)) as writing:
            for statement in statements:
                writing.execute(statement)
