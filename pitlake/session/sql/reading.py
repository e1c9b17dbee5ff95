"""Decides which views a caller's statement reads, and whether it returns unchanged rows of one view.

It uses DuckDB's own parser, in the process that runs the statement.

Rows count as unchanged only if the statement is a single SELECT from one view that lists the view's columns under their
own names. Filters, orders, limits and samples select rows and change none. Every field of the parse tree that this
module does not name must be empty. A statement with features of a later DuckDB is therefore never taken as proven.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pitlake.datasets import all_datasets
from pitlake.questions.catalogue import session_macros

if TYPE_CHECKING:
    import duckdb

LONGEST = 1 << 16
"""The longest SQL that is analysed, in characters. A longer statement is taken to read everything."""
_PARSED = "SELECT system.main.json_serialize_sql($sql)"
_PLACE = {"query_location", "query_location_length"}
_PLAIN = {
    "SELECT_NODE": {"modifiers", "cte_map", "select_list", "from_table", "where_clause", "sample", "qualify"},
    "BASE_TABLE": {"alias", "sample", "schema_name", "table_name", "catalog_name", "qualified_name"},
    "COLUMN_REF": {"alias", "column_names"},
    "STAR": {"relation_name", "exclude_list", "qualified_exclude_list"},
}
"""The fields that may be set in a part of the parse tree if the rows are shown unchanged."""
_ABOUT_ALL = frozenset({"gaps", "lake_info", "show", "describe", "information_schema", "sqlite_master"})
_CATALOGS = ("duckdb_", "pragma", "pg_", "sqlite_")
"""Words that list a session's contents, and prefixes of such words."""
_CHOOSING = {"ORDER_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER"}


@dataclass(frozen=True)
class Reading:
    """The views behind an answer. rows_of: the view whose rows it contains unchanged; None if that isn't proven.

    views: the views that are read; None if unknown, so that any may be read.
    """

    rows_of: str | None = None
    views: tuple[str, ...] | None = None


UNPROVEN = Reading()
"""The value for a statement whose reads are unknown."""


def read(connection: "duckdb.DuckDBPyConnection", sql: str, views: Collection[str]) -> Reading:
    """Return the views and columns that a single SELECT reads. views: the names of the views, each with its dataset."""
    if len(sql) > LONGEST:
        return UNPROVEN
    text = connection.execute(_PARSED, {"sql": sql}).fetchall()[0][0]
    connection.complete()
    try:
        parsed = json.loads(text)
    except RecursionError:
        return UNPROVEN
    statements = parsed.get("statements", ())
    if len(statements) != 1:
        return UNPROVEN
    return Reading(_rows_of(statements[0]["node"], views), _views(list(_nodes(parsed)), views))


def datasets_named(sql: str) -> list[str]:
    """Return the datasets whose names occur as words in SQL; empty if the answer might differ in a session of only
    these datasets.

    A session of few datasets opens faster. SQL that reads datasets in another way, such as `query_table` with a
    computed name, fails in such a session. Repeat it in a session of all datasets.
    """
    words = set(re.findall(r"\w+", sql.lower()))
    if not words.isdisjoint(_ABOUT_ALL) or any(word.startswith(_CATALOGS) for word in words):
        return []
    # This includes unions, because a mounted table may have the name of a union.
    if not words.isdisjoint(_macros()):
        return []
    return [name for name in all_datasets() if not words.isdisjoint({name, f"{name}_revisions"})]


@cache
def reading_macros() -> frozenset[str]:
    """Return the names of the session's macros that read rows. Other macros exist only after a caller's statement
    changed the session, which then reports no views.
    """
    return frozenset(name for name, body in _macros().items() if re.search(r"\bselect\b|\bfrom\b", body.lower()))


@cache
def _macros() -> dict[str, str]:
    """Return the text that follows the name of each of the session's macros and unions."""
    code = re.sub(r"--.*", "", "\n".join(session_macros(all_datasets())))
    _, *texts = re.split(r"CREATE (?:MACRO|VIEW) (?:lake\.)?(\w+)", code)
    return dict(zip(texts[::2], texts[1::2], strict=True))


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of the parse tree, at any depth, without recursion."""
    left = [tree]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            yield part
            left.extend(part.values())
        elif isinstance(part, list):
            left.extend(part)


def _views(nodes: list[dict[str, Any]], views: Collection[str]) -> tuple[str, ...] | None:
    """Return the views that a statement names; None if it may read others."""
    if any(node.get("type") in ("TABLE_FUNCTION", "SHOW_REF") for node in nodes):
        return None
    functions = {node["function_name"].lower() for node in nodes if node.get("class") == "FUNCTION"}
    if not reading_macros().isdisjoint(functions):
        return None
    ctes = {entry["key"].lower() for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
    tables = [node for node in nodes if node.get("type") == "BASE_TABLE"]
    views_read = {table["table_name"].lower() for table in tables} - ctes
    if not views_read or not views_read.issubset(views) or not ctes.isdisjoint(views) or not all(map(_is_ours, tables)):
        return None
    return tuple(sorted(views_read))


def _rows_of(select: dict[str, Any], views: Collection[str]) -> str | None:
    """Return the view whose rows a SELECT returns unchanged, under their own names."""
    table = select.get("from_table") or {}
    if not _is_plain(select, "SELECT_NODE") or not _is_plain(table, "BASE_TABLE") or not _is_ours(table):
        return None
    if select["cte_map"]["map"] or select["aggregate_handling"] != "STANDARD_HANDLING":
        return None
    if not all(modifier["type"] in _CHOOSING for modifier in select["modifiers"]):
        return None
    name = table["table_name"].lower()
    qualifiers = {name, table["alias"].lower()} - {""}
    are_columns = all(_is_own_column(item, qualifiers) for item in select["select_list"])
    return name if are_columns and name in views else None


def _is_plain(node: dict[str, Any], kind: str) -> bool:
    """Return whether a part of the parse tree has this type and no unexpected fields."""
    allowed = _PLAIN[kind] | _PLACE | {"type", "class", "aggregate_handling"}
    return node.get("type") == kind and not any(value for name, value in node.items() if name not in allowed)


def _is_ours(table: dict[str, Any]) -> bool:
    return table["schema_name"].lower() in ("", "main") and table["catalog_name"].lower() in ("", "memory")


def _is_own_column(item: dict[str, Any], qualifiers: set[str]) -> bool:
    """Return whether a selected item is `*` or a column of the table that is not renamed."""
    if _is_plain(item, "STAR"):
        return item["relation_name"].lower() in qualifiers | {""}
    if not _is_plain(item, "COLUMN_REF"):
        return False
    *qualifier, column = (name.lower() for name in item["column_names"])
    return item["alias"].lower() in ("", column) and len(qualifier) <= 1 and qualifiers.issuperset(qualifier)
