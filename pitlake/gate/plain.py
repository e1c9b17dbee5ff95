"""An Arrow value as the item that a reader would get, so that the gate's rules can be applied row by row.

Instants and dates become ISO strings, maps and structs become objects, and everything else is Arrow's Python value. The
vectorised gate uses it for the few rows that it must check one by one, and the envelope uses it for all rows.
"""

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from pitlake.gate.rules import MAX_DEPTH, Pairs

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  Arrow counts naive and UTC timestamps from the same number.
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_OUT_OF_RANGE = "outside the years 1 to 9999"


def row_item(batch: pa.RecordBatch, row: int) -> dict[str, Any]:
    """Return a row as an item. Two columns of one name become a list, so that neither hides the other."""
    item: dict[str, list[Any]] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        item.setdefault(name, []).append(plain(column[row]))
    return {name: values if len(values) > 1 else values[0] for name, values in item.items()}


def plain(scalar: pa.Scalar, depth: int = 1) -> Any:
    """Return the value of an Arrow scalar. Values below MAX_DEPTH are not read, because the rules refuse them."""
    kind = scalar.type
    if isinstance(scalar, pa.ExtensionScalar | pa.DictionaryScalar | pa.RunEndEncodedScalar | pa.UnionScalar):
        return None if scalar.value is None else plain(scalar.value, depth)
    if not scalar.is_valid:
        return None
    if depth > MAX_DEPTH + 1:
        return []
    if isinstance(scalar, pa.StructScalar):
        return _object([(kind.field(i).name, plain(scalar[i], depth + 1)) for i in range(kind.num_fields)])
    if isinstance(scalar, pa.MapScalar):
        entries = scalar.values
        keys, values = entries.field(0), entries.field(1)
        return _object([(plain(keys[i], depth + 1), plain(values[i], depth + 1)) for i in range(len(entries))])
    if isinstance(scalar, pa.ListScalar):
        return [plain(child, depth + 1) for child in scalar.values]
    return _leaf(scalar, kind)


def _object(pairs: list[tuple[Any, Any]]) -> Any:
    names = [key for key, _ in pairs if isinstance(key, str)]
    return dict(pairs) if len(set(names)) == len(pairs) else Pairs(pairs)


def _leaf(scalar: pa.Scalar, kind: pa.DataType) -> Any:
    if isinstance(scalar, pa.BinaryScalar):
        data = scalar.as_buffer().to_pybytes()
        return data.decode("utf-8", "replace") if isinstance(scalar, pa.StringScalar) else data
    if pa.types.is_timestamp(kind):
        return _stamp(scalar.value, kind.unit, "Z" if kind.tz else "")
    if pa.types.is_date(kind):
        days = scalar.value if pa.types.is_date32(kind) else scalar.value // 86_400_000
        try:
            return (_EPOCH + timedelta(days=days)).date().isoformat()
        except OverflowError:
            return _OUT_OF_RANGE
    if pa.types.is_duration(kind):
        try:
            return timedelta(microseconds=scalar.value * 1_000_000 // _PER_SECOND[kind.unit])
        except OverflowError:
            return scalar.value
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):  # Python cannot represent this time of day or interval, which contains no key.
        return None


def _stamp(value: int, unit: str, suffix: str) -> str:
    seconds, rest = divmod(value, _PER_SECOND[unit])
    try:
        moment = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return _OUT_OF_RANGE
    digits = len(str(_PER_SECOND[unit])) - 1
    fraction = f".{rest:0{digits}d}" if rest else ""
    return f"{moment.isoformat()}{fraction}{suffix}"
