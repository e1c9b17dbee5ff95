"""DuckDB as the lake's own calculator: a private in-memory connection, and the spelling of names and file lists.

Only the lake's own statements run here, never a caller's SQL. Which questions are asked is decided by the callers.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from pitlake.lake.manifest import DataFile
from pitlake.lake.parallel import workers

CONFIG = {"autoinstall_known_extensions": "false", "python_enable_replacements": "false"}


@contextmanager
def calculator(**tables: pa.Table) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that knows the given Arrow tables by name, closed at the end."""
    connection = duckdb.connect(":memory:", config={**CONFIG, "threads": str(workers())})
    try:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            connection.register(name, table)
        yield connection
    finally:
        connection.close()


def quoted(name: str) -> str:
    """A column name as SQL spells it."""
    return '"' + name.replace('"', '""') + '"'


def columns(names: Iterable[str], prefix: str = "") -> str:
    """A list of column names as SQL spells it."""
    return ", ".join(f"{prefix}{quoted(name)}" for name in names)


def reading(files: Iterable[DataFile]) -> str:
    """The FROM expression over these Parquet files, and nothing their folders say."""
    paths = ", ".join("'" + file.path.replace("'", "''") + "'" for file in files)
    return f"read_parquet([{paths}], hive_partitioning = false)"
