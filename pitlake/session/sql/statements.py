"""The initial SQL of a session: views over its files, `gaps`, `lake_info`, the clock.

This module only creates SQL and opens no connection.

The agent-facing view of a dataset is derived from its contract, unless a file in sql/views overrides it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, cached_property
from hashlib import sha256
from textwrap import fill, indent
from typing import TYPE_CHECKING

import pyarrow as pa

from pitlake.clock import iso
from pitlake.contract import DUCKDB_TYPES, GAP_COLUMNS, GAP_SCHEMA, Dataset
from pitlake.datasets import all_datasets
from pitlake.errors import BadInput
from pitlake.questions.catalogue import session_macros, unions
from pitlake.questions.sql_files import sql_file
from pitlake.tombstones import SUPERSEDED_SCHEMA, newest_first

if TYPE_CHECKING:
    from pitlake.session.visible.binding import Binding, Relation

STORED = "lake"
"""The schema of the views over stored rows: every revision up to T, with `content_hash`, which makes orders total."""

BLANKED = "blanked_"
"""The prefix of the schemas in which views are made over rows without hindsight; the dataset's name follows it."""

NUMBERED = ("revision", "prev_available_at")
"""The columns that `<dataset>_revisions` adds to the dataset's own."""

_NAIVE = "(as_of() AT TIME ZONE 'UTC')"
# The functions for the current time that DuckDB 2 finds by name. They are bound to T; `arguments` refuses the others.
_CLOCK = {
    "now": "as_of()",
    "current_timestamp": "as_of()",
    "get_current_timestamp": "as_of()",
    "transaction_timestamp": "as_of()",
    "statement_timestamp": "as_of()",
    "clock_timestamp": "as_of()",
    "localtimestamp": _NAIVE,
    "current_localtimestamp": _NAIVE,
    "today": f"{_NAIVE}::DATE",
    "current_date": f"{_NAIVE}::DATE",
    "current_time": f"{_NAIVE}::TIME",
    "get_current_time": f"{_NAIVE}::TIME",
    "localtime": f"{_NAIVE}::TIME",
    "current_localtime": f"{_NAIVE}::TIME",
    "uuidv7": "error('uuidv7() reads the machine''s clock; use uuid()')",
    **{
        name: f"error('{name}() counts earlier statements of this session, on which no answer may depend')"
        for name in ("txid_current", "current_transaction_id", "current_query_id")
    },
}
CLOCK = frozenset({*_CLOCK, "age"})
"""The functions that a session replaces, because they read the machine's clock or the session's history."""
_AGE = f"CREATE MACRO age(x) AS system.main.age(date_trunc('day', {_NAIVE}), x), (x, y) AS system.main.age(x, y)"


@dataclass(frozen=True)
class Ready:
    """A dataset whose views a blank DuckDB already has; `view` is the SQL of the agent-facing view.

    omit: whether hindsight columns are left out. If a key column is one of them, the view needs the tombstones instead
    of a window.
    """

    dataset: Dataset
    view: str
    omit: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return without_hindsight(self.dataset, self.dataset.agent_columns) if self.omit else self.dataset.agent_columns

    @property
    def stored(self) -> tuple[str, ...]:
        every = self.dataset.session_columns
        return without_hindsight(self.dataset, every) if self.omit else every

    @property
    def by_tombstones(self) -> bool:
        """Return whether the newest revisions are selected by tombstones."""
        return self.is_plain or (self.omit and bool(self.dataset.hindsight.intersection(self.dataset.key)))

    @cached_property
    def is_plain(self) -> bool:
        """Return whether the view shows exactly the newest revision of each key, so that tombstones can select it."""
        return self.view == newest_by_window(self.dataset)


def without_hindsight(dataset: Dataset, columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in columns if name not in dataset.hindsight)


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def instant(moment: datetime | None) -> str:
    return "NULL::TIMESTAMPTZ" if moment is None else f"TIMESTAMPTZ {literal(iso(moment))}"


