"""Fields of mounted tables in a panel: `table.column`, each value as a session at the row's own instant shows it.

A table names its companies in a column `cik`, `ticker` or `symbol`. If its key has a date, the value is that of the
newest date that is not after the instant.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pitlake import clock
from pitlake.errors import BadInput, choice, listed

if TYPE_CHECKING:
    from pitlake.contract import Dataset
    from pitlake.session import Result, Session, Viewpoint

OWNERS = {
    "cik": "list_contains(company_ciks($company), lpad(cik::VARCHAR, 10, '0'))",
    "ticker": "is_about($company, NULL, [ticker], available_at)",
    "symbol": "is_about($company, NULL, [symbol], available_at)",
}
"""The columns that may name a company, each with the condition that a row is about the company."""

Answer = tuple[str, datetime, str, "Result"]


def questions(fields: Collection[str], contracts: Mapping[str, "Dataset"], spelled: str) -> dict[str, tuple[str, str]]:
    """Return the table and the SQL of each field. Raises BadInput for a field that no table has."""
    return {name: _question(name, contracts, spelled) for name in fields}


def owner(contract: "Dataset") -> str:
    """Return the column that names a company in each row of a table; "" if none does."""
    return next((name for name in OWNERS if name in contract.agent_columns), "")


def _question(name: str, contracts: Mapping[str, "Dataset"], spelled: str) -> tuple[str, str]:
    table, _, column = name.partition(".")
    own = [each for each, contract in contracts.items() if contract.group == "mounted"]
    if table not in own:
        step = choice(table, own, "pitlake datasets") if own else "mount one with `pitlake mount`"
        raise BadInput(spelled, f"there is no mounted table {table!r}", step)
    contract = contracts[table]
    if column not in contract.agent_columns:
        raise BadInput(spelled, f"{table} has no column {column!r}", choice(column, contract.agent_columns))
    if not owner(contract):
        problem = f"{table} does not name companies: its columns are {listed(contract.agent_columns)}"
        raise BadInput(spelled, problem, f"mount it with a column {' or '.join(OWNERS)}")
    types = {each.name: each.type for each in contract.columns}
    limits = {"date": "$day::DATE", "instant": "as_of()"}
    dates = [each for each in contract.key if types[each] in limits]
    conditions = [OWNERS[owner(contract)], *(f'"{each}" <= {limits[types[each]]}' for each in dates)]
    order = ", ".join(f'"{each}" DESC' for each in (*dates, clock.AVAILABLE_AT))
    where = " AND ".join(conditions)
    return (
        table,
        f'SELECT "{column}" AS value, available_at FROM "{table}" WHERE {where} ORDER BY {order}, evidence LIMIT 1',
    )


def answers(
    sql_by_field: Mapping[str, tuple[str, str]],
    viewpoint: "Viewpoint",
    tickers: Sequence[str],
    instants: Sequence[datetime],
    progress: Callable[[str], None],
) -> Iterator[Answer]:
    """Ask each field about each company at each instant, oldest first, in one session that moves through time."""
    from pitlake.session import open_session

    tables = sorted({table for table, _ in sql_by_field.values()})
    with open_session(replace(viewpoint, as_of=instants[0]), datasets=tables) as session:
        for place, moment in enumerate(instants):
            progress(f"own tables: {place:,} of {len(instants):,} instants ({place / len(instants):.0%})")
            session.advance(moment)
            for ticker in tickers:
                for name, (_, sql) in sql_by_field.items():
                    yield ticker, moment, name, session.sql(sql, _values(session, sql, ticker, moment))


def _values(session: "Session", sql: str, ticker: str, moment: datetime) -> dict[str, Any]:
    day = {"day": clock.new_york_day(moment - clock.MICROSECOND)} if "$day" in sql else {}
    return {"company": session.company(ticker).company, **day}
