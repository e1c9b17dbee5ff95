"""The SQL a session starts with: views over its files, `gaps`, `lake_info`, the clock. Text only, no connection.

Called by the parent, run by the engine before it is locked. The agent-facing views come from sql/views as they stand.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from importlib.resources import files
from typing import TYPE_CHECKING

from pitlake.catalogue import session_macros
from pitlake.clock import iso
from pitlake.contract import Dataset
from pitlake.errors import BadInput

if TYPE_CHECKING:
    from pitlake.session.binding import Binding, Relation

Statements = Callable[[Callable[["Relation"], str]], list[str]]
"""Makes a session's statements, given what names a relation's files in SQL."""

STORED = "lake"
"""The schema of the views over stored rows: every revision up to T, with `content_hash`, which makes orders total."""

_NAIVE = "(as_of() AT TIME ZONE 'UTC')"
# Every spelling of "now" DuckDB 2 looks up by name, bound to T. What can't be bound is refused in hints.py.
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
    "current_time": f"{_NAIVE}::TIME::TIMETZ",
    "get_current_time": f"{_NAIVE}::TIME::TIMETZ",
    "localtime": f"{_NAIVE}::TIME",
    "current_localtime": f"{_NAIVE}::TIME",
    "uuidv7": "error('uuidv7() reads the machine''s clock; use uuid()')",
}
_AGE = f"CREATE MACRO age(x) AS system.main.age(date_trunc('day', {_NAIVE}), x), (x, y) AS system.main.age(x, y)"


def identifier(name: str) -> str:
    """A name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def instant(moment: datetime | None) -> str:
    """An instant as SQL."""
    return "NULL::TIMESTAMPTZ" if moment is None else f"TIMESTAMPTZ {literal(iso(moment))}"


def prepared() -> list[str]:
    """What every session starts with: the spellings of now, and the macros that read no dataset."""
    return [
        f"CREATE SCHEMA {STORED}",
        f"CREATE MACRO as_of() AS {instant(None)}",
        *(f"CREATE MACRO {identifier(name)}() AS {value}" for name, value in _CLOCK.items()),
        _AGE,
        *session_macros(()),
    ]


def clock(as_of: datetime | None) -> list[str]:
    """`as_of()` answers T, and so does every spelling of now; in open mode they are the machine's again."""
    if as_of is None:
        return [f"DROP MACRO {identifier(name)}" for name in (*_CLOCK, "age")]
    return [f"CREATE OR REPLACE MACRO as_of() AS {instant(as_of)}"]


def stored_rows(name: str, columns: Sequence[str], source: str) -> str:
    """The view of a table's stored rows over a FROM item."""
    listed = ", ".join(identifier(column) for column in columns)
    return f"CREATE VIEW {STORED}.{identifier(name)} AS SELECT {listed} FROM {source}"


def parquet(paths: Iterable[str], *, by_name: bool) -> str:
    """The FROM item that reads these files."""
    listed = ", ".join(literal(path) for path in paths)
    return f"read_parquet([{listed}], hive_partitioning=false{', union_by_name=true' if by_name else ''})"


def revisions(dataset: Dataset) -> str:
    """`<dataset>_revisions`: every revision up to T, numbered per record. Unasked numbers are not computed."""
    columns = ", ".join(identifier(column) for column in dataset.agent_columns)
    record = dict.fromkeys((*dataset.identity, *dataset.key))  # the key too, so that a filter on it reaches the files
    return (
        f"CREATE VIEW {identifier(dataset.name + '_revisions')} AS SELECT {columns}, "
        "row_number() OVER earlier AS revision, lag(available_at) OVER earlier AS prev_available_at "
        f"FROM {STORED}.{identifier(dataset.name)} WINDOW earlier AS ("
        f"PARTITION BY {', '.join(map(identifier, record))} "
        f"ORDER BY {', '.join(map(identifier, dataset.revision_order))})"
    )


def gaps(source: str) -> str:
    """`gaps`: what could not become a row, as far as that was public at T."""
    return f"CREATE VIEW gaps AS SELECT dataset, gap_type, reason, locator, available_at FROM {source}"


def lake_info(as_of: datetime | None, version: int, bound: Iterable[tuple[str, datetime | None, int]]) -> str:
    """`lake_info`: per dataset, the newest available_at the session has (its watermark) and how many rows."""
    rows = [f"({literal(name)}, {instant(newest)}, {rows}::BIGINT)" for name, newest, rows in bound]
    values = f"VALUES {', '.join(rows)}" if rows else "SELECT '', NULL::TIMESTAMPTZ, 0::BIGINT WHERE false"
    return (
        f"CREATE VIEW lake_info AS SELECT {instant(as_of)} AS as_of, {version}::BIGINT AS version, "
        f"dataset, watermark, rows FROM ({values}) AS bound(dataset, watermark, rows)"
    )


def agent_views(datasets: Iterable[Dataset]) -> dict[str, str]:
    """The texts of sql/views, by dataset. Raises BadInput for a dataset without one."""
    home = files("sql") / "views"
    texts: dict[str, str] = {}
    for dataset in datasets:
        text = home / f"{dataset.name}.sql"
        if not text.is_file():
            raise BadInput("datasets", f"{dataset.name} has no view", f"write sql/views/{dataset.name}.sql")
        texts[dataset.name] = text.read_text(encoding="utf-8")
    return texts


def library(datasets: Iterable[Dataset]) -> list[str]:
    """The texts of sql/macros that read datasets, as far as these suffice."""
    general = session_macros(())
    return [text for text in session_macros({dataset.name for dataset in datasets}) if text not in general]


def opening(binding: "Binding", views: Mapping[str, str], source: Callable[["Relation"], str]) -> list[str]:
    """The statements of a delivered session after the prepared ones, in the order they depend on each other."""
    rows, gap_rows = binding.relations[:-1], binding.relations[-1]
    bound = [(relation.name, relation.watermark, relation.rows) for relation in rows]
    return [
        *clock(binding.as_of),
        *(stored_rows(relation.name, relation.columns, source(relation)) for relation in rows),
        *(revisions(dataset) for dataset in binding.datasets),
        gaps(source(gap_rows)),
        lake_info(binding.as_of, binding.snapshot.version, bound),
        *(views[dataset.name] for dataset in binding.datasets),
        *library(binding.datasets),
    ]
