"""What the clock columns of an agent's answer rest on: rows of the lake, or the newest row of what was read. Never SQL.

A row carries an `available_at` and `available_at_source` of its own where it is a row of one dataset: one of a named
query, or of a plain SELECT of these very columns from one dataset's view, without grouping, windows, subqueries, WITH.
Any other row (a join, an aggregate, a constant) carries the newest available_at among the datasets the statement reads,
whatever it says itself. Where it can't be told which it reads (a table function, several statements), that is all of
the session's. Statements are read by DuckDB's own parser, as values, in the session that will run them.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pitlake.clock import AVAILABLE_AT
from pitlake.datasets import all_datasets

if TYPE_CHECKING:
    from pitlake.session import Session

SOURCE = "available_at_source"
CLOCK = (AVAILABLE_AT, SOURCE)
GENUINE = (*CLOCK, "evidence")
NEWEST = "SELECT dataset, watermark FROM lake_info WHERE watermark IS NOT NULL"
PARSED = """
SELECT system.main.json_serialize_sql($sql),
    (SELECT list(function_name) FROM duckdb_functions() WHERE macro_definition ILIKE '%select%' AND NOT internal)
"""
_WHOLE = ("group_expressions", "group_sets", "having")


@dataclass(frozen=True)
class Provenance:
    """own: rows that have both clock columns keep them. available_at, tag: what every other row carries; None where
    nothing of what was read is public yet.
    """

    own: bool
    available_at: datetime | None
    tag: str

    @classmethod
    def of(cls, session: "Session", sql: str, reads: tuple[str, ...] | None = None) -> "Provenance":
        """That of a statement in a session. Ask before any SQL of a caller runs, which could put other names in place.

        reads: what a named query, whose text is ours and whose rows keep their clocks, reads.
        """
        own, read = (True, frozenset(reads)) if reads is not None else _told(session, sql)
        newest = [(at, name) for name, at in session.sql(NEWEST).rows() if not read or name in read]
        if not newest:
            return cls(own, None, "provider_metadata")
        at = max(newest)[0]
        name = min(name for moment, name in newest if moment == at)
        return cls(own, at, all_datasets()[name].source_tag)

    def dated(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row with the clock columns it may carry."""
        if self.own and row.get(AVAILABLE_AT) is not None:
            return dict(row)
        kept = {name: value for name, value in row.items() if name.lower() not in CLOCK}
        if self.available_at is None:
            return kept
        return kept | {AVAILABLE_AT: self.available_at, SOURCE: self.tag}


def _told(session: "Session", sql: str) -> tuple[bool, frozenset[str]]:
    """Whether rows keep their clocks, and the datasets a statement reads: none if that can't be told."""
    ((text, macros),) = session.sql(PARSED, {"sql": sql}).rows()
    try:
        parsed = json.loads(text)
        nodes = list(_nodes(parsed))
    except RecursionError:
        return False, frozenset()
    statements = parsed.get("statements", [])
    if len(statements) != 1 or any(_is_opaque(node, macros or []) for node in nodes):
        return False, frozenset()
    views = {view: name for name in session.datasets for view in (name, f"{name}_revisions")}
    named = {entry["key"].lower() for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
    tables = {node["table_name"].lower() for node in nodes if node.get("type") == "BASE_TABLE"} - named
    if not tables or named & views.keys() or not tables <= views.keys():
        return False, frozenset()
    plain = not named and _is_plain(statements[0]["node"], nodes)
    return plain, frozenset(views[table] for table in tables)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(part)


def _is_opaque(node: dict[str, Any], macros: list[str]) -> bool:
    """Whether what this part of a statement reads does not stand in the statement."""
    if node.get("type") in ("TABLE_FUNCTION", "SHOW_REF"):
        return True
    return node.get("class") == "FUNCTION" and node["function_name"].lower() in macros


def _is_plain(select: dict[str, Any], nodes: list[dict[str, Any]]) -> bool:
    """Whether each row of the answer is a row of one view, with its own clock columns."""
    table = select.get("from_table", {})
    if select.get("type") != "SELECT_NODE" or table.get("type") != "BASE_TABLE" or table["column_name_alias"]:
        return False
    if select["aggregate_handling"] != "STANDARD_HANDLING" or any(select[name] for name in _WHOLE):
        return False
    if any(node.get("class") in ("WINDOW", "SUBQUERY") or node.get("function_name") == "unnest" for node in nodes):
        return False
    names = {table["table_name"].lower(), table["alias"].lower()} - {""}
    return all(_is_genuine(item, names) for item in select["select_list"])


def _is_genuine(item: dict[str, Any], names: set[str]) -> bool:
    """Whether a selected item is the view's own column where its name is one of those that prove."""
    if item["class"] == "STAR":
        changed = [*item["replace_list"], *item["rename_list"]]
        return not item["columns"] and not item["expr"] and not any(_mentions_proof(change) for change in changed)
    named = [name.lower() for name in item.get("column_names", ())]
    shown = (item["alias"] or (named[-1] if named else "")).lower()
    if shown in GENUINE:
        return named[-1:] == [shown] and (len(named) == 1 or (len(named) == 2 and named[0] in names))
    return not any(node.get("class") == "STAR" for node in _nodes(item)) and bool(shown or not _mentions_proof(item))


def _mentions_proof(part: dict[str, Any]) -> bool:
    return any(name in json.dumps(part).lower() for name in GENUINE)
