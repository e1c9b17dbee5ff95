"""The commits of a Delta table in Delta's protocol: one file of JSON lines each, written only if absent.

pitlake writes the commits itself, because Delta would list the whole log before each write. This module does not access
a store.
"""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from deltalake import DeltaTable, Schema

from pitlake import clock
from pitlake.errors import LakeError
from pitlake.lake.storage.files import MONTH_COLUMN, NewFile, ceil_millis, floor_millis, month_of_file
from pitlake.lake.storage.manifest import DataFile

Action = dict[str, dict[str, Any]]
ENGINE = "pitlake"


def added(name: str, file: NewFile | DataFile, *, same_rows: bool) -> Action:
    """Return the action that adds a file. same_rows: whether other files already had the file's rows."""
    stats = {
        "numRecords": file.rows,
        "minValues": {clock.AVAILABLE_AT: _millis(floor_millis(file.lo))},
        "maxValues": {clock.AVAILABLE_AT: _millis(ceil_millis(file.hi))},
        "nullCount": {clock.AVAILABLE_AT: 0},
    }
    facts = {"modificationTime": _now_millis(), "dataChange": not same_rows, "stats": json.dumps(stats)}
    return {"add": {**_of(name, file.size), **facts}}


def removed(name: str, size: int, *, same_rows: bool) -> Action:
    facts = {"deletionTimestamp": _now_millis(), "dataChange": not same_rows, "extendedFileMetadata": True}
    return {"remove": {**_of(name, size), **facts}}


def _of(name: str, size: int) -> dict[str, Any]:
    return {"path": name, "partitionValues": {MONTH_COLUMN: month_of_file(name)}, "size": size}


def written(actions: Iterable[Action], note: str) -> bytes:
    how = {"mode": "Append", "partitionBy": json.dumps([MONTH_COLUMN])}
    return _lines([_info("WRITE", how, note=note), *actions])


def column_names(commit: bytes) -> frozenset[str]:
    """Return the columns of a table according to the metadata of a commit.

    Raises LakeError for a commit without metadata.
    """
    for action in map(json.loads, commit.splitlines()):
        if "metaData" in action:
            return frozenset(field["name"] for field in json.loads(action["metaData"]["schemaString"])["fields"])
    raise LakeError("the first commit of a table does not name its columns; restore it from a copy of the lake")


def changed_schema(delta: DeltaTable, schema: Schema) -> bytes:
    """Return a commit that changes a table's schema and keeps the rest of its metadata."""
    facts = delta.metadata()
    metadata = {
        "id": facts.id,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema.to_json(),
        "partitionColumns": facts.partition_columns,
        "configuration": facts.configuration,
        "createdTime": facts.created_time,
    }
    return _lines([_info("ADD COLUMN", {}), {"metaData": metadata}])


def _info(operation: str, how: dict[str, str], **more: str) -> Action:
    facts = {"timestamp": _now_millis(), "operation": operation, "operationParameters": how, "engineInfo": ENGINE}
    return {"commitInfo": facts | more}


def _lines(actions: Iterable[Action]) -> bytes:
    return "\n".join(json.dumps(action) for action in actions).encode()


def _now_millis() -> int:
    return clock.micros(clock.now()) // 1000


def _millis(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
