"""The stage: a run's rows and gaps by partition day, until they are published or removed.

Readers never read a stage. A stage belongs to one process. The process holds a lock, which the system releases when the
process dies. The lock distinguishes a stage in use from a stage that a crash left behind. `audit` checks the rows.
"""

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pitlake import clock, machine
from pitlake.contract import BASIS, INSTANT, SEEN_LATER, SOURCE_CLOCK, SOURCE_DATE, Dataset
from pitlake.errors import BadInput, CheckFailed
from pitlake.gate.columnar import violations_in
from pitlake.gate.rules import forbidden_path
from pitlake.lake.publishing.contents import Comparison, compare
from pitlake.lake.publishing.duplicates import Duplicates, duplicate_keys, find_duplicates
from pitlake.lake.publishing.hashing import Hasher
from pitlake.lake.publishing.match_keys import Hashes, hashes, keys, repeats
from pitlake.lake.publishing.polls import Bounds, Coverage, Spans, spans
from pitlake.lake.publishing.spill_file import SpillFile
from pitlake.lake.storage.arrays import Positions, as_micros
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.query import columns
from pitlake.recorder import lock

STAGING = "_staging"
PLACE = "the staging of the lake"
UNDATED = "undated"
OPENERS = frozenset('[{"')
LOCK = "owner"
CLOCK_TAG = "edgar_accepted"
# A stage is locked before it gets its final name. If it has none after this time, its process has died.
NAMELESS_GRACE_SECONDS = 86_400
ROWS_AT_ONCE = 4_096
"""Days with few rows are staged together, so that a year of them is checked and written in few pieces."""
OF_SOURCE = ("available_at_source", BASIS)
"""Columns that often have the same value in all rows, which is then not copied row by row."""

_RUN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_ADDED_AT_PUBLISH = ("observed_at", "content_hash")

GAP_STAGED_SCHEMA = pa.schema(
    [pa.field(name, pa.string()) for name in ("gap_type", "reason", "locator")] + [pa.field("available_at", INSTANT)]
)


@dataclass(frozen=True, slots=True)
class StagedGap:
    """A source record that can't become a row.

    `locator` is the record's evidence. `available_at` is None if the gap is dated by its observation.
    """

    gap_type: str
    reason: str
    locator: str
    available_at: datetime | None = None

    def as_row(self) -> dict[str, object]:
        """Return the gap as a row of GAP_STAGED_SCHEMA. Raises BadInstant when available_at has no time zone."""
        available_at = None if self.available_at is None else clock.instant(self.available_at, "available_at of a gap")
        locator = safe_locator(self.locator)
        return {"gap_type": self.gap_type, "reason": self.reason, "locator": locator, "available_at": available_at}


def safe_locator(evidence: str) -> str:
    """Return the locator of a source record for gaps. Parts that the gate would refuse are replaced by a hash."""
    start = next((place for place, letter in enumerate(evidence) if letter in OPENERS), None)
    if start is None or forbidden_path(evidence[start:]) is None:
        return evidence
    return f"{evidence[:start]}sha256:{hashlib.sha256(evidence.encode('utf-8', 'replace')).hexdigest()}"


def staged_schema(dataset: Dataset) -> pa.Schema:
    """Return the schema of a staged table: the business columns, available_at, its source, its basis for outside
    records, and evidence.

    Any field may be null here; the audit refuses nulls.
    """
    return pa.schema(
        [pa.field(field.name, field.type) for field in dataset.arrow_schema if field.name not in _ADDED_AT_PUBLISH]
    )


