"""The newest record of a dataset, which decides whether the dataset is fresh or stale."""

from collections.abc import Callable, Sequence
from datetime import datetime

from pitlake.contract import Dataset
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables.query import calculator, quoted, reading

HISTORY = "available_at"


def newest_record(
    dataset: Dataset, files: Sequence[DataFile], fetch: Callable[[Sequence[DataFile]], object]
) -> datetime | None:
    """Return the newest available_at of a row that is the first of its key; None without rows.

    A change that a poll found is dated by that poll and is not a new record. In a source-dated history every statement
    is new. fetch: makes files readable at their paths.
    """
    if dataset.revised_at == HISTORY:
        return max((file.hi for file in files), default=None)
    newest: datetime | None = None
    for file in sorted(files, key=lambda file: file.hi, reverse=True):
        if newest is not None and file.hi <= newest:
            break
        fetch([file])
        newest = max(
            filter(None, (newest, _newest(f"FROM {reading([file])} WHERE available_at < observed_at"))), default=None
        )
    later = [file for file in files if newest is None or file.hi > newest]
    if not later:
        return newest
    fetch(files)  # Rows that a poll dated are compared with all rows of their key.
    same = " AND ".join(f"e.{quoted(name)} IS NOT DISTINCT FROM s.{quoted(name)}" for name in dataset.key)
    first = f"""FROM {reading(later)} s WHERE s.available_at = s.observed_at AND NOT EXISTS (
        FROM {reading(files)} e WHERE {same} AND e.available_at < s.available_at)"""
    return max(filter(None, (newest, _newest(first))), default=None)


def _newest(rows: str) -> datetime | None:
    with calculator(1) as sql:
        [(moment,)] = sql.sql(f"SELECT max(available_at) {rows}").fetchall()
    return moment  # type: ignore[no-any-return]
