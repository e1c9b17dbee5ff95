"""The dataset contract, from which a dataset's schema, gate, view, checks and dictionary page are derived.

The contracts are in pitlake/datasets, one file per dataset.
"""

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import date, timedelta
from functools import cached_property
from string import Formatter

import pyarrow as pa

from pitlake.gate.rules import GAP_TYPES, SOURCES, is_forbidden_key

INSTANT = pa.timestamp("us", "UTC")

TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "instant": INSTANT,
    "date": pa.date32(),
    "json": pa.string(),
    "strings": pa.list_(pa.string()),
    "vector": pa.list_(pa.float32()),
}

DUCKDB_TYPES = {
    pa.string(): "VARCHAR",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    INSTANT: "TIMESTAMPTZ",
    pa.date32(): "DATE",
    pa.list_(pa.string()): "VARCHAR[]",
    pa.list_(pa.float32()): "FLOAT[]",
    pa.binary(): "BLOB",
}
"""DuckDB's names of the stored types."""

CITATIONS = {
    "graph": "graph label and id",
    "external": "address or request, and the hash of the record",
    "drops": "address of the file, and the hash of the record",
    "derived": "what it was derived from: a row's evidence, or the address of an answer",
    "mounted": "name of the mounted table, and the row's key",
}
"""The content of `evidence`, by the group of a dataset."""

SYSTEM_FIELDS = (
    pa.field("available_at", INSTANT, nullable=False),
    pa.field("available_at_source", pa.string(), nullable=False),
    pa.field("evidence", pa.string(), nullable=False),
    pa.field("observed_at", INSTANT, nullable=False),
    pa.field("content_hash", pa.binary(), nullable=False),
)
BASIS = "available_at_basis"
SOURCE_CLOCK, SOURCE_DATE, BETWEEN_POLLS, OBSERVED = "source_clock", "source_date", "between_polls", "observed"
BASES = {
    SOURCE_CLOCK: "the source's own clock, such as EDGAR's acceptance",
    BETWEEN_POLLS: "the source's date, after a complete poll that did not contain the record with this content",
    SOURCE_DATE: "the source's date, which no earlier poll confirms",
    OBSERVED: "when it was first observed, because nothing proves that it was public earlier",
}
"""The basis of an outside record's available_at."""
RESERVED = frozenset((*(field.name for field in SYSTEM_FIELDS), BASIS, "revision", "prev_available_at"))
"""The names of columns that the lake itself adds to rows and to their revisions."""

