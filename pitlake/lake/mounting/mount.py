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

import pyarrow.parquet as parquet

from pitlake.contract import RESERVED, Column, Dataset
from pitlake.errors import BadInput
from pitlake.gate.rules import is_forbidden_key
from pitlake.lake.mounting import contract, source
from pitlake.lake.mounting.contract import Mount, MountedColumn
from pitlake.lake.mounting.files import IsText
from pitlake.lake.mounting.reading import MountReading
from pitlake.lake.mounting.source import ROW, Source
from pitlake.lake.publishing.publish import Published
from pitlake.lake.publishing.stage import Stage
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.storage.store import Store
from pitlake.times import INSTANTS, ISO, checked_form
from pitlake.times.sql import ColumnForm

ROLES = ("available_at", "valid_at", "until")
"""The options whose value is a column of times."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """The options of a mount. An option that is None keeps the value of the lake's contract.

    name: the dataset. key, available_at, not_before, valid_at, until: columns, by their name in the table or in the
    lake; with an empty key, each row is a record. The other options: see `Mount`.
    """

    name: str
    key: str | Sequence[str] | None = None
    available_at: str | None = None
    not_before: str | Sequence[str] | None = None
    valid_at: str | None = None
    until: str | None = None
    time_format: str | None = None
    midnights: str | None = None
    timezone: str | None = None
    lag: str | None = None
    trust_dates: bool | None = None
    partial: bool | None = None
    most_refused: float | None = None

    @property
    def key_columns(self) -> tuple[str, ...] | None:
        return _names(self.key)

    @property
    def plain(self) -> dict[str, Any]:
        """Return the options that are set and whose value is not a column."""
        names = ("time_format", "midnights", "timezone", "lag", "trust_dates", "partial", "most_refused")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def _names(columns: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return (columns,) if isinstance(columns, str) else None if columns is None else tuple(columns)


@dataclass(frozen=True, kw_only=True)
class Mounted:
    """The result of a mount.

    Attributes: mount: the contract. is_new: whether the contract was created from this table. version: the lake version
    that shows it. rows: the number of rows in the table. published: the number of rows that are new to the lake.
    unchanged: the number of rows that the lake already had. revisions: published rows with a date other than the
    table's. gaps: rows that could not be mounted, by reason. deleted: rows of the lake that the table no longer has.
    left_out: columns of the table that the contract does not list. later: the number of rows whose value in a column is
    later than the row's own instant.
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
    later: Mapping[str, int]


@dataclass(frozen=True)
class Doors:
    """The parts of a lake that a mount needs. progress: called with a message for people after each batch of rows."""

    store: Store
    now: Callable[[], datetime]
    stage: Callable[[Dataset, str], AbstractContextManager[Stage]]
    publish: Callable[[Stage, datetime], Published]
    files: Callable[[str], Sequence[DataFile]]
    progress: Callable[[str], None]


def mount_table(doors: Doors, table: Any, wish: Wish) -> Mounted:
    """Mount a path, a URL, a pair or a frame.

    Raises BadInput before anything is written, and the errors of publishing.
    """
    contract.check_name(wish.name)
    previous = contract.read(doors.store, wish.name)
    named_by: dict[str, str] | None = {} if wish.key_columns == () else None
    if previous is not None and previous.key == (ROW,):
        named_by = {
            mounted.source: mounted.column.type
            for mounted in previous.columns
            if mounted.source != ROW and (not previous.named_by or mounted.source in previous.named_by)
        }
    with source.opened(table, named_by=named_by, is_text=_stays_text(previous, wish)) as reader:
        its = _inferred(reader, wish) if previous is None else _agreed(reader, previous, wish)
        reading_of = MountReading(reader, its, doors.now())
        reading_of.check()
        return _publish(doors, reading_of, is_new=previous is None)


def _stays_text(previous: Mount | None, wish: Wish) -> IsText:
    """Return the columns of text files that are not parsed: strings of the contract, and keys that look like fractions
    or flags, such as the tickers T and F.
    """
    if previous is not None:
        texts = {mounted.source for mounted in previous.columns if mounted.column.type == "string"}
        return lambda name, _: name in texts
    keys = {contract.lake_name(name) for name in wish.key_columns or ()}
    return lambda name, kind: contract.lake_name(name) in keys and kind not in ("BIGINT", "DATE", "TIMESTAMP")


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
    columns: dict[str, Any] = {flag: _column(names, flag, getattr(wish, flag) or "") for flag in ROLES}
    columns["not_before"] = tuple(_column(names, "not_before", name) for name in _names(wish.not_before) or ())
    if wish.key is None:
        raise BadInput("key", "missing", f"name the columns that identify a row's subject, out of {', '.join(names)}")
    if wish.timezone:
        contract.known_zone(wish.timezone)
    columns["key"] = tuple(_column(names, "key", name) for name in wish.key_columns or (ROW,))
    types = {name: _type(reader, name, own, columns, wish) for name, own in names.items()}
    its = [MountedColumn(Column(own, types[name], ""), name) for name, own in names.items()]
    return Mount(
        name=wish.name,
        columns=tuple(its),
        named_by=() if wish.key_columns else tuple(name for name in names if name != ROW),
        **columns,
        **wish.plain,
    )


