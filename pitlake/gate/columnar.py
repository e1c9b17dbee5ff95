"""The gate over an Arrow table: the verdicts of `rules.check_item` on each row, code for code, in bulk.

What a forbidden key looks like in Arrow is decided in `hidden`, what an instant looks like in `instants`, both by
the rules; here the first failing rule of each row is found, counted and named. Called before every publish.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pitlake.errors import BadInstant
from pitlake.gate.hidden import Mask, hidden, valid
from pitlake.gate.instants import read_texts, stamp_faults
from pitlake.gate.plain import plain, row_item
from pitlake.gate.rules import CODES, SOURCES, check_clock, check_item, is_forbidden_key, is_instant

Codes = npt.NDArray[np.uint8]

SHOWN_ROWS = 100

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_BATCH = 131_072  # Rows whose columns still fit the processor's caches.
_CODE = {code: number for number, code in enumerate(CODES, start=1)}
_MISSING = _CODE["PIT_MISSING_AVAILABLE_AT"]
_FORMAT = _CODE["PIT_INVALID_AVAILABLE_AT_FORMAT"]
_NO_ZONE = _CODE["PIT_MISSING_TZ"]
_SOURCE = _CODE["PIT_INVALID_AVAILABLE_AT_SOURCE"]
_LATE = _CODE["PIT_VIOLATION_GT_CUTOFF"]
_FORBIDDEN = _CODE["PIT_FORBIDDEN_FIELD"]


@dataclass
class Violations:
    """What the gate refuses: `codes` counts every bad row by its code, `rows` names the first SHOWN_ROWS of them.

    A row is (row number, code, detail); details name places, never values. Falsy when the table is clean.
    """

    codes: dict[str, int] = field(default_factory=dict)
    rows: list[tuple[int, str, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.codes)


@dataclass(frozen=True)
class _Cutoff:
    """The cut-off in both forms: as the rules compare it and as whole columns are compared."""

    moment: datetime | None
    micros: int | None


def violations_in(table: pa.Table, cutoff: datetime | None, json_columns: Collection[str] = ()) -> Violations:
    """The first rule each row breaks, as `rules.check_item` finds it on the row as an item.

    `cutoff` is an aware datetime; None skips the cut-off alone. `json_columns` names columns whose texts are JSON
    nearly throughout: a hint for speed, without effect on verdicts. Raises BadInstant for a cut-off that is none.
    """
    limit = _cutoff(cutoff)
    violations = Violations()
    start = 0
    for batch in table.to_batches(max_chunksize=_BATCH):
        codes = _first_faults(batch, limit, json_columns)
        if codes.any():
            _record(violations, batch, codes, limit, start)
        start += batch.num_rows
    return violations


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


def _record(violations: Violations, batch: pa.RecordBatch, codes: Codes, limit: _Cutoff, start: int) -> None:
    for number, count in enumerate(np.bincount(codes)[1:]):
        if count:
            violations.codes[CODES[number]] = violations.codes.get(CODES[number], 0) + int(count)
    for row in np.flatnonzero(codes)[: SHOWN_ROWS - len(violations.rows)]:
        verdict = check_item(row_item(batch, row), limit.moment, f"row {start + row}")
        detail = verdict.detail if verdict else ""  # The bulk's word stands, should the two ever differ.
        violations.rows.append((int(start + row), CODES[codes[row] - 1], detail))


def _first_faults(batch: pa.RecordBatch, limit: _Cutoff, json_columns: Collection[str]) -> Codes:
    codes = _clock_faults(batch, limit)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        forbidden = hidden(column, json=name in json_columns)
        if is_forbidden_key(name):
            codes[:] = _FORBIDDEN
        elif forbidden is not None:
            codes[forbidden] = _FORBIDDEN
    return codes


def _clock_faults(batch: pa.RecordBatch, limit: _Cutoff) -> Codes:
    """The first failing rule of each row about its clock and source tag, 0 for none."""
    codes = np.full(batch.num_rows, _MISSING, np.uint8)
    array = _only(batch, "available_at")
    if array is None or batch.num_rows == 0:
        return codes
    bad_source = _bad_sources(batch)
    if pa.types.is_timestamp(array.type):
        codes[:] = _timestamp_faults(array, bad_source, limit)
    elif pa.types.is_date(array.type):
        codes[:] = _FORMAT
    elif pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return _text_faults(array, bad_source, limit)
    else:
        return codes
    present = valid(array)
    if present is not None:
        codes[~present] = _MISSING
    return codes


def _only(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """The one column of that name, unwrapped; None where there is none or more than one."""
    found = batch.schema.get_all_field_indices(name)
    return _unwrapped(batch.column(found[0])) if len(found) == 1 else None


def _unwrapped(array: pa.Array) -> pa.Array:
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _unwrapped(array.storage)
    if pa.types.is_dictionary(kind):
        return _unwrapped(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return _unwrapped(pc.run_end_decode(array))
    return array.cast(pa.large_string()) if pa.types.is_string_view(kind) else array


def _bad_sources(batch: pa.RecordBatch) -> Mask:
    array = _only(batch, "available_at_source")
    if array is None or not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return np.ones(batch.num_rows, bool)
    good = pc.is_in(array, value_set=pa.array(SOURCES, array.type))
    bad: Mask = ~good.to_numpy(zero_copy_only=False)
    return bad


def _timestamp_faults(array: pa.TimestampArray, bad_source: Mask, limit: _Cutoff) -> Codes:
    broken, late = stamp_faults(array, limit.micros)
    codes = np.zeros(len(array), np.uint8)
    if late is not None:
        codes[late] = _LATE
    codes[bad_source] = _SOURCE
    if not array.type.tz:
        codes[:] = _NO_ZONE
    if broken is not None:
        codes[broken] = _FORMAT
    return codes


def _text_faults(array: pa.Array, bad_source: Mask, limit: _Cutoff) -> Codes:
    texts = array.cast(pa.large_binary() if pa.types.is_large_string(array.type) else pa.binary())
    accepted, instants = read_texts(texts, valid(array))
    codes = np.zeros(len(array), np.uint8)
    if limit.micros is not None:
        codes[instants > limit.micros] = _LATE
    codes[bad_source] = _SOURCE
    for row in np.flatnonzero(~accepted):
        source = None if bad_source[row] else SOURCES[0]
        verdict = check_clock(plain(array[row]), source, limit.moment)
        codes[row] = _CODE[verdict.code] if verdict else 0
    return codes
