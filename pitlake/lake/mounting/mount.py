"""Mounting a table: its rows become rows and gaps of its dataset, and each mount is a poll of its source.

All checks of the table as a whole run before anything is staged. DuckDB types and dates the rows, and they are staged a
batch at a time, so that a table may be larger than memory.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pitlake.clock import AVAILABLE_AT, iso
from pitlake.contract import BASIS, OBSERVED, RESERVED, SOURCE_DATE, Column, Dataset
from pitlake.datasets._shared import FUTURE
from pitlake.errors import BadInput
from pitlake.gate.rules import is_forbidden_key
from pitlake.lake.mounting import contract, source
from pitlake.lake.mounting.contract import Mount, MountedColumn
from pitlake.lake.mounting.files import IsText
from pitlake.lake.mounting.source import ROW, Source
from pitlake.lake.publishing.match_keys import Hashes, repeated
from pitlake.lake.publishing.publish import Published
from pitlake.lake.publishing.stage import Stage, Staged, StagedGap, staged_schema
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.query import columns, quoted, reading

AT_ONCE = 122_880
"""The number of rows in a batch: as many as DuckDB reads from a file at once."""
EXAMPLES = 3
REASON = "reason of gap"
GAP, CONTENT = quoted(REASON), quoted("hash of content")
"""Names that no column of a lake can have."""
REAL = ("FLOAT", "DOUBLE")
UNSET = "TIMESTAMPTZ '0002-01-01 00:00:00+00'"
"""Many programs write the first day of the calendar for a missing time, so a time of the first year does not count."""


def _day(day: str, condition: str = "true") -> str:
    """SQL for a day of Python's calendar; null for other days, and if the condition does not hold."""
    return f"CASE WHEN {condition} AND {_is_in_calendar(day, 'DATE')} THEN {day} END"


def _is_in_calendar(value: str, kind: str) -> str:
    at = "" if kind == "DATE" else " 00:00:00+00"
    return f"{value} >= {kind} '0001-01-01{at}' AND {value} < {kind} '{source.AFTER_CALENDAR}{at}'"