@dataclass(frozen=True, kw_only=True)
class Staged:
    """The rows and gaps that one run staged for one dataset.

    `rows` and `gaps` are in partition order; `row_partition` and `gap_partition` index `partitions` (New York days as
    YYYY-MM-DD, or "undated"). `content_hash` is of `rows`; `extracted` counts the source records per partition.
    `polled` has the days and the entities of the dataset that the run covered; None for all. `coverage` lists the parts
    of the source that it saw completely, `surveyed` has the source's own counts of its content. `parts` are the stages
    derived from it.
    """

    dataset: Dataset
    run_id: str
    partitions: tuple[str, ...]
    rows: pa.Table
    row_partition: Positions
    content_hash: pa.ChunkedArray
    gaps: pa.Table
    gap_partition: Positions
    extracted: dict[str, int]
    polled: tuple[Spans | None, frozenset[str] | None]
    coverage: tuple[Coverage, ...] = ()
    surveyed: Mapping[str, int] = field(default_factory=dict)
    parts: "list[Staged]" = field(default_factory=list, repr=False, compare=False)
    comparisons: dict[tuple[DataFile, ...], Comparison] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def duplicates(self) -> Duplicates:
        """Return the staged rows that repeat or contradict a record."""
        return find_duplicates(self.dataset, self.rows, self.content_hash, self.hashes, self.keys_differ)

    @cached_property
    def keys_differ(self) -> bool:
        """Return whether no two staged rows have the same key."""
        return not len(repeats(self.hashes[columns(self.dataset.key)]))

    @cached_property
    def hashes(self) -> dict[str, Hashes]:
        """Return the hashes of the rows over all columns that are compared."""
        return hashes(
            "FROM staged", (*keys(self.dataset), *map(columns, duplicate_keys(self.dataset))), staged=self.rows
        )

    def forget_hashes(self) -> None:
        """Free the memory of the hashes. They are computed again when needed."""
        self.__dict__.pop("hashes", None)

    @cached_property
    def available(self) -> Positions:
        """Return available_at of every staged row in microseconds; 0 for null."""
        return as_micros(self.rows[clock.AVAILABLE_AT])

    def compared(self, files: tuple[DataFile, ...], until: datetime) -> Comparison:
        """Compare the rows with the contents of a table's files up to the run's observation."""
        if files not in self.comparisons:
            self.comparisons[files] = compare(self.content_hash, self.available, files, until)
        return self.comparisons[files]

    def derived(self, **parts: Any) -> "Staged":
        """Return the same stage with different rows and gaps. Closing this stage also closes the returned one."""
        part = replace(self, **parts, parts=[], comparisons={} if "rows" in parts else self.comparisons)
        self.parts.append(part)
        return part

    @property
    def basis(self) -> pa.ChunkedArray:
        """Return the basis of captured rows' instants: as staged, otherwise the source's clock or date."""
        if not self.rows[BASIS].null_count:
            return self.rows[BASIS]
        by_clock = pc.equal(self.rows["available_at_source"], CLOCK_TAG)
        return pc.coalesce(self.rows[BASIS], pc.if_else(by_clock, SOURCE_CLOCK, SOURCE_DATE))

    def release(self) -> None:
        """Release the rows. They are mapped from files, which take space while they are in use."""
        for part in self.parts:
            part.release()
        for name in ("rows", "gaps"):
            object.__setattr__(self, name, getattr(self, name).schema.empty_table())
        self.__dict__.pop("available", None)  # This object may refer to the mapped files.

    def per_partition(self, index: Positions) -> dict[str, int]:
        """Count the given partition indexes by partition."""
        return dict(zip(self.partitions, np.bincount(index, minlength=len(self.partitions)).tolist(), strict=True))


def with_gaps_of(staged: Staged, positions: Positions) -> Staged:
    """Return a stage with a gap for each row that the lake has a later response about."""
    if not len(positions):
        return staged
    evidences = staged.rows["evidence"].take(pa.array(positions)).to_pylist()
    gaps = [StagedGap(SEEN_LATER.type, SEEN_LATER.reason, evidence).as_row() for evidence in evidences]
    return staged.derived(
        gaps=pa.concat_tables([staged.gaps, pa.Table.from_pylist(gaps, GAP_STAGED_SCHEMA)]),
        gap_partition=np.concatenate([staged.gap_partition, staged.row_partition[positions]]),
    )


