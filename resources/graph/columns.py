"""Rows of the driver to Arrow record batches, column by column: strict where types are declared, inferred where they
are not.

It keeps few Python objects alive at a time, which is most of its speed: rows become Arrow in small chunks, chunks
become a batch.
"""

import contextlib
import json
from collections.abc import Sequence

import pyarrow as pa
from neo4j.time import Date, DateTime, Duration, Time

from pitlake.errors import BadInput, GraphValueMismatch

ANY_VALUE = pa.json_()
_MISFITS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)


class BatchBuilder:
    """Collects rows of one result and hands them out as record batches.

    With a schema every batch has exactly its columns and types. A value that does not fit raises GraphValueMismatch;
    a column declared as ANY_VALUE takes every value and comes out as a string column of JSON (null stays null).
    Without a schema the types are inferred from each batch alone, and an all-null column has Arrow's null type.
    """

    def __init__(self, keys: Sequence[str], schema: pa.Schema | None) -> None:
        self._keys = list(keys)
        self._types = _declared(self._keys, schema)
        self._order = schema.names if schema is not None else self._keys
        self._chunks: list[list[pa.Array]] = [[] for _ in self._keys]
        self.rows = 0
        self.nbytes = 0

    def append(self, values: Sequence[object]) -> int:
        """Add whole rows, given as one flat list of values, row after row; returns the bytes they take as Arrow."""
        before = self.nbytes
        for place, (name, declared, chunks) in enumerate(zip(self._keys, self._types, self._chunks, strict=True)):
            array = _array(name, values[place :: len(self._keys)], declared)
            chunks.append(array)
            self.nbytes += array.get_total_buffer_size()
        self.rows += len(values) // len(self._keys)
        return self.nbytes - before

    def take(self) -> pa.RecordBatch:
        """The rows so far as one batch; the builder is empty afterwards."""
        arrays = {name: _joined(name, chunks) for name, chunks in zip(self._keys, self._chunks, strict=True)}
        self._chunks = [[] for _ in self._keys]
        self.rows = self.nbytes = 0
        return pa.RecordBatch.from_arrays([arrays[name] for name in self._order], names=self._order)


def arrow_schema(keys: Sequence[str], schema: pa.Schema | None) -> pa.Schema:
    """The schema that batches of this result have; for results without rows."""
    if schema is None:
        return pa.schema([(key, pa.null()) for key in keys])
    return pa.schema([(field.name, pa.string() if field.type == ANY_VALUE else field.type) for field in schema])


def _declared(keys: list[str], schema: pa.Schema | None) -> list[pa.DataType | None]:
    if schema is None:
        return [None] * len(keys)
    if sorted(keys) != sorted(schema.names):
        raise BadInput(
            "schema", f"names {sorted(schema.names)} but the query returns {sorted(keys)}", "make them agree"
        )
    return [schema.field(key).type for key in keys]


def _array(name: str, values: Sequence[object], declared: pa.DataType | None) -> pa.Array:
    """The values as Arrow infers them, then as declared.

    Never built with the declared type: Arrow then takes texts for lists of letters, numbers for times, 1.5 for 1.
    """
    if declared == ANY_VALUE:
        return pa.array([None if value is None else _as_json(name, value) for value in values], pa.string())
    try:
        inferred = pa.array(values)
    except _MISFITS:
        inferred = _from_temporal(name, values)
    if declared is None or inferred.type == declared:
        return inferred
    if _widens(inferred.type, declared):
        with contextlib.suppress(*_MISFITS):
            return inferred.cast(declared)
    raise GraphValueMismatch(name, f"declared {declared}, but the graph holds {inferred.type}")


def _widens(found: pa.DataType, declared: pa.DataType) -> bool:
    """Whether a cast keeps every value's meaning; the cast itself refuses what does not fit exactly."""
    is_ = pa.types
    if is_.is_list(found):
        return bool(is_.is_list(declared)) and (found == declared or _widens(found.value_type, declared.value_type))
    return bool(
        is_.is_null(found)
        or (is_.is_integer(found) and (is_.is_integer(declared) or is_.is_floating(declared)))
        or (is_.is_string(found) and is_.is_large_string(declared))
        or (is_.is_timestamp(found) and is_.is_timestamp(declared) and (found.tz is None) == (declared.tz is None))
    )


def _from_temporal(name: str, values: Sequence[object]) -> pa.Array:
    """The driver's dates and times as Arrow's, if they are all of one kind; nanoseconds are not dropped."""
    kinds = {_kind(value) for value in values if value is not None}
    finest = max((value.nanosecond % 1000 for value in values if isinstance(value, (DateTime, Time))), default=0)
    if finest:
        raise GraphValueMismatch(name, "a time finer than microseconds")
    if len(kinds) == 1:
        with contextlib.suppress(*_MISFITS, AttributeError):
            return pa.array([None if value is None else value.to_native() for value in values])  # type: ignore[attr-defined]
    raise GraphValueMismatch(name, f"no one type holds {', '.join(sorted(kinds))}; declare it in the schema")


def _kind(value: object) -> str:
    aware = isinstance(value, (DateTime, Time)) and value.tzinfo is not None
    return f"aware {type(value).__name__}" if aware else type(value).__name__


def _joined(name: str, chunks: list[pa.Array]) -> pa.Array:
    kinds = {chunk.type for chunk in chunks}
    if len(kinds) > 1:
        try:
            schemas = [pa.schema([(name, kind)]) for kind in kinds]
            common = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
            chunks = [chunk.cast(common) for chunk in chunks]
        except _MISFITS:
            mixed = ", ".join(sorted(map(str, kinds)))
            raise GraphValueMismatch(name, f"no one type holds {mixed}; declare it in the schema") from None
    return pa.concat_arrays(chunks)


def _as_json(name: str, value: object) -> str:
    def other(inner: object) -> str:
        if isinstance(inner, (Date, DateTime, Time, Duration)):
            return inner.iso_format()
        raise GraphValueMismatch(name, f"a {type(inner).__name__} has no JSON form")

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=other)
