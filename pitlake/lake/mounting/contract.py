"""The contract of a mounted table, stored in the lake as a small TOML file that people may edit, and its dataset.

The knowledge column says when a row became known. Each such instant of a key is a separate statement, and the latest is
shown. In a table without that column, each key has one row, which is known since it was first read.
"""

import json
import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from datetime import timedelta
from functools import cache, cached_property
from typing import Any
from zoneinfo import ZoneInfo

from pitlake.contract import NAME, TYPES, Column, Dataset, GapRule, is_column_name
from pitlake.datasets import all_datasets
from pitlake.datasets._shared import FUTURE
from pitlake.errors import BadInput
from pitlake.lake.storage.store import Store
from pitlake.times import MIDNIGHTS, checked_form

FOLDER = "_lake/mounts"
STATED = "source_available_at"
"""The lake's name for a knowledge column whose own name is taken."""
DEFAULT_ZONE = "America/New_York"
TAKEN = frozenset({"gaps", "lake_info", "as_of", "now", "main", "lake", "system", "temp", "receipt"})
"""Names reserved by sessions and copies."""
SUFFIXES = ("_revisions", "_words", "_unindexed", "_files", "_size")
NO_KEY = GapRule(type="unverifiable", reason="a key column is null", when="a column of the key is null")
NO_TIME = GapRule(type="unverifiable", reason="no knowledge time", when="the knowledge column is null")
BAD_TIME = GapRule(
    type="unverifiable",
    reason="the knowledge time is unreadable",
    when="the knowledge column holds text that is neither a date nor a timestamp, or infinity",
)
UNSET_TIME = GapRule(
    type="unverifiable",
    reason="the knowledge time is unset",
    when="the knowledge column has what programs write for a missing time, such as 1970-01-01, 1900-01-01 or 9999",
)
UNREADABLE = "{} is unreadable"
DELETED = GapRule(
    type="no_data",
    reason="no longer in the table",
    when="a later mount does not contain the row; its earlier revisions stay",
)
MOST_REFUSED = 0.01
KINDS: dict[str, type] = {"trust_dates": bool, "partial": bool, "most_refused": float}
_LISTS = ("columns", "key", "not_before", "named_by")
_MEANINGS = {False: "The value as the source table has it.", True: "The business date of the row."}
_LAG = re.compile(r"(\d{1,6}) ?(second|minute|hour|day|week)s?")
_EDIT = "edit the file, or remove it and mount the table again"
HEAD = """\
# The contract of a mounted table. You may edit titles, meanings, units and limits, and add columns of the table. Do not
# remove columns or change available_at, not_before, until, key, named_by, time_format, timezone, lag: they date and
# identify the rows."""


@dataclass(frozen=True)
class MountedColumn:
    """A column and its name in the source table."""

    column: Column
    source: str


