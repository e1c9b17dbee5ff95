"""Retraction: a new lake version without the rows of one run, as if the run had never happened.

Each table of the run's datasets returns to its state before the run. Then the later runs are published again in order,
from their rows and the journal, without the polls of the run. Rows that a later run found unchanged therefore stay,
dated by that run. Rows that a later mount repeats may also be withdrawn. All this happens in Delta commits that no
version shows, and one log entry makes the last one visible. Older versions keep their files. The entry also has the
state of the lake at each instant since the run, without it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pitlake import clock
from pitlake.contract import GAP_SCHEMA, Dataset, gap_table_name
from pitlake.errors import BadInput, LakeError, PastChanged, VersionVacuumed
from pitlake.lake.publishing import journal, polls
from pitlake.lake.publishing.audit import past_never_changes
from pitlake.lake.publishing.commit_queue import RETRY
from pitlake.lake.publishing.journal import Place
from pitlake.lake.publishing.publish import Publisher
from pitlake.lake.publishing.stage import GAP_STAGED_SCHEMA, STAGING, UNDATED, Staged, remove_stale, staged_schema
from pitlake.lake.storage.arrays import Positions, as_micros, as_numbers
from pitlake.lake.storage.log import RETRACT, Entry, LakeLog
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.compacted import observed_table_name
from pitlake.lake.tables.delta import DeltaTables, table_schema
from pitlake.lake.tables.query import calculator, columns, reading
from pitlake.tombstones import superseded_table_name

REPEATS = ("withdraw", "keep")
WITHDRAWN = "repeats withdrawn"
RESTORE = "nothing was retracted: restore these files from a copy of the lake and retract again"
NEW_YORK = pa.timestamp("us", "America/New_York")
Restated = list[tuple[int, Mapping[str, int]]]


@dataclass(frozen=True)
class Retracted:
    """The result of a retraction. version: the new version; None for a dry run. rows, gaps: the numbers that the run
    had published, by dataset. derived_later: derived datasets published since, each with its run.
    """

    run_id: str
    version: int | None
    rows: Mapping[str, int]
    gaps: Mapping[str, int]
    derived_later: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Step:
    """A publish of a later run. `key`: the key of its files in the journal, if there are any."""

    place: Place
    dataset: str
    run_id: str
    observed: int
    key: str = ""


class Retractor:
    """Retracts runs from one lake. contracts: the contracts of all its datasets."""

    def __init__(self, store: Store, log: LakeLog, tables: DeltaTables, contracts: Mapping[str, Dataset]) -> None:
        self._store, self._log, self._tables, self._contracts = store, log, tables, contracts

    def retract(self, run_id: str, reason: str, *, repeats: str | None, dry_run: bool) -> Retracted:
        """Publish a new version without a run, or only report what it published.

        repeats: what to do with its rows in later mounts of the same table: "withdraw" or "keep".

        Raises BadInput for a run that is unknown, was retracted or has not ended, VersionVacuumed if a vacuum removed
        files of the versions since the run, LakeConflict, ClockWentBack. Nothing is retracted then.
        """
        if not reason.strip():
            raise BadInput("reason", "is empty", "say why the run is retracted; the lake's history shows it")
        if repeats not in (None, *REPEATS):
            raise BadInput("repeats", f"{repeats!r} is not a choice", f"give {' or '.join(REPEATS)}")
        self._log.now()
        remove_stale(self._store)
        if self._store.path(f"{STAGING}/{run_id}").is_dir():
            raise BadInput("run", f"{run_id} has not ended", "retract it once it has")
        result: Retracted = RETRY.copy()(self._retract_once, run_id, reason, repeats, dry_run)
        return result

    def _retract_once(self, run_id: str, reason: str, repeats: str | None, dry_run: bool) -> Retracted:
        history = History(self._store, self._log, self._tables, run_id, self._contracts)
        own = [(Place(entry.version), entry.dataset) for entry in history.publishes if entry.run_id == run_id]
        names = sorted(history.polled.union(name for _, name in own))
        if not names:
            raise BadInput("run", f"this lake has no run {run_id!r}", "`pitlake versions` lists the runs")
        rows, gaps = (
            {name: sum(file.rows for place, _ in own for file in history.added(table(name), place)) for name in names}
            for table in (str, gap_table_name)
        )
        derived = {name for name, dataset in self._contracts.items() if dataset.group == "derived"} - {*names}
        later = {(step.dataset, step.run_id) for step in history.since(derived)}
        result = Retracted(run_id, None, rows, gaps, tuple(sorted(later)))
        if dry_run:
            return result
        datasets = [self._contracts[name] for name in names]
        if any(map(self._log.is_vacuumed, range(history.first, history.head.version + 1))):
            for name in (table for dataset in datasets for table in _tables_of(dataset.name)):
                files = (*self._tables.state(name, history.before.get(name)).files, *history.files_since(name))
                if not all(map(self._store.holds, files)):
                    raise VersionVacuumed(history.first, (name,), RESTORE)
        steps = history.since(names)
        if repeats is None:
            # Only the user knows if rows that were mounted again are wrong there too.
            for step in (step for step in steps if self._contracts[step.dataset].group == "mounted"):
                hashes = journal.rows_of(self._store, self._contracts[step.dataset], step.key)["content_hash"]
                repeated_rows = pc.sum(pc.is_in(history.contents({history.run_id}, step), hashes)).as_py()
                if repeated_rows:
                    problem = f"{repeated_rows:,} of the run's rows were mounted again by {step.run_id}"
                    next_step = "give --repeats withdraw if they are wrong there, too, or --repeats keep"
                    raise BadInput("repeats", problem, next_step)
        elif repeats == "withdraw":
            history.withdrawn[run_id] = history.head.version + 1
        tables, restated = self._without(history, steps, datasets)
        counts = {"rows": sum(rows.values()), "gaps": sum(gaps.values()), "published again": len(steps)}
        entry = self._log.append(
            history.head,
            tables,
            operation=RETRACT,
            run_id=run_id,
            dataset=", ".join(names),
            counts=counts | ({WITHDRAWN: 1} if run_id in history.withdrawn else {}),
            reason=reason.strip(),
            restated=restated,
        )
        return replace(result, version=entry.version)

    def _without(
        self, history: "History", steps: Sequence[Step], datasets: Sequence[Dataset]
    ) -> tuple[dict[str, int], Restated]:
        """Return the Delta versions without the run, now and at each instant since."""
        before, tables = history.before, dict[str, int]()
        for dataset in datasets:
            for table in _tables_of(dataset.name):
                if table in history.head.tables:
                    schema = table_schema(dataset, table)
                    tables[table] = self._tables.commit(table, schema, before.get(table), (), (), note=RETRACT)
        states = {history.instant_of(history.start): dict(tables)}
        publisher = Publisher(self._store, self._log, self._tables)
        for number, step in enumerate(steps):
            base = history.entries[step.place.version]
            base = replace(base, tables=history.tables_at(base.version) | tables)
            ignored: set[str | tuple[int, str]] = {history.run_id, *history.head.retracted}
            ignored |= {(following.observed, following.run_id) for following in steps[number + 1 :]}
            staged = self._staged(history, self._contracts[step.dataset], step)
            tables |= publisher.publish_again(staged, clock.from_micros(step.observed), base, ignored)
            states[history.instant_of(step.place)] = dict(tables)
        state = self._tables.state
        pairs = [(state(table, before.get(table)), state(table, version)) for table, version in tables.items()]
        if not past_never_changes(pairs).passed:
            raise PastChanged("rows from before the run would be lost; nothing was retracted")
        return tables, history.restated(states)

    def _staged(self, history: "History", dataset: Dataset, step: Step) -> Staged:
        """Return what a run staged: its rows in the lake that are dated as staged, and its records in the journal."""
        rows, gaps = self._rows(history, dataset, step), journal.gaps_of(self._store, step.key)
        # A mount after the retraction states these rows itself, so they stay as when it was published.
        gone = {run_id for run_id, version in history.withdrawn.items() if step.place.version < version}
        withdrawn = history.contents(gone, step)
        rows = rows.filter(pc.invert(pc.is_in(rows["content_hash"], withdrawn)))
        if not step.key:
            new = history.added(gap_table_name(dataset.name), step.place)
            self._store.fetch(new)
            stored_gaps = (pq.read_table(file.path, partitioning=None) for file in new)
            gaps = pa.concat_tables([GAP_SCHEMA.empty_table(), *stored_gaps])
        if dataset.partitioned:
            days = pc.strftime(rows[clock.AVAILABLE_AT].cast(NEW_YORK), "%Y-%m-%d")
        else:
            days = pa.chunked_array([pa.repeat(UNDATED, rows.num_rows)])
        partitions = tuple(sorted({*days.unique().to_pylist(), *gaps["partition"].unique().to_pylist()}))
        rows, row_partition = _by_partition(rows, days, partitions)
        gaps, gap_partition = _by_partition(gaps, gaps["partition"], partitions)
        return Staged(
            dataset=dataset,
            run_id=step.run_id,
            partitions=partitions,
            rows=rows.drop_columns(["content_hash"]),
            row_partition=row_partition,
            content_hash=rows["content_hash"],
            gaps=gaps.select(GAP_STAGED_SCHEMA.names).cast(GAP_STAGED_SCHEMA),
            gap_partition=gap_partition,
            extracted=dict.fromkeys(partitions, 0),
            polled=(None, None),
        )

    def _rows(self, history: "History", dataset: Dataset, step: Step) -> pa.Table:
        recorded = journal.rows_of(self._store, dataset, step.key)
        schema = pa.schema([*staged_schema(dataset), pa.field("content_hash", pa.binary())])
        own, since = history.added(dataset.name, step.place), history.files_since(dataset.name)
        self._store.fetch((*own, *since))
        names, content = columns(schema.names), columns(dataset.content_columns, "c.")
        others = columns([name for name in schema.names if name not in dataset.content_columns], "j.")
        parts = [f"SELECT {names} FROM recorded WHERE _whole"]
        if own:
            parts.append(
                f"SELECT {names} FROM {reading(own, dataset.arrow_schema)} r ANTI JOIN recorded j"
                " ON j.content_hash = r.content_hash AND j._published_at = r.available_at"
            )
        if since:
            parts.append(
                f"SELECT {content}, {others} FROM (FROM recorded WHERE NOT _whole) j JOIN (SELECT DISTINCT ON"
                f" (content_hash) * FROM {reading(since, dataset.arrow_schema)} SEMI JOIN recorded USING (content_hash)"
                ") c ON c.content_hash = j.content_hash"
            )
        with calculator(recorded=recorded) as sql:
            query = " UNION ALL BY NAME ".join(parts)
            return sql.sql(f"SELECT {names} FROM ({query})").to_arrow_table().cast(schema)


class History:
    """The versions of a lake, and the places of the run to retract and of later runs among them."""

    def __init__(self, store: Store, log: LakeLog, tables: DeltaTables, run_id: str, names: Collection[str]) -> None:
        self._store, self._tables, self.run_id = store, tables, run_id
        self.entries = [*log.entries()][::-1]
        self.head = self.entries[-1]
        if version := self.head.retracted.get(run_id):
            raise BadInput("run", f"{run_id} was retracted before, in version {version}", "`pitlake versions` lists it")
        self.withdrawn = {entry.run_id: entry.version for entry in self.entries if WITHDRAWN in entry.counts}
        self.publishes = [entry for entry in self.entries if entry.operation == "publish" and entry.dataset in names]
        self._last = self.entries[max(self.head.retracted.values(), default=0)]
        self._polls = {name: polls.read_all(store, name) for name in names}
        self._records = {name: [*journal.records(store, name)] for name in names}

    @cached_property
    def polled(self) -> set[str]:
        """Return the datasets whose sources the run polled."""
        return {
            name for name, of_source in self._polls.items() if any(poll.run_id == self.run_id for poll in of_source)
        }

    @cached_property
    def start(self) -> Place:
        """Return the place of the run's first publish; if none was recorded, the place before the next observation."""
        own = [Place(entry.version) for entry in self.publishes if entry.run_id == self.run_id]
        own += [
            record.place for records in self._records.values() for record in records if record.run_id == self.run_id
        ]
        if own:
            return min(own)
        observed = {(name, poll.run_id): poll.observed for name, of_source in self._polls.items() for poll in of_source}
        first = min(at for (_, run_id), at in observed.items() if run_id == self.run_id)
        later = [e.version for e in self.publishes if observed.get((e.dataset, e.run_id), first) > first]
        return Place(min(later, default=self.head.version + 1) - 1, unchanged=True)

    @property
    def first(self) -> int:
        """Return the last version before the run."""
        return self.start.version - (not self.start.unchanged)

    @cached_property
    def before(self) -> dict[str, int]:
        """Return the Delta versions just before the run, without the runs that were retracted since. A run that changed
        nothing may own rows now, if its rows were also those of a retracted run.
        """
        is_recorded = self.start.at > 0 or not self.start.unchanged
        return {**self.entries[self.first].tables, **self._last.restated_at(self.instant_of(self.start) - is_recorded)}

    def since(self, names: Collection[str]) -> list[Step]:
        """Return the publishes of these datasets after the run began, without those of retracted runs, in order."""
        recorded = [(record, name) for name in names for record in self._records[name]]
        steps = [Step(record.place, name, record.run_id, record.observed, record.key) for record, name in recorded]
        versions = {step.place.version for step in steps if not step.place.unchanged}
        steps += [
            Step(Place(entry.version), entry.dataset, entry.run_id, self._observed(entry))
            for entry in self.publishes
            if entry.version > self.first and entry.dataset in names and entry.version not in versions
        ]
        gone = {self.run_id, *self.head.retracted}
        later = (step for step in steps if step.place > self.start and step.run_id not in gone)
        return sorted(later, key=lambda step: step.place)

    def _observed(self, entry: Entry) -> int:
        """Return the instant of a publish's observation, according to its rows or gaps."""
        place = Place(entry.version)
        for file in (*self.added(entry.dataset, place), *self.added(gap_table_name(entry.dataset), place)):
            self._store.fetch([file])
            return int(as_micros(pq.read_table(file.path, columns=[clock.OBSERVED_AT], partitioning=None)[0])[0])
        raise LakeError(f"version {entry.version} shows no file of its run; restore the lake from a copy")

    def contents(self, runs: Collection[str], step: Step) -> pa.ChunkedArray:
        """Return the hashes of rows that these runs published before a step, in its dataset. Raises VersionVacuumed."""
        hashes = [pa.array([], pa.binary())]
        for entry in self.publishes:
            if entry.run_id in runs and entry.dataset == step.dataset and Place(entry.version) < step.place:
                files = self.added(entry.dataset, Place(entry.version))
                if not all(map(self._store.holds, files)):
                    raise VersionVacuumed(entry.version, (entry.dataset,), RESTORE)
                self._store.fetch(files)
                tables = (pq.read_table(file.path, columns=["content_hash"], partitioning=None) for file in files)
                hashes += [chunk for table in tables for chunk in table["content_hash"].chunks]
        return pa.chunked_array(hashes)

    def added(self, table: str, place: Place) -> tuple[DataFile, ...]:
        """Return the files of a table that a publish added."""
        if place.unchanged:
            return ()
        old = {file.path for file in self._files(table, place.version - 1)}
        return tuple(file for file in self._files(table, place.version) if file.path not in old)

    def files_since(self, table: str) -> tuple[DataFile, ...]:
        """Return every file of a table that a version since the run shows."""
        versions = range(self.first, self.head.version + 1)
        return tuple({file.path: file for version in versions for file in self._files(table, version)}.values())

    def _files(self, table: str, version: int) -> tuple[DataFile, ...]:
        return self._tables.pinned(table, self.entries[version].tables).files

    def instant_of(self, place: Place) -> int:
        """Return the instant at which a publish had ended, in microseconds."""
        return place.at if place.unchanged and place.at else clock.micros(self.entries[place.version].committed_at)

    def tables_at(self, version: int) -> dict[str, int]:
        """Return the Delta versions of a lake version, without the runs that were retracted since."""
        entry = self.entries[version]
        return {**entry.tables, **self._last.restated_at(clock.micros(entry.committed_at))}

    def restated(self, states: Mapping[int, Mapping[str, int]]) -> Restated:
        """Return the lake's state without any retracted run. states: Delta versions without this run, by instant."""
        before = [since for since, _ in self._last.restated]
        ended = [clock.micros(self._last.committed_at)] if before else []
        tables, restated = dict[str, int](), Restated()
        for instant in sorted({*states, *before, *ended}):
            tables = {**tables, **states.get(instant, {})}
            restated.append((instant, {**self._last.restated_at(instant), **tables}))
        return restated


def _tables_of(name: str) -> tuple[str, ...]:
    return name, gap_table_name(name), superseded_table_name(name), observed_table_name(name)


def _by_partition(rows: pa.Table, days: pa.ChunkedArray, partitions: Sequence[str]) -> tuple[pa.Table, Positions]:
    """Return the rows sorted by partition, and the number of each row's partition."""
    number = as_numbers(pc.index_in(days, pa.array(partitions, pa.string())).cast(pa.int64()))
    order = np.argsort(number, kind="stable")
    return rows.take(pa.array(order)), number[order]
