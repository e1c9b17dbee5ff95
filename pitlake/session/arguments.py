"""Checks of a session's arguments. Each mistake raises a BadInput with the field and the next step.

This module also suggests the next step after a failed query, which is not part of the wall. It limits the length of a
query and never interprets it.
"""

import json
import re
from collections.abc import Callable, Collection
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from pitlake.aliases import meant
from pitlake.clock import instant
from pitlake.errors import BadInput
from pitlake.questions.catalogue import COMPANY, POLLED, Query, placeholders, unions
from pitlake.questions.parameters import spell
from pitlake.questions.tickers import Company
from pitlake.recorder import canonical
from pitlake.session.digest import sha256_of
from pitlake.session.limits import Caps, Failure, Limits
from pitlake.session.sealed.protocol import pack_parameters

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    Rows: TypeAlias = pa.Table | pd.DataFrame | pl.DataFrame | list[dict[str, Any]]
    Params: TypeAlias = list[Any] | tuple[Any, ...] | dict[str, Any] | None

_RESERVED = frozenset({"gaps", "lake_info", "lake"})
_MISSING_COLUMN = re.compile(
    r'[Cc]olumn (?:named )?"(\w+)" (?:not found|was not found)|does not have a column named "(\w+)"'
)
_MISSING_MACRO = re.compile(r"Table Function with name \w+_of does not exist")
_OUTSIDE = (
    "a session can't read files: mount a table with `pitlake mount`, or load() its rows",
    "a session can read only its own views: SELECT * FROM lake_info lists them",
)
_STEPS = {
    "^MachineClock": "use now() or as_of(), which return T",
    "Cannot access file|working directory": _OUTSIDE[0],
    "^PermissionException": _OUTSIDE[1],
    r"LINE 1: \S+\.sql\s": "this is a file: pass the statement in it; on the command line, - reads it from stdin",
    'syntax error at or near ":"': "write a parameter as $name, not :name",
}
LOADED = 'SELECT * FROM lake_info lists the views; in Python, session.load("mine", frame) adds a frame'
_MISSING_TABLE = re.compile(r"Table with name (\w+) does not exist")

LONGEST_QUERY, LONGEST_PARAMETERS = 128 << 10, 16 << 20
"""The largest query text and parameters, in bytes."""

LEFT_OUT = (
    "it is known only with hindsight, which this session leaves out: join by CIK, take names from `names`, or run a "
    "named query"
)
NEXT_STEP = {
    "rows": "aggregate or filter, ask for a part with max_rows, or open the session with Limits(rows=...)",
    "bytes": "select fewer columns or rows, ask for a part with max_bytes, or open the session with Limits(bytes=...)",
    "seconds": "filter on a key or an interval of time, or open the session with Limits(seconds=...)",
    "memory": "aggregate earlier or select less, or open the session with Limits(memory=...)",
}
"""The next step for each limit."""


def bounds(limits: Any) -> Limits:
    """Return the limits, or the default ones."""
    if limits is not None and not isinstance(limits, Limits):
        raise BadInput("limits", f"is a {type(limits).__name__}", "give Limits(rows=…, seconds=…)")
    return limits or Limits()


def names(datasets: Any) -> list[str] | None:
    """Return the names of datasets, which may be unknown, or None for all."""
    if datasets is None:
        return None
    if (
        isinstance(datasets, str)
        or not isinstance(datasets, Collection)
        or not all(isinstance(name, str) for name in datasets)
    ):
        raise BadInput("datasets", "is not a list of names", 'give a list such as ["news"]')
    return list(datasets)


def caps(limits: Limits, max_rows: int | None, max_bytes: int | None) -> Caps:
    """Return the limits of one result: those of the session, or smaller limits that were requested."""
    for field, value in (("max_rows", max_rows), ("max_bytes", max_bytes)):
        if value is not None and (type(value) is not int or value < 0):
            raise BadInput(field, f"{value!r} is not a count", "give a whole number, 0 or more")
    rows, size = int(limits.rows), int(limits.bytes)
    return Caps(
        rows=rows if max_rows is None else min(rows, max_rows),
        bytes=size if max_bytes is None else min(size, max_bytes),
        truncate=max_rows is not None or max_bytes is not None,
    )


def query_text(query: object) -> str:
    """Return a valid query: a UTF-8 string of limited length."""
    if not isinstance(query, str):
        raise BadInput("query", "is not SQL text", "give a string")
    try:
        size = len(query) if len(query) > LONGEST_QUERY else len(query.encode())
    except UnicodeEncodeError:
        raise BadInput("query", "is not UTF-8 text", "give SQL in UTF-8") from None
    if size > LONGEST_QUERY:
        raise BadInput("query", f"longer than {LONGEST_QUERY} bytes", "give long lists as params, or rows with load()")
    return query