def blank() -> list[str]:
    """Return the statements that every DuckDB runs before a session.

    They define the functions for the current time, general macros, and empty `gaps`.
    """
    nothing = ", ".join(f"NULL::{DUCKDB_TYPES[GAP_SCHEMA.field(name).type]} AS {name}" for name in GAP_COLUMNS)
    return [
        f"CREATE SCHEMA {STORED}",
        f"CREATE MACRO as_of() AS {instant(None)}",
        *(f"CREATE MACRO {identifier(name)}() AS {value}" for name, value in _CLOCK.items()),
        _AGE,
        *session_macros(()),
        f"CREATE VIEW gaps AS SELECT {nothing} WHERE false",
    ]


def prepared(names: Collection[str]) -> list[str]:
    """Return more statements that a blank DuckDB can run: the views of these datasets of this installation, without
    rows.

    Views and macros are resolved by name at their use, so a session only has to provide its rows.
    """
    ready = [each for name, each in installed().items() if name in names]
    return [*_blank(ready), *(text for each in ready for text in shown(each, dated=True)), *_library(names)]


def clock(as_of: datetime | None) -> list[str]:
    """Make `as_of()` and all functions for the current time return T, or in open mode the machine's time."""
    if as_of is None:
        return [f"DROP MACRO {identifier(name)}" for name in (*_CLOCK, "age")]
    return [f"CREATE OR REPLACE MACRO as_of() AS {instant(as_of)}"]


def stored_rows(name: str, columns: Sequence[str], source: str) -> str:
    """Create the view of a table's stored rows over a FROM item."""
    columns_sql = ", ".join(identifier(column) for column in columns)
    return f"CREATE OR REPLACE VIEW {STORED}.{identifier(name)} AS SELECT {columns_sql} FROM {source}"


def parquet(paths: Iterable[str], padded: pa.Schema | None = None) -> str:
    """Return the FROM item that reads these files; columns of `padded` that a file lacks are null."""
    paths_sql = ", ".join(literal(path) for path in paths)
    if padded is None:
        return f"read_parquet([{paths_sql}], hive_partitioning=false)"
    nulls = ", ".join(f"NULL::{DUCKDB_TYPES[field.type]} AS {identifier(field.name)}" for field in padded)
    rows = f"FROM read_parquet([{paths_sql}], hive_partitioning=false, union_by_name=true)"
    return f"(SELECT {nulls} WHERE false UNION ALL BY NAME {rows})"


def revisions(each: Ready) -> str:
    """Create `<dataset>_revisions`: every revision up to T, numbered per record.

    DuckDB computes the numbers only for queries that use them. The view has none if the columns that identify a record
    are left out as hindsight.
    """
    dataset, columns = each.dataset, ", ".join(map(identifier, each.columns))
    # The key is listed too, so that a filter on it can skip files.
    record = dict.fromkeys((*dataset.identity, *dataset.key))
    name = identifier(dataset.name + "_revisions")
    if each.omit and dataset.hindsight.intersection(record):
        return f"CREATE VIEW {name} AS SELECT {columns} FROM {STORED}.{identifier(dataset.name)}"
    return (
        f"CREATE VIEW {name} AS SELECT {columns}, "
        f"row_number() OVER earlier AS {NUMBERED[0]}, lag(available_at) OVER earlier AS {NUMBERED[1]} "
        f"FROM {STORED}.{identifier(dataset.name)} WINDOW earlier AS ("
        f"PARTITION BY {', '.join(map(identifier, record))} "
        f"ORDER BY {', '.join(map(identifier, dataset.revision_order))})"
    )


def shown(each: Ready, *, dated: bool) -> list[str]:
    """Return the statement that creates `<dataset>`. dated: whether the lake version has its tombstones."""
    if each.by_tombstones and dated:
        return [newest(each)]
    return _without_hindsight(each) if each.omit else [each.view]


def newest(each: Ready) -> str:
    """Create `<dataset>` by tombstones: the rows of `newest_by_window`, without sorting all revisions.

    There is no window between a caller's filter and the files, so a filter on any column can skip files.
    """
    name = identifier(each.dataset.name)
    return f"CREATE VIEW {name} AS {_alive(each, f'{STORED}.{name}')}"


