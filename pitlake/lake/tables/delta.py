"""The Delta tables of the lake: the files of a Delta version, and commits as a compare-and-swap.

A Delta version becomes visible only when the lake's log pins it. Callers pass the pinned versions to these functions,
which never look them up.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

import pyarrow as pa
from deltalake import DeltaTable, Field, Schema
from deltalake.exceptions import DeltaError, TableNotFoundError

from pitlake import clock, machine
from pitlake.contract import GAP_SCHEMA, Dataset, gap_table_name
from pitlake.errors import LakeConflict, LakeError, LakeFault, PastChanged
from pitlake.lake.storage.files import MONTH_COLUMN, NewFile
from pitlake.lake.storage.manifest import DataFile, TableState
from pitlake.lake.storage.store import Store
from pitlake.lake.tables import commits
from pitlake.lake.tables.checkpoints import INTERVAL, Checkpoints
from pitlake.lake.tables.compacted import OBSERVED_SCHEMA, observed_table_name
from pitlake.lake.tables.history import BLOCK, Files, History
from pitlake.tombstones import SUPERSEDED_SCHEMA, superseded_table_name

EMPTY = TableState()
_UNREAD: tuple[int, Files] = (-1, {})
_MONTH = pa.field(MONTH_COLUMN, pa.string())
Result = TypeVar("Result")
MOST_STATES = 512
CONFIGURATION: dict[str, str | None] = {
    "delta.logRetentionDuration": "interval 36500 days",
    "delta.deletedFileRetentionDuration": "interval 36500 days",
    "delta.enableExpiredLogCleanup": "false",
    "delta.checkpointInterval": str(INTERVAL),
}


def table_key(table: str) -> str:
    """Return the key of a lake table below the root: tables/NAME for the rows of a dataset."""
    return table if "/" in table else f"tables/{table}"


def _log(table: str) -> str:
    """Return the folder of a table's commits."""
    return f"{table_key(table)}/_delta_log"


def _commit_key(table: str, version: int) -> str:
    return f"{_log(table)}/{version:020d}.json"


def table_schema(dataset: Dataset, table: str) -> pa.Schema:
    """Return the schema of a table's Parquet files."""
    others = {
        gap_table_name(dataset.name): GAP_SCHEMA,
        superseded_table_name(dataset.name): SUPERSEDED_SCHEMA,
        observed_table_name(dataset.name): OBSERVED_SCHEMA,
    }
    return others.get(table, dataset.arrow_schema)