class Stage:
    """The stage of one run for one dataset. As a context manager, it always removes itself at the end."""

    def __init__(self, store: Store, dataset: Dataset, run_id: str, added: frozenset[str] = frozenset()) -> None:
        """`added`: the columns that the contract did not have when the lake's table was created."""
        if not _RUN_ID.fullmatch(run_id):
            raise BadInput(
                "run_id", "not a valid name of a folder", "use letters, digits, dots, dashes and underscores"
            )
        self.dataset, self.run_id, self._translated = dataset, run_id, store.translated
        self._lock: int | None
        with machine.working_in(PLACE, store.path(STAGING)):
            self._folder, self._lock = _claim(store.path(f"{STAGING}/{run_id}"), dataset.name)
        self._schema = staged_schema(dataset)
        self._rows = SpillFile(self._folder, "rows", self._schema, ROWS_AT_ONCE, OF_SOURCE)
        self._gaps = SpillFile(self._folder, "gaps", GAP_STAGED_SCHEMA, ROWS_AT_ONCE)
        self._hasher = Hasher(dataset.content_columns, added)
        self._extracted: dict[str, int] = {}
        self._loaded: list[Staged] = []
        self._comparisons: dict[tuple[DataFile, ...], Comparison] = {}
        self._days: Spans | None = None
        self._entities: set[str] | None = None
        self._coverage: dict[Bounds, set[str] | None] = {}
        self._surveyed: dict[str, int] = {}

    def poll(self, days: tuple[date, date] | None = None, entities: Iterable[str] | None = None) -> None:
        """Declare which part of an unpartitioned dataset this run covers; may be called several times.

        Args:
            days: the first and the last New York day; None for all.
            entities: values of the entity column, in addition to those of the staged rows; None for all.
        """
        if days is not None:
            self._days = ((days[0].isoformat(), days[1].isoformat()),)
        if entities is not None:
            self._entities = {*(self._entities or ()), *entities}

    def cover(self, entity: str | None = None, bounds: Bounds = ()) -> None:
        """Declare a part of the source that the run saw completely: an entity (None: all) within column bounds."""
        before = self._coverage.get(bounds, set())
        self._coverage[bounds] = None if entity is None or before is None else {*before, entity}

    def survey(self, counts: Mapping[str, int]) -> None:
        """Declare how many records of each kind the whole source has, according to its own counts."""
        self._surveyed |= counts

    def add(
        self, day: date | None, rows: pa.Table | None = None, gaps: Iterable[StagedGap] = (), *, extracted: int
    ) -> None:
        """Stage the records of a New York day (None: records without a date, or an unpartitioned dataset).

        May be called several times for one day. `extracted` counts the source records, regardless of what they became.
        Raises LakeError, and CheckFailed if the columns are not those of the contract.
        """
        if day is None and self.dataset.partitioned and rows is not None and rows.num_rows:
            raise BadInput("day", f"rows of {self.dataset.name} belong to a New York day", "give the partition's date")
        partition = UNDATED if day is None else day.isoformat()
        self._extracted[partition] = self._extracted.get(partition, 0) + extracted
        gap_rows = [gap.as_row() for gap in gaps]
        with self._translated(), machine.working_in(PLACE, self._folder):
            if rows is not None and rows.num_rows:
                typed = self._typed(rows)
                self._hasher.put(typed)
                self._rows.put(partition, typed)
                self._comparisons = {}
            if gap_rows:
                self._gaps.put(partition, pa.Table.from_pylist(gap_rows, GAP_STAGED_SCHEMA))

    def load(self) -> Staged:
        """Return all staged rows and gaps in partition order, mapped from disk until closed. Raises LakeError."""
        partitions = tuple(sorted(self._extracted))
        with machine.working_in(PLACE, self._folder):
            rows, row_partition = self._rows.read(partitions)
            gaps, gap_partition = self._gaps.read(partitions)
        staged = Staged(
            dataset=self.dataset,
            run_id=self.run_id,
            partitions=partitions,
            rows=rows,
            row_partition=row_partition,
            content_hash=self._hasher.read(self._rows.runs(partitions)),
            gaps=gaps,
            gap_partition=gap_partition,
            extracted=dict(self._extracted),
            polled=self._polled(partitions, rows),
            coverage=tuple(
                Coverage(None if names is None else frozenset(names), bounds)
                for bounds, names in self._coverage.items()
            ),
            surveyed=dict(self._surveyed),
            comparisons=self._comparisons,
        )
        self._loaded.append(staged)
        return staged

    def _polled(self, partitions: Iterable[str], rows: pa.Table) -> tuple[Spans | None, frozenset[str] | None]:
        if self.dataset.partitioned:
            return spans(day for day in partitions if day != UNDATED), None
        if self._entities is None:
            return self._days, None
        entities = filter(None, pc.unique(rows[self.dataset.entity]).to_pylist())
        return self._days, frozenset({*self._entities, *map(str, entities)})

    def close(self) -> None:
        """Remove the stage. Raises no error, even if a file is unfinished."""
        self._hasher.close()
        for staged in self._loaded:
            staged.release()
        for spilled in (self._rows, self._gaps):
            with suppress(OSError):
                spilled.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        with suppress(OSError):
            self._folder.parent.rmdir()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _typed(self, rows: pa.Table) -> pa.Table:
        due = self._schema
        if rows.schema.equals(due, check_metadata=True):
            return rows
        if [(field.name, field.type) for field in rows.schema] == [(field.name, field.type) for field in due]:
            return pa.Table.from_arrays(rows.columns, schema=due)
        violations = violations_in(rows, None, self.dataset.json_columns)
        if violations:
            raise CheckFailed(self.dataset.name, "gate", dict(violations.codes))
        wrong = sorted({f"{f.name} {f.type}" for f in rows.schema} ^ {f"{f.name} {f.type}" for f in due})
        raise CheckFailed(self.dataset.name, "schema", {"columns": ", ".join(wrong) or "in another order"})


