"""The journal's tables, in SQLite or Postgres: rows can be added, and neither changed nor removed."""

import sqlite3
import time
from typing import Any

import sqlalchemy as sa

TABLES = sa.MetaData()
META = sa.Table(
    "forge_journal_name",
    TABLES,
    sa.Column("one", sa.Integer, sa.CheckConstraint("one = 1"), primary_key=True),
    sa.Column("journal", sa.Text, nullable=False),
    sa.Column("clock", sa.Text, nullable=False),
)
JOURNAL = sa.Table(
    "forge_journal",
    TABLES,
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("written_at", sa.BigInteger, nullable=False),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("path", "kind", "content", "actor", "session", "event")),
    sa.Column("call_id", sa.Text, nullable=False),
    sa.Column("part", sa.Integer, nullable=False),
    sa.Column("asked", sa.Text, nullable=False),
    sa.Column("cause", sa.Text, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("prev", sa.Text, nullable=False),
    sa.Column("chain", sa.Text, nullable=False),
    sa.UniqueConstraint("session", "call_id", "part"),
    sa.Index("forge_journal_of_path", "path", "seq"),
    sa.Index("forge_journal_of_number", "kind", "number"),
)
sa.Index("forge_journal_of_cause", JOURNAL.c.cause, unique=True, sqlite_where=JOURNAL.c.cause != "",
         postgresql_where=JOURNAL.c.cause != "")  # fmt: skip

_LOCK = 0x666F726765  # Postgres: the one writer at a time holds it until its transaction ends.
_BUSY_SECONDS = 60

for _table in (META, JOURNAL):
    for _verb in ("UPDATE", "DELETE"):
        sa.event.listen(
            _table,
            "after_create",
            sa.DDL(  # type: ignore[no-untyped-call]
                f"CREATE TRIGGER {_table.name}_no_{_verb.lower()} BEFORE {_verb} ON {_table.name} "
                f"BEGIN SELECT RAISE(ABORT, 'memory is only added to'); END"
            ).execute_if(dialect="sqlite"),
        )
    sa.event.listen(
        _table,
        "after_create",
        sa.DDL(  # type: ignore[no-untyped-call]
            f"CREATE OR REPLACE FUNCTION {_table.name}_kept() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION 'memory is only added to'; END $$; "
            f"CREATE TRIGGER {_table.name}_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {_table.name} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {_table.name}_kept()"
        ).execute_if(dialect="postgresql"),
    )


def engine(url: str) -> sa.Engine:
    """An engine whose transactions hold the journal alone, and are on disk when they end."""
    made = sa.create_engine(url, **({"connect_args": {"timeout": _BUSY_SECONDS}} if "sqlite" in url else {}))
    if made.dialect.name == "sqlite":
        sa.event.listen(made, "connect", _safe_sqlite)
    else:
        sa.event.listen(made, "connect", _safe_postgres)
    sa.event.listen(made, "begin", _alone)
    return made


def _safe_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # our own BEGIN, below
    deadline = time.monotonic() + _BUSY_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:  # another process is making it; this statement does not wait
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous=FULL")


def _safe_postgres(connection: Any, _: object) -> None:
    """Wait for the disk, whatever the server does by default: the one of `make serve` does not."""
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit TO on")
    connection.commit()


def _alone(connection: sa.Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