TYPED = {
    ("date", "text"): _day("try_cast({0} AS DATE)", r"regexp_full_match(trim({0}), '\d+-\d\d-\d\d')"),
    ("date", "time"): _day("{0}::DATE", "{0}::DATE::TIMESTAMP = {0}::TIMESTAMP"),
    ("date", ""): _day("try_cast({0} AS DATE)"),
    ("int", "text"): r"CASE WHEN regexp_full_match(trim({0}), '[+-]?\d+(\.0*)?') THEN try_cast({0} AS BIGINT) END",
    ("int", "real"): "CASE WHEN {0} = trunc({0}) THEN try_cast({0} AS BIGINT) END",
    ("int", ""): "try_cast({0} AS BIGINT)",
    ("float", ""): "CASE WHEN NOT isnan(try_cast({0} AS DOUBLE)) THEN try_cast({0} AS DOUBLE) END",
    ("bool", ""): "try_cast({0} AS BOOLEAN)",
    ("json", "text"): "CASE WHEN json_valid({0}) THEN {0} END",
    ("json", ""): "to_json({0})::VARCHAR",
    ("strings", ""): "try_cast({0} AS VARCHAR[])",
    ("vector", ""): "try_cast({0} AS FLOAT[])",
}
"""SQL that converts a value to a type of the lake, by that type and by the kind of the source column."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """The options of a mount. An option that is None keeps the value of the lake's contract.

    name: the dataset. key, available_at, valid_at: columns, by their name in the table or in the lake; with an empty
    key, each row is its own record. timezone, lag, partial: see `Mount`.
    """

    name: str
    key: Sequence[str] | None = None
    available_at: str | None = None
    valid_at: str | None = None
    timezone: str | None = None
    lag: str | None = None
    partial: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Mounted:
    """The result of a mount.

    Attributes: mount: the contract. is_new: whether the contract was created from this table. version: the lake version
    that shows it. rows: the number of rows in the table. published: the number of rows that are new to the lake;
    unchanged: the number of rows that the lake already had. revisions: published rows with another date than in the
    table. gaps: rows that could not be mounted, by reason. deleted: rows of the lake that the table no longer has.
    left_out: columns of the table that the contract does not list.
    """

    mount: Mount
    is_new: bool
    version: int
    rows: int
    published: int
    unchanged: int
    revisions: int
    gaps: Mapping[str, int]
    deleted: int
    left_out: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Doors:
    """The parts of a lake that a mount needs."""

    store: Store
    now: Callable[[], datetime]
    stage: Callable[[Dataset, str], AbstractContextManager[Stage]]
    publish: Callable[[Stage, datetime], Published]
    files: Callable[[str], Sequence[DataFile]]


def mount_table(doors: Doors, table: Any, wish: Wish) -> Mounted:
    """Mount a path, a URL, a pair or a frame.

    Raises BadInput before anything is written, and the errors of publishing.
    """
    contract.check_name(wish.name)
    previous = contract.read(doors.store, wish.name)
    with source.opened(table, with_names=wish.key == (), is_text=_stays_text(previous, wish)) as reader:
        its = _inferred(reader, wish) if previous is None else _agreed(reader, previous, wish)
        reading_of = MountReading(reader, its, doors.now())
        reading_of.check()
        return _publish(doors, reading_of, is_new=previous is None)


def _stays_text(previous: Mount | None, wish: Wish) -> IsText:
    """Return the columns of text files that are not parsed: texts of the contract, and keys that look like fractions or
    flags, such as the tickers T and F.
    """
    if previous is not None:
        texts = {mounted.source for mounted in previous.columns if mounted.column.type == "string"}
        return lambda name, _: name in texts
    keys = {contract.lake_name(name) for name in wish.key or ()}
    return lambda name, kind: contract.lake_name(name) in keys and kind not in ("BIGINT", "DATE")


def _inferred(reader: Source, wish: Wish) -> Mount:
    names: dict[str, str] = {}
    instant_column = wish.available_at or ""
    for name in reader.types:
        its_name = contract.lake_name(name, names.values())
        if its_name in RESERVED and instant_column in (name, its_name):
            its_name = contract.lake_name(contract.STATED, names.values())
        if its_name in RESERVED or is_forbidden_key(its_name):
            problem = f"{name} is a reserved column name"
            raise BadInput("columns", problem, "rename it in the table")
        names[name] = its_name
    columns = {flag: _column(names, flag, getattr(wish, flag) or "") for flag in ("available_at", "valid_at")}
    if wish.key is None:
        raise BadInput("key", "missing", f"name the columns that identify a row's subject, out of {', '.join(names)}")
    types = {name: _type(reader, name, is_stated=own == columns["available_at"]) for name, own in names.items()}
    its = [MountedColumn(Column(name=own, type=types[name], meaning=""), name) for name, own in names.items()]
    return Mount(
        name=wish.name,
        columns=tuple(its),
        key=tuple(_column(names, "key", name) for name in wish.key or (ROW,)),
        timezone=wish.timezone or "",
        lag=wish.lag or "",
        partial=bool(wish.partial),
        **columns,
    )


def _type(reader: Source, name: str, *, is_stated: bool) -> str:
    return "instant" if is_stated and reader.types[name] == "VARCHAR" else reader.type_of(name)


def _column(names: Mapping[str, str], flag: str, name: str) -> str:
    """Return the lake's name of a column, given its name in the table or in the lake."""
    if not name or name in names.values():
        return name
    if name not in names:
        raise BadInput(flag, f"the table has no column {name!r}", f"its columns are {', '.join(names)}")
    return names[name]