def remove_stale(store: Store) -> list[str]:
    """Remove the stages of dead processes and return their keys."""
    removed = []
    for folder in _stages(store.path(STAGING)):
        handle = _lock_if_free(folder)
        if handle is None:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)
        removed.append(store.key(folder))
        with suppress(OSError):
            folder.parent.rmdir()
    return removed


def _claim(parent: Path, name: str) -> tuple[Path, int]:
    """Create a folder locked by this process. It gets its final name once it is locked."""
    nameless = None
    while nameless is None:
        parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # Another stage that ends removes the folder if it is empty.
            nameless = Path(tempfile.mkdtemp(prefix=".", dir=parent))
    try:
        final = parent / f"{name}.{nameless.name.removeprefix('.')}"
        handle = os.open(nameless / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            lock(handle, wait=True)
            os.write(handle, f"{os.getpid()}\n".encode())
            nameless.rename(final)
        except OSError:
            os.close(handle)
            raise
    except OSError:  # a full disk
        shutil.rmtree(nameless, ignore_errors=True)
        with suppress(OSError):
            parent.rmdir()
        raise
    return final, handle


def _stages(staging: Path) -> Iterator[Path]:
    for run in staging.iterdir() if staging.is_dir() else ():
        with suppress(FileNotFoundError, NotADirectoryError):
            yield from list(run.iterdir())


def _lock_if_free(folder: Path) -> int | None:
    if folder.name.startswith("."):
        with suppress(FileNotFoundError):
            if time.time() - folder.stat().st_mtime > NAMELESS_GRACE_SECONDS:
                return os.open(folder, os.O_RDONLY)
        return None
    try:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        # A stage is locked before it gets its name, so a stage without a lock is being removed.
        with suppress(FileNotFoundError):
            return os.open(folder, os.O_RDONLY)
        return None
    if lock(handle):
        return handle
    os.close(handle)
    return None
