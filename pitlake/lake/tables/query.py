"""DuckDB for the lake's own computations: private in-memory connections, and SQL for names and lists of files.

Only the lake's own statements run here, never a user's SQL.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache

import duckdb
import pyarrow as pa

from pitlake import machine
from pitlake.contract import DUCKDB_TYPES
from pitlake.errors import LakeError
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.storage.parallel import workers

CONFIG = {"autoinstall_known_extensions": "false", "python_enable_replacements": "false", "TimeZone": "UTC"}


@contextmanager
def calculator(threads: int | None = None, **tables: pa.Table) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection with the given Arrow tables, and close it at the end. threads: their number (default: as many
    as are useful). Raises LakeError if a file can't be read.
    """
    connection = _instance(os.getpid(), threads or workers()).cursor()
    try:
        for name, table in tables.items():
            connection.register(name, table)
        yield connection
    except duckdb.Error as error:
        if shortage := machine.exhausted(error, "the lake's files", "read by DuckDB"):
            raise shortage from None
        raise LakeError(f"the lake's files could not be read: {str(error).splitlines()[0]}") from error
    finally:
        connection.close()


@cache
def _instance(process: int, threads: int) -> duckdb.DuckDBPyConnection:  # noqa: ARG001 - a fork's is of no use to its child
    """Return one DuckDB instance for all connections, because creating one takes longer than most questions."""
    return duckdb.connect(":memory:", config={**CONFIG, "threads": str(threads)})


def quoted(name: str) -> str:
    """Return a column name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def columns(names: Iterable[str], prefix: str = "") -> str:
    """Return a list of column names as SQL writes it."""
    return ", ".join(f"{prefix}{quoted(name)}" for name in names)


def reading(files: Iterable[DataFile], schema: pa.Schema | None = None) -> str:
    """Return the FROM expression over Parquet files. `observed_at` of compacted files comes from their companions.

    With a schema, columns that older files lack are null. This opens every file first, so omit the schema if a query
    reads only columns that all files have.
    """
    alone: list[DataFile] = []
    compacted: list[DataFile] = []
    for file in files:
        (compacted if file.beside else alone).append(file)
    by_name = schema is not None
    sources = [f"FROM {_parquet(alone, by_name=by_name)}"] if alone or not compacted else []
    if compacted:
        beside = _parquet(file.beside for file in compacted if file.beside)
        sources.append(
            f"SELECT rows.*, beside.observed_at FROM {_parquet(compacted, by_name=by_name)} rows"
            f" POSITIONAL JOIN {beside} beside"
        )
    if schema is not None:
        nulls = ", ".join(f"NULL::{DUCKDB_TYPES[field.type]} AS {quoted(field.name)}" for field in schema)
        sources.insert(0, f"SELECT {nulls} WHERE false")
    return f"({' UNION ALL BY NAME '.join(sources)})"


def _parquet(files: Iterable[DataFile], *, by_name: bool = False) -> str:
    paths = ", ".join("'" + file.path.replace("'", "''") + "'" for file in files)
    return f"read_parquet([{paths}], hive_partitioning = false{', union_by_name = true' if by_name else ''})"
