"""Parallel work on the processor's cores. Arrow, DuckDB and hashlib release Python's lock while they work.

The work may be of any kind.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

MOST_WORKERS = 8
BLOCK_ROWS = 65_536
BLOCK_BYTES = 32 << 20

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def workers() -> int:
    """Return the number of threads to use."""
    return min(MOST_WORKERS, os.cpu_count() or 1)


def each(work: Callable[[Piece], Result], pieces: Iterable[Piece], at_once: int | None = None) -> list[Result]:
    """Run `work` on every piece and return the results in order. Raises the first error.

    at_once: the number of pieces at a time (default: the number of cores).
    """
    todo = list(pieces)
    threads = min(at_once or workers(), len(todo))
    if threads < 2:
        return [work(piece) for piece in todo]
    with ThreadPoolExecutor(threads) as pool:
        done = [pool.submit(work, piece) for piece in todo]
        wait(done, return_when=FIRST_EXCEPTION)
        for piece in done:
            piece.cancel()
    return [piece.result() for piece in done]


def blocks(table: "pa.Table", rows: int = BLOCK_ROWS, size: int = BLOCK_BYTES) -> "Iterator[tuple[pa.Table, int]]":
    """Yield contiguous slices of a table of about this many rows or bytes, each with the index of its first row."""
    step = _step(table, rows, size)
    for start in range(0, table.num_rows, step):
        yield table.slice(start, step).combine_chunks(), start


def _step(table: "pa.Table", rows: int, size: int) -> int:
    pieces: int = max(1, round(max(table.num_rows / rows, table.nbytes / size)))
    return max(1, -(-int(table.num_rows) // pieces))


def in_blocks(work: "Callable[[pa.Table, int], Result]", table: "pa.Table") -> list[Result]:
    """Run `work` on slices of a table that roughly fit the CPU caches; return the results in row order."""
    step = _step(table, BLOCK_ROWS, BLOCK_BYTES)
    # A slice may be a copy, so each is made where it is used. Copies of all slices would be as large as the table.
    return each(lambda start: work(table.slice(start, step).combine_chunks(), start), range(0, table.num_rows, step))