class DeltaTables:
    """The Delta tables of one lake. States are cached, because a Delta version never changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._states: dict[tuple[str, int], TableState] = {}
        self._created: dict[str, frozenset[str]] = {}
        self._newest: dict[str, tuple[int, Files]] = {}
        self._beside: dict[str, tuple[TableState, int, TableState]] = {}

    def state(self, table: str, version: int | None) -> TableState:
        """Return the files of one Delta version of a table; none if the table is not pinned."""
        if version is None:
            return EMPTY
        state = self._states.get((table, version))
        if state is None:
            if len(self._states) >= MOST_STATES:
                self._states.clear()
            state = self._states[table, version] = self._load(table, version)
        return state

    def pinned(self, table: str, pins: Mapping[str, int]) -> TableState:
        """Return a table's files in a lake version that pins these Delta versions, with compacted files' companions."""
        state, observed = self.state(table, pins.get(table)), observed_table_name(table)
        if observed not in pins:
            return state
        cached = self._beside.get(table)
        if cached is None or cached[0] is not state or cached[1] != pins[observed]:
            by_name = self._by_name(observed, pins[observed])
            files = (replace(file, beside=by_name.get(self._name(table, file.path))) for file in state.files)
            cached = self._beside[table] = state, pins[observed], TableState(tuple(files))
        return cached[2]

    def latest(self, table: str, since: int | None = None) -> int | None:
        """Return the newest Delta version of a table, pinned or not, at or after a known one; None if there is no such
        table.
        """
        latest = self._store.newest(_log(table), -1 if since is None else since)
        return None if latest < 0 else latest

    def added_columns(self, dataset: Dataset) -> frozenset[str]:
        """Return the columns added to a contract after the lake's table was created; none if there is no table."""
        names = frozenset(dataset.arrow_schema.names)
        if dataset.name not in self._created:
            try:
                first = self._store.read(_commit_key(dataset.name, 0))
            except FileNotFoundError:
                return frozenset()
            self._created[dataset.name] = commits.column_names(first)
        return names - self._created[dataset.name]

    def spans(self, table: str, pinned: int) -> tuple[int, dict[str, list[range]]]:
        """Return the newest Delta version, and every file the table ever had with the versions that show it, by key.

        The result comes from the commits and is checked against Delta's newest state. Raises LakeFault for a missing or
        contradictory commit. pinned: a Delta version that must exist.
        """
        latest = self.latest(table)
        if latest is None or latest < pinned:
            # Name the first missing commit, or the whole log.
            keys = (_commit_key(table, number) for number in range(pinned + 1))
            gone = next((key for key in keys if not self._store.exists(key)), None)
            raise LakeFault("missing" if gone else "damaged", self._store.table_uri(gone or _log(table)))
        since: dict[str, int] = {}
        spans: dict[str, list[range]] = defaultdict(list)
        for version, change in enumerate(self._history(table).changes(0, latest)):
            for name in change.removed:
                if name in since:
                    spans[name].append(range(since.pop(name), version))
            for facts in change.added:
                since.setdefault(str(facts[0]), version)
        if since.keys() != self._by_name(table, latest).keys():
            raise LakeFault("damaged", self._store.table_uri(_log(table)))
        for name, version in since.items():
            spans[name].append(range(version, latest + 1))
        return latest, {f"{table_key(table)}/{name}": versions for name, versions in spans.items()}

    def write_history(self, table: str) -> None:
        """Write the missing blocks that summarise the commits of a table."""
        self._history(table).write(self.latest(table) or 0)

    def old_checkpoints(self, table: str, keys: Iterable[str]) -> list[str]:
        """Return the checkpoints of a table among these files that are no longer needed."""
        return self._checkpoints(table).unneeded(keys)

    def holds(self, table: str, files: Sequence[NewFile]) -> bool:
        """Return whether the newest Delta version of a table holds any of these files."""
        latest = self.latest(table)
        return latest is not None and not self._by_name(table, latest).keys().isdisjoint(file.name for file in files)

    def commit(
        self,
        table: str,
        schema: pa.Schema,
        base: int | None,
        added: Sequence[NewFile],
        removed: Sequence[DataFile] | None = None,
        note: str = "",
    ) -> int:
        """Commit on top of the pinned version `base` and return the new Delta version, which is not visible yet.

        removed: the files that a compaction replaces. A commit that removes files is rare, and a checkpoint follows it.
        Versions after `base` that no entry pins (from crashed or overtaken writers) are undone in the same commit. A
        new table without a file is created and pinned. Raises LakeConflict if another writer commits first, PastChanged
        if the result is not as expected.
        """
        latest = self._as_contracted(table, schema, self.latest(table, base))
        if base is None:  # The creating process may have died before the table was on disk.
            self._store.settle(_commit_key(table, 0))
        pinned = self._by_name(table, base)
        live = pinned if latest == base else self._by_name(table, latest)
        gone = {self._name(table, file.path) for file in removed or ()}
        undone = [file for name, file in live.items() if name not in pinned or name in gone]
        restored = [file for name, file in pinned.items() if name not in live and name not in gone]
        same_rows = len(undone) == len(gone) and not restored and bool(gone)
        actions = [
            *(commits.added(file.name, file, same_rows=same_rows) for file in added),
            *(commits.added(self._name(table, file.path), file, same_rows=same_rows) for file in restored),
            *(commits.removed(self._name(table, file.path), file.size, same_rows=same_rows) for file in undone),
        ]
        if not actions:
            return latest
        self._swap(table, latest + 1, actions, note)
        now = {name: (file.rows, file.size) for name, file in self._by_name(table, latest + 1).items()}
        expected = {name: (file.rows, file.size) for name, file in pinned.items() if name not in gone}
        expected |= {file.name: (file.rows, file.size) for file in added}
        if now != expected:
            raise PastChanged(
                f"Delta version {latest + 1} of {table} does not hold the files it must; nothing was published"
            )
        self._maintain(table, latest + 1, compacted=removed is not None)
        return latest + 1

    def _swap(self, table: str, version: int, actions: Sequence[commits.Action], note: str) -> None:
        if not self._store.put_new(_commit_key(table, version), commits.written(actions, note)):
            raise LakeConflict(f"another writer committed to {table} first; nothing was published")

    def _maintain(self, table: str, version: int, *, compacted: bool) -> None:
        """Keep the log small and quick to read, within this writer's permissions. A vacuum does the rest."""
        checkpoints = self._checkpoints(table)
        with suppress(LakeError, OSError, DeltaError):
            if (version + 1) % BLOCK == 0:
                self._history(table).write(version)
            if (compacted or (version + 1) % INTERVAL == 0) and (delta := self._open(table, version)):
                delta.create_checkpoint()
                checkpoints.tend(version)

    def _history(self, table: str) -> History:
        return History(self._store, table_key(table))

    def _checkpoints(self, table: str) -> Checkpoints:
        return Checkpoints(self._store, table_key(table))

    def _open(self, table: str, version: int | None = None) -> DeltaTable | None:
        uri = self._store.table_uri(table_key(table))

        def opened() -> DeltaTable:
            return DeltaTable(uri, version=version, storage_options=self._store.table_options)

        try:
            return _read(opened)
        except TableNotFoundError:
            return None
        except DeltaError:
            if not self._checkpoints(table).mended():
                raise
            return opened()

    def _as_contracted(self, table: str, schema: pa.Schema, latest: int | None) -> int:
        """Return the newest version of the table, with the contract's columns.

        A missing table is created; columns added to the contract are added in a separate commit.
        """
        contract_schema = Schema.from_arrow(_stored(schema))
        if latest is not None and _same_columns(self._checkpoints(table).schema(latest), contract_schema):
            return latest
        delta = (latest is not None and self._open(table)) or self._create(table, schema)
        if _same_columns(delta.schema(), contract_schema):
            return delta.version()
        _refuse_change(table, delta.schema(), contract_schema)
        version = delta.version() + 1
        self._store.put_new(_commit_key(table, version), commits.changed_schema(delta, contract_schema))
        return self._as_contracted(table, schema, version)

    def _create(self, table: str, schema: pa.Schema) -> DeltaTable:
        self._store.path(table_key(table)).mkdir(parents=True, exist_ok=True)
        try:
            return DeltaTable.create(
                self._store.table_uri(table_key(table)),
                Schema.from_arrow(_stored(schema)),
                partition_by=[MONTH_COLUMN],
                configuration=CONFIGURATION,
                storage_options=self._store.table_options,
            )
        except DeltaError:
            delta = self._open(table)
            if delta is None:
                raise
            return delta

    def _load(self, table: str, version: int) -> TableState:
        """Read the log without Delta, which would list the whole log first."""
        files = self._history(table).files(version, *self._read_before(table, version))
        if version > self._newest.get(table, _UNREAD)[0]:
            self._newest[table] = version, files
        return TableState(tuple(files[name] for name in sorted(files)))

    def _read_before(self, table: str, version: int) -> tuple[int, Files]:
        """Return the version from which to continue reading, and its files.

        It is the newest version that has a checkpoint or was read before.
        """
        read = self._newest.get(table, _UNREAD)
        since, files = read if read[0] <= version else _UNREAD
        if 0 <= version - since <= INTERVAL:
            return since, files
        checkpoints = self._checkpoints(table)
        newest = checkpoints.newest()
        facts = checkpoints.facts(newest) if since < newest <= version else None
        return (since, files) if facts is None else (newest, self._history(table).of(facts))

    def _by_name(self, table: str, version: int | None) -> dict[str, DataFile]:
        return {self._name(table, file.path): file for file in self.state(table, version).files}

    def _name(self, table: str, path: str) -> str:
        return path.removeprefix(f"{self._store.path(table_key(table))}/")


