"""The gate over an Arrow table: the verdicts of `rules.check_item` for each row, in bulk.

The types that the lake stages are checked in bulk: instants in UTC, strings, numbers and lists of these. `hidden` finds
forbidden keys in them by the same rules. Rows with any other type are checked one by one as items.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pitlake.errors import BadInstant
from pitlake.gate.hidden import hidden, in_bulk
from pitlake.gate.plain import row_item
from pitlake.gate.rules import CODES, SOURCES, check_item, is_forbidden_key, is_instant

Codes = npt.NDArray[np.uint8]

SHOWN_ROWS = 100
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The years 1 to 9999, in microseconds since 1970."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_BATCH = 131_072  # The number of rows whose columns fit into the processor's caches.
_CLOCK = {"available_at": pa.timestamp("us", "UTC"), "available_at_source": pa.string()}
_CODE = {code: number for number, code in enumerate(CODES, start=1)}


@dataclass
class Violations:
    """The rows that the gate refuses: `codes` counts them by code, and `rows` contains the first SHOWN_ROWS of them.

    A row is (row number, code, detail); details name places, never values. The object is falsy if the gate refuses no
    rows.
    """

    codes: dict[str, int] = field(default_factory=dict)
    rows: list[tuple[int, str, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.codes)


@dataclass(frozen=True)
class _Cutoff:
    """The cut-off in two forms: for single values and for whole columns."""

    moment: datetime | None
    micros: int | None


def violations_in(table: pa.Table, cutoff: datetime | None, json_columns: Collection[str] = ()) -> Violations:
    """Return the first rule that each row breaks, as `rules.check_item` does for a single item.

    `cutoff` is an aware datetime; None skips only the cut-off. `json_columns` names columns whose strings are mostly
    JSON. This hint affects only the speed. Raises BadInstant for an invalid cut-off.
    """
    limit = _cutoff(cutoff)
    violations = Violations()
    start = 0
    bulk = _goes_in_bulk(table.schema)
    for batch in table.to_batches(max_chunksize=_BATCH):
        codes = _first_faults(batch, limit, json_columns) if bulk else _one_by_one(batch, limit)
        if codes.any():
            for number, count in enumerate(np.bincount(codes)[1:]):
                if count:
                    violations.codes[CODES[number]] = violations.codes.get(CODES[number], 0) + int(count)
            for row in np.flatnonzero(codes)[: SHOWN_ROWS - len(violations.rows)]:
                verdict = check_item(row_item(batch, row), limit.moment, f"row {start + row}")
                detail = verdict.detail if verdict else ""  # If the two ever differ, the bulk check decides.
                violations.rows.append((int(start + row), CODES[codes[row] - 1], detail))
        start += batch.num_rows
    return violations


def row_codes(table: pa.Table, cutoff: datetime | None, json_columns: Collection[str] = ()) -> Codes:
    """Return, per row, the number in CODES (from 1) of the first rule it breaks; 0 for none. See `violations_in`."""
    limit = _cutoff(cutoff)
    bulk = _goes_in_bulk(table.schema)
    violations = [
        _first_faults(batch, limit, json_columns) if bulk else _one_by_one(batch, limit)
        for batch in table.to_batches(max_chunksize=_BATCH)
    ]
    return np.concatenate(violations) if violations else np.zeros(0, np.uint8)


def _cutoff(cutoff: datetime | None) -> _Cutoff:
    if cutoff is None:
        return _Cutoff(None, None)
    if not is_instant(cutoff):
        raise BadInstant("cutoff", "naive", "not a datetime with a time zone")
    count = int((cutoff - _EPOCH) // _MICROSECOND)
    try:
        return _Cutoff(_EPOCH + count * _MICROSECOND, count)
    except OverflowError:
        raise BadInstant("cutoff", "out_of_range", "outside the years 1 to 9999 in UTC") from None


def _goes_in_bulk(schema: pa.Schema) -> bool:
    clock = {name: kind for name, kind in zip(schema.names, schema.types, strict=True) if name in _CLOCK}
    return clock == _CLOCK and len(set(schema.names)) == len(schema) and all(map(in_bulk, schema.types))


def _one_by_one(batch: pa.RecordBatch, limit: _Cutoff) -> Codes:
    verdicts = (check_item(row_item(batch, row), limit.moment) for row in range(batch.num_rows))
    return np.fromiter((_CODE[verdict.code] if verdict else 0 for verdict in verdicts), np.uint8, batch.num_rows)


def _first_faults(batch: pa.RecordBatch, limit: _Cutoff, json_columns: Collection[str]) -> Codes:
    # Of a row that breaks several rules, the last one assigned below is returned.
    array = batch.column("available_at")
    values = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array)]
    tagged = pc.is_in(batch.column("available_at_source"), value_set=pa.array(SOURCES))
    codes = np.zeros(batch.num_rows, np.uint8)
    if limit.micros is not None:
        codes[values > limit.micros] = _CODE["PIT_VIOLATION_GT_CUTOFF"]
    codes[~tagged.to_numpy(zero_copy_only=False)] = _CODE["PIT_INVALID_AVAILABLE_AT_SOURCE"]
    codes[(values < FIRST) | (values > LAST)] = _CODE["PIT_INVALID_AVAILABLE_AT_FORMAT"]
    codes[array.is_null().to_numpy(zero_copy_only=False)] = _CODE["PIT_MISSING_AVAILABLE_AT"]
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        forbidden = hidden(column, json=name in json_columns)
        if is_forbidden_key(name):
            codes[:] = _CODE["PIT_FORBIDDEN_FIELD"]
        elif forbidden is not None:
            codes[forbidden] = _CODE["PIT_FORBIDDEN_FIELD"]
    return codes
