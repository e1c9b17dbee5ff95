"""What a lake version is made of, as plain data: files with the bounds of their `available_at`.

Made by the lake from its log, read by the as-of session to choose files. Nothing here touches a disk.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

COMPACTED = "compacted-"
"""How the names of compacted files begin; the number of their form follows."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One Parquet file of `size` bytes. `lo` and `hi` bound `available_at`, rounded down and up to the millisecond.

    beside: of a compacted file of rows, the file with its rows' `observed_at`, in their order (`tables/compacted.py`).
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
        """Return whether the file is of a year, not of a month."""
        period = self.path.rpartition("/")[0].rpartition("=")[2]
        return len(period) == 4 and period.isdigit()


@dataclass(frozen=True, slots=True)
class TableState:
    """The files of one table in one lake version."""

    files: tuple[DataFile, ...] = ()


def _nothing(_files: Iterable[DataFile]) -> None:
    """All files are where they say."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One lake version. Tables are named "<dataset>" for rows, "gaps/<dataset>", "superseded/<dataset>" and, of closed
    files, "observed/<dataset>".

    fetch: sees that files can be read at their paths; to be called before they are.
    """

    version: int
    tables: Mapping[str, TableState] = field(default_factory=dict)
    fetch: Callable[[Iterable[DataFile]], None] = _nothing

    def files(self, table: str) -> tuple[DataFile, ...]:
        """Return the files of a table; none when this version has no such table."""
        state = self.tables.get(table)
        return state.files if state else ()
