"""One locked DuckDB connection: its setup, how a caller's SQL runs on it, and the limits of results.

Sealed and in-process sessions both use it, so they give the same answers. This module does not depend on lakes,
processes or pipes.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any

import duckdb
import pyarrow as pa

from pitlake.session.limits import Caps, Failure
from pitlake.session.sql import arrow_fidelity, statements
from pitlake.session.sql.reading import UNPROVEN, read

BATCH_ROWS = 32_768
_LONGEST_MESSAGE = 8192
_SETTINGS = ("SET TimeZone='UTC'", "SET enable_progress_bar=false", "SET parquet_metadata_cache=true")
_READERS = 8  # threads that read ahead of a scan
# Statements that only read. Any other statement may change the session and so affect later answers.
_STATELESS = frozenset({"SELECT"})
_FATAL = (duckdb.FatalException, duckdb.InternalException)


class OverCap(Exception):
    """The result would exceed a limit. `limit` is rows or bytes."""

    def __init__(self, limit: str) -> None:
        self.limit = limit
        super().__init__(limit)


class MachineClock(ValueError):
    """A statement calls a function of the machine's clock by its full name, bypassing the session's own."""


def connect() -> duckdb.DuckDBPyConnection:
    """Open a private in-memory DuckDB that never spills, loads nothing and has no threads."""
    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": 1,
            "async_threads": 0,
            "temp_directory": "",
            "max_temp_directory_size": "0KB",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "allow_persistent_secrets": "false",
            "python_enable_replacements": "false",
            "enable_external_file_cache": "false",
            "home_directory": "/nonexistent",
            "extension_directory": "/nonexistent",
            "secret_directory": "/nonexistent",
        },
    )
    execute(connection, *_SETTINGS, *statements.blank())
    return connection


def prepare(connection: duckdb.DuckDBPyConnection, names: Collection[str]) -> duckdb.DuckDBPyConnection:
    """Create the views of these datasets of this installation, without rows."""
    execute(connection, *statements.prepared(names))
    return connection


def allot(connection: duckdb.DuckDBPyConnection, *, threads: int, memory: int) -> None:
    """Set the session's limits: threads, and bytes of memory."""
    execute(
        connection, f"SET memory_limit='{memory // 1000}KB'", f"SET threads={threads}", f"SET async_threads={_READERS}"
    )


def register(connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[str]) -> None:
    """Register the rows of these Arrow files under a name. The files are mapped, so rows need no memory."""
    connection.register(name, pa.concat_tables(pa.ipc.open_file(pa.memory_map(file)).read_all() for file in files))


def lock(connection: duckdb.DuckDBPyConnection, *, files: Sequence[str], seconds: float) -> None:
    """Lock DuckDB itself: it may open only these files, and its settings can't be changed.

    This is a second layer behind the seal.
    """
    joined = ",".join(files)  # A list of literals would take twice as long to read.
    execute(
        connection,
        f"SET allowed_paths=string_split('{joined}', ',')" if files else "",
        "SET enable_external_access=false",
        f"SET max_execution_time={max(1, int(seconds * 1000))}",
        "SET lock_configuration=true",
    )


def execute(connection: duckdb.DuckDBPyConnection, *texts: str) -> None:
    """Run pitlake's own statements."""
    for text in filter(None, texts):
        connection.execute(text)
        connection.complete()


