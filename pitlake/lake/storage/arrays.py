"""Converts columns of integers and instants to arrays and back, so that decisions can be made for all rows together.

Values are passed as bytes. If pandas is installed, converting a value or an array makes Arrow import pandas, which
takes longer than most questions.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pitlake.contract import INSTANT

Positions = npt.NDArray[np.int64]


def as_numbers(column: pa.Array | pa.ChunkedArray) -> Positions:
    """Return a column of integers without nulls as an array."""
    whole = column if isinstance(column, pa.Array) else column.combine_chunks()
    if whole.null_count or not pa.types.is_integer(whole.type):
        numbers: Positions = whole.to_numpy(zero_copy_only=False)
        return numbers
    kind, bits = np.dtype(str(whole.type)), whole.buffers()[1] or b""
    return np.frombuffer(bits, kind, len(whole), whole.offset * kind.itemsize)


def as_micros(instants: pa.ChunkedArray, null: int = 0) -> Positions:
    numbers = instants.cast(pa.int64())
    return as_numbers(numbers.fill_null(null) if numbers.null_count else numbers)


def is_one_value(column: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether all rows have the same value and it is not null."""
    return bool(len(column)) and pc.all(pc.equal(column, column[0]), skip_nulls=False).as_py() is True


def instant_scalar(moment: int) -> pa.Scalar:
    """Return microseconds since 1970 as an Arrow instant."""
    return pa.Array.from_buffers(INSTANT, 1, [None, pa.py_buffer(moment.to_bytes(8, "little", signed=True))])[0]


def as_indexes(positions: Positions | pa.Array) -> pa.Array:
    """Return the positions of rows as an Arrow array for `take`."""
    if isinstance(positions, pa.Array):
        return positions
    numbers = np.ascontiguousarray(positions, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])
