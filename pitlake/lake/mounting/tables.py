"""DuckDB and Delta tables that can be mounted."""

from collections.abc import Collection, Hashable
from contextlib import suppress
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path

import duckdb
import pyarrow as pa
from deltalake import DeltaTable

from pitlake.errors import BadInput
from pitlake.lake.mounting.files import S3, LocalFiles, reading_from
from pitlake.lake.mounting.rows import Rows, copy_rows, literal
from pitlake.lake.tables.query import quoted

MAGIC = b"DUCK"
MAGIC_AT = 8
MOST_NAMES = 20


@dataclass(frozen=True)
class DuckDBTable:
    """A table or view of a DuckDB file. name: its name, with the schema unless that is `main`."""

    file: str
    name: str | None

    def state(self) -> Hashable:
        """Return a value that changes when the file changes. Raises BadInput if the file is missing."""
        with suppress(BadInput):  # Usually there is no write-ahead log.
            return LocalFiles(self.file).state(), LocalFiles(f"{self.file}.wal").state()
        return LocalFiles(self.file).state()

    def read(self, connection: duckdb.DuckDBPyConnection, scratch: Path) -> Rows:
        """Return the table's rows. Raises BadInput, which lists the file's tables."""
        try:
            connection.execute(f"ATTACH {literal(self.file)} AS own (READ_ONLY)")
        except duckdb.Error as error:
            problem = f"{self.file} can't be opened: {str(error).splitlines()[0]}"
            raise BadInput("the table", problem, "close the program that writes to it, or mount a copy") from None
        entries = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'own' UNION ALL "
            "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'own' AND NOT internal"
        ).fetchall()
        names = {table if schema == "main" else f"{schema}.{table}": (schema, table) for schema, table in entries}
        schema, table = names[choose_table(self.name, names)]
        return Rows(f"own.{quoted(schema)}.{quoted(table)}", f"{Path(self.file).name}-{table}")


@dataclass(frozen=True)
class Delta:
    """A Delta table. uri: its folder, or its address in an object store. options: how to reach the store."""

    uri: str
    options: dict[str, str] | None = None

    def exists(self) -> bool:
        """Return whether there is a Delta table here."""
        if not self.uri.startswith(S3):
            return Path(self.uri, "_delta_log").is_dir()
        with reading_from(self.uri):
            return not has_magic(self.uri) and DeltaTable.is_deltatable(self.uri, self.options)

    def state(self) -> Hashable:
        """Return the table's version. Raises BadInput if it can't be read."""
        return self._table().version()

    def read(self, connection: duckdb.DuckDBPyConnection, scratch: Path) -> Rows:
        """Copy the newest version of the table to `scratch` and return its rows. Raises BadInput."""
        table = self._table()
        label = f"{Path(self.uri).name}-version-{table.version()}"
        with reading_from(self.uri):
            connection.register("delta", pa.RecordBatchReader.from_stream(table.scan()))
            return copy_rows(connection, "delta", scratch, label)

    def _table(self) -> DeltaTable:
        with reading_from(self.uri):
            return DeltaTable(self.uri, storage_options=self.options)


def choose_table(name: str | None, names: Collection[str]) -> str:
    """Return the name of an existing table. Raises BadInput, which lists the tables."""
    if name is not None and name in names:
        return name
    entries = sorted(names)
    more = f" and {len(entries) - MOST_NAMES:,} more" if len(entries) > MOST_NAMES else ""
    tables = f"its tables are {', '.join(entries[:MOST_NAMES])}{more}" if entries else "it has no tables"
    raise BadInput("table", "missing" if name is None else f"there is no table {name!r}", tables)


def is_duckdb(file: str) -> bool:
    """Return whether a file is a DuckDB database."""
    with suppress(OSError), open(file, "rb") as content:  # noqa: PTH123
        return content.read(MAGIC_AT + len(MAGIC))[MAGIC_AT:] == MAGIC
    return False