class RunningQuery:
    """A running query.

    `stateless` is whether later answers are independent of it; `schema` is its Arrow schema; its batches stay within
    the limits. `rows` and `truncated` are final once the batches are read. views: the names to report in the `reading`
    of a single SELECT; empty for no report. bound: whether the session has a T, so that statements that read the
    machine's clock are refused.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        sql: str,
        parameters: Any,
        caps: Caps,
        views: Collection[str] = (),
        *,
        bound: bool,
    ) -> None:
        if bound and (name := _machine_clock(sql)):
            raise MachineClock(f"{name}() reads the machine's clock")
        self._connection, self._caps = connection, caps
        self.rows, self._bytes, self.truncated = 0, 0, False
        # random(), uuid() and samples have the same seed in every query, so that answers can be repeated.
        # An aborted transaction refuses every statement except those that end it.
        with suppress(duckdb.TransactionException):
            execute(connection, "SELECT setseed(0.5)")
        script = connection.extract_statements(sql)
        if not script:
            raise duckdb.ParserException("Parser Error: there is no statement in this text")
        self.stateless = all(statement.type.name in _STATELESS for statement in script)
        readable = views and self.stateless and len(script) == 1
        self.reading = read(connection, sql, views) if readable else UNPROVEN
        self._script = _with_values(script, parameters)

    def start(self) -> None:
        """Run every statement except the last, and start the last one."""
        *earlier, (last, values) = self._script
        for statement, its in earlier:
            self._connection.execute(statement, its)
            self._connection.complete()
        relation = self._connection.sql(last, params=values)
        arrow_fidelity.check_types(relation.columns, relation.types)
        self._reader = arrow_fidelity.spelled_out(relation).to_arrow_reader(BATCH_ROWS)
        self.schema: pa.Schema = arrow_fidelity.typed(self._reader.schema)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows, and always close the query. Raises OverCap at a limit unless rows may be truncated."""
        try:
            for batch in self._reader:
                within = batch if batch.schema == self.schema else batch.cast(self.schema)
                room = self._caps.rows - self.rows
                if within.num_rows > room:
                    within = self._cut(within, room, "rows")
                room = self._caps.bytes - self._bytes
                if within.nbytes > room:
                    fitting, most = 0, within.num_rows
                    while fitting < most:
                        middle = (fitting + most + 1) // 2
                        fits = within.slice(0, middle).nbytes <= room
                        fitting, most = (middle, most) if fits else (fitting, middle - 1)
                    within = self._cut(within, fitting, "bytes")
                arrow_fidelity.check_values(within)
                if within.num_rows:
                    self.rows += within.num_rows
                    self._bytes += within.nbytes
                    yield within
                if self.truncated:
                    return
        finally:
            self.close()

    def close(self) -> None:
        with suppress(duckdb.Error):
            self._reader.close()

    def _cut(self, batch: pa.RecordBatch, rows: int, limit: str) -> pa.RecordBatch:
        if not self._caps.truncate:
            raise OverCap(limit)
        self.truncated = True
        return batch.slice(0, rows)


def _machine_clock(sql: str) -> str:
    """Return the full name by which a script calls a machine clock function, found by DuckDB's scanner, or ""."""
    if "system" not in sql.lower():
        return ""
    text = sql.encode()
    tokens = duckdb.tokenize(sql)
    ends = [*(start for start, _ in tokens[1:]), len(text)]
    words = [text[start:end].decode(errors="replace").strip().strip('"`').lower()
             for (start, kind), end in zip(tokens, ends, strict=True) if kind != duckdb.token_type.comment]  # fmt: skip
    for at in (place for place, word in enumerate(words) if word == "system"):
        following = [word for word in words[at : at + 6] if word != "."]
        parts = following[: following.index("(")] if "(" in following else []
        if len(parts) in (2, 3) and parts[-1] in statements.CLOCK:
            return ".".join(parts)
    return ""


def _with_values(script: list[duckdb.Statement], parameters: Any) -> list[tuple[duckdb.Statement, Any]]:
    """Return a script's statements, each with the parameters that it names.

    Unused parameters go to the last statement, so that DuckDB refuses them.
    """
    *earlier, last = script
    if not isinstance(parameters, dict):
        return [*((statement, None) for statement in earlier), (last, parameters)]
    names_by_statement = [frozenset(statement.named_parameters) for statement in earlier]
    others = frozenset(last.named_parameters).union(frozenset(parameters).difference(*names_by_statement))
    values = [
        {name: parameters[name] for name in names if name in parameters} or None
        for names in (*names_by_statement, others)
    ]
    return list(zip(script, values, strict=True))


def load(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    """Load a caller's rows as a temporary table."""
    quoted = '"' + name.replace('"', '""') + '"'
    connection.register("pitlake_loaded", table)
    try:
        execute(connection, f"CREATE OR REPLACE TEMP TABLE {quoted} AS SELECT * FROM pitlake_loaded")
    finally:
        connection.unregister("pitlake_loaded")


def failure(error: BaseException) -> Failure:
    kind, message = type(error).__name__, str(error)[:_LONGEST_MESSAGE]
    if isinstance(error, OverCap):
        return Failure("OverCap", message, limit=error.limit)
    if "for regular string buffers" in message:  # An Arrow batch can't hold 2 GiB of text.
        return Failure(kind, message, limit="bytes")
    if isinstance(error, (MemoryError, duckdb.OutOfMemoryException, pa.ArrowMemoryError)) or "bad_alloc" in message:
        return Failure(kind, message, limit="memory")
    if isinstance(error, duckdb.InterruptException):
        return Failure(kind, message, limit="seconds" if "maximum execution time" in message else "")
    return Failure(kind, message, fatal=isinstance(error, _FATAL))
