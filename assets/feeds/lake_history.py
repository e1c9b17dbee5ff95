"""The lake's earlier statements, for records that need them. They are read lazily, from one version per run."""

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from pitlake.clock import AVAILABLE_AT, OBSERVED_AT, from_micros
from pitlake.contract import Dataset
from pitlake.errors import LakeNotFound
from pitlake.lake.lake import Lake
from pitlake.lake.storage.manifest import Snapshot
from pitlake.lake.tables.query import calculator, columns, quoted, reading


class LakeStatements:
    """The statements of one lake version: the newest one at the first use."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._snapshot: Snapshot | None = None

    def __call__(self, dataset: Dataset, column: str, values: Collection[str]) -> list[dict[str, Any]]:
        """Return every revision of rows with these values in a column, oldest first, with columns and both instants."""
        table = self.table(dataset, column, values)
        return [] if table is None else as_statements(table)

    def table(self, dataset: Dataset, column: str, values: Collection[str]) -> pa.Table | None:
        """Return the statements as a table, for `as_statements`; None if the lake has no rows of the dataset."""
        if self._snapshot is None:
            try:
                self._snapshot = self._lake.snapshot()
            except LakeNotFound:
                self._snapshot = Snapshot(0)
        files = self._snapshot.files(dataset.name)
        if not files:
            return None
        self._snapshot.fetch(files)
        instants = ", ".join(f"epoch_us({name}) AS {name}" for name in (AVAILABLE_AT, OBSERVED_AT))
        question = f"""
            SELECT {columns(dataset.business_columns)}, {instants} FROM {reading(files, dataset.arrow_schema)} e
            WHERE {quoted(column)} IN (SELECT unnest($wanted)) ORDER BY e.available_at, content_hash"""
        with calculator() as connection:
            return connection.sql(question, params={"wanted": sorted(values)}).to_arrow_table()


def as_statements(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table of statements."""
    return [row | {name: from_micros(row[name]) for name in (AVAILABLE_AT, OBSERVED_AT)} for row in table.to_pylist()]