def _type(reader: Source, name: str, own: str, roles: Mapping[str, str], wish: Wish) -> str:
    """Return the lake's type of a column. A column that dates rows has times if it has clock times, otherwise days."""
    flag = next((flag for flag in ("available_at", "until") if own == roles[flag]), "")
    flag = "not_before" if own in roles["not_before"] else flag
    kind, form = reader.types[name], checked_form(wish.time_format) if wish.time_format else ISO
    is_time = kind == "DATE" or kind.startswith("TIMESTAMP")
    is_spelled = not is_time and form != ISO and own == roles["valid_at"]
    if not flag and not is_spelled:
        return "string" if own in roles["key"] and reader.is_finer_than_float(name) else reader.type_of(name)
    survey = None
    if is_time or kind == "VARCHAR" or form != ISO:
        survey = reader.survey(name, ColumnForm(kind, form, wish.timezone or "", reader.zones.get(name, "")))
    if survey is None or (survey.unreadable and not survey.days + survey.midnights + survey.clock_times):
        if is_spelled:
            return reader.type_of(name)
        examples = reader.examples(name)
        problem = f"{name} can't be read as times, such as {examples}" if examples else f"{name} has no value"
        next_step = "name a column of times, or their format with --time-format, such as %Y%m%d, %m/%d/%Y or epoch_ms"
        raise BadInput(flag, problem, next_step)
    has_instants = survey.has_clock or (wish.midnights == INSTANTS and kind != "DATE")
    if flag == "not_before" and kind != "DATE":
        has_instants |= not survey.days + survey.midnights  # An empty column may hold instants later.
    return "instant" if has_instants else "date"


def _column(names: Mapping[str, str], flag: str, name: str) -> str:
    """Return the lake's name of a column, given its name in the table or in the lake, in any case."""
    if not name or name in names.values():
        return name
    its_name = names.get(name, contract.lake_name(name))
    if its_name not in names.values():
        next_step = f"its columns are {', '.join(names)}"
        if all(re.fullmatch(r"column\d+|.*[,;|\t].*", each) for each in names):  # DuckDB found no header line.
            next_step += "; begin the file with a line of names, and give every line as many fields"
        raise BadInput(flag, f"the table has no column {name!r}", next_step)
    return its_name


def _agreed(reader: Source, previous: Mount, wish: Wish) -> Mount:
    """Check the lake's contract against the user's options and the table, and return it."""
    place = contract.key_of(previous.name)
    names = {mounted.source: mounted.column.name for mounted in previous.columns}
    if missing := [name for name in names if name not in reader.types]:
        problem = f"the table has no column {', '.join(map(repr, missing))}"
        its_columns = ", ".join(reader.types)
        raise BadInput("columns", problem, f"its columns are {its_columns}; the contract is {place} in the lake")
    wished: dict[str, Any] = {
        flag: _column(names, flag, value) for flag in ROLES if (value := getattr(wish, flag)) is not None
    }
    if wish.not_before is not None:
        wished["not_before"] = tuple(_column(names, "not_before", name) for name in _names(wish.not_before) or ())
    if wish.key_columns is not None:
        wished["key"] = tuple(_column(names, "key", name) for name in wish.key_columns or (ROW,))
    for flag, value in (wished | wish.plain).items():
        if value != (its_own := getattr(previous, flag)):
            text = ", ".join(its_own) if isinstance(its_own, tuple) else its_own
            problem = f"{previous.name} is mounted with {text or 'none'}"
            raise BadInput(flag, problem, f"leave it out, edit {place} in the lake, or choose another name")
    return previous


def _publish(doors: Doors, table: MountReading, *, is_new: bool) -> Mounted:
    mount, place = table.mount, contract.key_of(table.mount.name)
    label = re.sub(r"[^A-Za-z0-9_.-]+", "-", table.source.label)[:60]
    run_id = f"mount-{label}-{table.source.digest[:16] or 'memory'}-{uuid4().hex[:8]}"
    with doors.stage(mount.dataset, run_id) as stage:
        files = doors.files(mount.name)
        # The contract must have every column that the lake stores, with the same type.
        types = {field.name: field.type for field in mount.dataset.arrow_schema}
        for field in parquet.read_schema(files[-1].path) if files else ():
            its_type = types.get(field.name, "no such column")
            if its_type != field.type:
                problem = f"the lake stores {field.name} as {field.type}, and the contract has {its_type}"
                raise BadInput("columns", problem, f"change {place} back, or mount the table under another name")
        table.stage_into(stage, doors.progress)
        deletions = table.deletions(stage.load(), files)
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
        later = table.later_values()
        gaps = Counter(published.staged.gaps["reason"].to_pylist())
    gaps.pop(contract.DELETED.reason, None)
    return Mounted(
        mount=mount,
        is_new=is_new,
        version=published.version,
        rows=table.rows,
        published=published.total.published,
        unchanged=published.total.unchanged,
        revisions=published.revisions,
        gaps=dict(gaps),
        deleted=len(deletions),
        left_out=tuple(sorted(set(table.source.types) - {mounted.source for mounted in mount.columns})),
        later=later,
    )