@dataclass(frozen=True, kw_only=True)
class Mount:
    """The content of a contract's file.

    Attributes:
        available_at: the column that says when a row became known; "" if there is none.
        key: the columns that identify what a row is about; the latest statement of a key is shown.
        valid_at: the column with the business date of a row.
        timezone: the zone of timestamps without one, and of days; "" for days in New York and no such timestamps.
        lag: the delay after `available_at`, such as "1 day".
        not_before: more columns of times before which a row was not known, such as an end or an edit.
        named_by: for a table without a key, the columns whose content names a row, by their name in the table.
        until: the column with the end of a row's validity. The row is one statement at its start, without that end, and
        a second one at its end.
        time_format: the format of strings and numbers in the columns of times; "" for ISO-8601.
        midnights: whether midnights among other clock times are days (`end`) or `instants`; "" if there are none.
        most_refused: the largest share of rows that may be gaps.
        trust_dates: whether a row that an earlier mount lacked takes effect at its own date, if that is later than this
        mount. Without an earlier mount, or in a partial table, a row always takes effect at its own date.
        partial: whether the table has only a part of the data, so that missing rows prove nothing.
    """

    name: str
    columns: tuple[MountedColumn, ...]
    key: tuple[str, ...]
    title: str = ""
    summary: str = ""
    available_at: str = ""
    valid_at: str = ""
    timezone: str = ""
    lag: str = ""
    not_before: tuple[str, ...] = ()
    named_by: tuple[str, ...] = ()
    until: str = ""
    time_format: str = ""
    midnights: str = ""
    trust_dates: bool = False
    partial: bool = False
    most_refused: float = MOST_REFUSED

    def __post_init__(self) -> None:
        types = {mounted.column.name: mounted.column.type for mounted in self.columns}
        names = [mounted.column.name for mounted in self.columns]
        for what, column in (
            ("available_at", self.available_at),
            ("valid_at", self.valid_at),
            *(("not_before", column) for column in self.not_before),
            ("until", self.until),
        ):
            if column and column not in names:
                raise BadInput(what, f"there is no column {column!r}", f"the columns are {', '.join(names)}")
        for column in self.key:
            if column not in names:
                raise BadInput("key", f"there is no column {column!r}", f"the columns are {', '.join(names)}")
            if types[column] in ("strings", "vector"):
                raise BadInput("key", f"{column} holds lists", "name columns of text, numbers or dates")
        if not self.key:
            raise BadInput("key", "names no column", "name the columns that identify the subject of a row")
        if self.until and (not self.available_at or self.until in (self.available_at, *self.key)):
            next_step = "name a column with the end of each row, and the column with its start with --available-at"
            raise BadInput("until", f"{self.until} can't be the end of rows", next_step)
        if self.not_before and (not self.available_at or {self.available_at, self.until} & {*self.not_before}):
            next_step = "name columns of times other than --available-at"
            raise BadInput("not_before", f"{', '.join(self.not_before)} can't delay rows", next_step)
        if self.midnights not in ("", *MIDNIGHTS):
            raise BadInput("midnights", f"there is no choice {self.midnights!r}", f"choose {' or '.join(MIDNIGHTS)}")
        if not 0 <= self.most_refused <= 1:
            raise BadInput("most_refused", f"{self.most_refused} is not a share", "give a share from 0 to 1")
        if self.time_format:
            checked_form(self.time_format)
        self.zone  # noqa: B018 - raises
        self.delay  # noqa: B018 - raises
        self.dataset  # noqa: B018 - raises

    @cached_property
    def zone(self) -> str:
        """Return the time zone of days. Raises BadInput for an unknown zone."""
        return known_zone(self.timezone or DEFAULT_ZONE)

    @cached_property
    def delay(self) -> timedelta:
        """Return the lag. Raises BadInput if it can't be parsed."""
        if not self.lag:
            return timedelta(0)
        parts = _LAG.fullmatch(self.lag.strip().lower())
        if parts is None:
            raise BadInput("lag", f"{self.lag!r} is not a duration", 'give a duration such as "1 day" or "90 minutes"')
        return timedelta(**{f"{parts[2]}s": int(parts[1])})

    @property
    def dating(self) -> tuple[str, ...]:
        """Return the columns that say when a row became known. The latest of their times applies."""
        return (self.available_at, *self.not_before) if self.available_at else ()

    @cached_property
    def dataset(self) -> Dataset:
        """Return the contract of the dataset. Raises BadInput."""
        times = (NO_TIME, UNSET_TIME, BAD_TIME, FUTURE) if self.available_at else ()
        unreadable = (
            GapRule(type="unverifiable", reason=UNREADABLE.format(name), when=f"a value in `{name}` has the wrong type")
            for name in (mounted.column.name for mounted in self.columns)
            if name != self.available_at or name in self.key
        )
        required_names = (*self.key, self.available_at)
        try:
            columns = tuple(
                replace(
                    column,
                    meaning=column.meaning or _MEANINGS[column.name == self.valid_at],
                    required=column.name in required_names,
                )
                for column in (mounted.column for mounted in self.columns)
            )
            return Dataset(
                name=self.name,
                title=self.title or f"Mounted table {self.name}",
                summary=self.summary or "A table that was mounted in this lake.",
                availability=self._availability(),
                columns=columns,
                key=self.key,
                entity=self.key[0],
                identity=tuple(dict.fromkeys((*self.key, *self.dating, *((self.until,) if self.until else ())))),
                # Another row of a key proves nothing about a row that a partial table lacked.
                thing=() if self.partial else self.key,
                newer_by=self.dating[:1],
                trusts_dates=self.trust_dates,
                source_tag="provider_metadata",
                gap_rules=(NO_KEY, *times, DELETED, *unreadable),
                group="mounted",
                lane=2,
                partitioned=False,
                most_refused=self.most_refused,
            )
        except ValueError as error:
            raise BadInput("the contract", str(error).partition(": ")[2], _EDIT) from None

    def _availability(self) -> str:
        if not self.available_at:
            return "When the lake first read the row: the table does not say when it became known."
        lag = f" and {self.lag}" if self.lag else ""
        columns = [f"`{name}`" for name in self.dating]
        known_at = f"The latest of {' and '.join(columns)}" if self.not_before else columns[0]
        ends = f"The end of a row, `{self.until}`, is shown from that end on. " if self.until else ""
        later = "that an earlier mount would have contained" if self.trust_dates else "that an earlier mount lacked"
        return (
            f"{known_at}{lag}; a date is available at its end in {self.zone}. {ends}"
            f"A row {later} is available from the mount that first read it."
        )