def _alive(each: Ready, stored: str) -> str:
    """Return SQL for the stored rows that nothing supersedes."""
    return (
        f"SELECT {', '.join(map(identifier, each.columns))} FROM {stored} AS stored "
        f"ANTI JOIN {_dead(each.dataset.name)}"
    )


def _dead(name: str) -> str:
    return (
        f"{STORED}.{_superseded(name)} AS dead "
        "ON stored.available_at = dead.dead_at AND stored.content_hash = dead.dead_hash"
    )


def searched(each: Ready, relation: "Relation", words: "Relation", source: Callable[["Relation"], str]) -> list[str]:
    """Create the relations of an indexed search: `<dataset>_words`, which says which texts contain a word (64 texts of
    a file are a `block`), and the newest rows without an index. Others have the rows of these texts (by `file` and
    `row`), the lengths of texts, which of them are not superseded, and their sums.
    """
    paired = [pair for rows, its in zip(relation.deliveries, words.deliveries, strict=True)
              for pair in zip(rows.numbers, its.numbers, strict=False)]  # fmt: skip
    with_words = [number for number, _ in paired]
    others = [number for number in relation.numbers if number not in with_words]
    columns_sql, name = ", ".join(map(identifier, relation.columns)), each.dataset.name
    rest = f"(SELECT {columns_sql} FROM {source(replace(relation, numbers=others))})" if others else _no_rows(each)
    its_words, indexed, texts = (f"{STORED}.{identifier(f'{name}_{kind}')}" for kind in ("words", "indexed", "texts"))
    superseded = (
        "SELECT file, row // 64 AS block, bit_or(1::UBIGINT << (row % 64)::UBIGINT) AS texts "
        f"FROM {indexed} AS stored SEMI JOIN {_dead(name)} GROUP BY ALL"
    )
    read = [f"({place}::UBIGINT, {literal(source(replace(relation, numbers=[number])))})"
            for place, number in enumerate(with_words)]  # fmt: skip
    alive_texts = "coalesce(every.texts & ~gone.texts, every.texts)"
    alive = (
        f"SELECT file, block, {alive_texts} AS texts, characters, least AS usual "
        f"FROM {its_words} AS every LEFT JOIN ({superseded}) AS gone USING (file, block) WHERE word = ''"
    )
    size = (
        "SELECT sum(bit_count(texts)) AS documents, sum(search_characters(texts, characters)) AS characters "
        f"FROM {texts}"
    )
    every = source(replace(relation, numbers=with_words))
    posted = source(replace(words, numbers=[number for _, number in paired]))  # in the order of `every`
    return [
        f"CREATE VIEW {its_words} AS SELECT file_index AS file, * FROM {posted}",
        f"CREATE VIEW {indexed} AS SELECT file_index AS file, file_row_number AS row, {columns_sql} FROM {every}",
        f"CREATE VIEW {STORED}.{identifier(f'{name}_unindexed')} AS {_alive(each, rest)}",
        f"CREATE TABLE {texts} AS {alive}",
        f"CREATE TABLE {STORED}.{identifier(f'{name}_size')} AS {size}",
        f"CREATE TABLE {STORED}.{identifier(f'{name}_files')} AS FROM (VALUES {', '.join(read)}) AS one(file, source)",
        sql_file("indexed", name).read_text(encoding="utf-8"),
    ]


def no_tombstones(name: str) -> str:
    """Create empty tombstones for a dataset without any, so that DuckDB plans no join."""
    columns = ", ".join(f"NULL::{DUCKDB_TYPES[field.type]} AS {identifier(field.name)}" for field in SUPERSEDED_SCHEMA)
    return f"CREATE OR REPLACE VIEW {STORED}.{_superseded(name)} AS SELECT {columns} WHERE false"


