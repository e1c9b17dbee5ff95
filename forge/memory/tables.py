"""The journal's tables, in SQLite or Postgres. Rows are only added, never changed or removed."""

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
    sa.Column("request_hash", sa.Text, nullable=False),
    sa.Column("cause", sa.Text, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("prev", sa.Text, nullable=False),
    sa.Column("chain", sa.Text, nullable=False),
    sa.UniqueConstraint("session", "call_id", "part"),
    sa.Index("forge_journal_of_path", "path", "seq"),
    sa.Index("forge_journal_of_number", "kind", "number"),
)
sa.event.listen(
    JOURNAL,
    "after_create",
    # `postgresql_where` of an Index would import the dialect of Postgres for every journal, also one in SQLite.
    sa.DDL("CREATE UNIQUE INDEX forge_journal_of_cause ON forge_journal (cause) WHERE cause <> ''"),  # type: ignore[no-untyped-call]
)

_LOCK = 0x666F726765  # In Postgres, the writer holds this lock until its transaction ends.
_BUSY_SECONDS = 60

for _table in (META, JOURNAL):
    for _verb in ("UPDATE", "DELETE"):
        sa.event.listen(
            _table,
            "after_create",
            sa.DDL(  # type: ignore[no-untyped-call]
                f"CREATE TRIGGER {_table.name}_no_{_verb.lower()} BEFORE {_verb} ON {_table.name} "
                f"BEGIN SELECT RAISE(ABORT, 'memory is append-only'); END"
            ).execute_if(dialect="sqlite"),
        )
    sa.event.listen(
        _table,
        "after_create",
        sa.DDL(  # type: ignore[no-untyped-call]
            f"CREATE OR REPLACE FUNCTION {_table.name}_kept() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION 'memory is append-only'; END $$; "
            f"CREATE TRIGGER {_table.name}_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {_table.name} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {_table.name}_kept()"
        ).execute_if(dialect="postgresql"),
    )


def engine(url: str) -> sa.Engine:
    """Return an engine whose transactions lock the journal and are on disk when they end."""
    created = sa.create_engine(url, **({"connect_args": {"timeout": _BUSY_SECONDS}} if "sqlite" in url else {}))
    if created.dialect.name == "sqlite":
        sa.event.listen(created, "connect", _safe_sqlite)
    else:
        sa.event.listen(created, "connect", _safe_postgres)
    sa.event.listen(created, "begin", _alone)
    return created


def _safe_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # Transactions are started by the listener below.
    deadline = time.monotonic() + _BUSY_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        # Another process is switching the mode, and this statement does not wait for it.
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous=FULL")


def _safe_postgres(connection: Any, _: object) -> None:
    """Make each commit wait for the disk, because the default of `make serve` is not to wait."""
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit TO on")
    connection.commit()


def _alone(connection: sa.Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
