"""Vacuum: remove the files that no kept version needs; versions that lose files are marked first.

It keeps the newest version, every version that was the newest at some instant within the last `keep`, and versions that
receipts need. Files that no version ever showed are leftovers of crashed runs. They are removed once they are older
than `grace`, which must be longer than any publish takes. A dry run, the default, only reports.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from pitlake.lake.publishing import journal
from pitlake.lake.publishing.commit_queue import TURNS
from pitlake.lake.publishing.stage import remove_stale
from pitlake.lake.storage.log import LakeLog
from pitlake.lake.storage.store import SCRATCH, Store
from pitlake.lake.tables.delta import DeltaTables

DATA_FOLDERS = ("tables", "gaps", "superseded", "observed")
Spans = Mapping[str, list[range]]
"""For each file, by its key: the Delta versions of its table that contain it."""
Flags = npt.NDArray[np.bool_]
Versions = npt.NDArray[np.int64]
Pins = Mapping[str, Versions]
"""For each table: the Delta version that each state of the lake pins, or NONE."""
NONE = -1


@dataclass(frozen=True)
class Vacuumed:
    """The files that a vacuum removed, or would remove in a dry run.

    files: keys that only expired versions needed. leftovers: keys that no version ever showed. bytes: the size of both.
    versions: the versions that lose files.
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
    """Remove the files that no kept version needs.

    Raises LakeNotFound if a version to keep never existed, LakeFault for an incomplete Delta log, ClockWentBack.
    """
    now = log.now()
    committed, owner, pins = _read(log)
    cut = now - keep
    keep_mask = np.array([newer >= cut for newer in committed[1:]] + [True])
    keep_mask[[log.entry(version).version for version in keep_versions]] = True
    return _removed(store, log, tables, pins, owner, keep_mask, now.timestamp() - grace.total_seconds(), dry_run)


def vacuum_versions(
    store: Store, log: LakeLog, tables: DeltaTables, versions: Collection[int], *, keep_versions: Collection[int]
) -> Vacuumed:
    """Remove the files that these versions need and no other version does. The newest version and `keep_versions` are
    always kept.

    Raises LakeFault for an incomplete Delta log.
    """
    committed, owner, pins = _read(log)
    keep_mask = np.ones(len(committed), bool)
    keep_mask[list(set(versions) - set(keep_versions) - {len(committed) - 1})] = False
    return _removed(store, log, tables, pins, owner, keep_mask, None, dry_run=False)


def _removed(
    store: Store,
    log: LakeLog,
    tables: DeltaTables,
    pins: Pins,
    owner: Versions,
    keep_mask: Flags,
    deadline: float | None,
    dry_run: bool,
) -> Vacuumed:
    """Remove the files that no version in the mask needs. owner: the version of each state. deadline: the time in
    seconds before which leftovers must have been written; None to keep leftovers.
    """
    if not dry_run:
        for table in pins:
            tables.write_history(table)
    table_spans = {table: tables.spans(table, int(pinned.max())) for table, pinned in pins.items()}
    files = [file for folder in DATA_FOLDERS for file in store.walk(folder)]
    # Other engines read the newest Delta versions, pinned or not, and must be able to continue.
    needed = _files_of(
        table_spans, {table: [*pinned[keep_mask[owner]], table_spans[table][0]] for table, pinned in pins.items()}
    )
    ever_pinned = _files_of(table_spans, pins)
    data = (file for file in files if file.key.endswith(".parquet") and "/_delta_log/" not in file.key)
    unwanted = [file for file in data if file.key not in needed]
    expired = {file.key: file.size for file in unwanted if file.key in ever_pinned}
    leftovers = {
        file.key: file.size
        for file in unwanted
        if deadline is not None and file.key not in ever_pinned and file.modified < deadline
    }
    losing = np.zeros(len(owner), bool)
    for table, (latest, spans) in table_spans.items():
        change = np.zeros(latest + 2, np.int64)
        for span in (span for key, ranges in spans.items() if key in expired for span in ranges):
            change[span.start] += 1
            change[span.stop] -= 1
        losing |= (pins[table] != NONE) & (change.cumsum()[pins[table]] > 0)
    lost = np.unique(owner[losing]).tolist()
    if not dry_run:
        log.mark_vacuumed(lost)
        checkpoints = (key for table in pins for key in tables.old_checkpoints(table, (file.key for file in files)))
        store.delete(*expired, *leftovers, *checkpoints)
        if deadline is not None:
            small = (file for folder in (SCRATCH, TURNS) for file in store.walk(folder))
            store.delete(*(file.key for file in small if file.modified < deadline))
            store.delete(*journal.keys_of(store, {*lost}))
            remove_stale(store)
    size = sum(expired.values()) + sum(leftovers.values())
    return Vacuumed(dry_run, tuple(sorted(expired)), tuple(sorted(leftovers)), size, tuple(lost))


def _read(log: LakeLog) -> tuple[list[datetime], Versions, Pins]:
    """Return the commit time of each version, and for each state of the lake its version and the pinned Delta versions.

    The first states belong to the versions, in order. A retraction adds states of the lake before it, without the
    retracted runs.
    """
    entries = sorted(log.entries(), key=lambda entry: entry.version)
    states = [(entry.version, entry.tables) for entry in entries]
    states += [(entry.version, tables) for entry in entries for _, tables in entry.restated]
    pins = {table: np.full(len(states), NONE) for _, tables in states for table in tables}
    for place, (_, tables) in enumerate(states):
        for table, version in tables.items():
            pins[table][place] = version
    return [entry.committed_at for entry in entries], np.array([version for version, _ in states]), pins


def _files_of(
    table_spans: Mapping[str, tuple[int, Spans]], pins: Mapping[str, Sequence[int] | Versions]
) -> frozenset[str]:
    """Return the keys of the files that any of these Delta versions shows."""
    sought = {table: np.unique(pinned).tolist() for table, pinned in pins.items()}
    return frozenset(
        key
        for table, versions in sought.items()
        for key, ranges in table_spans[table][1].items()
        if any(bisect_left(versions, span.start) < bisect_left(versions, span.stop) for span in ranges)
    )