def gaps(source: str, columns: Collection[str] = GAP_COLUMNS) -> str:
    """Create `gaps`: the records, public at T, that could not become rows. columns: the columns with values."""
    columns_sql = (name if name in columns else f"NULL::VARCHAR AS {name}" for name in GAP_COLUMNS)
    return f"CREATE OR REPLACE VIEW gaps AS SELECT {', '.join(columns_sql)} FROM {source}"


def lake_info(as_of: datetime | None, bound: Iterable[tuple[str, datetime | None, int]]) -> str:
    """Create `lake_info`: per dataset, the newest available_at in the session (its watermark) and the number of rows.

    It does not contain the lake's version, which depends on rows after T.
    """
    rows = [f"({literal(name)}, {instant(newest)}, {rows}::BIGINT)" for name, newest, rows in bound]
    values = f"VALUES {', '.join(rows)}" if rows else "SELECT '', NULL::TIMESTAMPTZ, 0::BIGINT WHERE false"
    return (
        f"CREATE OR REPLACE VIEW lake_info AS SELECT {instant(as_of)} AS as_of, dataset, watermark, rows "
        f"FROM ({values}) AS bound(dataset, watermark, rows)"
    )


@cache
def newest_by_window(dataset: Dataset) -> str:
    """Create `<dataset>`: the newest revision of each key, by sorting all revisions."""
    columns = fill(", ".join(map(identifier, dataset.agent_columns)), 116, break_on_hyphens=False)
    newer = ", ".join(f"{identifier(name)} DESC" for name in newest_first(dataset) if name != "content_hash")
    key = ", ".join(map(identifier, dataset.key))
    return (
        f"CREATE VIEW {dataset.name} AS\nSELECT\n{indent(columns, '    ')}\nFROM {dataset.name}_revisions\n"
        f"QUALIFY row_number() OVER (\n    PARTITION BY {key}\n    ORDER BY {newer}\n) = 1;\n"
    )


def agent_view(dataset: Dataset) -> str:
    """Return the SQL of a dataset's view: the file in sql/views if there is one, else the newest revisions."""
    decided = sql_file("views", dataset.name)
    return decided.read_text(encoding="utf-8") if decided.is_file() else newest_by_window(dataset)


@cache
def installed() -> dict[str, Ready]:
    """Return this installation's datasets, which the zygote prepares."""
    return {name: Ready(dataset, agent_view(dataset)) for name, dataset in all_datasets().items()}


def fingerprint() -> bytes:
    """Return a hash of everything prepared. Processes with the same hash can share it."""
    return sha256("\0".join((*blank(), *prepared(installed()))).encode()).digest()