def packed(params: object) -> tuple[object, str]:
    """Return parameters in the form that is sent, and in the form that a receipt stores."""
    if params is not None and not isinstance(params, (list, tuple, dict)):
        raise BadInput("params", f"is a {type(params).__name__}", "give a list for ?, a dict for $name")
    try:
        values = pack_parameters(params)
        text = canonical(values)
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise BadInput("params", str(problem), "give numbers, text, dates, instants, lists or dicts") from None
    if len(text) > LONGEST_PARAMETERS:
        raise BadInput("params", f"longer than {LONGEST_PARAMETERS} bytes", "give fewer, or load() them as rows")
    return values, text


def resolved(
    query: Query | None,
    params: "Params",
    company: Callable[[str, datetime | None], Company],
    polled: Callable[[str, Company], str],
) -> tuple["Params", list[Company]]:
    """Return a catalogue query's values with tickers resolved to companies, and the companies. Raises BadInput.

    polled: returns the value of POLLED for a ticker. Receipts store it, because later polls change it.
    """
    if not isinstance(params, dict) or not query:
        return params, []
    if COMPANY in placeholders(query.sql) and params.get(COMPANY) is None:
        ticker = params.get("ticker")
        companies = [company(ticker, None)] if isinstance(ticker, str) else []
        others = {name: value for name, value in params.items() if name != "ticker"}
        if POLLED in others and companies:
            others[POLLED] = polled(str(ticker), companies[0])
        return others | {COMPANY: companies[0].company if companies else None}, companies
    pairs = params.get("pairs")
    if pairs is None or (isinstance(pairs, str) and f'"{COMPANY}": ' in pairs):
        return params, []
    rows = json.loads(spell("pairs", "pairs", pairs))
    companies = [company(pair["ticker"], instant(pair["at"])) for pair in rows]
    with_companies = [pair | {COMPANY: bearer.company} for pair, bearer in zip(rows, companies, strict=True)]
    return params | {"pairs": json.dumps(with_companies)}, companies


def table(name: object, rows: Any, contracts: Collection[str]) -> tuple[str, pa.Table, str]:
    """Return a caller's table: its name, which must not hide a view, its rows in Arrow, and their hash."""
    plain = name.lower().removesuffix("_revisions") if isinstance(name, str) else ""
    if not isinstance(name, str) or not name.isidentifier() or plain in _RESERVED.union(contracts, unions()):
        raise BadInput("name", f"{name!r} can't name loaded rows", "give an identifier that is not the name of a view")
    try:
        if isinstance(rows, list):
            arrow = pa.Table.from_pylist(rows)
        elif type(rows).__module__.split(".")[0] == "pandas":
            arrow = pa.Table.from_pandas(rows, preserve_index=False)
        elif hasattr(rows, "__arrow_c_stream__"):
            arrow = pa.table(rows)
        else:
            raise BadInput("rows", f"is a {type(rows).__name__}", "give an Arrow table, a DataFrame or a list of dicts")
        return name, arrow, sha256_of(arrow)
    except (pa.ArrowException, AttributeError, TypeError, ValueError, OverflowError) as problem:
        raise BadInput("rows", f"are not a table of plain columns ({problem})", "give each column one type") from None


def hint(
    failure: Failure,
    bound: Collection[str],
    contracts: Collection[str],
    open_only: Collection[str],
    left_out: Collection[str] = (),
) -> str:
    """Return the next step after a failure, or "" if DuckDB's message is enough. left_out: hindsight columns."""
    spelled = f"{failure.kind}: {failure.message}"
    only = "" if contracts else f"this session has {', '.join(bound)}, and nothing else"
    if step := next((step for pattern, step in _STEPS.items() if re.search(pattern, spelled)), ""):
        return only if only and step in _OUTSIDE else step
    column = _MISSING_COLUMN.search(failure.message)
    absent = "" if column is None else next(filter(None, column.groups()), "").lower()
    if absent in left_out or (left_out and _MISSING_MACRO.search(failure.message)):
        return LEFT_OUT
    missing = _MISSING_TABLE.search(failure.message)
    name = missing.group(1).removesuffix("_revisions") if missing else ""
    if name in open_only and name not in bound:
        return f"{name} contains outcomes and is shown in open mode only (open_mode=True, --open)"
    if name in contracts and name not in bound:
        return f"this session was opened without {name}; open one with it in datasets"
    if name in unions() and set(unions()[name].reads) <= set(bound):
        return LEFT_OUT if left_out else ""
    if name in unions() and contracts:
        return f"{name} reads {', '.join(unions()[name].reads)}: open the session with all of them"
    if meant(name) in bound:
        return f"{name} is called {meant(name)} here: SELECT * FROM {meant(name)}"
    return (only or LOADED) if name else ""