def _agreed(reader: Source, previous: Mount, wish: Wish) -> Mount:
    """Return the lake's contract after checking it against the user's options and the table."""
    place = contract.key_of(previous.name)
    names = {mounted.source: mounted.column.name for mounted in previous.columns}
    if missing := [name for name in names if name not in reader.types]:
        problem = f"the table has no column {', '.join(map(repr, missing))}"
        its_columns = ", ".join(reader.types)
        raise BadInput("columns", problem, f"its columns are {its_columns}; the contract is {place} in the lake")
    wished: dict[str, Any] = {flag: getattr(wish, flag) for flag in ("timezone", "lag", "partial")}
    wished |= {
        flag: None if value is None else _column(names, flag, value)
        for flag, value in (("available_at", wish.available_at), ("valid_at", wish.valid_at))
    }
    wished["key"] = None if wish.key is None else tuple(_column(names, "key", name) for name in wish.key)
    for flag, value in wished.items():
        if value is not None and value != getattr(previous, flag):
            problem = f"{previous.name} is mounted with {getattr(previous, flag) or 'none'}"
            raise BadInput(flag, problem, f"leave it out, edit {place} in the lake, or choose another name")
    return previous


@dataclass(frozen=True)
class MountReading:
    """A table read by its contract, at the instant of a mount."""

    source: Source
    mount: Mount
    observed_at: datetime

    def check(self) -> None:
        """Raise BadInput if the table as a whole is invalid."""
        zoneless = [
            mounted.source
            for mounted in self.mount.columns
            if not self.mount.timezone and mounted.column.type == "instant" and self.source.lacks_zone(mounted.source)
        ]
        if zoneless:
            problem = f"{', '.join(zoneless)} has timestamps without a time zone"
            raise BadInput("timezone", problem, "name the zone they are in, such as America/New_York or UTC")
        readable = f"SELECT 1 FROM ({self.sql}) WHERE {GAP} IS NULL LIMIT 1"
        if not self.source.connection.sql(readable).fetchall():
            reasons = "; ".join(f"{count:,} rows: {reason}" for reason, count in self._reasons())
            next_step = "name other columns for the key and the knowledge time, or write dates as 2024-02-15"
            raise BadInput("the table", f"no row can be mounted ({reasons})", next_step)
        self._refuse_two_contents()

    def _refuse_two_contents(self) -> None:
        instant = f", {AVAILABLE_AT}" if self.mount.available_at else ""
        by = f"{columns(self.mount.key)}{instant}"
        content = ", ".join(quoted(mounted.column.name) for mounted in self.mount.columns)
        suspects = self._stated_several_times(by, content)
        if not len(suspects):
            return
        self.source.connection.register("suspects", pa.table({"suspect": suspects}))
        examples = self.source.connection.sql(
            f"SELECT any_value(evidence) FROM (SELECT {by}, evidence, hash({content}) AS {CONTENT} FROM ({self.sql}) "
            f"WHERE {GAP} IS NULL AND hash({by}) IN (FROM suspects)) "
            f"GROUP BY {by} HAVING min({CONTENT}) <> max({CONTENT}) LIMIT {EXAMPLES}"
        ).fetchall()
        if examples:
            of = " and known at the same time" if self.mount.available_at else ""
            problem = f"rows with the same key{of} differ, such as {', '.join(text for (text,) in examples)}"
            raise BadInput("key", problem, "name more columns, or the column with the times at which rows became known")

    def _stated_several_times(self, by: str, content: str) -> Hashes:
        """Return the hashes of these columns that occur with several contents. Grouping by the columns themselves takes
        several times as long, and most tables have no such rows.
        """
        text = f"SELECT hash({by}) AS statement, hash({content}) AS content FROM ({self.sql}) WHERE {GAP} IS NULL"
        batches = [*self.source.connection.sql(text).to_arrow_reader(AT_ONCE)]
        statements, contents = (np.concatenate([batch[place].to_numpy() for batch in batches]) for place in range(2))
        places = repeated(statements)
        places = places[np.argsort(statements[places])]
        first, second = places[:-1], places[1:]
        is_suspect = (statements[first] == statements[second]) & (contents[first] != contents[second])
        return np.unique(statements[first][is_suspect])

    def _reasons(self) -> list[tuple[str, int]]:
        text = f"SELECT {GAP}, count(*) FROM ({self.sql}) WHERE {GAP} IS NOT NULL GROUP BY ALL ORDER BY 2 DESC, 1"
        return self.source.connection.sql(text).fetchall()

    @property
    def sql(self) -> str:
        """Return SQL for the staged columns of every row, and for the type and reason of its gap, if any."""
        mount = self.mount
        typed = ", ".join(f"{self._typed(mounted)} AS {quoted(mounted.column.name)}" for mounted in mount.columns)
        raw = ", ".join(
            f"{quoted(mounted.source)} AS {quoted(f'raw of {mounted.column.name}')}" for mounted in mount.columns
        )
        observed = f"'{iso(self.observed_at)}'::TIMESTAMPTZ"
        if mount.available_at:
            at = next(mounted for mounted in mount.columns if mounted.column.name == mount.available_at)
            seconds = int(mount.delay.total_seconds())
            observed = source.instant(self.source, at.source, mount.zone)
            observed = f"nullif(greatest({observed}, {UNSET}), {UNSET})"
            observed += f" + to_seconds({seconds})" if seconds else ""
        name = " || '/' || ".join(f"coalesce({quoted(column)}::VARCHAR, '')" for column in mount.key)
        no_key = " OR ".join(f"{quoted(column)} IS NULL" for column in mount.key)
        evidence = f"'{mount.name}#' || {name} || if({no_key}, '~' || md5({self._raw_names}), '')"
        basis = SOURCE_DATE if mount.available_at else OBSERVED
        return (
            f"SELECT *, {evidence} AS evidence, {self._gap(no_key)} AS {GAP}, '{basis}' AS {BASIS}, "
            f"'provider_metadata' AS available_at_source FROM "
            f"(SELECT {typed}, {raw}, {observed} AS {AVAILABLE_AT} FROM {self.source.rows})"
        )

    @property
    def _raw_names(self) -> str:
        return " || ';' || ".join(
            f"coalesce({quoted(f'raw of {mounted.column.name}')}::VARCHAR, '')" for mounted in self.mount.columns
        )

    def _gap(self, no_key: str) -> str:
        """SQL for the reason of a row's gap; null for a row that can be mounted."""
        its_columns = [mounted for mounted in self.mount.columns if mounted.column.name != self.mount.available_at]
        unreadable = {mounted.column.name: self._is_unreadable(mounted) for mounted in its_columns}
        cases = [(unreadable.pop(name), contract.UNREADABLE.format(name)) for name in self.mount.key]
        cases.append((no_key, contract.NO_KEY.reason))
        instant_column = self.mount.available_at
        if instant_column:
            cases += [
                (f"{quoted(f'raw of {instant_column}')} IS NULL", contract.NO_TIME.reason),
                (f"{AVAILABLE_AT} > '{iso(self.observed_at)}'::TIMESTAMPTZ", FUTURE.reason),
                (f"{AVAILABLE_AT} IS NULL OR {quoted(instant_column)} IS NULL", contract.BAD_TIME.reason),
            ]
        cases += [(when, contract.UNREADABLE.format(name)) for name, when in unreadable.items()]
        return "CASE " + " ".join(f"WHEN {when} THEN '{reason}'" for when, reason in cases) + " END"

    def _is_unreadable(self, mounted: MountedColumn) -> str:
        """SQL for whether a column's value does not fit; NaN is null."""
        name, raw = mounted.column.name, quoted(f"raw of {mounted.column.name}")
        nan = f" AND NOT isnan({raw})" if self.source.types[mounted.source] in REAL else ""
        return f"{raw} IS NOT NULL AND {quoted(name)} IS NULL{nan}"

    def _typed(self, mounted: MountedColumn) -> str:
        """SQL for a column's value in the lake's type; null for a value that does not fit."""
        name, kind = quoted(mounted.source), self.source.types[mounted.source]
        if mounted.column.type == "instant":
            at = source.instant(self.source, mounted.source, self.mount.zone)
            return f"CASE WHEN {_is_in_calendar(at, 'TIMESTAMPTZ')} THEN {at} END"
        if kind == "TIMESTAMPTZ_NS":  # DuckDB casts it to no other type of time.
            name = f"{name}::TIMESTAMPTZ"
        family = "text" if kind == "VARCHAR" else "time" if kind.startswith("TIMESTAMP") else "other"
        family = "real" if kind in REAL or kind.startswith("DECIMAL") else family
        typed = TYPED.get((mounted.column.type, family)) or TYPED.get((mounted.column.type, ""), "{0}::VARCHAR")
        return typed.format(name)

    def stage_into(self, stage: Stage) -> int:
        """Stage every row as a row or a gap; returns the number of rows."""
        schema, count = staged_schema(self.mount.dataset), 0
        chosen = f"SELECT {columns(schema.names)}, {GAP} FROM ({self.sql})"
        for batch in self.source.connection.sql(chosen).to_arrow_reader(AT_ONCE):
            table = pa.Table.from_batches([batch])
            is_row = pc.is_null(table[REASON])
            others = table.select((REASON, "evidence")).filter(pc.invert(is_row)).to_pylist()
            gaps = [StagedGap(_type_of_gap(row[REASON]), row[REASON], row["evidence"]) for row in others]
            rows = (table.filter(is_row) if gaps else table).select(schema.names).cast(schema)
            stage.add(None, rows, gaps, extracted=table.num_rows)
            count += table.num_rows
        return count

    def deletions(self, staged: Staged, files: Sequence[DataFile]) -> list[StagedGap]:
        """Return a gap for each row of the lake that was removed from the table. staged: the rows of the table."""
        if self.mount.partial or not files:
            return []
        others = staged.compared(tuple(files), self.observed_at).others
        if not len(others):
            return []
        names = columns(self.mount.dataset.identity)
        instant_column = quoted(self.mount.available_at) if self.mount.available_at else ""
        at = f" || '@' || {instant_column}::VARCHAR" if instant_column else ""
        self.source.connection.register("others", pa.table({"content_hash": others}))
        self.source.connection.execute(
            f"CREATE TABLE other AS SELECT DISTINCT evidence, {names} FROM {reading(files)} "
            "SEMI JOIN others USING (content_hash)"
        )
        gone = self.source.connection.sql(
            f"SELECT evidence{at} FROM other ANTI JOIN (SELECT {names} FROM ({self.sql})) USING ({names}) ORDER BY 1"
        ).fetchall()
        return [StagedGap(contract.DELETED.type, contract.DELETED.reason, locator) for (locator,) in gone]


