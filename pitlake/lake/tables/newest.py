"""The newest record of a dataset, by which it is fresh or stale."""

from collections.abc import Callable, Sequence
from datetime import datetime

from pitlake.contract import Dataset
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables.query import calculator, reading

HISTORY = "available_at"


def newest_record(
    dataset: Dataset, files: Sequence[DataFile], fetch: Callable[[Sequence[DataFile]], object]
) -> datetime | None:
    """Return the newest instant that the source itself gave a row; None if there is none.

    A change that a poll found is dated by that poll and says nothing about new records. In a source-dated history every
    statement is new. fetch: makes files readable at their paths.
    """
    dated = "" if dataset.revised_at == HISTORY else "WHERE available_at < observed_at"
    newest: datetime | None = None
    for file in sorted(files, key=lambda file: file.hi, reverse=True):
        if newest is not None and file.hi <= newest:
            break
        fetch([file])
        with calculator(1) as sql:
            [(moment,)] = sql.sql(f"SELECT max(available_at) FROM {reading([file])} {dated}").fetchall()
        newest = max(filter(None, (newest, moment)), default=None)
    return newest
