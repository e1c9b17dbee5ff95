"""Columns of integers and instants as arrays, for what is decided about all rows at once."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Positions = npt.NDArray[np.int64]


def as_numbers(column: pa.ChunkedArray) -> Positions:
    """Return a column of integers without nulls as an array."""
    numbers: Positions = column.to_numpy()
    return numbers


def as_micros(instants: pa.ChunkedArray, null: int = 0) -> Positions:
    """Return instants as microseconds since 1970."""
    return as_numbers(instants.cast(pa.int64()).fill_null(null))
