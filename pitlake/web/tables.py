"""Pages of any dataset of the lake, including mounted tables: the datasets at T, their rows, a row's revisions, and the
answer to a reader's own SQL.

Filters, order and page are parts of the address. The session of the page answers them, so they read nothing later.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import jinja2
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pitlake import charts, clock
from pitlake.answers import contents
from pitlake.clock import AVAILABLE_AT, iso
from pitlake.contract import Dataset
from pitlake.errors import BadInput, LimitExceeded, QueryFailed, choice, for_agents
from pitlake.lake.tables.query import columns
from pitlake.lake.tables.query import quoted as identifier
from pitlake.web.address import Move
from pitlake.web.as_data import check_form, download, render
from pitlake.web.pool import Pool
from pitlake.web.questions import as_command, quoted

if TYPE_CHECKING:
    from pitlake.session import Session

MOST_ROWS, MOST_PAGES = 100, 1000
"""The rows of a page, and the highest page number."""
NUMBERS = ("float", "int")
SQL_TYPES = {
    "string": "VARCHAR",
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "date": "DATE",
    "instant": "TIMESTAMPTZ",
}
COMPARISONS = {
    "is": "{column} = CAST({value} AS {type})",
    "is not": "{column} IS DISTINCT FROM CAST({value} AS {type})",
    "at least": "{column} >= CAST({value} AS {type})",
    "at most": "{column} <= CAST({value} AS {type})",
    "contains": "contains(lower({column}::VARCHAR), lower({value}))",
}
"""The filters of a column by their names, in SQL."""


@dataclass(frozen=True)
class TableAddress:
    """The address of a dataset's page, which selects its content.

    entity: "" for all. since: only rows that became public after it; None for all. column: the column of numbers to
    draw; "" for no chart. where, test, value: a filter; "" for none. sort: the column to sort by, with a hyphen before
    it for descending; "" for the newest rows first. turn: the number of the page.
    """

    as_of: datetime
    contract: Dataset
    entity: str = ""
    since: datetime | None = None
    column: str = ""
    where: str = ""
    test: str = ""
    value: str = ""
    sort: str = ""
    turn: int = 1

    def url(self, page: str = "/table", **changes: Any) -> str:
        """Return the URL of a page for this address, with some of its parts changed. Other rows begin on page 1."""
        own = {"dataset": self.contract.name, "entity": self.entity, "since": self.since and iso(self.since)}
        own |= {"where": self.where, "test": self.test if self.where else "", "value": self.value, "sort": self.sort}
        parts = {"as_of": iso(self.as_of)} | own | {"column": self.column} | changes
        return f"{page}?{urlencode({name: value for name, value in parts.items() if value})}"

    def sorted_url(self, column: str) -> str:
        """Return the URL that sorts the rows by a column: largest first, or smallest first if they already are."""
        return self.url(sort=column if self.sort == f"-{column}" else f"-{column}")

    def row_url(self, row: Mapping[str, Any]) -> str:
        key = {f"k_{name}": str(row[name]) for name in self.contract.key if row[name] is not None}
        return f"/row?{urlencode({'as_of': iso(self.as_of), 'dataset': self.contract.name} | key)}"

    @property
    def selection(self) -> str:
        """Return the SQL that selects the rows, without their order."""
        filters = []
        if self.entity:
            filters.append(f"{identifier(self.contract.entity)}::VARCHAR = {quoted(self.entity)}")
        if self.since is not None:
            filters.append(f"{AVAILABLE_AT} > {quoted(iso(self.since))}::TIMESTAMPTZ")
        if self.where:
            kinds = {column.name: column.type for column in self.contract.columns} | {AVAILABLE_AT: "instant"}
            parts = {"column": identifier(self.where), "value": quoted(self.value)}
            filters.append(COMPARISONS[self.test].format(**parts, type=SQL_TYPES.get(kinds[self.where], "VARCHAR")))
        where = f"\nWHERE {' AND '.join(filters)}" if filters else ""
        return f"FROM {identifier(self.contract.name)}{where}"

    @property
    def sql(self) -> str:
        """Return the SQL for the rows in their order."""
        column, falls = self.sort.removeprefix("-"), self.sort.startswith("-")
        chosen = f"{identifier(column)}{' DESC' if falls else ''} NULLS LAST, " if column else ""
        return f"SELECT *\n{self.selection}\nORDER BY {chosen}{AVAILABLE_AT} DESC, {columns(self.contract.key)}"


class Tables:
    """The pages that show any dataset."""

    def __init__(self, pool: Pool, templates: jinja2.Environment) -> None:
        self._pool, self._templates = pool, templates

    def routes(self) -> list[Route]:
        return [
            Route("/tables", self.tables),
            Route("/table", self.table),
            Route("/table.{form}", self.download),
            Route("/row", self.row),
            Route("/sql", self.sql),
            Route("/sql.{form}", self.sql_file),
        ]

    def tables(self, request: Request) -> Response:
        """List the datasets that had rows at T."""
        as_of = _as_of(request.query_params)
        with self._pool.session(as_of, None) as session:
            holdings = [holding for holding in contents.holdings(session) if holding.rows]
            titles = {holding.dataset: session.contracts[holding.dataset].title for holding in holdings}
        facts = {"page": "tables", "as_of": as_of, "holdings": holdings, "titles": titles}
        first = [Move("first row", holding.first) for holding in holdings if holding.first]
        return render(self._templates, request, "tables.html", facts, moment=as_of, events=first)

    def table(self, request: Request) -> Response:
        """Show a page of a dataset's rows at T, the newest first by default, and a chart of a column of one entity."""
        with self._session(request) as session:
            address = _address(session, request.query_params)
            skipped = (address.turn - 1) * MOST_ROWS
            result = session.sql(f"{address.sql}\nLIMIT {MOST_ROWS} OFFSET {skipped}")
            ((count,),) = session.sql(f"SELECT count(*) {address.selection}").rows()
        rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows()]
        facts = {
            "page": "table",
            "table": address,
            "columns": _in_order(address.contract, result.columns),
            "rows": rows,
            "count": count,
            "turns": min(-(-count // MOST_ROWS), MOST_PAGES),
        }
        frame: dict[str, Any] = {
            "chart": chart(address, rows),
            "links": [address.row_url(row) for row in rows],
            "first": skipped + 1,
            "tests": list(COMPARISONS),
            "numbers": numbers(address.contract),
        }
        return render(self._templates, request, "table.html", facts, moment=address.as_of, **frame)

    def download(self, request: Request) -> Response:
        """Return every row of the page as a CSV or Parquet file."""
        check_form(form := request.path_params["form"])
        with self._session(request) as session:
            address = _address(session, request.query_params)
            table = session.sql(address.sql).arrow()
        return download(table, address.contract.name, form)

    def sql(self, request: Request) -> Response:
        """Show the answer to a reader's own SQL as of T, a page at a time."""
        as_of, text = _as_of(request.query_params), request.query_params.get("sql", "").strip()
        turn, facts, problem = _turn(request.query_params), dict[str, Any](), ""
        if text:
            try:
                with self._pool.session(as_of, None) as session:
                    result = session.sql(text, max_rows=turn * MOST_ROWS)
                rows = result.rows()[(turn - 1) * MOST_ROWS :]
                facts = {"columns": result.columns, "rows": rows, "more": result.truncated}
            except (QueryFailed, LimitExceeded) as error:
                problem = for_agents(error)
            except (OverflowError, ValueError):
                problem = "a value is outside the years 1 to 9999, or too fine; cast it, such as CAST(… AS VARCHAR)"
        facts |= {"page": "sql", "as_of": as_of, "sql": text, "problem": problem}
        frame: dict[str, Any] = {"turn": turn, "command": as_command(text, as_of), "first": (turn - 1) * MOST_ROWS + 1}
        status = HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK
        return render(self._templates, request, "sql.html", facts, status=status, moment=as_of, **frame)

    def sql_file(self, request: Request) -> Response:
        """Return every row of the answer to a reader's own SQL as a CSV or Parquet file."""
        check_form(form := request.path_params["form"])
        with self._pool.session(_as_of(request.query_params), None) as session:
            table = session.sql(request.query_params.get("sql", "")).arrow()
        return download(table, "answer", form)

    def row(self, request: Request) -> Response:
        """Show every revision of a row that was public at T, newest first."""
        with self._session(request) as session:
            address = _address(session, request.query_params)
            contract = address.contract
            key = {name: request.query_params.get(f"k_{name}") for name in contract.key}
            types = {column.name: SQL_TYPES[column.type] for column in contract.columns if column.name in key}
            same = " AND ".join(f"{identifier(name)} IS NOT DISTINCT FROM CAST(? AS {types[name]})" for name in key)
            view = identifier(f"{contract.name}_revisions")
            sql = f"SELECT * FROM {view} WHERE {same} ORDER BY {AVAILABLE_AT} DESC LIMIT {MOST_ROWS}"
            result = session.sql(sql, list(key.values()))
        rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows()]
        facts = {"page": "row", "table": address, "key": key, "rows": rows}
        facts["columns"] = _in_order(contract, result.columns)
        events = [Move("revision", row[AVAILABLE_AT]) for row in rows]
        frame: dict[str, Any] = {"moment": address.as_of, "events": events, "most": MOST_ROWS}
        return render(self._templates, request, "row.html", facts, **frame)

    def _session(self, request: Request) -> Any:
        name = request.query_params.get("dataset", "")
        if not name:
            raise BadInput(
                "dataset", "missing", "name a dataset, such as ?dataset=news; /tables lists those of the time"
            )
        return self._pool.session(_as_of(request.query_params), (name,))


def _as_of(query: Mapping[str, str]) -> datetime:
    if "as_of" not in query:
        raise BadInput("as_of", "missing", "give a time, such as ?as_of=2024-05-22T16:30:00-04:00")
    return clock.past(query["as_of"])


def _address(session: "Session", query: Mapping[str, str]) -> TableAddress:
    contract = session.contracts[query["dataset"]]
    names, since = [column.name for column in contract.columns] + [AVAILABLE_AT], query.get("since", "")
    drawable = numbers(contract)
    column = query.get("column", "") or next(iter(drawable), "")
    sort, where, test = query.get("sort", ""), query.get("where", ""), query.get("test", "is")
    _check("column", column, drawable)
    _check("sort", sort.removeprefix("-"), names)
    _check("where", where, names)
    _check("test", test, COMPARISONS)
    return TableAddress(
        _as_of(query),
        contract,
        query.get("entity", ""),
        clock.instant(since, "since") if since else None,
        column,
        where if query.get("value") else "",
        test,
        query.get("value", ""),
        sort,
        _turn(query),
    )


def _check(field: str, name: str, names: Collection[str]) -> None:
    """Raise BadInput for a name that is not among these. An empty name is allowed."""
    if name and name not in names:
        raise BadInput(field, f"there is no {name!r} here", choice(name, names))


def _turn(query: Mapping[str, str]) -> int:
    """Return the number of the page to show, from 1."""
    text = query.get("turn", "1")
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST_PAGES)) and 1 <= int(text) <= MOST_PAGES):
        raise BadInput("turn", f"{text[:20]!r} is not a page", f"give a number from 1 to {MOST_PAGES}")
    return int(text)


