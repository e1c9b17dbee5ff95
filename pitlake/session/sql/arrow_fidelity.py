"""Checks that Arrow can represent a result exactly. Arrow lacks some of DuckDB's types and limits others.

A result that fails is refused with the next step, in the query's process, so that the session stays usable. A result
that passes has no dictionary, union or view. Every value therefore has its own bytes, and a limit on bytes also limits
memory.
"""

from collections.abc import Sequence

import duckdb
import pyarrow as pa
import pyarrow.compute
from duckdb.sqltypes import DuckDBPyType

_CHANGED = {"time with time zone", "bit", "bignum", "uhugeint", "union", "variant"}
"""DuckDB's types whose values change in Arrow: an offset is dropped, and bits become padded bytes."""
_NESTED = ("list", "array", "map", "struct")


class Inexact(ValueError):
    """A result that Arrow can't represent exactly. The message gives the column and the next step."""

    def __init__(self, column: str, problem: str) -> None:
        super().__init__(f'column "{column}" {problem}; cast it in the query, such as CAST(… AS VARCHAR)')


def check_types(columns: Sequence[str], types: Sequence[DuckDBPyType]) -> None:
    """Raise Inexact for types whose values would change on the way."""
    for column, kind in zip(columns, types, strict=True):
        if changed := _changed(kind):
            raise Inexact(column, f"is of type {changed}, which can't leave the session unchanged")


def spelled_out(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return the same rows with ENUM values as strings, because Arrow would pass them as codes."""
    if not any("ENUM(" in str(kind) for kind in relation.types):
        return relation
    columns = enumerate(zip(relation.types, relation.columns, strict=True), start=1)
    return relation.project(
        ", ".join(f"#{at}::{_without_codes(kind)} AS {_quoted(name)}" for at, (kind, name) in columns)
    )


def typed(schema: pa.Schema) -> pa.Schema:
    """Return the schema with INTEGER for untyped nulls in a list, so that every value has its own bytes."""
    fields = [field.with_type(_typed(field.type, in_list=False)) for field in schema]
    return pa.schema(fields, schema.metadata)


def check_values(batch: pa.RecordBatch) -> None:
    """Raise Inexact for values beyond their Arrow type, such as the extremes of TIME and HUGEINT."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            raise Inexact(name, "has a value that can't leave the session unchanged") from None


def _changed(kind: DuckDBPyType) -> str:
    if kind.id in _CHANGED:
        return str(kind)
    inner = kind.children if kind.id in _NESTED else ()
    return next((changed for _, part in inner if isinstance(part, DuckDBPyType) and (changed := _changed(part))), "")


def _without_codes(kind: DuckDBPyType) -> str:
    if kind.id == "enum":
        return "VARCHAR"
    if kind.id not in _NESTED:
        return str(kind)
    parts = {
        name: _without_codes(part) if isinstance(part, DuckDBPyType) else str(part) for name, part in kind.children
    }
    if kind.id == "struct":
        return f"STRUCT({', '.join(f'{_quoted(name)} {part}' for name, part in parts.items())})"
    if kind.id == "map":
        return f"MAP({', '.join(parts.values())})"
    return f"{parts['child']}[{parts.get('size', '')}]"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _typed(kind: pa.DataType, *, in_list: bool) -> pa.DataType:
    if pa.types.is_null(kind) and in_list:
        return pa.int32()
    typed = kind
    if pa.types.is_struct(kind):
        typed = pa.struct([part.with_type(_typed(part.type, in_list=in_list)) for part in kind])
    elif pa.types.is_map(kind):
        typed = pa.map_(_typed(kind.key_type, in_list=True), _typed(kind.item_type, in_list=True))
    elif pa.types.is_list(kind):
        typed = pa.list_(kind.value_field.with_type(_typed(kind.value_type, in_list=True)))
    elif pa.types.is_fixed_size_list(kind):
        typed = pa.list_(kind.value_field.with_type(_typed(kind.value_type, in_list=True)), kind.list_size)
    return kind if typed == kind else typed
