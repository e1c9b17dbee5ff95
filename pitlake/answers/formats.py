"""Rows as the bytes of a JSON, CSV or Parquet file, with values as in the envelope. Null is an empty cell in CSV."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pitlake.answers.envelope import cells
from pitlake.errors import BadInput


def rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield the rows by position, because two columns of an answer may have the same name."""
    for batch in table.to_batches():
        yield from zip(
            *(cells(column, name) for name, column in zip(table.column_names, batch.columns, strict=True)), strict=True
        )


def indented(value: object) -> bytes:
    """Return strict JSON values as indented text with a line feed at the end."""
    return (json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()


def cell_text(value: object) -> str:
    """Return a value as a single string; lists and structs as JSON."""
    if value is None:
        return ""
    if isinstance(value, bool | dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _json(table: pa.Table) -> bytes:
    names = table.column_names
    if len(set(names)) != len(names):
        raise BadInput(
            "SQL", "two columns have the same name", "give them different names with AS, or use --format csv"
        )
    return indented([dict(zip(names, row, strict=True)) for row in rows(table)])


def _csv(table: pa.Table) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows([cell_text(value) for value in row] for row in rows(table))
    return text.getvalue().encode()


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
WRITERS: Mapping[str, Callable[[pa.Table], bytes]] = {"json": _json, "csv": _csv, "parquet": _parquet}
