"""The footer proof, which finds the newest row of a file by the file's own data and refuses doubtful files.

A Parquet file has statistics for this. An Arrow file has none, so each of its rows is checked.

The lake's manifest only selects files; it proves nothing. The content of a footer is cached per inode, because files of
the lake never change.
"""

import json
import os
from dataclasses import dataclass
from threading import Lock

import pyarrow as pa
import pyarrow.parquet as pq

from pitlake import machine
from pitlake.clock import AVAILABLE_AT
from pitlake.errors import SessionRefused
from pitlake.session.visible import mapped

_KEPT = 200_000


@dataclass(frozen=True, slots=True)
class Footer:
    """The content of one footer.

    `newest`: microseconds since the epoch, None without rows. `fault`: the reason why the footer proves nothing.
    """

    rows: int
    newest: int | None
    columns: frozenset[str]
    fault: str = ""


_footers: dict[tuple[int, ...], Footer] = {}
_lock = Lock()


def read(descriptor: int) -> Footer:
    """Read the footer of an open file.

    Raises MachineExhausted if the machine lacks resources; the file may still be good.
    """
    facts = os.fstat(descriptor)
    key = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    footer = _footers.get(key)
    if footer is None:
        footer = _read(descriptor)
        with _lock:
            if len(_footers) >= _KEPT:
                _footers.clear()
            _footers[key] = footer
    return footer


def prove(footer: Footer, table: str, cut: int | None, schema: pa.Schema, rows: int | None = None) -> None:
    """Raise SessionRefused unless a file is proven to have only this schema's columns, `rows` rows (None: any number),
    and no row after `cut`.

    `cut` is T in microseconds since the epoch, None in open mode.
    """
    if footer.fault:
        raise SessionRefused(table, f"a file's footer does not prove its rows: {footer.fault}")
    if unknown := footer.columns.difference(schema.names):
        raise SessionRefused(table, f"a file has columns the contract does not know: {', '.join(sorted(unknown))}")
    if missing := {field.name for field in schema if not field.nullable}.difference(footer.columns):
        raise SessionRefused(table, f"a file lacks required columns: {', '.join(sorted(missing))}")
    if rows is not None and footer.rows != rows:
        raise SessionRefused(table, "the number of rows of a file differs from the manifest")
    if cut is not None and footer.newest is not None and footer.newest > cut:
        raise SessionRefused(table, "a file that the manifest places before as_of contains a later row")


def _read(descriptor: int) -> Footer:
    try:
        if os.pread(descriptor, len(mapped.MAGIC), 0) == mapped.MAGIC:
            rows = pa.ipc.open_file(pa.memory_map(f"/proc/self/fd/{descriptor}")).read_all()
            newest, fault = mapped.newest(rows)
            return Footer(rows.num_rows, newest, frozenset(rows.schema.names), fault)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            metadata = pq.read_metadata(file)
    except (pa.ArrowException, OSError, EOFError, MemoryError) as problem:
        if lacks := machine.exhausted(problem, "a file of this lake version", "its footer"):
            raise lacks from None
        return Footer(0, None, frozenset(), f"it can't be read ({type(problem).__name__})")
    leaves = [metadata.schema.column(i) for i in range(metadata.num_columns)]
    columns = frozenset(leaf.path.split(".", 1)[0] for leaf in leaves)
    places = [i for i, leaf in enumerate(leaves) if leaf.path == AVAILABLE_AT]
    if len(places) != 1:
        return Footer(metadata.num_rows, None, columns, f"it has no column {AVAILABLE_AT}")
    leaf = leaves[places[0]]
    logical = json.loads(leaf.logical_type.to_json())
    is_utc_micros = logical.get("isAdjustedToUTC") is True and logical.get("timeUnit") == "microseconds"
    if leaf.physical_type != "INT64" or logical.get("Type") != "Timestamp" or not is_utc_micros:
        return Footer(metadata.num_rows, None, columns, f"{AVAILABLE_AT} is not an instant in microseconds")
    newest, fault = _newest(metadata, places[0])
    return Footer(metadata.num_rows, newest, columns, fault)


def _newest(metadata: pq.FileMetaData, column: int) -> tuple[int | None, str]:
    newest: int | None = None
    rows = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        rows += group.num_rows
        if not group.num_rows:
            continue
        statistics = group.column(column).statistics
        if statistics is None or not statistics.has_min_max:
            return None, f"it has no statistics of {AVAILABLE_AT}"
        if not statistics.has_null_count or statistics.null_count:
            return None, f"it has rows without {AVAILABLE_AT}, or does not count them"
        newest = statistics.max_raw if newest is None else max(newest, statistics.max_raw)
    if rows != metadata.num_rows:
        return None, "its row groups don't add up"
    return newest, ""
