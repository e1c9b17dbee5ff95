"""The number of rows that revise an earlier row of their key, by day and by key, with one hash per row.

Most keys occur once, which a unique hash proves. Only rows with a repeated hash are compared, by digests of their keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pitlake.contract import Dataset
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables.query import columns, quoted, reading
from pitlake.report.clocks import NEW_YORK_DAY

MOST_ROWS = 250_000
"""The number of rows per query, which limits DuckDB's memory."""
PARTS = np.arange(1, 16, dtype=np.uint64) << np.uint64(60)
"""Hashes are compared in sixteen parts; these are the starts of all parts except the first."""

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Revisions:
    """The number of rows that revise an earlier row of their key, by New York day, and of keys with such rows."""

    by_day: Mapping[date, int] = field(default_factory=dict)
    keys: int = 0

    @property
    def rows(self) -> int:
        """Return the number of rows that revise an earlier one."""
        return sum(self.by_day.values())


class RevisionCounter:
    """A counter of the revisions of one dataset in several versions. Shared files are hashed once."""

    def __init__(self, sql: duckdb.DuckDBPyConnection, dataset: Dataset) -> None:
        self._sql, self._dataset = sql, dataset
        self._hashes: dict[str, Hashes] = {}

    def of(self, files: Sequence[DataFile]) -> Revisions:
        """Count the revisions among the rows of these files."""
        again = self._repeated_hashes(files)
        if not len(again):
            return Revisions()
        self._sql.register("again", pa.table({"_hashed": again}))
        rows = pa.concat_tables(map(self._repeated_rows, _some(files)))
        upper, lower, moments = (rows[name].to_numpy() for name in ("upper", "lower", "available_at"))
        order = np.lexsort((moments, lower, upper))
        is_revision = np.concatenate([[False], (np.diff(upper[order]) == 0) & (np.diff(lower[order]) == 0)])
        days, counts = np.unique(rows["day"].to_numpy()[order][is_revision], return_counts=True)
        keys = int(np.count_nonzero(np.diff(is_revision, append=False) & is_revision))
        return Revisions(dict(zip(days.tolist(), counts.tolist(), strict=True)), keys)

    def _repeated_rows(self, files: Sequence[DataFile]) -> pa.Table:
        """Return the rows with a repeated hash, each with a digest of its key and its available_at."""
        texts = ", ".join(f"{quoted(name)}::VARCHAR" for name in self._dataset.key)
        query = f"""
            SELECT md5_number_upper(key) AS upper, md5_number_lower(key) AS lower, available_at, {NEW_YORK_DAY} AS day
            FROM (SELECT to_json([{texts}])::VARCHAR AS key, available_at
                FROM {reading(files)} SEMI JOIN again ON hash({columns(self._dataset.key)}) = again._hashed)"""
        return self._sql.sql(query).to_arrow_table()

    def _repeated_hashes(self, files: Sequence[DataFile]) -> Hashes:
        """Return the hashes of keys that occur more than once, without duplicates."""
        paths = {file.path for file in files}
        self._hashes = {path: hashes for path, hashes in self._hashes.items() if path in paths}
        for some in _some([file for file in files if file.path not in self._hashes]):
            hashed = self._sql.sql(f"SELECT hash({columns(self._dataset.key)}) AS hashed FROM {reading(some)}")
            every = hashed.to_arrow_table()["hashed"].to_numpy()  # The hashes are in the order of the files.
            by_file = np.split(every, np.cumsum([file.rows for file in some])[:-1])
            self._hashes |= {file.path: np.sort(part) for file, part in zip(some, by_file, strict=True)}
        file_hashes = (self._hashes[file.path] for file in files)
        parts = zip(*(np.split(hashes, np.searchsorted(hashes, PARTS)) for hashes in file_hashes), strict=True)
        repeated_hashes = [np.empty(0, np.uint64)]
        for part in parts:
            hashes = np.concatenate(part)
            hashes.sort()
            again = hashes[1:][hashes[1:] == hashes[:-1]]
            repeated_hashes.append(np.compress(np.diff(again, prepend=~again[:1]) != 0, again))
        return np.concatenate(repeated_hashes)


def _some(files: Sequence[DataFile]) -> Iterator[list[DataFile]]:
    """Split files into parts of about this many rows."""
    ends = np.cumsum([file.rows for file in files])
    for _, places in groupby(range(len(files)), lambda place: ends[place] // MOST_ROWS):
        yield [files[place] for place in places]
