"""The content of a lake version as plain data: files with the bounds of their `available_at`.

The lake creates a manifest from its log, and a session chooses its files by the manifest. This module reads and writes
no files.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

COMPACTED = "compacted-"
"""The prefix of the names of compacted files. The number of their form follows it."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One Parquet file of `size` bytes. `lo` and `hi` bound `available_at`, rounded down and up to the millisecond.

    beside: for a compacted file of rows, the companion file with `observed_at` of the same rows in the same order (see
    `tables/compacted.py`).
    """

    path: str
    rows: int
    size: int
    lo: datetime
    hi: datetime
    beside: "DataFile | None" = None

    @property
    def form(self) -> int | None:
        """Return the form of a compacted file; None for any other file."""
        name = self.path.rpartition("/")[2]
        return int(name.split("-")[1]) if name.startswith(COMPACTED) else None

    @property
    def of_year(self) -> bool:
        """Return whether the file covers a year rather than a month."""
        period = self.path.rpartition("/")[0].rpartition("=")[2]
        return len(period) == 4 and period.isdigit()


@dataclass(frozen=True, slots=True)
class TableState:
    """The files of one table in one lake version."""

    files: tuple[DataFile, ...] = ()


def _nothing(_files: Iterable[DataFile]) -> None:
    """Do nothing, because all files are already at their paths."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One lake version. Tables are named "<dataset>" for rows, "gaps/<dataset>", "superseded/<dataset>" and, for
    compacted files, "observed/<dataset>".

    fetch: makes files readable at their paths; call it before reading.
    """

    version: int
    tables: Mapping[str, TableState] = field(default_factory=dict)
    fetch: Callable[[Iterable[DataFile]], None] = _nothing

    def files(self, table: str) -> tuple[DataFile, ...]:
        """Return the files of a table; none if this version has no such table."""
        state = self.tables.get(table)
        return state.files if state else ()