def _type_of_gap(reason: str) -> str:
    return FUTURE.type if reason == FUTURE.reason else contract.NO_TIME.type


def _publish(doors: Doors, table: MountReading, *, is_new: bool) -> Mounted:
    mount, place = table.mount, contract.key_of(table.mount.name)
    with doors.stage(mount.dataset, _run_id(table.source)) as stage:
        rows = table.stage_into(stage)
        deletions = table.deletions(stage.load(), doors.files(mount.name))
        stage.add(None, None, deletions, extracted=len(deletions))
        if not mount.partial:
            stage.cover()
        if is_new and not doors.store.put_new(place, contract.spell(mount)):
            raise BadInput("name", f"another table was mounted as {mount.name} just now", "choose another name")
        try:
            published = doors.publish(stage, table.observed_at)
        except BaseException:
            if is_new:
                doors.store.delete(place)
            raise
        gaps = Counter(published.staged.gaps["reason"].to_pylist())
    gaps.pop(contract.DELETED.reason, None)
    return Mounted(
        mount=mount,
        is_new=is_new,
        version=published.version,
        rows=rows,
        published=published.total.published,
        unchanged=published.total.unchanged,
        revisions=published.revisions,
        gaps=dict(gaps),
        deleted=len(deletions),
        left_out=tuple(sorted(set(table.source.types) - {mounted.source for mounted in mount.columns})),
    )


def _run_id(reader: Source) -> str:
    label = re.sub(r"[^A-Za-z0-9_.-]+", "-", reader.label)[:60]
    return f"mount-{label}-{reader.digest[:16] or 'memory'}-{uuid4().hex[:8]}"
