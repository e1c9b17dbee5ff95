"""The lake's earlier statements, for records that state too little: read lazily, one version per run."""

from collections.abc import Collection
from typing import Any

from pitlake.clock import AVAILABLE_AT, OBSERVED_AT, from_micros
from pitlake.contract import Dataset
from pitlake.errors import LakeNotFound
from pitlake.lake.lake import Lake
from pitlake.lake.storage.manifest import Snapshot
from pitlake.lake.tables.query import calculator, columns, quoted, reading


class LakeStatements:
    """The statements of one lake version, the newest at the first question."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._snapshot: Snapshot | None = None

    def __call__(self, dataset: Dataset, column: str, values: Collection[str]) -> list[dict[str, Any]]:
        """Return every revision of the rows with these values in a column, oldest first: the business columns,
        available_at and observed_at.
        """
        if self._snapshot is None:
            try:
                self._snapshot = self._lake.snapshot()
            except LakeNotFound:
                self._snapshot = Snapshot(0)
        files = self._snapshot.files(dataset.name)
        if not files:
            return []
        self._snapshot.fetch(files)
        instants = ", ".join(f"epoch_us({name}) AS {name}" for name in (AVAILABLE_AT, OBSERVED_AT))
        question = f"""
            SELECT {columns(dataset.business_columns)}, {instants} FROM {reading(files, dataset.arrow_schema)} e
            WHERE {quoted(column)} IN (SELECT unnest($wanted)) ORDER BY e.available_at, content_hash"""
        with calculator() as connection:
            revisions = connection.sql(question, params={"wanted": sorted(values)}).to_arrow_table().to_pylist()
        return [row | {name: from_micros(row[name]) for name in (AVAILABLE_AT, OBSERVED_AT)} for row in revisions]
