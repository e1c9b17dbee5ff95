"""Vacuum: files that no kept version needs are removed; versions that lose files are marked first, never silently.

Kept are the newest version, every version that was the newest at some instant of the last `keep`, and those named
(receipts). Files no version ever showed are leftovers of crashed runs: they go once older than `grace`, which must be
longer than any run takes to publish. A dry run, the default, only reports.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, pairwise

from pitlake.lake.delta import DeltaTables
from pitlake.lake.fairness import TURNS
from pitlake.lake.log import Entry, LakeLog
from pitlake.lake.stage import remove_stale
from pitlake.lake.store import SCRATCH, Store, StoredFile

DEFAULT_KEEP = timedelta(days=30)
GRACE = timedelta(days=1)
DATA_FOLDERS = ("tables", "gaps", "superseded", "observed")
Spans = Mapping[str, list[range]]
"""Of each file, by its key, the Delta versions of its table that show it."""


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
    """Remove what nothing needs.

    Raises LakeNotFound when a version to be kept never was, LakeFault for a Delta log that is not whole, ClockWentBack.
    """
    now = log.now()
    entries = list(log.entries())
    kept = _kept(entries, now - keep) | {log.entry(version).version for version in keep_versions}
    pins = _pins(entries)
    found = {table: tables.spans(table) for table in pins}
    spans = {table: shown_by for table, (_, shown_by) in found.items()}
    newest = {table: [found[table][0]] for table in entries[0].tables}
    shown = _shown(spans, pins)
    # Other engines read the newest Delta versions, pinned or not, and they must not break.
    wanted = _shown(spans, _pins(entry for entry in entries if entry.version in kept)) | _shown(spans, newest)
    deadline = now.timestamp() - grace.total_seconds()
    unwanted = [
        file for folder in DATA_FOLDERS for file in store.walk(folder) if _is_data(file) and file.key not in wanted
    ]
    expired = {file.key: file.size for file in unwanted if file.key in shown}
    leftovers = {file.key: file.size for file in unwanted if file.key not in shown and file.modified < deadline}
    losing = {table: _losing(shown_by, expired, latest) for table, (latest, shown_by) in found.items()}
    lost = [
        entry.version
        for entry in reversed(entries)
        if entry.version not in kept and any(losing[table][version] for table, version in entry.tables.items())
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


def _pins(entries: Iterable[Entry]) -> dict[str, list[int]]:
    """The Delta versions that entries pin, of each table in rising order."""
    pins: dict[str, set[int]] = defaultdict(set)
    for entry in entries:
        for table, version in entry.tables.items():
            pins[table].add(version)
    return {table: sorted(versions) for table, versions in pins.items()}


def _shown(spans: Mapping[str, Spans], pins: Mapping[str, list[int]]) -> frozenset[str]:
    """The keys of the files that any of these Delta versions shows."""
    return frozenset(
        key
        for table, versions in pins.items()
        for key, shown in spans[table].items()
        if any(bisect_left(versions, span.start) < bisect_left(versions, span.stop) for span in shown)
    )


def _losing(spans: Spans, expired: Container[str], latest: int) -> list[int]:
    """How many files each Delta version up to `latest` loses."""
    change = [0] * (latest + 2)
    for span in (span for key, shown in spans.items() if key in expired for span in shown):
        change[span.start] += 1
        change[span.stop] -= 1
    return list(accumulate(change))


def _is_data(file: StoredFile) -> bool:
    return file.key.endswith(".parquet") and "/_delta_log/" not in file.key
