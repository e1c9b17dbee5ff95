"""Tombstones: a dataset's companion table of superseded revisions and their times. Only names are defined here.

A tombstone identifies a superseded row by its instant and content hash. Its own available_at is the instant from which
both rows are available. It therefore reveals no more than they do, and is cut at T like any row. The lake writes
tombstones (lake/publishing/superseded.py), and sessions use them to show newest revisions.
"""

import pyarrow as pa

from pitlake.contract import INSTANT, Dataset

SUPERSEDED_SCHEMA = pa.schema(
    [
        pa.field("available_at", INSTANT, nullable=False),
        pa.field("dead_at", INSTANT, nullable=False),
        pa.field("dead_hash", pa.binary(), nullable=False),
    ]
)


def superseded_table_name(dataset: str) -> str:
    """Return the lake table of a dataset's tombstones. If a lake version has this table, the table is complete."""
    return f"superseded/{dataset}"


def newest_first(dataset: Dataset) -> tuple[str, ...]:
    """Return the descending order of a key's revisions, as in the dataset's view. The hash makes it total."""
    return tuple(dict.fromkeys((*dataset.newer_by, "available_at", *dataset.tiebreak, "evidence", "content_hash")))
