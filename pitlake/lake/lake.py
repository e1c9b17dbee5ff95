"""The lake's Python interface: open a root, stage and publish, list versions, take snapshots, compact, vacuum.

The modules in the folders next to this file implement the methods.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from pitlake import datasets, machine
from pitlake.aliases import meant
from pitlake.contract import Dataset
from pitlake.datasets._figures import DAILY_BARS
from pitlake.datasets._shared import RELEASE_RULE
from pitlake.errors import BadInput, LakeFault, LakeNotFound, VersionVacuumed, choice
from pitlake.lake.mounting import contract as mounts
from pitlake.lake.publishing import polls
from pitlake.lake.publishing.polls import Poll
from pitlake.lake.storage import bulk_loads, claims, conventions, faults, incidents, watch_list
from pitlake.lake.storage.bulk_loads import BulkLoad
from pitlake.lake.storage.incidents import Incident
from pitlake.lake.storage.log import Entry, LakeLog
from pitlake.lake.storage.manifest import DataFile, Snapshot
from pitlake.lake.storage.receipt_store import kept_versions, receipt_id, receipt_key
from pitlake.lake.storage.root import open_store
from pitlake.lake.storage.store import PLACE
from pitlake.lake.storage.watch_list import WatchList
from pitlake.lake.tables.delta import DeltaTables, table_key
from pitlake.lake.tables.pinned import PinnedTables
from pitlake.lake.upkeep import wholeness

if TYPE_CHECKING:
    from pitlake.lake.mounting.mount import Mounted
    from pitlake.lake.publishing.audit import Audit
    from pitlake.lake.publishing.check_results import CheckReport
    from pitlake.lake.publishing.publish import Published
    from pitlake.lake.publishing.stage import Stage
    from pitlake.lake.upkeep.compact import Compacted
    from pitlake.lake.upkeep.retract import Retracted
    from pitlake.lake.upkeep.vacuum import Vacuumed

DEFAULT_KEEP = timedelta(days=30)
GRACE = timedelta(days=1)

Params = ParamSpec("Params")
Result = TypeVar("Result")


def _working(method: "Callable[Concatenate[Lake, Params], Result]") -> "Callable[Concatenate[Lake, Params], Result]":
    """Wrap a method of Lake so that an error of the operating system becomes a LakeError with the path."""

    @wraps(method)
    def wrapper(self: "Lake", /, *args: Params.args, **options: Params.kwargs) -> Result:
        machine.require(PLACE, self.location)
        with machine.working_in(PLACE, self.location), self._store.translated():
            return method(self, *args, **options)

    return wrapper


class Lake:
    """One lake. Creating this object reads and writes nothing; the first stage creates the lake.

    root: a directory, a file:// URL or s3://bucket/prefix; default $PITLAKE_LAKE, else ./.pitlake/lake. allow_drift: a
    reason to publish runs that the check `drift` would refuse; the lake's log records it.
    """

    def __init__(self, root: str | Path | None = None, *, allow_drift: str = "") -> None:
        self._store, self._allow_drift = open_store(root), allow_drift.strip()
        self._log, self._tables = LakeLog(self._store), DeltaTables(self._store)

    @property
    def root(self) -> Path:
        """Return the lake's directory on this machine; for a lake in an object store, its mirror."""
        return self._store.root

    @property
    def location(self) -> str:
        """Return the lake's location as people write it."""
        return self._store.location

    @property
    def filings_count_from(self) -> str:
        """Return the rule that dates filings in this lake: "release" or "acceptance"."""
        return conventions.rule_of(self._store, conventions.FILINGS)

    @property
    def bars_count_from(self) -> str:
        """Return the rule that dates bars of outside sources: "close", "close + 15 minutes" or "next day"."""
        return conventions.rule_of(self._store, conventions.BARS)

    def counts_from(self, dataset: Dataset) -> str | None:
        """Return the lake's rule that dates a dataset; None if no such rule does."""
        if dataset.name in DAILY_BARS:
            return self.bars_count_from
        return self.filings_count_from if RELEASE_RULE in dataset.columns else None

    @_working
    def end_at(self, moment: datetime) -> None:
        """Set, once, the end of the lake's data for checks of freshness. Raises BadInput for a different end."""
        self._log.start()
        conventions.end_at(self._store, moment)

    @property
    def ends_at(self) -> datetime | None:
        """Return the end of the data of a lake whose clock is simulated; None for real data."""
        return conventions.ends_at(self._store)

    def judged_at(self, now: datetime) -> datetime:
        """Return the instant that checks of freshness use: `now`, but no later than the end of the lake's data."""
        return min(now, self.ends_at or now)

    @_working
    def count_filings_from(self, rule: str) -> None:
        """Set "release" or "acceptance", once. Raises BadInput if the lake dates filings by the other rule."""
        dated = (dataset.name for dataset in datasets.all_datasets().values() if RELEASE_RULE in dataset.columns)
        self._agree(conventions.FILINGS, rule, dated)

    @_working
    def count_bars_from(self, rule: str) -> None:
        """Set "close", "close + 15 minutes" or "next day", once. Raises BadInput if the lake uses another rule."""
        self._agree(conventions.BARS, rule, DAILY_BARS)

    def settle(self, filings: str = "", bars: str = "") -> None:
        """Set the given rules or, if they are blank, those in the environment. Raises BadInput as the methods above."""
        for rule_given, convention, count_from in (
            (filings, conventions.FILINGS, self.count_filings_from),
            (bars, conventions.BARS, self.count_bars_from),
        ):
            if rule := rule_given or os.environ.get(convention.variable):
                count_from(rule)

    def _agree(self, convention: conventions.Convention, rule: str, dated: Iterable[str]) -> None:
        self._log.start()
        tables = self._log.head().tables
        conventions.agree(self._store, convention, rule, has_rows=any(name in tables for name in dated))

    @_working
    def start(self) -> None:
        """Create the lake without tables, unless it exists."""
        self._log.start()

    @_working
    def head(self) -> int:
        """Return the newest version. Raises LakeNotFound when there is no lake at the root."""
        return self._log.head().version

    @_working
    def entry(self, version: int | None = None) -> Entry:
        """Return the log entry of a version (default: the newest). Raises LakeNotFound."""
        return self._log.entry(version)

    @_working
    def version_at(self, moment: datetime) -> int:
        """Return the version that was the newest at an instant. If one of its runs was retracted since, return the
        version of the last retraction. Raises LakeNotFound, BadInput for an instant in the future or before the lake.
        """
        return self._log.known(moment).version

    def now(self) -> datetime:
        """Return this machine's time for a run's observation: always after the newest commit. Raises ClockWentBack."""
        return self._log.now()

    def table_uri(self, table: str) -> str:
        """Return the address of a table for Delta. `Entry.tables` has its version in a version of the lake."""
        return self._store.table_uri(table_key(table))

    def versions(self) -> Iterator[Entry]:
        """Yield every version's log entry, newest first."""
        return self._log.entries()

    @_working
    def snapshot(self, version: int | None = None, known_by: datetime | None = None) -> Snapshot:
        """Return the files of one version (default: the newest). Each table is looked up when first used.

        known_by: show the lake as it was at this instant. `version`: its `version_at`. Raises LakeNotFound if the
        version never existed, VersionVacuumed if its files were removed, and the errors of `version_at`.
        """
        entry = self._log.entry(version) if known_by is None else self._log.known(known_by, version)
        pinned = PinnedTables(self._store, self._tables, entry.tables)
        if any(map(self._log.is_vacuumed, {entry.version, entry.parent + 1})):
            missing = tuple(table for table, state in pinned.items() if not all(map(self._store.holds, state.files)))
            if missing:
                raise VersionVacuumed(entry.version, missing)
        return Snapshot(entry.version, pinned, self._store.fetch)

    @_working
    def contracts(self, snapshot: Snapshot | None = None) -> dict[str, Dataset]:
        """Return the contracts of all datasets and of the tables that are mounted in a version, in alphabetical order.

        snapshot: the version (default: the newest; a lake that does not exist yet has no tables). Raises BadInput,
        which names the file, for an unreadable contract of a mounted table.
        """
        try:
            tables = (self._log.head() if snapshot is None else snapshot).tables
        except LakeNotFound:
            tables = {}
        mounted = mounts.read_all(self._store, tables)
        every = datasets.all_datasets()
        return dict(sorted((every | mounted).items())) if mounted else every

    def contract(self, name: str) -> Dataset:
        """Return the contract of a dataset or mounted table, by name or alias. Raises BadInput with the names."""
        every = self.contracts()
        contract = every.get(name) or every.get(meant(name))
        if contract is None:
            raise BadInput("dataset", f"there is no dataset {name!r}", choice(name, every, "pitlake datasets"))
        return contract

    @_working
    def mount(  # noqa: PLR0913 - all that a table may need
        self,
        table: Any,
        name: str,
        *,
        key: str | Sequence[str] | None = None,
        available_at: str | None = None,
        not_before: str | Sequence[str] | None = None,
        valid_at: str | None = None,
        until: str | None = None,
        time_format: str | None = None,
        midnights: str | None = None,
        timezone: str | None = None,
        lag: str | None = None,
        trust_dates: bool | None = None,
        partial: bool | None = None,
        most_refused: float | None = None,
        progress: Callable[[str], None] = lambda _text: None,
    ) -> "Mounted":
        """Mount a table as a dataset, or read a mounted table again. Creates the lake if it does not exist.

        Args:
            table: A path or pattern of Parquet, CSV or JSON lines files, a Delta table, or s3://bucket/key of such. Or
                a frame, or a pair of a DuckDB file or postgresql://host/database and a table's name.
            name: The name of the dataset.
            key: The columns that identify what a row is about. Required the first time; later the lake's contract has
                this and all options below.
            available_at: The column that says when a row became known (default: none; rows become known now).
            not_before: More columns of times before which a row was not known, such as an end or an edit.
            valid_at: The column with the business date of a row.
            until: The column with the end of a row, which is shown only from then on.
            time_format: A format of `strptime`, "epoch", "epoch_ms", "epoch_us" or "epoch_ns" (default: ISO-8601).
            midnights: "end" if midnights among other clock times are days, or "instants" (default: they are refused).
            timezone: The zone of dates and of times without one (default: New York; times without one are refused).
            lag: The delay after which a row became known, such as "1 day".
            trust_dates: Whether a row that a later mount finds takes effect at its own date (default: at that mount).
            partial: Whether the table contains only a part of the data, so that missing rows were not deleted.
            most_refused: The largest share of rows that may become gaps (default: 0.01, and at least 9 rows).
            progress: Called with a message after each batch of rows.

        Raises:
            BadInput: Before anything is written.
            CheckFailed, LakeConflict, ClockWentBack, LakeError: As for `publish`.
        """
        from pitlake.lake.mounting.mount import Doors, Wish, mount_table

        doors = Doors(self._store, self._log.now, self.stage, self.publish, files=self._files_of, progress=progress)
        wish = Wish(
            name=name, key=key, available_at=available_at, not_before=not_before, valid_at=valid_at, until=until,
            time_format=time_format, midnights=midnights, timezone=timezone, lag=lag, trust_dates=trust_dates,
            partial=partial, most_refused=most_refused,
        )  # fmt: skip
        return mount_table(doors, table, wish)

    def _files_of(self, table: str) -> tuple[DataFile, ...]:
        files = self.snapshot().files(table)
        self._store.fetch(files)
        return files

    @_working
    def stage(self, dataset: Dataset | str, run_id: str) -> "Stage":
        """Open a stage for a run's rows and gaps of a dataset, as a context manager. Creates the lake if necessary.

        Raises ClockWentBack if rows read now could not be published.
        """
        from pitlake.lake.publishing.stage import Stage, remove_stale

        self._log.start()
        self._log.now()
        remove_stale(self._store)
        contract = self.contract(dataset) if isinstance(dataset, str) else dataset
        return Stage(self._store, contract, run_id, self._tables.added_columns(contract))

    @_working
    def added_columns(self, dataset: Dataset) -> frozenset[str]:
        """Return the columns added to a contract after the lake's table was created; `content_hash` needs them."""
        return self._tables.added_columns(dataset)

    @_working
    def publish(
        self, stage: "Stage", observed_at: datetime | None = None, audits: "Sequence[Audit]" = ()
    ) -> "Published":
        """Audit a stage, also by further `audits`, and publish it as one version. See `Publisher.publish`."""
        from pitlake.lake.publishing.publish import Publisher

        publisher = Publisher(self._store, self._log, self._tables, self._allow_drift)
        return publisher.publish(stage.load(), observed_at, audits)

    def look_through(self) -> None:
        """Check that the newest version is complete and readable. Raises LakeNotFound, LakeFault, LakeError."""
        denied = faults.unreadable(self.root)
        if denied is not None:
            raise LakeFault("permission", denied)
        next(self._store.walk("_lake"), None)  # This raises an error if the bucket does not exist.
        wholeness.require_whole(self._store, self._log, self._tables)

    @_working
    def keep_check_report(self, check_report: "CheckReport") -> None:
        """Store the check results of a run: see `pitlake.lake.publishing.check_results`."""
        from pitlake.lake.publishing import check_results

        check_results.write(self._store, check_report)

    def check_reports(self, dataset: str) -> "Iterator[CheckReport]":
        """Return the check reports of a dataset's runs, newest first."""
        from pitlake.lake.publishing import check_results

        return check_results.read_all(self._store, dataset)

    @_working
    def keep_incident(self, incident: Incident) -> None:
        """Store an incident of a run: see `pitlake.lake.storage.incidents`. Raises LakeError."""
        incidents.write(self._store, incident)

    def incidents(self) -> Iterator[Incident]:
        """Return the incidents, newest first."""
        return incidents.read_all(self._store)

    def note_claims(self, source: str, items: int) -> None:
        """Record that this many items were dated only by a provider. Raises LakeError."""
        claims.write(self._store, source, items)

    def claims(self, until: datetime | None = None) -> dict[str, int]:
        """Return the number of items dated only by each provider, as recorded before `until`. Raises LakeError."""
        return claims.counted(self._store, until)

    @_working
    def watch(self, watched: WatchList) -> None:
        """Store the watch list in place of the previous one. Creates the lake if it does not exist."""
        self._log.start()
        watch_list.keep(self._store, watched)

    def watch_list(self) -> WatchList:
        """Return the watch list, empty by default. Raises LakeFault."""
        return watch_list.read(self._store)

    @_working
    def keep_bulk_load(self, dataset: str, load: BulkLoad) -> None:
        """Store the progress of a dataset's bulk load. Raises LakeError."""
        bulk_loads.keep(self._store, dataset, load)

    def bulk_load(self, dataset: str) -> BulkLoad | None:
        """Return the progress of a dataset's last bulk load; None if there was none."""
        return bulk_loads.read(self._store, dataset)

    def polls(self, dataset: str, version: int | None = None) -> list[Poll]:
        """Return every poll of a dataset's source, newest first, except polls of runs that a version (default: the
        newest) retracts. Raises LakeError.
        """
        retracted = self.entry(version).retracted if self._log.exists() else ()
        return [poll for poll in polls.read_all(self._store, dataset) if poll.run_id not in retracted]

    @_working
    def retract(self, run_id: str, reason: str, *, repeats: str | None = None, dry_run: bool = False) -> "Retracted":
        """Create a new version without the rows and gaps of one run. Its polls and captures no longer count.

        Older versions stay as they are. See `pitlake.lake.upkeep.retract` for `repeats` and the errors.
        """
        from pitlake.lake.upkeep.retract import Retractor

        retractor = Retractor(self._store, self._log, self._tables, self.contracts())
        return retractor.retract(run_id, reason, repeats=repeats, dry_run=dry_run)

    @_working
    def compact(self, dataset: Dataset | str, before: str | None = None) -> "Compacted":
        """Merge each finished month, and each earlier year, of a dataset into one file; merge its gaps by month. One
        new version.

        `before`: the first New York month ("YYYY-MM") not to merge; default the newest one with rows.
        """
        from pitlake.lake.upkeep.compact import Compactor

        contract = self.contract(dataset) if isinstance(dataset, str) else dataset
        return Compactor(self._store, self._log, self._tables).compact(contract, before)

    @_working
    def vacuum(
        self,
        keep: timedelta = DEFAULT_KEEP,
        keep_versions: Collection[int] = (),
        *,
        grace: timedelta = GRACE,
        dry_run: bool = True,
    ) -> "Vacuumed":
        """Remove files that no kept version needs. Versions that stored receipts need are always kept.

        A dry run, the default, only reports. Raises ReceiptDamaged. See `upkeep.vacuum`."""
        from pitlake.lake.upkeep.vacuum import vacuum

        keep_versions = kept_versions(self._store).union(keep_versions)
        return vacuum(
            self._store, self._log, self._tables, keep=keep, keep_versions=keep_versions, grace=grace, dry_run=dry_run
        )

    @_working
    def vacuum_versions(self, versions: Collection[int]) -> "Vacuumed":
        """Remove the files that only these versions need, regardless of their age. The newest version and versions that
        stored receipts need are always kept.

        For the intermediate versions of one command. Raises ReceiptDamaged. See `pitlake.lake.upkeep.vacuum`.
        """
        from pitlake.lake.upkeep.vacuum import vacuum_versions

        needed = kept_versions(self._store)
        return vacuum_versions(self._store, self._log, self._tables, versions, keep_versions=needed)

    @_working
    def keep_receipt(self, content: bytes, version: int) -> str:
        """Store a receipt's bytes, which protects its version from vacuum; returns its id. See
        `pitlake.answers.receipts`.

        Raises LakeNotFound, VersionVacuumed if the receipt's version is gone.
        """
        name = receipt_id(content)
        self._log.entry(version)
        is_new = self._store.put_new(receipt_key(name), content)
        try:
            # Check after storing: either a concurrent vacuum sees the receipt, or this check sees the vacuum.
            self.snapshot(version)
        except LakeNotFound:
            if is_new:
                self._store.delete(receipt_key(name))
            raise
        return name


def mount(table: Any, name: str, *, lake: str | Path | Lake | None = None, **options: Any) -> "Mounted":
    """Mount a table as a dataset of a lake: see `Lake.mount` for the arguments and errors.

    lake: the lake or its root (default: $PITLAKE_LAKE, else ./.pitlake/lake).
    """
    return (lake if isinstance(lake, Lake) else Lake(lake)).mount(table, name, **options)
