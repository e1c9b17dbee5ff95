"""Finds the SQL files of pitlake (views, catalogue queries, macros), in the package or next to it.

A wheel contains sql/ as pitlake/sql; in a checkout it is at the top.
"""

from pathlib import Path

_PACKAGED, _CHECKOUT = Path(__file__).parents[1] / "sql", Path(__file__).parents[2] / "sql"
_HOME = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT


def sql_file(folder: str, name: str) -> Path:
    """Return the path of a file in "views", "queries", "indexed", "pages" or "macros"; it need not exist."""
    return _HOME / folder / f"{name}.sql"


def sql_files(folder: str) -> list[Path]:
    """Return all files of the folder, sorted by name."""
    return sorted((_HOME / folder).glob("*.sql"))


def columns_file() -> Path:
    """Return the file that describes the columns of several queries."""
    return _HOME / "columns.txt"