@dataclass(frozen=True)
class Opening:
    """The statements of a session in a DuckDB that is prepared with its `usual` datasets.

    views: the SQL of views that differ from `agent_view`.
    """

    binding: "Binding"
    views: Mapping[str, str]

    @cached_property
    def bound(self) -> dict[str, Ready]:
        return {dataset.name: self._ready(dataset) for dataset in self.binding.datasets}

    @cached_property
    def usual(self) -> tuple[str, ...]:
        """Return the datasets with the columns of this installation, on which macros can rely."""
        return tuple(name for name, each in self.bound.items() if each is installed().get(name))

    @property
    def indexed(self) -> tuple[str, ...]:
        """Return the datasets with an index. Call it once all files are delivered."""
        return tuple(name for name, words in self.binding.words.items() if words.numbers and name in self.usual)

    def _ready(self, dataset: Dataset) -> Ready:
        usual, view = installed().get(dataset.name), self.views.get(dataset.name)
        omits = self.binding.omit and bool(dataset.hindsight)
        if usual and usual.dataset == dataset and view in (None, usual.view) and not omits:
            return usual
        return Ready(dataset, view or agent_view(dataset), omits)

    def statements(self, source: Callable[["Relation"], str]) -> list[str]:
        """Return the statements in order, once all files are delivered. source: returns SQL for a relation's files."""
        binding, tombstones = self.binding, self.binding.superseded
        by_name = {relation.name: relation for relation in binding.relations[: len(binding.datasets)]}
        unusual = [each for name, each in self.bound.items() if name not in self.usual]
        # A lake version without tombstones shows its newest revisions by a window.
        then = [each for each in map(self.bound.__getitem__, self.usual)
                if each.is_plain and each.dataset.name not in tombstones]  # fmt: skip
        return [
            *(f"DROP VIEW IF EXISTS {identifier(name)}" for name in unions() if name in self.bound),
            *_blank(unusual),
            *(f"DROP VIEW {identifier(each.dataset.name)}" for each in then),
            *(text for each in then for text in shown(each, dated=False)),
            *(text for each in unusual for text in shown(each, dated=each.dataset.name in tombstones)),
            *self.instant_statements(source),
            *(
                text
                for name in self.indexed
                for text in searched(self.bound[name], by_name[name], binding.words[name], source)
            ),
        ]

    def instant_statements(
        self, source: Callable[["Relation"], str], unchanged: Collection[str] = frozenset()
    ) -> list[str]:
        """Return only the statements that depend on the instant. unchanged: relations with the same files as before."""
        binding = self.binding
        rows, gap_rows = binding.relations[: len(binding.datasets)], binding.relations[-1]
        return [
            *clock(binding.as_of),
            *(
                stored_rows(relation.name, relation.columns, source(relation))
                for relation in (*rows, *binding.superseded.values())
                if relation.numbers and relation.name not in unchanged
            ),
            *([gaps(source(gap_rows), gap_rows.columns)] if gap_rows.numbers else []),
            lake_info(binding.as_of, [(relation.name, relation.watermark, relation.rows) for relation in rows]),
        ]


def _without_hindsight(each: Ready) -> list[str]:
    """Create an agent-facing view whose SQL names hindsight columns, over rows that lack them.

    The SQL runs in a separate schema. There, `<dataset>_revisions` has nulls in place of these columns, and a hash
    where they order rows. Unqualified names in a view are first resolved in the view's own schema.
    """
    dataset, name = each.dataset, identifier(each.dataset.name)
    schema, revisions_name = identifier(f"{BLANKED}{dataset.name}"), identifier(f"{dataset.name}_revisions")
    if each.by_tombstones and dataset.hindsight.intersection(dataset.key):
        problem = f"this lake version has no tombstones of {dataset.name}"
        raise BadInput("hindsight", problem, "query a newer version, or set hindsight to show these rows")
    left_out = [column for column in dataset.agent_columns if column in dataset.hindsight]
    blanks = (
        f"{'hex(content_hash)' if column in ('evidence', 'statement') else _null(dataset, column)} "
        f"AS {identifier(column)}"
        for column in left_out
    )
    return [
        f"CREATE SCHEMA {schema}",
        f"CREATE VIEW {schema}.{revisions_name} AS SELECT *, {', '.join(blanks)} FROM {STORED}.{name}",
        f"USE {schema}",
        each.view,
        "USE main",
        f"CREATE VIEW {name} AS SELECT * EXCLUDE ({', '.join(map(identifier, left_out))}) FROM {schema}.{name}",
    ]


def _null(dataset: Dataset, column: str) -> str:
    return f"NULL::{DUCKDB_TYPES[dataset.arrow_schema.field(column).type]}"


def _blank(ready: Iterable[Ready]) -> list[str]:
    # The views are made without files: DuckDB checks a view over other views down to their files, which is slow if
    # there are many.
    return [
        text
        for each in ready
        for text in (
            stored_rows(each.dataset.name, each.stored, _no_rows(each)),
            no_tombstones(each.dataset.name),
            revisions(each),
        )
    ]


def _library(datasets: Collection[str]) -> list[str]:
    general = session_macros(())
    return [text for text in session_macros(datasets) if text not in general]


def _superseded(name: str) -> str:
    return identifier(f"superseded_{name}")


def _no_rows(each: Ready) -> str:
    typed = ", ".join(f"{_null(each.dataset, name)} AS {identifier(name)}" for name in each.stored)
    return f"(SELECT {typed} WHERE false)"
