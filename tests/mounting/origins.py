"""Functions that store a frame as a table of each kind that can be mounted."""

import json
from contextlib import closing
from uuid import uuid4

import duckdb
import psycopg2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from psycopg2.extras import execute_values
from pyiceberg.catalog.sql import SqlCatalog

from resources.postgres import DATABASE, USER, programs

needs_postgres = pytest.mark.skipif(programs() is None, reason="no Postgres server: install the package postgresql")
POSTGRES = {
    pa.int64(): "bigint", pa.int32(): "integer", pa.float64(): "double precision", pa.float32(): "real",
    pa.decimal128(12, 3): "numeric(12,3)", pa.string(): "text", pa.bool_(): "boolean", pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamptz", pa.timestamp("us"): "timestamp", pa.list_(pa.string()): "text[]",
    pa.struct([("q", pa.int64())]): "jsonb",
}  # fmt: skip
EMPTIED = """DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)' LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', name);
    END LOOP;
    CREATE SCHEMA public;
END $$"""


def url(running):
    return f"postgresql://{USER}:{running.password}@127.0.0.1:{running.port}/{DATABASE}"


def in_parquet(frame, folder, _):
    pq.write_table(frame, folder / "own.parquet")
    return str(folder / "own.parquet")


def in_duckdb(frame, folder, _):
    with duckdb.connect(folder / "own.duckdb") as database:
        database.execute("CREATE SCHEMA IF NOT EXISTS mine")
        database.execute("CREATE OR REPLACE TABLE mine.own AS FROM frame")
    return str(folder / "own.duckdb"), "mine.own"


def in_delta(frame, folder, _):
    write_deltalake(folder / "delta", frame, mode="overwrite", schema_mode="overwrite")
    return str(folder / "delta")


def in_iceberg(frame, folder, _):
    catalog = SqlCatalog("own", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())
    catalog.create_namespace_if_not_exists("mine")
    if catalog.table_exists("mine.own"):
        catalog.drop_table("mine.own")
    table = catalog.create_table("mine.own", frame.schema, location=(folder / f"iceberg-{uuid4()}").as_uri())
    table.append(frame)
    catalog.close()
    return table.location().removeprefix("file://")


def in_postgres(frame, _, running):
    columns = ", ".join(f'"{field.name}" {POSTGRES[field.type]}' for field in frame.schema)
    execute(running, EMPTIED, f'CREATE TABLE "own" ({columns})')
    adapted = lambda value: json.dumps(value) if isinstance(value, dict) else value  # noqa: E731
    rows = [tuple(map(adapted, row.values())) for row in frame.to_pylist()]
    with closing(psycopg2.connect(url(running))) as database, database, database.cursor() as cursor:
        execute_values(cursor, 'INSERT INTO "own" VALUES %s', rows)
    return url(running), "own"


ORIGINS = (in_parquet, in_duckdb, in_delta, in_iceberg, in_postgres)


def execute(running, *statements, database=DATABASE, alone=False):
    """Execute statements. alone: without a transaction."""
    address = url(running).removesuffix(DATABASE) + database
    with closing(psycopg2.connect(address)) as connection:
        connection.autocommit = alone
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.commit()