def known_zone(name: str) -> str:
    """Return the name of a time zone. Raises BadInput if there is no such zone."""
    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        next_step = "give a time zone such as Europe/Berlin or UTC"
        raise BadInput("timezone", f"there is no time zone {name!r}", next_step) from None
    return name


def check_name(name: str) -> None:
    """Raise BadInput if a mounted table can't have this name."""
    if not NAME.fullmatch(name):
        raise BadInput("name", f"{name!r} is not a lower-case SQL name", "use letters, digits and underscores")
    if name in all_datasets():
        raise BadInput("name", f"{name} is the name of a dataset of pitlake", "choose another name")
    if name in TAKEN or name.endswith(SUFFIXES):
        raise BadInput("name", f"{name} is a name that sessions use", "choose another name")


def lake_name(source: str, names: Collection[str] = ()) -> str:
    """Return the lake's name for a table's column. names: names already used. Raises BadInput.

    Letters of every alphabet are kept in one form, because an accent may be a separate character in the table.
    """
    text = unicodedata.normalize("NFKC", source).lower()
    name = re.sub("_+", "_", "".join(each if f"a{each}".isidentifier() else "_" for each in text)).strip("_")
    name = name if is_column_name(name) else f"c_{name}"
    if name in names:
        raise BadInput("columns", f"two columns would be called {name}", "rename one of them")
    return name


def key_of(name: str) -> str:
    """Return the key of a contract's file in the lake."""
    return f"{FOLDER}/{name}.toml"


