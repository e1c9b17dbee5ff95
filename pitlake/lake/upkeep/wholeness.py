"""Checks that a lake's newest version is complete: every file exists, and the version shows every commit."""

import time
from collections.abc import Iterator
from pathlib import PurePosixPath

from pitlake.errors import LakeFault
from pitlake.lake.storage.faults import FOLDERS
from pitlake.lake.storage.log import Entry, LakeLog
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.delta import DeltaTables, table_key

PUBLISH_SECONDS = 3.0
"""The time that a publishing run may take from its last Delta commit to the log entry that shows it."""


def require_whole(store: Store, log: LakeLog, tables: DeltaTables) -> None:
    """Raise LakeFault for a missing or truncated file, and for a table with a commit that no version shows."""
    before = log.head()
    folders = {table_key(table).partition("/")[0] for table in before.tables} | {*FOLDERS[1:]}
    sizes = {file.key: file.size for folder in sorted(folders) for file in store.walk(folder)}
    for table in before.tables:
        for file in tables.pinned(table, before.tables).files:
            size = sizes.get(store.key(file.path))
            if size != file.size:
                raise LakeFault("missing" if size is None else "damaged", f"{store.location}/{store.key(file.path)}")
    if any(_unshown(sizes, before)):
        time.sleep(PUBLISH_SECONDS)
        if unshown := next(_unshown(sizes, log.head()), None):
            raise LakeFault("unshown", f"{store.location}/{unshown}")


def _unshown(keys: dict[str, int], entry: Entry) -> Iterator[str]:
    """Return the commits of tables that are newer than a version's."""
    pinned = {f"{table_key(table)}/_delta_log": version for table, version in entry.tables.items()}
    for key in sorted(keys):
        path = PurePosixPath(key)
        is_commit = path.parent.name == "_delta_log" and path.suffix == ".json" and path.stem.isdigit()
        if is_commit and int(path.stem) > pinned.get(str(path.parent), -1):
            yield key
