"""The journal: records of what runs staged, as far as their rows in the lake do not show it.

When a run is retracted, the later runs of its datasets are published again without it. The rows of a run that are dated
as staged are in the files of its lake version. The journal has everything else: unchanged rows (which refer to their
content by its hash), rows that the lake dated otherwise, rows that were not published, and all gaps. An unchanged row
is recorded only if its file was added within REMEMBERED, because older runs are rarely retracted.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pitlake.contract import INSTANT, Dataset
from pitlake.lake.publishing.diff import AS_STAGED, NewRows
from pitlake.lake.publishing.months import instants
from pitlake.lake.publishing.stage import GAP_STAGED_SCHEMA, Staged, staged_schema
from pitlake.lake.storage.arrays import Positions
from pitlake.lake.storage.files import finished, take_rows, write_parquet
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.compacted import shaped

JOURNAL = "_lake/journal"
REMEMBERED = timedelta(days=30)
ROWS, GAPS = ".rows", ".gaps"
OF_JOURNAL = (  # These names can't be columns of a dataset.
    pa.field("content_hash", pa.binary()),
    pa.field("_published_at", INSTANT),  # The date under which the lake version has the row; null if it has none.
    pa.field("_whole", pa.bool_()),  # Whether the row has its content columns.
)
GAP_SCHEMA = pa.schema([*GAP_STAGED_SCHEMA, pa.field("partition", pa.string())])


@dataclass(frozen=True, order=True)
class Place:
    """The place of a publish in the history of a lake: the version that it made, or the version that it left unchanged
    and the time of the publish. Instants are in microseconds.
    """

    version: int
    unchanged: bool = False
    at: int = 0


@dataclass(frozen=True)
class Record:
    """One publish in the journal. `key`: the key of its files without their endings."""

    key: str
    place: Place
    observed: int
    run_id: str


def record(store: Store, staged: Staged, rows: NewRows, seen: Positions, place: Place, observed: int) -> None:
    """Record what a publish staged. seen: the unchanged rows that a retraction may need. Raises LakeError."""
    key = f"{JOURNAL}/{staged.dataset.name}/{place.version:020d}-{place.unchanged:d}-{place.at}-{observed}-"
    partitions = pa.array(staged.partitions, pa.string()).take(pa.array(staged.gap_partition))
    gaps = staged.gaps.append_column("partition", partitions).cast(GAP_SCHEMA)
    tables = {ROWS: _rows(staged, rows, seen), GAPS: gaps}
    for ending, table in tables.items():
        if table.num_rows or (ending == ROWS and place.unchanged):  # A poll's place is always recorded.
            path = store.path(f"{key}{staged.run_id}{ending}")
            with finished(store, path):
                write_parquet(table, path)


def records(store: Store, dataset: str) -> Iterator[Record]:
    """Yield every publish of a dataset in the journal, in no order."""
    for key in {file.key.removesuffix(ROWS).removesuffix(GAPS) for file in store.walk(f"{JOURNAL}/{dataset}")}:
        version, unchanged, at, observed, run_id = key.rpartition("/")[2].split("-", 4)
        yield Record(key, Place(int(version), unchanged == "1", int(at)), int(observed), run_id)


def keys_of(store: Store, versions: Container[int]) -> list[str]:
    """Return the journal's files of these versions."""
    return [file.key for file in store.walk(JOURNAL) if int(file.key.rpartition("/")[2].split("-")[0]) in versions]


def rows_of(store: Store, dataset: Dataset, key: str) -> pa.Table:
    """Return the rows of a publish that are in the journal."""
    return _read(store, key + ROWS, _schema(dataset))


def gaps_of(store: Store, key: str) -> pa.Table:
    """Return the gaps of a publish that are in the journal, each with its partition."""
    return _read(store, key + GAPS, GAP_SCHEMA)


def _read(store: Store, key: str, schema: pa.Schema) -> pa.Table:
    try:
        return pq.read_table(pa.BufferReader(store.read(key))).cast(schema)
    except FileNotFoundError:
        return schema.empty_table()


def _schema(dataset: Dataset) -> pa.Schema:
    return pa.schema([*staged_schema(dataset), *OF_JOURNAL])


def _rows(staged: Staged, rows: NewRows, seen: Positions) -> pa.Table:
    dated = rows.revised | (rows.basis != AS_STAGED)
    positions = np.concatenate([rows.positions[dated], seen])
    published = instants(rows.available[dated]).cast(INSTANT)
    in_lake = np.union1d(rows.positions, rows.stored)
    unknown = np.setdiff1d(np.arange(staged.rows.num_rows), in_lake)
    without_content = [name for name in staged.rows.column_names if name not in staged.dataset.content_columns]
    parts = (
        (without_content, positions, pa.concat_arrays([published, pa.nulls(len(seen), INSTANT)]), False),
        (staged.rows.column_names, unknown, pa.nulls(len(unknown), INSTANT), True),
    )
    tables = []
    for names, chosen, published_at, whole in parts:
        part = take_rows(staged.rows.select(names).append_column("content_hash", staged.content_hash), chosen)
        part = part.append_column("_published_at", published_at)
        part = part.append_column("_whole", pa.repeat(pa.scalar(whole), len(chosen)))
        tables.append(shaped(part, _schema(staged.dataset)))
    return pa.concat_tables(tables)
