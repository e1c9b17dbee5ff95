"""Pages of any dataset of the lake, including mounted tables: the datasets at T, the rows, and a row's revisions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
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
from pitlake.errors import BadInput, choice
from pitlake.lake.tables.query import columns
from pitlake.lake.tables.query import quoted as identifier
from pitlake.web.as_data import check_form, download, render
from pitlake.web.pool import Pool

if TYPE_CHECKING:
    from pitlake.session import Session

MOST_ROWS = 200
NUMBERS = ("float", "int")
SQL_TYPES = {
    "string": "VARCHAR",
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "date": "DATE",
    "instant": "TIMESTAMPTZ",
}


@dataclass(frozen=True)
class TableAddress:
    """The address of a dataset's page, which selects its content.

    entity: "" for all. since: only rows that became public after it; None for all. column: the column of numbers to
    draw; "" for no chart.
    """

    as_of: datetime
    contract: Dataset
    entity: str
    since: datetime | None
    column: str

    def url(self, page: str = "/table", **changes: Any) -> str:
        """Return the URL of a page for this address, with some of its parts changed."""
        own = {"dataset": self.contract.name, "entity": self.entity, "since": self.since and iso(self.since)}
        parts = {"as_of": iso(self.as_of)} | own | {"column": self.column} | changes
        return f"{page}?{urlencode({name: value for name, value in parts.items() if value})}"

    def row_url(self, row: Mapping[str, Any]) -> str:
        key = {f"k_{name}": str(row[name]) for name in self.contract.key if row[name] is not None}
        return f"/row?{urlencode({'as_of': iso(self.as_of), 'dataset': self.contract.name} | key)}"

    def sql(self, what: str = "*") -> tuple[str, list[Any]]:
        """Return the SQL for the rows, newest first, and its parameters."""
        filters, values = [], list[Any]()
        if self.entity:
            filters.append(f"{identifier(self.contract.entity)}::VARCHAR = ?")
            values.append(self.entity)
        if self.since is not None:
            filters.append(f"{AVAILABLE_AT} > ?")
            values.append(self.since)
        where = f"\nWHERE {' AND '.join(filters)}" if filters else ""
        order = "" if what != "*" else f"\nORDER BY {AVAILABLE_AT} DESC, {columns(self.contract.key)}"
        return f"SELECT {what} FROM {identifier(self.contract.name)}{where}{order}", values


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
        ]

    def tables(self, request: Request) -> Response:
        """List the datasets that had rows at T."""
        as_of = _as_of(request.query_params)
        with self._pool.session(as_of, None) as session:
            holdings = [holding for holding in contents.holdings(session) if holding.rows]
            titles = {holding.dataset: session.contracts[holding.dataset].title for holding in holdings}
        facts = {"page": "tables", "as_of": as_of, "holdings": holdings, "titles": titles}
        return render(self._templates, request, "tables.html", facts, moment=as_of)

    def table(self, request: Request) -> Response:
        """Show the newest rows of a dataset at T, and a chart of one column of one entity."""
        with self._session(request) as session:
            address = _address(session, request.query_params)
            sql, values = address.sql()
            result = session.sql(f"{sql}\nLIMIT {MOST_ROWS}", values)
            ((count,),) = session.sql(*address.sql("count(*)")).rows()
        rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows()]
        facts = {
            "page": "table",
            "table": address,
            "columns": _in_order(address.contract, result.columns),
            "rows": rows,
            "count": count,
        }
        links = [address.row_url(row) for row in rows]
        return render(
            self._templates, request, "table.html", facts, chart=_chart(address, rows), links=links, cell=_cell
        )

    def download(self, request: Request) -> Response:
        """Return every row of the page as a CSV or Parquet file."""
        check_form(form := request.path_params["form"])
        with self._session(request) as session:
            address = _address(session, request.query_params)
            table = session.sql(*address.sql()).arrow()
        return download(table, address.contract.name, form)

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
        return render(self._templates, request, "row.html", facts, cell=_cell, moment=address.as_of, most=MOST_ROWS)

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
    numbers = [column.name for column in contract.columns if column.type in NUMBERS]
    column = query.get("column", "") or next(iter(numbers), "")
    if column not in numbers and column:
        raise BadInput("column", f"there is no column of numbers {column!r}", choice(column, numbers))
    since = query.get("since", "")
    return TableAddress(
        _as_of(query), contract, query.get("entity", ""), clock.instant(since, "since") if since else None, column
    )


def _chart(address: TableAddress, rows: list[dict[str, Any]]) -> list[charts.Svg]:
    days = [column.name for column in address.contract.columns if column.type == "date"]
    about = next((name for name in address.contract.key if name in days), AVAILABLE_AT)
    today, stepped = clock.new_york_day(address.as_of), about == AVAILABLE_AT
    # Without a filter on one entity, a day would have several numbers.
    one_series = {*address.contract.key} <= {address.contract.entity, about}
    drawn = rows if one_series and address.entity and address.column else []
    points = sorted(
        (row[about], float(row[address.column]))
        for row in drawn
        if row[about] is not None and row[address.column] is not None and (stepped or row[about] <= today)
    )
    label = f"{address.column} of {address.entity} by {about}"
    return charts.line_chart(
        points if len(points) > 1 else [], address.as_of, charts.FULL_WIDTH, label, stepped=stepped
    )


def _in_order(contract: Dataset, names: list[str]) -> list[str]:
    """Return column names: the key, then the content, and last the columns that date a row."""
    dating = [name for name in names if name.startswith(AVAILABLE_AT) or name == "evidence"]
    return [*contract.key, *(name for name in names if name not in contract.key and name not in dating), *dating]


def _cell(value: Any) -> str:
    return iso(value) if isinstance(value, datetime) else "" if value is None else str(value)