def _read(work: Callable[[], Result]) -> Result:
    """Read through Delta. Try again after a failure, because an object store may truncate a response."""
    try:
        return work()
    except TableNotFoundError:
        raise
    except (DeltaError, OSError) as problem:
        if machine.lacking(problem):
            raise
        return work()


def _same_columns(stored: Schema | None, contract_schema: Schema) -> bool:
    # Delta's own comparison ignores the order, on which `content_hash` depends.
    return stored == contract_schema and [field.name for field in stored.fields] == [
        field.name for field in contract_schema.fields
    ]


def _refuse_change(table: str, stored: Schema, contract_schema: Schema) -> None:
    """Raise LakeError unless the contract's schema only adds nullable columns to the stored schema."""
    fields = {field.name: field for field in contract_schema.fields}
    for field in stored.fields:
        new = fields.pop(field.name, None)
        if new is None:
            raise LakeError(
                f"table {table} has the column {field.name}, which its contract lacks; stored columns can't be"
                " removed: put it back into the contract, or publish into a new lake"
            )
        if (new.type, new.nullable) != (field.type, field.nullable):
            raise LakeError(
                f"table {table} stores {field.name} as {_spelled(field)} column, its contract has {_spelled(new)} one;"
                " change it back, and add new values as a column of another name"
            )
    if required := next((name for name, field in fields.items() if not field.nullable), None):
        raise LakeError(
            f"table {table} has rows without the column {required}; add it to the contract without required=True"
        )
    order = [field.name for field in stored.fields]
    if [field.name for field in contract_schema.fields if field.name not in fields] != order:
        raise LakeError(
            f"table {table} stores its columns in the order {', '.join(order)}; put them back into it in the contract"
        )


def _spelled(field: Field) -> str:
    return f"{'an optional' if field.nullable else 'a required'} {field.type.to_json()}".replace('"', "")


def _stored(schema: pa.Schema) -> pa.Schema:
    """Return the schema that Delta records for a table. Rows of compacted files have no `observed_at`."""
    fields = [field.with_nullable(True) if field.name == clock.OBSERVED_AT else field for field in schema]
    return pa.schema([*fields, _MONTH])
