"""How many rows of a dataset revise an earlier one of their key, by day and by key: for one hash a row.

Most keys come once, and their hash says so. Only rows whose hash comes again are compared by their keys.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pitlake.contract import Dataset
from pitlake.lake.manifest import DataFile
from pitlake.lake.query import columns, reading

NEW_YORK_DAY = "(available_at AT TIME ZONE 'America/New_York')::DATE"


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
        self._hashes: dict[str, npt.NDArray[np.uint64]] = {}

    def of(self, files: Sequence[DataFile]) -> Revisions:
        """The revisions among the rows of these files."""
        again = self._repeated(files)
        if not len(again):
            return Revisions()
        key, order = columns(self._dataset.key), columns(self._dataset.revision_order)
        numbered = f"""
            SELECT {NEW_YORK_DAY} AS day, row_number() OVER (PARTITION BY {key} ORDER BY {order}) AS revision
            FROM {reading(files)} SEMI JOIN again ON hash({key}) = again.hashed"""
        query = f"""
            SELECT day, count(*) FILTER (revision > 1), count(*) FILTER (revision = 2)
            FROM ({numbered}) GROUP BY day HAVING count(*) FILTER (revision > 1) > 0"""
        self._sql.register("again", pa.table({"hashed": again}))
        found = self._sql.sql(query).fetchall()
        return Revisions({day: rows for day, rows, _ in found}, sum(keys for *_, keys in found))

    def _repeated(self, files: Sequence[DataFile]) -> npt.NDArray[np.uint64]:
        """The hashes of keys that come more than once, each once."""
        unknown = [file for file in files if file.path not in self._hashes]
        if unknown:
            hashed = self._sql.sql(f"SELECT hash({columns(self._dataset.key)}) AS hashed FROM {reading(unknown)}")
            every = hashed.to_arrow_table()["hashed"].to_numpy()  # in the order of the files
            ends = np.cumsum([file.rows for file in unknown])[:-1]
            self._hashes |= {file.path: part for file, part in zip(unknown, np.split(every, ends), strict=True)}
        if not files:
            return np.empty(0, np.uint64)
        every = np.concatenate([self._hashes[file.path] for file in files])
        every.sort()
        again = every[1:][every[1:] == every[:-1]]
        first = np.diff(again, prepend=~again[:1]) != 0
        return np.compress(first, again)
