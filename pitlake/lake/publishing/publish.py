"""Publishing: an audited stage becomes one new lake version, or nothing is published.

The order of the steps ensures this: audit, difference, files forced to disk, Delta commits, proof, log entry. Only the
log entry makes the version visible. After a crash the old version is still the current one, and a new run publishes the
missing rows.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

import numpy as np
import pyarrow as pa

from pitlake import clock, machine
from pitlake.contract import GAP_SCHEMA, Dataset, gap_table_name
from pitlake.errors import BadInput, LakeError, PastChanged
from pitlake.lake.publishing import drift, hash_index, journal, polls, windows
from pitlake.lake.publishing.audit import Audit, CheckResult, enforce, freshness, frozen, past_never_changes
from pitlake.lake.publishing.commit_queue import WriterTurn
from pitlake.lake.publishing.diff import NewGaps, NewRows, new_gaps, new_rows, stored_in
from pitlake.lake.publishing.hash_index import LikelyFiles
from pitlake.lake.publishing.journal import REMEMBERED, Place
from pitlake.lake.publishing.match_keys import GAP, LOCATOR, kinds, repeated, spelled
from pitlake.lake.publishing.months import Month, gather, instants, months_of_gaps, months_of_rows, years_of_tombstones
from pitlake.lake.publishing.observations import EarlierObservations
from pitlake.lake.publishing.polls import Poll, Polls
from pitlake.lake.publishing.refusal import judge
from pitlake.lake.publishing.stage import Staged, with_gaps_of
from pitlake.lake.publishing.superseded import facts_of_revision, new_tombstones
from pitlake.lake.storage.arrays import Positions
from pitlake.lake.storage.conventions import ends_at
from pitlake.lake.storage.files import NewFile, write_file
from pitlake.lake.storage.log import Entry, LakeLog
from pitlake.lake.storage.manifest import DataFile, TableState
from pitlake.lake.storage.parallel import each
from pitlake.lake.storage.store import PLACE, Store
from pitlake.lake.tables.delta import DeltaTables, table_key, table_schema
from pitlake.lake.tables.newest import newest_record
from pitlake.lake.tables.query import columns
from pitlake.tombstones import SUPERSEDED_SCHEMA, superseded_table_name


@dataclass(frozen=True)
class DayCount:
    """The numbers of a partition's source records: extracted = published + unchanged + gaps."""

    extracted: int
    published: int
    unchanged: int
    gaps: int


def added(counts: Iterable[DayCount]) -> DayCount:
    days = list(counts)
    return DayCount(*(sum(getattr(day, name) for day in days) for name in DayCount.__dataclass_fields__))


@dataclass(frozen=True, kw_only=True)
class Published:
    """The result of a publish. `version` is the lake version that shows it: a new one only if `changed`.

    `revisions` is the number of published rows with a different date than staged, `gaps` counts the staged gaps by
    type, and `new_gaps` is the number of gaps new to the lake. `bytes` and `files` measure the written files. `staged`
    contains the accepted rows and all gaps, until its stage is closed.
    """

    dataset: str
    run_id: str
    version: int
    changed: bool
    per_day: Mapping[str, DayCount]
    revisions: int
    gaps: Mapping[str, int]
    new_gaps: int
    bytes: int
    files: int
    checks: tuple[CheckResult, ...]
    staged: Staged = field(repr=False, compare=False)

    @property
    def total(self) -> DayCount:
        return added(self.per_day.values())


@dataclass(frozen=True)
class Plan:
    """The staged rows and gaps that a lake version lacks. Without new rows there are no tombstones. staged: the stage,
    with a gap for each row that the lake has a later response about. seen: the unchanged rows for the journal.
    """

    base: Entry
    staged: Staged
    rows: NewRows
    gaps: NewGaps
    tombstones: pa.Table | None
    seen: Positions

    @property
    def empty(self) -> bool:
        """Return whether there is nothing to publish."""
        return not len(self.rows.positions) and not len(self.gaps.positions)


