"""Vacuum: files that no kept version needs are removed; versions that lose files are marked first, never silently.

Kept are the newest version, every version that was the newest at some instant of the last `keep`, and those named
(receipts). Files no version ever showed are leftovers of crashed runs: they go once older than `grace`, which must be
longer than any run takes to publish. A dry run, the default, only reports.
"""

import sys
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from pitlake.lake.delta import DeltaTables
from pitlake.lake.fairness import TURNS
from pitlake.lake.log import Entry, LakeLog
from pitlake.lake.stage import remove_stale
from pitlake.lake.store import SCRATCH, Store, StoredFile

DEFAULT_KEEP = timedelta(days=30)
GRACE = timedelta(days=1)
DATA_FOLDERS = ("tables", "gaps", "superseded")


@dataclass(frozen=True)
class Vacuumed:
    """What a vacuum removed, or would remove in a dry run.

    files: keys only unkept versions needed; leftovers: keys no version ever showed; bytes of both; versions: those
    that lose files by it.
    """

    dry_run: bool
    files: tuple[str, ...]
    leftovers: tuple[str, ...]
    bytes: int
    versions: tuple[int, ...]


def vacuum(
    store: Store,
    log: LakeLog,
    tables: DeltaTables,
    *,
    keep: timedelta,
    keep_versions: Collection[int],
    grace: timedelta,
    dry_run: bool,
) -> Vacuumed:
    """Remove what nothing needs. Raises LakeNotFound when a version to be kept never was, ClockWentBack."""
    now = log.now()
    entries = list(log.entries())
    kept = _kept(entries, now - keep) | {log.entry(version).version for version in keep_versions}
    needs = {pin: _keys(store, tables, *pin) for pin in {pin for entry in entries for pin in entry.tables.items()}}
    shown = frozenset[str]().union(*needs.values())
    wanted = _newest_delta(store, tables, entries[0]).union(
        *(needs[pin] for entry in entries if entry.version in kept for pin in entry.tables.items())
    )
    deadline = now.timestamp() - grace.total_seconds()
    unwanted = [
        file for folder in DATA_FOLDERS for file in store.walk(folder) if _is_data(file) and file.key not in wanted
    ]
    expired = {file.key: file.size for file in unwanted if file.key in shown}
    leftovers = {file.key: file.size for file in unwanted if file.key not in shown and file.modified < deadline}
    lost = [
        entry.version
        for entry in reversed(entries)
        if entry.version not in kept and any(needs[pin] & expired.keys() for pin in entry.tables.items())
    ]
    if not dry_run:
        for version in lost:
            log.mark_vacuumed(version)
        small = (file for folder in (SCRATCH, TURNS) for file in store.walk(folder))
        for key in (*expired, *leftovers, *(file.key for file in small if file.modified < deadline)):
            store.delete(key)
        remove_stale(store)
    size = sum(expired.values()) + sum(leftovers.values())
    return Vacuumed(dry_run, tuple(sorted(expired)), tuple(sorted(leftovers)), size, tuple(lost))


def _kept(entries: list[Entry], cut: datetime) -> set[int]:
    """Versions that were the newest at some instant since `cut`. `entries` are newest first."""
    kept = {entries[0].version}
    for newer, entry in pairwise(entries):
        if newer.committed_at >= cut:
            kept.add(entry.version)
    return kept


def _keys(store: Store, tables: DeltaTables, table: str, version: int) -> frozenset[str]:
    return frozenset(sys.intern(store.key(file.path)) for file in tables.state(table, version).files)


def _newest_delta(store: Store, tables: DeltaTables, head: Entry) -> frozenset[str]:
    """Files of the newest Delta versions: other engines read those, pinned or not, and they must not break."""
    latest = {table: tables.latest(table) for table in head.tables}
    pins = [(table, version) for table, version in latest.items() if version is not None]
    return frozenset[str]().union(*(_keys(store, tables, *pin) for pin in pins))


def _is_data(file: StoredFile) -> bool:
    return file.key.endswith(".parquet") and "/_delta_log/" not in file.key
