"""Compares the contents of a stage and of stored rows by their hashes, before rows are matched column by column.

A content hash covers the whole identity of a row. If all stored contents of an identity are staged, there is nothing
new to it.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from pitlake import clock
from pitlake.lake.publishing.hashing import HASH_BYTES
from pitlake.lake.storage.arrays import Positions
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.storage.parallel import each

Words = npt.NDArray[np.uint64]
PASSES = [(word, np.uint64(shift)) for word in (0, 1) for shift in (0, 21, 42)]
"""Parts of a hash: one of its two numbers, and how many of the number's first bits to drop."""
MOST_SPANS = (1 << 16) - 1  # Numbers of 16 bits sort quickly.


class Comparison(NamedTuple):
    """The staged contents that are stored, and the hashes of stored contents that may not be staged."""

    stored: npt.NDArray[np.bool_]
    others: pa.Array


def compare(
    content_hash: pa.ChunkedArray, available: Positions, files: Sequence[DataFile], until: datetime
) -> Comparison:
    """Compare staged contents with the stored contents of about the same time.

    available: the staged instants. until: the instant after which stored contents are not considered staged.
    """
    words, is_stored = _words(content_hash), np.zeros(len(content_hash), bool)
    # No two spans have rows of the same time, unless that would give too many spans.
    spans: list[list[DataFile]] = []
    for file in sorted(files, key=lambda file: file.lo):
        if spans and (len(spans) == MOST_SPANS or file.lo <= max(member.hi for member in spans[-1])):
            spans[-1].append(file)
        else:
            spans.append([file])
    number = np.searchsorted([clock.micros(span[0].lo) for span in spans], available, "right").astype(np.uint16)
    order = np.argsort(number, kind="stable")
    edges = np.searchsorted(number[order], np.arange(1, len(spans) + 2))

    def others(place: int) -> Words:
        tables = (
            pq.read_table(file.path, columns=["content_hash"], partitioning=None, use_threads=False)
            for file in spans[place]
        )
        stored = _words(pa.concat_tables(tables)["content_hash"])
        chosen = order[edges[place] : edges[place + 1]]
        if not len(chosen) or max(file.hi for file in spans[place]) > until:
            return stored
        staged, bits = words[chosen], (2 * len(chosen)).bit_length()
        # Each pass finds the contents that are alone in their slot, and leaves few for the next pass.
        for word, shift in PASSES:
            position = np.zeros(1 << bits, np.uint32)
            slots, sought = ((hashes[:, word] << shift) >> np.uint64(64 - bits) for hashes in (staged, stored))
            position[slots] = np.arange(len(staged))
            places = position[sought]
            same = (staged[places, 0] == stored[:, 0]) & (staged[places, 1] == stored[:, 1])
            is_stored[chosen[places[same]]] = True
            stored = stored[~same]
            left = np.flatnonzero(~is_stored[chosen])
            staged, chosen = staged[left], chosen[left]
            if not len(staged) or not len(stored):
                break
        return stored

    unmatched = np.concatenate(each(others, range(len(spans))))
    fixed = pa.Array.from_buffers(pa.binary(HASH_BYTES), len(unmatched), [None, pa.py_buffer(unmatched.tobytes())])
    return Comparison(is_stored, fixed.cast(pa.binary()))


def _words(hashes: pa.ChunkedArray) -> Words:
    """Return each hash as two numbers."""
    whole = hashes.cast(pa.binary(HASH_BYTES)).combine_chunks()
    words: Words = np.frombuffer(whole.buffers()[1], np.uint64).reshape(-1, 2)
    return words[whole.offset :][: len(whole)]
