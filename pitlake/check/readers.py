"""Library functions that open files in native code, where Python's audit events do not see them.

`wrap` replaces them with functions that pass the paths to each callback in `reports`.
"""

import glob
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from typing import Any

_READERS = {
    "pyarrow": r"OSFile|input_stream|(create_)?memory_map",
    "pyarrow.parquet": r"read_\w+|Parquet(File|Dataset|Reader)",
    "pyarrow.dataset": r"dataset|parquet_dataset",
    "pyarrow.csv": r"(read|open)_csv",
    "pyarrow.json": r"(read|open)_json",
    "pyarrow.feather": r"read_\w+",
    "pyarrow.orc": r"read_table|ORCFile",
    "pyarrow.ipc": r"open_(file|stream)",
    "pyarrow.fs": r"LocalFileSystem|SubTreeFileSystem|FileSystem",
    "polars": r"sql|(read|scan)_(?!database$|clipboard$)\w+",
    "duckdb": r"connect|sql|query|query_df|execute|executemany|from_\w+|read_\w+",
    "deltalake": r"DeltaTable",
}
"""The names of the readers of each module."""
MODULES = tuple(_READERS)
_METHODS = {
    "FileSystem": ("from_uri",),
    "LocalFileSystem": ("open_input_file", "open_input_stream", "from_uri"),
}
"""The methods that read, for classes whose constructor reads nothing."""
_SQL = frozenset({"sql", "query", "query_df", "execute", "executemany", "from_query"})
_FILE_IN_SQL = re.compile(
    r"'(?P<named>[^']+\.(?:parquet|csv|tsv|json|jsonl|ndjson|db|duckdb|sqlite)(?:\.\w+)?)'"
    r"|(?:\bread_\w+\s*\(\s*\[?|\bread_text\s*\(|\battach\s+(?:database\s+)?|\bfrom|,)\s*(?:'(?P<text>[^']+)'|\"(?P<name>[^\"]+)\")",
    re.IGNORECASE,
)

reports: list[Callable[[str], None]] = []
"""Called with the path of each file that a library opens."""


def wrap() -> None:
    """Report the path of each file that a library opens, in this process and its forks from now on."""
    for module_name, names in _READERS.items():
        try:
            module = import_module(module_name)
        except ImportError:
            continue
        for name in filter(re.compile(names).fullmatch, dir(module)):
            reader = getattr(module, name)
            if isinstance(reader, type):
                method_names = _METHODS.get(reader.__name__, ("__init__",))
                methods = {method: _function(method, getattr(reader, method)) for method in method_names}
                if "from_uri" in methods:
                    methods["from_uri"] = staticmethod(methods["from_uri"])
                setattr(module, name, Alike(reader.__name__, (reader,), methods))
            elif callable(reader):
                setattr(module, name, _function(name, reader))
        if module_name == "duckdb":
            _wrap_connections(module)


class Alike(type):
    """Count instances of the real class as instances of its replacement."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__bases__[0])

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.__bases__[0])


def _wrap_connections(duckdb: Any) -> None:
    """Also watch the methods of DuckDB's connections, which search for frames in the variables of their callers."""
    connection, connect = duckdb.DuckDBPyConnection, duckdb.connect
    for name in filter(re.compile(_READERS["duckdb"]).fullmatch, dir(connection)):
        setattr(connection, name, _function(name, getattr(connection, name)))

    @wraps(connect)
    def scanning(*arguments: Any, **options: Any) -> Any:
        connection = connect(*arguments, **options)
        connection.execute("SET python_scan_all_frames=true")
        return connection

    duckdb.connect = scanning
    duckdb.default_connection().execute("SET python_scan_all_frames=true")


def _function(name: str, reader: Callable[..., Any]) -> Callable[..., Any]:
    paths = _paths_in_sql if name in _SQL else _paths

    @wraps(reader, assigned=("__name__", "__doc__"))
    def reporting(*arguments: Any, **options: Any) -> Any:
        is_ours = str(sys._getframe(1).f_globals.get("__name__")).startswith("pitlake.")  # noqa: SLF001
        for path in paths([*arguments, *options.values()]) if reports and not is_ours else ():
            for report in reports:
                report(path)
        return reader(*arguments, **options)

    return reporting


def _paths(values: list[Any]) -> Iterator[str]:
    """Yield the paths in the first argument, which is a path or several."""
    for value in values:
        several = value if isinstance(value, list | tuple) else [value]
        paths = [os.fspath(each) for each in several if isinstance(each, str | os.PathLike)]
        if names := [
            path for path in paths if isinstance(path, str) and path and not path.startswith((":memory:", ":default:"))
        ]:
            yield from names
            return


def _paths_in_sql(values: list[Any]) -> Iterator[str]:
    for text in filter(lambda value: isinstance(value, str), values):
        for match in _FILE_IN_SQL.finditer(text):
            path = next(filter(None, match.groups()))
            if match["named"] or os.path.exists(path) or glob.glob(path):  # noqa: PTH110, PTH207 - may be a URL or a name
                yield path
        if re.search(r"\bread_\w+\s*\(\s*[?$]", text):
            yield from _paths([value for value in values if isinstance(value, list | tuple)])
