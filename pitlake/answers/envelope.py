"""The agents' envelope `{"data": […], "gaps": […]}`: rows and gaps as strict JSON, checked by the gate.

Each item has `available_at` and `available_at_source`, or is marked `computed` with the newest instant of its inputs.
The session provides the rows, and the interfaces deliver the answers.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from pitlake.clock import instant, iso
from pitlake.errors import BadInput, EnvelopeRefused
from pitlake.gate.plain import plain, row_item
from pitlake.gate.rules import ANSWER_GAPS, MAX_DEPTH, Pairs, check_envelope

Envelope = dict[str, list[dict[str, Any]]]

_LONGEST_INTEGER_BITS = 4096
_LONGEST_DECIMAL_DIGITS = 80


def envelope(rows: Iterable[Mapping[str, Any]], gaps: Iterable[Mapping[str, Any]], as_of: datetime) -> Envelope:
    """Return rows and gaps as an envelope that passed the gate against the session's `as_of`.

    Raises EnvelopeRefused with the gate's code for the first rule broken, BadInput for values that JSON can't
    represent.
    """
    payload = open_envelope(rows, gaps)
    verdict = check_envelope(payload, iso(instant(as_of)))
    if verdict is not None:
        raise EnvelopeRefused(verdict.code, verdict.detail)
    return payload


def open_envelope(rows: Iterable[Mapping[str, Any]], gaps: Iterable[Mapping[str, Any]]) -> Envelope:
    """Return the envelope of open mode: strict JSON, not checked against an as_of. Use it only for a session that was
    opened without one.
    """
    return {"data": [_object(row.items(), "rows", "", 0) for row in rows], "gaps": [_gap(gap) for gap in gaps]}


def rows_of(table: pa.Table, max_bytes: int | None = None) -> Iterator[dict[str, Any]]:
    """Return the rows of an Arrow table, maps as objects.

    Raises BadInput for columns with the same name, because JSON keeps only one of them. Also raises BadInput for a row
    of more than `max_bytes` of JSON, before making Python values, which may be many times as large.
    """
    names = table.column_names
    if len(set(names)) != len(names):
        raise BadInput("columns", "two columns have the same name", "give them different names with AS")
    for batch in table.to_batches():
        for row in range(batch.num_rows):
            if max_bytes is not None:
                values = batch.slice(row, 1)
                # One bit per value is a lower bound. It decides most cases without measuring the strings.
                if 8 * values.nbytes > max_bytes and _least_json(values) > max_bytes:
                    raise row_too_large(max_bytes)
            yield row_item(batch, row)


def row_too_large(max_bytes: int) -> BadInput:
    """Return the error for a row that no page can hold."""
    return BadInput("rows", f"one row is larger than {max_bytes:,} bytes", "select fewer or shorter columns")


def _least_json(values: pa.RecordBatch | pa.Array) -> int:
    """Return a lower bound of the JSON size of these values: the bytes of strings, and one byte for any other value."""
    if isinstance(values, pa.RecordBatch):
        return sum(map(_least_json, values.columns))
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return len(values) + int(pc.sum(pc.binary_length(values)).as_py() or 0)
    if pa.types.is_struct(kind):
        return sum(map(_least_json, values.flatten()))
    if pa.types.is_map(kind):
        first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
        return sum(_least_json(part.slice(first, last - first)) for part in (values.keys, values.items))
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return len(values) + _least_json(values.flatten())
    return len(values)


def cells(column: pa.Array, place: str) -> Iterable[Any]:
    """Return a column's values in strict JSON types (see `strict`). Raises BadInput for values beyond JSON."""
    if any(test(column.type) for test in (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean)):
        values: list[Any] = column.to_pylist()  # Values of these types are JSON already, and most columns have them.
        return values
    return (strict(plain(scalar), "rows", place) for scalar in column)