GAP_SCHEMA = pa.schema(
    [
        pa.field("dataset", pa.string(), nullable=False),
        pa.field("gap_type", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("locator", pa.string(), nullable=False),
        pa.field("partition", pa.string(), nullable=False),
        pa.field("run_id", pa.string(), nullable=False),
        pa.field("available_at", INSTANT, nullable=False),
        pa.field("observed_at", INSTANT, nullable=False),
    ]
)
GAP_COLUMNS = ("dataset", "gap_type", "reason", "locator", "available_at")
"""The columns of gaps that sessions see."""

UNREADABLE_RECORD = "the record can't be read"
"""The reason of a gap for a record that cannot be read and that none of its contract's rules describes."""
LEAST_REFUSED = 10
"""A run is never stopped for fewer refused records than this, so that one record does not stop a small run."""
LEAST_ENTITIES = 3
"""A feed's run with several entities is not stopped for faults of fewer entities than this."""

KNOWN = {
    "record": "Any reader of the record at `available_at`: the source stated the value in it.",
    "lake": "Anyone who applied the lake's rule at `available_at`: the value depends only on what was public then.",
    "asked": "The lake's own user: the value repeats a part of the request.",
    "hindsight": "Perhaps no reader at that time: the source fills in current values later.",
}
"""The possible answers to: who could know a column's value at `available_at`?"""

# SQL treats two names that differ only in case as the same.
NAME = re.compile(r"[a-z][a-z0-9_]*")
_COMPARISON = re.compile(rf"({NAME.pattern}) (>=|>|<=|<) ({NAME.pattern}|-?[0-9]+(?:\.[0-9]+)?)")
_ORDERED = {"int": "number", "float": "number", "date": "date", "instant": "instant"}


@dataclass(frozen=True)
class Column:
    """One business column. `type` is a key of TYPES; `json` is a string of canonical JSON. values: the allowed strings.
    minimum, maximum: limits of a number, inclusive. pattern: a regular expression for the whole string, in the syntax
    common to Python and RE2. Null is always allowed. strict: rows that break these limits are refused, because the lake
    itself makes the values. Otherwise the source makes them, and such a row only warns. proof: the column says how the
    row's instant was proven and is not content. If only such columns differ, a record is unchanged.
    """

    name: str
    type: str
    meaning: str
    _: KW_ONLY
    unit: str = ""
    required: bool = False
    values: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    pattern: str = ""
    strict: bool = False
    proof: bool = False

    @property
    def limited(self) -> bool:
        """Return whether the column limits its values beyond their type."""
        return bool(self.values or self.pattern) or self.minimum is not None or self.maximum is not None

    @property
    def limits_fit(self) -> bool:
        """Return whether the limits fit the type: values and patterns for strings, minimum and maximum for numbers."""
        text, number = self.type == "string", self.type in {"int", "float"}
        bounded = self.minimum is not None or self.maximum is not None
        return (text or not (self.values or self.pattern)) and (number or not bounded)

    @property
    def arrow(self) -> pa.Field:
        return pa.field(self.name, TYPES[self.type], nullable=not self.required)


@dataclass(frozen=True)
class Comparison:
    """A comparison of a column with a second column or a number: `high >= low`, `close > 0`. Null satisfies it."""

    left: str
    operator: str
    right: str | float

    @classmethod
    def of(cls, text: str) -> "Comparison":
        """Parse a comparison. Raises ValueError if it is invalid."""
        spelled = _COMPARISON.fullmatch(text)
        if spelled is None:
            raise ValueError(f"{text!r} compares nothing; write it like 'high >= low' or 'close > 0'")
        left, operator, right = spelled.groups()
        return cls(left, operator, right if NAME.fullmatch(right) else float(right))


@dataclass(frozen=True)
class GapRule:
    """A condition under which a source record becomes a gap instead of a row, with the gap's `reason`."""

    reason: str
    when: str
    type: str = "unverifiable"


@dataclass(frozen=True, kw_only=True)
class DriftLimits:
    """How far a run may differ from the lake before it is refused; beyond half of a limit the check `drift` warns.

    revised: the share of the run's known records whose content differs from the lake's; None if whole histories are
    restated in ordinary days. together: columns that ordinary restatements multiply by one factor; such rows are not
    counted as revised. replaced: the share of a window's records that now have different keys; None if keys change.
    empty: the share of the values expected in a column that are null, empty or 0. new_values: the share of an
    enumeration's values that the lake does not have. shared: the share of a run's records that have the id of another
    record of the run, if the source shows only the newest statement of a record. length, magnitude: the factor by which
    strings are longer or shorter, and numbers larger or smaller. gaps: the share of records that can't be used.
    waiting: reasons of gaps that wait for other data and are not counted.
    """

    revised: float | None = 0.5
    together: tuple[str, ...] = ()
    replaced: float | None = 0.5
    empty: float = 0.5
    new_values: float = 0.5
    shared: float = 0.5
    length: float = 8.0
    magnitude: float = 80.0
    gaps: float = 0.5
    waiting: tuple[str, ...] = ()


SEEN_LATER = GapRule(
    "replayed after a later answer was read; replay all captures into a new lake to get this record",
    "the replayed capture is older than the lake's newest reading of the record",
)


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """The contract of a dataset.

    Attributes:
        availability: how `available_at` is determined, in words.
        columns: the business columns, in order.
        key: the natural key. Views show, per key, the newest revision as of T.
        entity: the first column that files are sorted by; the second is `available_at`.
        source_tag: the tag of the clock that dates the rows. other_tags: tags of rows from other sources.
        gap_rules: the conditions under which a source record becomes a gap.
        identity: the columns that identify a record when it is read again (default: key).
        thing: the identity columns without those that date a record (default: the identity). Once a poll has seen a
        record with these values, different content of it is never dated before that poll.
        gap_names: the names of a row among gaps, with columns in braces, if its evidence does not identify it.
        follows: (column, dataset, name) for each dataset whose rows a column refers to; `name` is how the column
            writes them, with columns in braces. A row is available no earlier than the newest row it follows.
        tiebreak: columns that order revisions of one key that became available at the same instant.
        newer_by: identity columns that decide which statement of a key is newer, regardless of revisions; without them
            the statement that became available last is newer.
        revised_at: the column by which the source dates a change in content. "": a change is available when observed.
            "available_at": the source publishes its history, and each instant of an identity is a separate statement.
        trusts_dates: whether the source's date counts if it is between two polls, the earlier of which lacked the
            record. Otherwise the record is available when observed.
        warnings: the names of other checks that only warn.
        group: graph, external, derived or drops: the folder of its extractor in assets. mounted: a table that a lake's
            user mounted.
        lane: 1 the graph, 2 data from providers, 3 data shown in open mode only; a tag in Dagster.
        open_only: whether sessions as of an instant leave it out.
        partitioned: whether a run covers New York days, from `first_day` on (default: true for the group graph).
        freshness: the maximum age of the newest `available_at` on a trading day; an older one warns.
        knowable: by column, who could know its value at `available_at`: a key of KNOWN (default: "record").
        searched: the columns that word searches read; sessions keep an index of them.
        frozen: identity columns of a result that is built as a whole and must be the same when rebuilt. Differences and
            later additions are revisions, available when observed, with a warning.
        cites: the content of `evidence`, if it differs from the group's in CITATIONS.
        rules: comparisons that every row must satisfy, such as "high >= low" or "close > 0"; a row that breaks one
            becomes a gap.
        most_refused: the largest share of a run's records that may be refused, once LEAST_REFUSED are refused. Above it
            nothing is published, because the source or the contract is wrong.
        drift: how far a run may differ from the lake.
        alike: columns such that rows with the same values in them are comparable (default: the entity).
        owner: the person responsible for the data.
    """

    name: str
    title: str
    summary: str
    availability: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    entity: str
    source_tag: str
    other_tags: tuple[str, ...] = ()
    gap_rules: tuple[GapRule, ...] = ()
    identity: tuple[str, ...] = ()
    thing: tuple[str, ...] = ()
    gap_names: tuple[str, ...] = ()
    follows: tuple[tuple[str, str, str], ...] = ()
    tiebreak: tuple[str, ...] = ()
    newer_by: tuple[str, ...] = ()
    revised_at: str = ""
    trusts_dates: bool = True
    warnings: tuple[str, ...] = ()
    group: str = "graph"
    lane: int = 1
    open_only: bool = False
    partitioned: bool | None = None
    first_day: date = date(2023, 1, 1)
    freshness: timedelta | None = None
    knowable: Mapping[str, str] = field(default_factory=dict, hash=False)
    searched: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    cites: str = ""
    rules: tuple[str, ...] = ()
    most_refused: float = 0.01
    drift: DriftLimits = DriftLimits()
    alike: tuple[str, ...] = ()
    owner: str = "data"

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        column_names = frozenset(names)
        if not self.identity:
            object.__setattr__(self, "identity", self.key)
        if not self.thing:
            object.__setattr__(self, "thing", self.identity)
        if self.partitioned is None:
            object.__setattr__(self, "partitioned", self.group == "graph")
        if not self.alike:
            object.__setattr__(self, "alike", (self.entity,))
        self._refuse(len(names) != len(column_names), "a column is named twice")
        are_names = NAME.fullmatch(self.name) and all(map(is_column_name, names))
        self._refuse(not are_names, "a name is not a lower-case SQL name")
        self._refuse(any(column.type not in TYPES for column in self.columns), "a column has an unknown type")
        self._refuse(not all(column.limits_fit for column in self.columns), "a column has limits its type can't have")
        self._refuse(any(column.strict and not column.limited for column in self.columns), "strict without limits")
        self._refuse(any(rule.type not in GAP_TYPES for rule in self.gap_rules), "a gap rule has an unknown type")
        self._refuse(not self.key, "there is no natural key")
        self._refuse(any(is_forbidden_key(name) for name in names), "a column has a forbidden name")
        self._refuse(bool(column_names & RESERVED), "a column has a name that the lake itself uses")
        referred = {*self.knowable, *self.key, *self.identity, *self.tiebreak, *self.newer_by, *self.alike, self.entity}
        self._refuse(not referred <= column_names, "it refers to an unknown column")
        naming = {*self.key, *self.identity, *self.newer_by, self.entity}
        self._refuse(bool(naming - {*self.content_columns}), "a column that identifies the row can't be proof")
        self._refuse(not {*self.searched} <= column_names, "searched names an unknown column")
        self._refuse(not {*self.frozen} <= {*self.identity}, "frozen names a column that is not in the identity")
        self._refuse(not {*self.thing} <= {*self.identity}, "thing names a column that is not in the identity")
        self._refuse(not {column for column, _, _ in self.follows} <= column_names, "follows names an unknown column")
        self._refuse(not {*self.columns_of_gap_names} <= column_names, "gap_names contains an unknown column")
        instants = {"", "available_at", *(column.name for column in self.columns if column.type == "instant")}
        self._refuse(self.revised_at not in instants, "revised_at is not an instant")
        self._refuse(not {self.source_tag, *self.other_tags} <= set(SOURCES), "the source tag is unknown to the gate")
        self._refuse(not (self.cites or self.group in CITATIONS), "cites must say what evidence contains")
        self._refuse(not {*self.knowable.values()} <= {*KNOWN}, "a value of knowable is unknown")
        self._refuse(not all(column.meaning for column in self.columns), "a column has no meaning")
        self._refuse(not all(map(self._compares, self.comparisons)), "a rule compares columns of incompatible types")
        self._refuse(not 0 <= self.most_refused <= 1, "most_refused is not a share from 0 to 1")

    def _refuse(self, wrong: bool, problem: str) -> None:
        if wrong:
            raise ValueError(f"contract of dataset {self.name}: {problem}")

    def _compares(self, rule: Comparison) -> bool:
        """Return whether both sides of a comparison have types that can be compared."""
        kinds = {column.name: _ORDERED.get(column.type) for column in self.columns}
        right = kinds.get(rule.right) if isinstance(rule.right, str) else "number"
        return right is not None and kinds.get(rule.left) == right

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Return the parsed rules. Raises ValueError."""
        return tuple(map(Comparison.of, self.rules))

    @property
    def citation(self) -> str:
        """Return the description of `evidence`."""
        return self.cites or CITATIONS[self.group]

    @property
    def source_tags(self) -> tuple[str, ...]:
        """Return the tags that `available_at_source` may have."""
        return (self.source_tag, *self.other_tags)

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """Return the stored schema: business columns, then the system columns."""
        basis = [pa.field(BASIS, pa.string())] if self.captured else []
        return pa.schema([column.arrow for column in self.columns] + basis + list(SYSTEM_FIELDS))

    @cached_property
    def content_columns(self) -> tuple[str, ...]:
        """Return the columns `content_hash` covers, in order: every business column that is not proof."""
        return tuple(column.name for column in self.columns if not column.proof)

    @cached_property
    def business_columns(self) -> tuple[str, ...]:
        """Return every column of the contract, in order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def agent_columns(self) -> tuple[str, ...]:
        """Return the columns of the agent-facing view, in order."""
        basis = (BASIS,) if self.captured else ()
        return ("available_at", "available_at_source", *basis, *self.business_columns, "evidence")

    @cached_property
    def hindsight(self) -> frozenset[str]:
        """Return the view's columns that could not be known at available_at, which a session may leave out.

        Evidence is one of them if such a column identifies the record.
        """
        columns = {name for name, answer in self.knowable.items() if answer == "hindsight"}
        return frozenset(columns | ({"evidence"} if columns.intersection((*self.identity, *self.key)) else set()))

    @cached_property
    def session_columns(self) -> tuple[str, ...]:
        """Return the stored columns that a session reads: the agent's, and the hash that orders revisions."""
        return (*self.agent_columns, "content_hash")

    @cached_property
    def json_columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.type == "json")

    @cached_property
    def has_vectors(self) -> bool:
        return any(column.type == "vector" for column in self.columns)

    @cached_property
    def columns_of_gap_names(self) -> tuple[str, ...]:
        """Return the columns in `gap_names`."""
        return tuple(name for text in self.gap_names for _, name, _, _ in Formatter().parse(text) if name)

    @property
    def evidence_names(self) -> bool:
        """Return whether evidence identifies a single record, such as a node of the graph. In other datasets several
        records may share their evidence.
        """
        return self.group == "graph"

    @cached_property
    def revision_order(self) -> tuple[str, ...]:
        """Return the columns that order the revisions of one key, oldest first; content_hash makes the order total."""
        return ("available_at", *self.tiebreak, "content_hash")

    @property
    def watched(self) -> bool:
        """Return whether runs are compared with the lake, because their source is outside and may change its format."""
        return self.group in {"graph", "external"}

    @property
    def captured(self) -> bool:
        """Return whether a poll can be complete. This holds for mounted tables, and for captured responses, which can
        be replayed after later ones were read.
        """
        return self.group in {"external", "drops", "mounted"}


def is_column_name(name: str) -> bool:
    """Return whether SQL accepts a column name without quotes; reserved words are not checked."""
    return name.isidentifier() and name[0] != "_" and name == name.lower()


def gap_table_name(dataset: str) -> str:
    """Return the lake table that contains a dataset's gaps."""
    return f"gaps/{dataset}"