def numbers(contract: Dataset) -> list[str]:
    """Return the columns of numbers that a chart may draw."""
    return [column.name for column in contract.columns if column.type in NUMBERS]


def chart(address: TableAddress, rows: Sequence[Mapping[str, Any]]) -> list[charts.Svg]:
    """Draw the column of an address for its entity; empty charts where a day may have several numbers."""
    days = [column.name for column in address.contract.columns if column.type == "date"]
    about = next((name for name in address.contract.key if name in days), AVAILABLE_AT)
    one_series = {*address.contract.key} <= {address.contract.entity, about}
    drawn = rows if one_series and address.entity and address.column else []
    points = sorted(
        (row[about], float(row[address.column]))
        for row in drawn
        if row[about] is not None
        and row[address.column] is not None
        and str(row[address.contract.entity]) == address.entity
    )
    label, stepped = f"{address.column} of {address.entity} by {about}", about == AVAILABLE_AT
    return charts.line_chart(
        points if len(points) > 1 else [], address.as_of, charts.FULL_WIDTH, label, stepped=stepped
    )


def _in_order(contract: Dataset, names: list[str]) -> list[str]:
    """Return column names: the key, then the content, and last the columns that date a row."""
    dating = [name for name in names if name.startswith(AVAILABLE_AT) or name == "evidence"]
    return [*contract.key, *(name for name in names if name not in contract.key and name not in dating), *dating]
