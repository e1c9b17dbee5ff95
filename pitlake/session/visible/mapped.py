"""Rows in an Arrow file that a session maps into memory, so that vectors are read in place without decoding."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pitlake.clock import AVAILABLE_AT
from pitlake.contract import INSTANT
from pitlake.lake.storage.files import take_rows

FORM = 1  # Change this name with the layout, so that files of another form are not found.
MAGIC = b"ARROW1"
_BATCH_ROWS = 8_192


def write(tables: Iterable[pa.Table], schema: pa.Schema, file: object) -> None:
    """Write these tables in order; the same rows give the same bytes."""
    with pa.ipc.new_file(file, schema) as writer:
        for rows in tables:
            # Rows are copied batch by batch, so that no byte of a batch comes from neighbouring rows.
            for start in range(0, rows.num_rows, _BATCH_ROWS):
                copied = take_rows(rows, np.arange(start, min(start + _BATCH_ROWS, rows.num_rows)))
                for batch in copied.combine_chunks().to_batches():
                    writer.write_batch(batch)


def newest(rows: pa.Table) -> tuple[int | None, str]:
    """Return the newest `available_at` in microseconds since the epoch, None without rows, or why it is unknown."""
    if rows.schema.names.count(AVAILABLE_AT) != 1:
        return None, f"it has no column {AVAILABLE_AT}"
    instants = rows[AVAILABLE_AT]
    if instants.type != INSTANT:
        return None, f"{AVAILABLE_AT} is not an instant in microseconds"
    if instants.null_count:
        return None, f"it has rows without {AVAILABLE_AT}"
    return pc.max(instants).value, ""
