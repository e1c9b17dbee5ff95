"""Tombstones: a dataset's companion table that says which stored revision was superseded, and when. Names only.

A tombstone names a dead row by its instant and content hash; its own available_at is that of the row that superseded
it. So it tells nothing that this row does not, and is cut at T like any row. The lake writes them (lake/superseded.py),
sessions show newest revisions by them.
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
    """Return the lake table that holds a dataset's tombstones. A lake version that has it, has all of them."""
    return f"superseded/{dataset}"


def newest_first(dataset: Dataset) -> tuple[str, ...]:
    """Return the descending order of the revisions of one key, as the dataset's view has it; the hash makes
    it total.
    """
    return tuple(dict.fromkeys((*dataset.newer_by, "available_at", *dataset.tiebreak, "evidence", "content_hash")))
