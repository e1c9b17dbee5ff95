"""`available_at` columns in bulk: which rows are instants the rules accept, and when, in microseconds since 1970.

Texts are read with the shape and the arithmetic of `rules.parse_instant`; what is not accepted here is not refused
here either: the rules say why, row by row. Called by `pitlake.gate.columnar`.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pitlake.gate.hidden import Mask, buffers

Micros = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

FIRST = -62_135_596_800_000_000
LAST = 253_402_300_799_999_999
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

_SECONDS_LENGTH = len("2024-02-15T16:00:00")
_LONGEST_FRACTION = 9
_SEPARATORS = ((4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"))
_DAY_0 = 719_162  # Days from 0001-01-01 to 1970-01-01.


def _calendar() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """By year: days before it since 1970, leap or not. By leap and month (row, column): days before it, its length."""
    years = np.arange(10_000)
    leap = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
    past = years - 1
    before_year = past * 365 + past // 4 - past // 100 + past // 400 - _DAY_0
    lengths = np.zeros((2, 100), np.int64)
    lengths[:, 1:13] = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    lengths[1, 2] = 29
    before_month = np.cumsum(lengths, axis=1) - lengths
    return before_year, leap, before_month.ravel(), lengths.ravel()


_BEFORE_YEAR, _LEAP, _BEFORE_MONTH, _MONTH_LENGTH = _calendar()


def stamp_faults(array: pa.TimestampArray, cutoff: int | None) -> tuple[Mask | None, Mask | None]:
    """Of timestamps: which are no instant of the lake (range, precision), which are after the cut-off.

    Nulls may be marked either way. `cutoff` is in microseconds. Compared in the column's own unit, so exactly.
    The precision of timestamps without a zone is not judged: the rules refuse them for the zone first.
    """
    unit = array.type.unit
    values = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array)]
    if unit == "ns":
        whole = values // 1000
        return whole * 1000 != values if array.type.tz else None, None if cutoff is None else whole > cutoff
    scale = 10**6 // PER_SECOND[unit]
    first, last = FIRST // scale, LAST // scale
    outside = values.min() < first or values.max() > last
    broken = (values < first) | (values > last) if outside else None
    return broken, None if cutoff is None else values > cutoff // scale


def read_texts(texts: pa.Array, present: Mask | None) -> tuple[Mask, Micros]:
    """Of a binary array of texts: which are well-formed instants, and their microseconds (anything elsewhere)."""
    accepted = np.zeros(len(texts), bool)
    micros = np.zeros(len(texts), np.int64)
    starts, data = buffers(texts)
    lengths = np.diff(starts)
    if present is not None:
        lengths = np.where(present, lengths, 0)
    for length in np.flatnonzero(np.bincount(np.clip(lengths, 0, 64), minlength=65)):
        if not _SECONDS_LENGTH < length <= _SECONDS_LENGTH + 1 + _LONGEST_FRACTION + len("-05:00"):
            continue
        rows = np.flatnonzero(lengths == length)
        columns = np.ascontiguousarray(_characters(data, starts[rows], int(length)).T)
        zulu = columns[-1] == ord("Z")
        for suffix, chosen in ((1, zulu), (6, ~zulu)):
            digits = int(length) - _SECONDS_LENGTH - suffix - 1
            if chosen.any() and (digits == -1 or 1 <= digits <= _LONGEST_FRACTION):
                part = columns if chosen.all() else columns[:, chosen]
                good, read = _read(part, suffix, digits)
                accepted[rows[chosen]], micros[rows[chosen]] = good, read
    return accepted, micros


def _characters(data: Bytes, starts: npt.NDArray[np.signedinteger], length: int) -> Bytes:
    """A row of `length` bytes for each start."""
    first, last = int(starts[0]), int(starts[-1]) + length
    if last - first == length * len(starts):
        return data[first:last].reshape(-1, length)
    gathered: Bytes = data[starts[:, None] + np.arange(length)]
    return gathered


def _read(columns: Bytes, suffix: int, digits: int) -> tuple[Mask, Micros]:
    """Texts of one layout, one row of `columns` per character position. `digits` is -1 without a fraction."""
    good = np.ones(columns.shape[1], bool)
    for position, separator in _SEPARATORS:
        good &= columns[position] == ord(separator)
    year, month, day = _number(columns, 0, 4, good), _number(columns, 5, 2, good), _number(columns, 8, 2, good)
    hour, minute, second = (_number(columns, start, 2, good) for start in (11, 14, 17))
    good &= (hour < 24) & (minute < 60) & (second < 60)
    seconds = hour * 3600 + minute * 60 + second
    if suffix > 1:
        seconds -= _offset(columns[-suffix:], good)
    year[~good], month[~good] = 1, 1
    slot = _LEAP[year] * 100 + month
    good &= (year > 0) & (day > 0) & (day <= _MONTH_LENGTH[slot])
    days = _BEFORE_YEAR[year] + _BEFORE_MONTH[slot] + day - 1
    micros = (days * 86_400 + seconds) * 10**6 + _fraction(columns[_SECONDS_LENGTH:], digits, good)
    good &= (micros >= FIRST) & (micros <= LAST)
    return good, micros


def _number(columns: Bytes, start: int, width: int, good: Mask) -> npt.NDArray[np.int32]:
    """The number spelled by `width` characters; texts with anything but digits there are struck from `good`."""
    value = np.zeros(columns.shape[1], np.int32)
    for position in range(start, start + width):
        digit = columns[position] - np.uint8(ord("0"))
        good &= digit <= 9
        value *= 10
        value += digit
    return value


def _offset(columns: Bytes, good: Mask) -> npt.NDArray[np.int32]:
    """Seconds east of UTC, from the six characters `±HH:MM`."""
    west = columns[0] == ord("-")
    hours, minutes = _number(columns, 1, 2, good), _number(columns, 4, 2, good)
    good &= (west | (columns[0] == ord("+"))) & (columns[3] == ord(":")) & (hours < 24) & (minutes < 60)
    seconds = hours * 3600 + minutes * 60
    np.negative(seconds, out=seconds, where=west)
    return seconds


def _fraction(columns: Bytes, digits: int, good: Mask) -> npt.NDArray[np.int32]:
    """Microseconds, from a point and `digits` digits; those finer than a microsecond must be zeros."""
    if digits < 0:
        return np.zeros(columns.shape[1], np.int32)
    good &= columns[0] == ord(".")
    micros = _number(columns, 1, min(digits, 6), good)
    micros *= 10 ** max(0, 6 - digits)
    for position in range(7, digits + 1):
        good &= columns[position] == ord("0")
    return micros
