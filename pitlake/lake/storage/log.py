"""The lake's own log: one small file per lake version, written only if absent. Only the log makes a commit visible.

An entry pins one Delta version per table, so many tables change in one atomic step. A Delta commit that no entry pins
is invisible. Each entry has a later time than the one before it, so that an instant identifies a version. The log does
not know the content of the pinned versions.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

from pitlake import clock
from pitlake.errors import BadInput, ClockWentBack, LakeConflict, LakeError, LakeFault, LakeNotFound
from pitlake.lake.storage.parallel import each
from pitlake.lake.storage.store import Store

LOG = "_lake/log"
VACUUMS = "_lake/vacuums"
READ_AHEAD = 32
RETRACT = "retract"
SKEW = timedelta(seconds=5)
"""The allowed difference between the clocks of machines that write to one lake."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One lake version. `tables` maps every table to its Delta version; `counts` are the counts of the commit. `nonce`
    identifies the writer, so that it recognises its own entry.

    retracted: the runs that were retracted by this version or an earlier one, each with the version that did it.
    reason: a person's reason for an unusual commit, such as a retraction or an allowed drift. restated: the state of
    the lake before a retraction, without any retracted run, as the Delta versions to use instead from each of these
    instants on (in microseconds).
    """

    version: int
    parent: int
    committed_at: datetime
    run_id: str
    operation: str
    dataset: str
    tables: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    nonce: str = ""
    retracted: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    restated: Sequence[tuple[int, Mapping[str, int]]] = field(default_factory=list)

    def restated_at(self, moment: int) -> Mapping[str, int]:
        """Return the Delta versions that show the lake as it was at an earlier instant, without the retracted runs."""
        past = reversed(self.restated) if moment < clock.micros(self.committed_at) else ()
        return next((tables for since, tables in past if since <= moment), {})

    def to_json(self) -> bytes:
        return json.dumps({**asdict(self), "committed_at": clock.iso(self.committed_at)}, indent=1).encode()

    @classmethod
    def from_json(cls, content: bytes) -> "Entry":
        """Parse a stored log entry. Raises ValueError if the file is not a log entry."""
        try:
            fields = json.loads(content)
            return cls(**{**fields, "committed_at": clock.instant(fields["committed_at"], "committed_at")})
        except (TypeError, KeyError, BadInput) as problem:
            raise ValueError("not a log entry") from problem


def not_kept() -> BadInput:
    """Return the error for an instant before the lake's creation. It is the same if a vacuum removed the version, so it
    reveals nothing about the lake's later state.
    """
    return BadInput("known_by", "this lake has no state of that time", "give a later instant, or none for the newest")


class LakeLog:
    """The versions of one lake, numbered from 0 without gaps."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen = 0

    def head(self) -> Entry:
        """Return the newest entry. Raises LakeNotFound when there is no lake at the root."""
        if not self._exists(self._seen):
            self._seen = 0
            if not self._exists(0):
                raise LakeNotFound(
                    f"there is no lake at {self._store.location}; name another, or fill it with `pitlake mount`"
                )
        self._seen = self._store.newest(LOG, self._seen)
        return self._read(self._seen)

    def entry(self, version: int | None = None) -> Entry:
        """Return the entry of a version (default: the newest). Raises LakeNotFound with the newest version."""
        head = self.head()
        if version is None or version == head.version:
            return head
        if not 0 <= version < head.version:
            raise LakeNotFound(f"the lake has no version {version}; the newest is {head.version}")
        return self._read(version)

    def entry_at(self, moment: datetime) -> Entry:
        """Return the entry that was the newest at an instant. Raises LakeNotFound, BadInput for an instant in the
        future or before the lake's creation.
        """
        newest = self.head()
        clock.past(moment, "known_by", self.now)
        if newest.committed_at <= moment:
            return newest
        entry = self._read(0)
        if moment < entry.committed_at:
            raise not_kept()
        after = newest.version
        while after - entry.version > 1:
            middle = self._read((entry.version + after) // 2)
            if middle.committed_at <= moment:
                entry = middle
            else:
                after = middle.version
        return entry

    def known(self, moment: datetime, version: int | None = None) -> Entry:
        """Return the entry that was the newest at an instant, without the runs that were retracted since.

        Its version is then that of the last retraction. version: the version that an earlier call returned. Raises the
        same errors as `entry_at`.
        """
        newest = self.entry(version)
        last = max(newest.retracted.values(), default=0)
        if version is not None and last != version:
            return newest
        entry = self.entry_at(moment)
        tables = self._read(last).restated_at(clock.micros(moment))
        return replace(entry, version=last, tables={**entry.tables, **tables}) if tables else entry

    def now(self) -> datetime:
        """Return this machine's time for an observation or commit: always after the newest commit, whose clock may have
        been some seconds ahead. Raises ClockWentBack if it was more than that ahead.
        """
        return _after(self.head()) if self._exists(0) else clock.now()

    def entries(self) -> Iterator[Entry]:
        """Yield every entry, newest first."""
        for last in range(self.head().version, -1, -READ_AHEAD):
            yield from each(self._read, range(last, max(last - READ_AHEAD, -1), -1), self._store.at_once)

    def exists(self) -> bool:
        """Return whether there is a lake."""
        return self._exists(0)

    def start(self) -> None:
        """Create the lake if there is none: version 0, without tables."""
        first = Entry(version=0, parent=-1, committed_at=clock.now(), run_id="", operation="init", dataset="")
        if not self._exists(0):
            self._store.put_new(_key(0), first.to_json())

    def append(
        self,
        base: Entry,
        tables: Mapping[str, int],
        *,
        operation: str,
        run_id: str,
        dataset: str,
        counts: Mapping[str, int],
        reason: str = "",
        restated: Sequence[tuple[int, Mapping[str, int]]] = (),
    ) -> Entry:
        """Make Delta versions visible. `base` is the entry they were built on.

        If another writer added an entry without changing any of `tables`, the entry is put on top. Raises LakeConflict
        if it changed one of them, ClockWentBack.
        """
        while True:
            head = self.head()
            moved = [name for name in tables if head.tables.get(name) != base.tables.get(name)]
            if moved:
                raise LakeConflict(f"another writer moved {', '.join(moved)}; nothing was published, run again")
            entry = Entry(
                version=head.version + 1,
                parent=head.version,
                committed_at=_after(head),
                run_id=run_id,
                operation=operation,
                dataset=dataset,
                tables={**head.tables, **tables},
                counts=counts,
                nonce=uuid4().hex,
                retracted={**head.retracted, run_id: head.version + 1} if operation == RETRACT else head.retracted,
                reason=reason,
                restated=[*restated],
            )
            if self._is_put(entry):
                self._seen = entry.version
                return entry

    def _is_put(self, entry: Entry) -> bool:
        """Write an entry, and return whether the stored entry is this one.

        It may have been stored although the store's reply was lost.
        """
        try:
            if self._store.put_new(_key(entry.version), entry.to_json()):
                return True
        except (LakeError, OSError) as problem:
            try:
                return self._read(entry.version).nonce == entry.nonce
            except (LakeError, OSError) as unread:
                if isinstance(unread, LakeFault) and unread.cause == "missing":
                    raise problem from None  # The entry was not written.
                unknown = (
                    f"it is unknown whether version {entry.version} was published; running again is safe in both cases"
                )
                raise LakeError(f"{problem}; {unknown}") from None
        return self._read(entry.version).nonce == entry.nonce

    def mark_vacuumed(self, versions: Sequence[int]) -> None:
        """Record the versions that will lose files, in ascending order, before any file is removed."""
        if versions:
            starts = [place for place, version in enumerate(versions) if version - 1 != versions[place - 1]]
            runs = [(versions[start], versions[end - 1]) for start, end in pairwise([*starts, len(versions)])]
            # The file is named after the last version, so that few files are read.
            key = f"{VACUUMS}/{versions[-1]:020d}-{uuid4().hex}.json"
            self._store.put_new(key, json.dumps(runs).encode())

    def is_vacuumed(self, version: int) -> bool:
        """Return whether a vacuum may have removed files of a version."""
        return any(
            first <= version <= last
            for file in self._store.walk(VACUUMS)
            if int(Path(file.key).name[:20]) >= version
            for first, last in self._runs(file.key)
        )

    def _runs(self, key: str) -> list[tuple[int, int]]:
        try:
            return [(int(first), int(last)) for first, last in json.loads(self._store.read(key))]
        except (ValueError, TypeError):
            raise LakeFault("damaged", self._store.path(key)) from None

    def _exists(self, version: int) -> bool:
        return self._store.exists(_key(version))

    def _read(self, version: int) -> Entry:
        path = self._store.path(_key(version))
        try:
            return Entry.from_json(self._store.read(_key(version)))
        except FileNotFoundError:
            raise LakeFault("missing", path) from None
        except ValueError:
            raise LakeFault("damaged", path) from None


def _after(newest: Entry) -> datetime:
    now = clock.now()
    if now < newest.committed_at - SKEW:
        raise ClockWentBack(clock.iso(now), clock.iso(newest.committed_at))
    return max(now, newest.committed_at + clock.MICROSECOND)


def _key(version: int) -> str:
    return f"{LOG}/{version:020d}.json"