def spell(mount: Mount) -> bytes:
    """Return a mount as the content of a contract's file."""
    texts = (
        "name",
        "title",
        "summary",
        "available_at",
        "valid_at",
        "until",
        "time_format",
        "midnights",
        "timezone",
        "lag",
    )
    lines = [HEAD, *(f"{name} = {_text(value)}" for name in texts if (value := getattr(mount, name)))]
    lists = {name: getattr(mount, name) for name in _LISTS[1:]}
    lines += [f"{name} = [{', '.join(map(_text, names))}]" for name, names in lists.items() if names]
    lines += [f"{name} = true" for name in ("trust_dates", "partial") if getattr(mount, name)]
    lines += [f"most_refused = {mount.most_refused}"] if mount.most_refused != MOST_REFUSED else []
    for mounted in mount.columns:
        lines += ["", "[[columns]]", f"name = {_text(mounted.column.name)}", f"type = {_text(mounted.column.type)}"]
        lines += [f"source = {_text(mounted.source)}"] if mounted.source != mounted.column.name else []
        lines += [
            f"{name} = {_text(value)}" for name in ("unit", "meaning") if (value := getattr(mounted.column, name))
        ]
    return ("\n".join(lines) + "\n").encode()


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@cache
def parse(content: bytes, place: str) -> Mount:
    """Parse a contract's file. Raises BadInput with the file and the field."""
    try:
        facts = tomllib.loads(content.decode())
        columns = [_column(number, column) for number, column in enumerate(_checked(facts, "columns", list), 1)]
        key = _checked(facts, "key", list)
        lists = {name: tuple(_checked(facts, name, list)) for name in _LISTS[2:] if name in facts}
        options = {option.name: option for option in fields(Mount) if option.name not in _LISTS}
        _refuse_others(facts, (*options, *_LISTS))
        option_values = {
            name: _checked(facts, name, KINDS.get(name, str))
            for name, option in options.items()
            if name in facts or option.default is MISSING
        }
        return Mount(columns=tuple(columns), key=tuple(key), **lists | option_values)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(place, f"is not TOML: {error}", _EDIT) from None
    except BadInput as error:
        raise BadInput(place, f"{error.field}: {error.problem}", error.next_step or _EDIT) from None


def _column(number: int, facts: Any) -> MountedColumn:
    if not isinstance(facts, dict):
        raise BadInput(f"column {number}", "is not a table", "write [[columns]] above its lines")
    allowed = {attribute.name for attribute in fields(Column)} - {"required", "proof"}
    _refuse_others(facts, (*allowed, "source"))
    name, kind = _checked(facts, "name", str), _checked(facts, "type", str)
    if kind not in TYPES:
        raise BadInput(f"type of {name}", f"there is no type {kind!r}", f"choose one of {', '.join(TYPES)}")
    texts = {text: _checked(facts, text, str) for text in ("meaning", "unit", "pattern") if text in facts}
    limits = {limit: facts[limit] for limit in ("minimum", "maximum", "strict") if limit in facts}
    values = tuple(_checked(facts, "values", list)) if "values" in facts else ()
    column = Column(**{"meaning": "", **texts, **limits, "name": name, "type": kind, "values": values})
    return MountedColumn(column=column, source=_checked(facts, "source", str) if "source" in facts else name)


def _checked(facts: Mapping[str, Any], name: str, kind: type) -> Any:
    value = facts.get(name)
    if not isinstance(value, kind):
        raise BadInput(name, "missing" if value is None else f"{value!r} is not a {kind.__name__}")
    return value


def _refuse_others(facts: Mapping[str, Any], allowed: Iterable[str]) -> None:
    for name in sorted(set(facts) - set(allowed)):
        raise BadInput(name, "is not a field of a contract", f"the fields are {', '.join(sorted(allowed))}")


def read(store: Store, name: str) -> Mount | None:
    """Return the contract of a mounted table; None if there is no table of this name. Raises BadInput, LakeError."""
    if not store.exists(key_of(name)):
        return None
    mount = parse(store.read(key_of(name)), f"{store.location}/{key_of(name)}")
    if mount.name != name:
        raise BadInput(key_of(name), f"names the table {mount.name!r}", f"write {name!r}, or rename the file")
    return mount


def read_all(store: Store, tables: Iterable[str]) -> dict[str, Dataset]:
    """Return the contracts of the mounted tables among a lake version's tables. Raises BadInput, LakeError."""
    names = {table.rpartition("/")[2] for table in tables} - all_datasets().keys()
    mounts = {name: read(store, name) for name in sorted(names)}
    return {name: mount.dataset for name, mount in mounts.items() if mount is not None}
