"""The journal's tables, in SQLite or Postgres. Rows are only added, never changed or removed."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any, NamedTuple

from forge.memory.chain import Row
from pitlake.errors import BadInput

META, JOURNAL = "forge_journal_name", "forge_journal"
COLUMNS = tuple(Row.__dataclass_fields__)
_TYPES = dict.fromkeys(COLUMNS, "TEXT") | {
    "seq": "BIGINT",
    "written_at": "BIGINT",
    "part": "INTEGER",
    "number": "INTEGER",
}
_DEFINED = ", ".join(f"{name} {kind} NOT NULL" for name, kind in _TYPES.items())
_TABLES = (
    f"CREATE TABLE {META} (one INTEGER PRIMARY KEY CHECK (one = 1), journal TEXT NOT NULL, clock TEXT NOT NULL)",
    f"CREATE TABLE {JOURNAL} ({_DEFINED}, PRIMARY KEY (seq), UNIQUE (session, call_id, part))",
    f"CREATE INDEX {JOURNAL}_of_path ON {JOURNAL} (path, seq)",
    f"CREATE INDEX {JOURNAL}_of_number ON {JOURNAL} (kind, number)",
    f"CREATE UNIQUE INDEX {JOURNAL}_of_cause ON {JOURNAL} (cause) WHERE cause <> ''",
)
_REFUSAL = "$$ BEGIN RAISE EXCEPTION 'memory is append-only'; END $$"
_EACH = "FOR EACH STATEMENT EXECUTE FUNCTION"
_LOCK = 0x666F726765  # In Postgres, the writer holds this lock until its transaction ends.
_BUSY_SECONDS = 60

Execute = Callable[..., list[tuple[Any, ...]]]
"""Runs a statement with a value for each `?` and returns its rows."""


class Dialect(NamedTuple):
    """The SQL dialect of a database. begin: the statements that start a transaction and lock the journal."""

    begin: tuple[str, ...]
    exists: str
    guards: tuple[str, ...]
    mark: str


SQLITE = Dialect(
    begin=("BEGIN IMMEDIATE",),
    exists="SELECT 1 FROM sqlite_master WHERE name = ?",
    guards=tuple(
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'memory is append-only'); END"
        for table in (META, JOURNAL)
        for verb in ("UPDATE", "DELETE")
    ),
    mark="?",
)
POSTGRES = Dialect(
    begin=("BEGIN", f"SELECT pg_advisory_xact_lock({_LOCK})"),
    exists="SELECT 1 FROM pg_class WHERE oid = to_regclass(?)",
    guards=tuple(
        statement
        for table in (META, JOURNAL)
        for statement in (
            f"CREATE OR REPLACE FUNCTION {table}_kept() RETURNS trigger LANGUAGE plpgsql AS {_REFUSAL}",
            f"CREATE TRIGGER {table}_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} {_EACH} {table}_kept()",
        )
    ),
    mark="%s",
)


class Database:
    """The tables at sqlite:///<path> or postgresql://…, which are created at the first use.

    Connections are opened on demand and reused. Raises BadInput if no connection can be opened.
    """

    def __init__(self, url: str) -> None:
        scheme, _, self.place = url.partition("://")
        if scheme == "sqlite":
            self.place, self._dialect = self.place.removeprefix("/"), SQLITE
        elif scheme in ("postgresql", "postgresql+psycopg2"):
            self.place, self._dialect = f"postgresql://{self.place}", POSTGRES
        else:
            raise _cannot_open(f"can't parse {scheme!r} as sqlite or postgresql")
        self._idle = [self._connect()]
        with self.writing() as execute:
            if not execute(self._dialect.exists, META):
                self.create(execute)

    def create(self, execute: Execute) -> None:
        """Create the tables, which refuse changes and removals."""
        for statement in (*_TABLES, *self._dialect.guards):
            execute(statement)

    def drop(self, execute: Execute) -> None:
        """Drop the tables."""
        for table in (META, JOURNAL):
            execute(f"DROP TABLE {table}")

    def reading(self) -> AbstractContextManager[Execute]:
        """Return a connection for statements that only read. Each statement sees the newest rows."""
        return self._connection()

    @contextmanager
    def writing(self) -> Iterator[Execute]:
        """Begin an exclusive write transaction, and commit it to disk at the end."""
        with self._connection() as execute:
            for statement in self._dialect.begin:
                execute(statement)
            yield execute
            execute("COMMIT")

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _connection(self) -> Iterator[Execute]:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()

        def execute(statement: str, *values: object) -> list[tuple[Any, ...]]:
            with closing(connection.cursor()) as cursor:
                cursor.execute(statement.replace("?", self._dialect.mark), values)
                return cursor.fetchall() if cursor.description else []

        try:
            yield execute
        except BaseException:
            connection.close()  # This also rolls its transaction back.
            raise
        self._idle.append(connection)

    def _connect(self) -> Any:
        if self._dialect is SQLITE:
            try:
                connection = sqlite3.connect(
                    self.place, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
                )
            except sqlite3.OperationalError as problem:
                raise _cannot_open(str(problem)) from None
            deadline = time.monotonic() + _BUSY_SECONDS
            while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                try:
                    connection.execute("PRAGMA journal_mode=WAL")
                # Another process is switching the mode, and this statement does not wait.
                except sqlite3.OperationalError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.01)
            connection.execute("PRAGMA synchronous=FULL")
            return connection
        try:
            import psycopg2
        except ModuleNotFoundError as problem:
            raise _cannot_open(str(problem)) from None
        from pitlake.lake.mounting.postgres import first_line, parse_url

        options = parse_url(self.place, "journal")
        try:
            postgres = psycopg2.connect(**options)
        except psycopg2.OperationalError as problem:
            raise _cannot_open(first_line(problem, options)) from None
        postgres.autocommit = True  # Transactions are started by `writing`.
        # Commits wait for the disk, because `make serve` disables this by default.
        with postgres.cursor() as cursor:
            cursor.execute("SET synchronous_commit TO on")
        return postgres


def _cannot_open(reason: str) -> BadInput:
    return BadInput("journal", f"cannot be opened: {reason}", "see FORGE_JOURNAL in the deployment guide")