def clean_gap(kind: str, reason: str, query: str | None = None) -> dict[str, str]:
    """Return a gap that explains what is missing. Raises BadInput for a type outside ANSWER_GAPS."""
    if kind not in ANSWER_GAPS:
        raise BadInput("gaps", f"{kind!r} is not a type of gap", f"choose from {', '.join(ANSWER_GAPS)}")
    if not reason.strip():
        raise BadInput("gaps", "a gap has no reason", "state in one sentence what is missing and why")
    return {"type": kind, "reason": reason} | ({} if query is None else {"query": query})


def to_json(payload: Mapping[str, Any]) -> str:
    """Return the canonical JSON of an envelope. Equal envelopes give equal bytes, in any order of keys."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _gap(gap: Mapping[str, Any]) -> dict[str, Any]:
    """Return a gap for the envelope. In a row of the `gaps` view `gap_type` becomes `type`."""
    fields = _object((("type" if name == "gap_type" else name, value) for name, value in gap.items()), "gaps", "", 0)
    reason = fields.get("reason")
    clean_gap(fields.get("type", ""), reason if isinstance(reason, str) else "")
    return fields


def strict(value: Any, field: str, place: str, depth: int = 0) -> Any:
    """Return a value in strict JSON types. `field` and `place` locate it in an error; no error shows the value.

    Instants become ISO strings in UTC with `Z`. Naive datetimes, dates and times become ISO strings, and durations ISO
    8601 in seconds. NaN and infinities become null. Decimals become numbers if that is exact, otherwise strings. Bytes
    become hexadecimal strings.
    """
    if value is None or isinstance(value, bool | str):
        return _text(value, field, place) if isinstance(value, str) else value
    if depth > MAX_DEPTH:
        raise BadInput(field, f"{place} is nested too deep", "unnest it in the query")
    if isinstance(value, Pairs):
        return _object(value, field, place, depth)
    if isinstance(value, Mapping):
        return _object(value.items(), field, place, depth)
    if isinstance(value, pa.MonthDayNano):
        return f"P{value.months}M{value.days}DT{_seconds(value.nanoseconds, 9)}S"
    if isinstance(value, list | tuple):
        return [strict(inner, field, place, depth + 1) for inner in value]
    return _scalar(value, field, place)


def _object(pairs: Iterable[tuple[Any, Any]], field: str, place: str, depth: int) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        name = _key(key, field, place)
        if name in members:
            raise BadInput(
                field, f"{place or 'a row'} has a key twice", "JSON keeps only one; give them different names"
            )
        members[name] = strict(value, field, place or name, depth + 1)
    return members


def _key(key: Any, field: str, place: str) -> str:
    if isinstance(key, str):
        return _text(key, field, place or "a name")
    if isinstance(key, Integral | date):
        return str(strict(key, field, place))
    raise BadInput(field, f"{place or 'a row'} has keys of type {type(key).__name__}", "give keys that are texts")


def _text(text: str, field: str, place: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInput(field, f"{place} is not Unicode text", "correct it at its source") from None
    return text


def _scalar(value: Any, field: str, place: str) -> Any:
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, Integral) and int(value).bit_length() <= _LONGEST_INTEGER_BITS:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, datetime):
        return _stamp(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"PT{_seconds(value // timedelta(microseconds=1), 6)}S"
    if isinstance(value, UUID):
        return str(value)
    raise BadInput(field, f"{place} has a {type(value).__name__}, which JSON can't represent", "cast it in the query")


def _stamp(value: datetime) -> str | None:
    if value != value:  # pandas' NaT
        return None
    return value.isoformat() if value.tzinfo is None else iso(value)


def _decimal(value: Decimal) -> int | float | str | None:
    if not value.is_finite():
        return None
    if value.adjusted() > _LONGEST_DECIMAL_DIGITS:
        return str(value)
    if value == value.to_integral_value():
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else str(value)


def _seconds(count: int, places: int) -> str:
    return format(Decimal(count).scaleb(-places).normalize(), "f")
