"""How many rows of a dataset revise an earlier one of their key, by day and by key: for one hash a row.

Most keys come once, and their hash says so. Only rows whose hash comes again are compared by their keys.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pitlake.contract import Dataset
from pitlake.lake.manifest import DataFile
from pitlake.lake.query import columns, reading
from pitlake.report.clocks import NEW_YORK_DAY

MOST_ROWS = 1_000_000
"""Of so many at once the hashes are held twice, while they come from DuckDB."""
PARTS = np.arange(1, 16, dtype=np.uint64) << np.uint64(60)
"""Hashes are compared a sixteenth at a time; here each but the first begins."""

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Revisions:
    """Rows that revise an earlier row of their key, by New York day, and how many keys have such rows."""

    by_day: Mapping[date, int] = field(default_factory=dict)
    keys: int = 0

    @property
    def rows(self) -> int:
        """How many rows revise an earlier one."""
        return sum(self.by_day.values())


class RevisionCounter:
    """Counts the revisions of one dataset, in one version after the other; a file they share is hashed once."""

    def __init__(self, sql: duckdb.DuckDBPyConnection, dataset: Dataset) -> None:
        self._sql, self._dataset = sql, dataset
        self._hashes: dict[str, Hashes] = {}

    def of(self, files: Sequence[DataFile]) -> Revisions:
        """The revisions among the rows of these files."""
        again = self._repeated(files)
        if not len(again):
            return Revisions()
        key = columns(self._dataset.key)
        by_key = f"""
            SELECT list_sort(list(available_at)) AS moments
            FROM {reading(files)} SEMI JOIN again ON hash({key}) = again.hashed GROUP BY {key}"""
        later = (
            f"SELECT unnest(moments[2:]) AS available_at, unnest(range(1, len(moments))) AS revision FROM ({by_key})"
        )
        query = f"SELECT {NEW_YORK_DAY}, count(*), count(*) FILTER (revision = 1) FROM ({later}) GROUP BY ALL"
        self._sql.register("again", pa.table({"hashed": again}))
        found = self._sql.sql(query).fetchall()
        return Revisions({day: rows for day, rows, _ in found}, sum(keys for *_, keys in found))

    def _repeated(self, files: Sequence[DataFile]) -> Hashes:
        """The hashes of keys that come more than once, each once."""
        self._read([file for file in files if file.path not in self._hashes])
        known = (self._hashes[file.path] for file in files)
        parts = zip(*(np.split(hashes, np.searchsorted(hashes, PARTS)) for hashes in known), strict=True)
        return np.concatenate([np.empty(0, np.uint64), *(_again(np.concatenate(part)) for part in parts)])

    def _read(self, files: Sequence[DataFile]) -> None:
        """Keep the sorted hashes of each file's keys."""
        ends = np.cumsum([file.rows for file in files])
        for _, places in groupby(range(len(files)), lambda place: ends[place] // MOST_ROWS):
            some = [files[place] for place in places]
            hashed = self._sql.sql(f"SELECT hash({columns(self._dataset.key)}) AS hashed FROM {reading(some)}")
            every = hashed.to_arrow_table()["hashed"].to_numpy()  # in the order of the files
            parts = np.split(every, np.cumsum([file.rows for file in some])[:-1])
            self._hashes |= {file.path: np.sort(part) for file, part in zip(some, parts, strict=True)}


def _again(hashes: Hashes) -> Hashes:
    """Those that come more than once, each once."""
    hashes.sort()
    again = hashes[1:][hashes[1:] == hashes[:-1]]
    return np.compress(np.diff(again, prepend=~again[:1]) != 0, again)