class Publisher:
    """Publishes stages into one lake."""

    def __init__(self, store: Store, log: LakeLog, tables: DeltaTables, allow_drift: str = "") -> None:
        """`allow_drift`: the reason to publish runs that differ too much from the lake; see `drift`."""
        self._store, self._log, self._tables, self._allow_drift = store, log, tables, allow_drift

    def publish(self, staged: Staged, observed_at: datetime | None = None, audits: Sequence[Audit] = ()) -> Published:
        """Turn refused rows into gaps, audit the stage and publish it.

        `observed_at` (default: now) is when the last record was read; for captured
        answers, when they were fetched. `audits` run after the lake's own audit and refuse in the same way.

        Raises CheckFailed if a blocking check fails, LakeConflict if other writers committed first too often, BadInput
        for an observation in the future, ClockWentBack. Nothing is published then.
        """
        now = self._log.now()
        observed_at = now if observed_at is None else clock.instant(observed_at, "observed_at")
        if observed_at > now:
            raise BadInput("observed_at", "is in the future", "give the instant the records were read")
        _refuse_retracted(self._log.head(), staged.run_id)
        judged = judge(staged, observed_at, audits)
        staged, results = judged.staged, judged.checks
        enforce(staged.dataset, results)
        counts = windows.counted(staged, observed_at) if staged.dataset.watched else {}
        if staged.dataset.watched:
            results = (*results, self._drift(staged, counts, observed_at))
            enforce(staged.dataset, results)
        days, entities = staged.polled
        is_empty = not (staged.rows.num_rows or staged.gaps.num_rows)
        poll = Poll(clock.micros(observed_at), staged.run_id, days, entities, staged.coverage, is_empty)
        key = polls.write(self._store, staged.dataset.name, poll)
        turn = WriterTurn(self._store, self._log, staged.dataset.name)
        published = turn.attempts(partial(self._publish_once, staged, observed_at, results))
        with suppress(LakeError, OSError):  # The version exists. An unconfirmed poll only proves less.
            polls.confirm(self._store, staged.dataset.name, poll, key)
            windows.keep(self._store, staged.dataset.name, counts)
        return published

    def _drift(self, staged: Staged, counts: Mapping[str, windows.Count], observed_at: datetime) -> CheckResult:
        """Compare a run with the lake before its poll is written. The poll of a refused run would prove nothing."""
        tables = (staged.dataset.name, gap_table_name(staged.dataset.name))
        head = self._log.head()
        rows, gaps = (self._tables.pinned(name, head.tables).files for name in tables)
        self._store.fetch((*rows, *gaps))
        stored = LikelyFiles(self._store, tables[0], rows, kinds(staged.dataset), staged.hashes)
        stored_gaps = LikelyFiles(self._store, tables[1], gaps, (columns(GAP), LOCATOR))
        polled = windows.read(self._store, staged.dataset.name, counts, head.retracted)
        before = windows.in_lake(staged, rows, observed_at) | polled
        whole = (name for name in before if not before[name].part and not counts[name].part)
        earlier = {name: (before[name].records, counts[name].records) for name in whole}
        findings = (
            *drift.findings(staged, stored, stored_gaps, earlier, observed_at),
            *windows.findings(before, counts, observed_at),
        )
        return drift.result(staged, findings, self._allow_drift)

    def _publish_once(
        self, staged: Staged, observed_at: datetime, results: tuple[CheckResult, ...], turn: WriterTurn
    ) -> Published:
        base = self._log.head()
        _refuse_retracted(base, staged.run_id)
        plan = self._plan(staged, observed_at, base, base.retracted)
        if not plan.empty:
            turn.check(base)
        new_files: dict[str, list[NewFile]] = {}
        try:
            published = self._committed(staged, plan, observed_at, results, turn, new_files)
        except Exception as problem:
            if machine.lacking(problem):
                hash_index.forget(self._store)
                self._give_back(staged.dataset, plan.base, new_files)
            raise
        with suppress(LakeError, OSError):  # The version exists. A retraction only knows less of the run.
            place = Place(published.version, not published.changed, clock.micros(self._log.now()))
            journal.record(self._store, staged, plan.rows, plan.seen, place, clock.micros(observed_at))
        return published

    def publish_again(
        self, staged: Staged, observed_at: datetime, base: Entry, ignored: Collection[str | tuple[int, str]]
    ) -> dict[str, int]:
        """Publish an earlier run's stage on top of `base` and return the Delta versions. No log entry needs to pin the
        tables of `base`. ignored: see `Polls`.
        """
        plan = self._plan(staged, observed_at, base, ignored)
        pins = self._commit(staged, plan, observed_at, {})
        self._past_never_changes(staged, base, {**base.tables, **pins})
        return pins

    def _committed(
        self,
        staged: Staged,
        plan: Plan,
        observed_at: datetime,
        results: tuple[CheckResult, ...],
        turn: WriterTurn,
        new_files: dict[str, list[NewFile]],
    ) -> Published:
        """Do everything that can fail, and then write the log entry."""
        pins = self._commit(staged, plan, observed_at, new_files)
        name, tables = staged.dataset.name, {**plan.base.tables, **pins}
        unharmed = self._past_never_changes(staged, plan.base, tables)
        files_now = self._tables.pinned(name, tables).files if staged.dataset.freshness else ()
        newest = newest_record(staged.dataset, files_now, self._store.fetch)
        revisions = int(plan.rows.revised.sum())
        row_partition, extracted = plan.staged.row_partition, plan.staged.extracted
        staged_rows = plan.staged.per_partition(row_partition)
        later_rows = plan.staged.per_partition(row_partition[plan.rows.seen_later])
        added_rows = plan.staged.per_partition(row_partition[plan.rows.positions])
        gaps = plan.staged.per_partition(plan.staged.gap_partition)
        per_day = {
            day: DayCount(
                extracted[day], added_rows[day], staged_rows[day] - added_rows[day] - later_rows[day], gaps[day]
            )
            for day in plan.staged.partitions
        }
        files = [file for table_files in new_files.values() for file in table_files]
        published = Published(
            dataset=name,
            run_id=staged.run_id,
            version=plan.base.version,
            changed=bool(pins),
            per_day=per_day,
            revisions=revisions,
            gaps=dict(Counter(plan.staged.gaps["gap_type"].to_pylist())),
            new_gaps=len(plan.gaps.positions),
            bytes=sum(file.size for file in files),
            files=len(files),
            checks=(
                *results,
                unharmed,
                freshness(staged.dataset, newest, observed_at, ends_at(self._store)),
                *frozen(staged.dataset, revisions),
            ),
            staged=plan.staged,
        )
        if not pins:
            return published
        turn.check(plan.base)  # Check again, because another writer's turn may have begun meanwhile.
        counts = {"published": len(plan.rows.positions), "revisions": revisions, "gaps": len(plan.gaps.positions)}
        entry = self._log.append(
            plan.base,
            pins,
            operation="publish",
            run_id=staged.run_id,
            dataset=name,
            counts=counts,
            reason=next((str(check.facts[drift.REASON]) for check in results if drift.REASON in check.facts), ""),
        )
        return replace(published, version=entry.version)

    def _plan(
        self, staged: Staged, observed_at: datetime, base: Entry, ignored: Collection[str | tuple[int, str]]
    ) -> Plan:
        tables = (staged.dataset.name, gap_table_name(staged.dataset.name))
        rows, gaps = (self._tables.pinned(name, base.tables).files for name in tables)
        self._store.fetch((*rows, *gaps))
        before = Polls(self._store, staged.dataset.name, observed_at, staged.run_id, ignored)
        stored = LikelyFiles(self._store, tables[0], rows, kinds(staged.dataset), staged.hashes)
        stored_gaps = LikelyFiles(self._store, tables[1], gaps, (columns(GAP), LOCATOR))
        observations = EarlierObservations(staged, stored, stored_gaps, before, observed_at)
        # The files of the datasets that the rows refer to.
        columns_of: dict[str, list[str]] = {}
        for _, followed, column in staged.dataset.follows:
            columns_of.setdefault(followed, []).append(spelled(column))
        states = {followed: self._tables.pinned(followed, base.tables) for followed in columns_of}
        self._store.fetch([file for state in states.values() for file in state.files])
        followed_files = {
            followed: LikelyFiles(self._store, f"follows/{tables[0]}/{followed}", state.files, columns_of[followed])
            for followed, state in states.items()
        }
        fresh = new_rows(staged, stored, observations, observed_at, followed_files)
        recent = list[DataFile]()
        if len(fresh.stored):
            old = frozenset[str]()
            with suppress(BadInput):  # The lake is younger than that.
                earlier_version = self._log.entry_at(base.committed_at - REMEMBERED).tables.get(tables[0])
                old = frozenset(file.path for file in self._tables.state(tables[0], earlier_version).files)
            recent = [file for file in stored.holding(columns(staged.dataset.identity)) if file.path not in old]
        seen = stored_in(recent, staged, fresh.stored)
        tombstones = None
        if len(fresh.positions):
            complete = not rows or superseded_table_name(staged.dataset.name) in base.tables
            key = columns(staged.dataset.key)
            likely = stored.holding(key) if complete else rows
            if likely:
                places = np.arange(len(fresh.positions))
            elif staged.keys_differ:
                places = np.empty(0, np.int64)
            else:
                places = repeated(staged.hashes[key][fresh.positions])
            # The columns of rows to publish that identify their key and revision.
            names = facts_of_revision(staged.dataset)
            whole = staged.rows.append_column("content_hash", staged.content_hash).select(names)
            chosen = gather(whole.to_batches(), whole.schema, fresh.positions[places])
            available = instants(fresh.available[places])
            revisions = chosen.set_column(names.index(clock.AVAILABLE_AT), clock.AVAILABLE_AT, available)
            tombstones = new_tombstones(staged.dataset, revisions, TableState(likely), complete=complete)
        staged.forget_hashes()
        with_gaps = with_gaps_of(staged, fresh.seen_later)
        late = None if before.newest else self._log.now()
        return Plan(
            base, with_gaps, fresh, new_gaps(with_gaps, stored_gaps, observations, observed_at, late), tombstones, seen
        )

    def _commit(
        self, staged: Staged, plan: Plan, observed_at: datetime, new_files: dict[str, list[NewFile]]
    ) -> dict[str, int]:
        """Write all files, because these need space, and then the Delta commits. `new_files` receives the files."""
        dataset, superseded = staged.dataset, superseded_table_name(staged.dataset.name)
        due = {
            dataset.name: (dataset.arrow_schema, months_of_rows(staged, plan.rows, observed_at)),
            gap_table_name(dataset.name): (GAP_SCHEMA, months_of_gaps(plan.staged, plan.gaps, observed_at)),
            superseded: (SUPERSEDED_SCHEMA, years_of_tombstones(plan.tombstones)),
        }
        for table, (_, months) in due.items():
            is_first = table == superseded and plan.tombstones is not None and table not in plan.base.tables
            if months or is_first:
                each(partial(_write_month, self._store, table, new_files.setdefault(table, [])), months)
        machine.require_room(PLACE, self._store.root)
        return {
            table: self._tables.commit(
                table,
                due[table][0],
                plan.base.tables.get(table),
                sorted(files, key=lambda file: file.name),
                note=staged.run_id,
            )
            for table, files in new_files.items()
        }

    def _give_back(self, dataset: Dataset, base: Entry, new_files: Mapping[str, Sequence[NewFile]]) -> None:
        """Remove the files that no version will show, after the Delta commits that contain them."""
        for table, files in reversed(list(new_files.items())):
            with suppress(Exception):  # A vacuum removes the remaining files.
                if self._tables.holds(table, files):
                    self._tables.commit(table, table_schema(dataset, table), base.tables.get(table), (), note="undone")
                for file in files:
                    self._store.delete(f"{table_key(table)}/{file.name}")

    def _past_never_changes(self, staged: Staged, base: Entry, pins: Mapping[str, int]) -> CheckResult:
        name = staged.dataset.name
        tables = (name, gap_table_name(name), superseded_table_name(name))
        states = [(self._tables.state(n, base.tables.get(n)), self._tables.state(n, pins.get(n))) for n in tables]
        result = past_never_changes(states)
        if not result.passed:
            raise PastChanged(
                f"{staged.dataset.name}: files of lake version {base.version} would be lost; nothing was published"
            )
        return result


def _write_month(store: Store, table: str, new_files: list[NewFile], month: Month) -> None:
    name, build = month
    new_files.append(write_file(store, table_key(table), name, build()))


def _refuse_retracted(head: Entry, run_id: str) -> None:
    if version := head.retracted.get(run_id):
        raise BadInput("run", f"{run_id} was retracted in version {version}", "publish under another run id")
