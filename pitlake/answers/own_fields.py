"""Panel fields `table.column` of mounted tables. Each value is as a session at the row's own instant shows it.

A table names its companies in a column `cik`, `ticker` or `symbol`. If its key has a date, the value is from the newest
date that is not after the instant.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pitlake import clock
from pitlake.errors import BadInput, choice, listed
from pitlake.lake.mounting.contract import read as read_contract
from pitlake.lake.storage.root import open_store

if TYPE_CHECKING:
    from pitlake.contract import Dataset
    from pitlake.session import Result, Viewpoint

OWNERS = {
    "cik": "list_contains(company_ciks($company), lpad(cik::VARCHAR, 10, '0'))",
    "ticker": "is_about($company, NULL, [ticker], available_at)",
    "symbol": "is_about($company, NULL, [symbol], available_at)",
}
"""The columns that may name a company, each with the condition that a row is about the company."""

_UP_TO = {"date": "$day::DATE", "instant": "as_of()"}
"""The latest allowed value of a date in the key, by its type."""

Answer = tuple[str, datetime, str, "Result"]
Members = frozenset[tuple[str, datetime]]


def questions(fields: Collection[str], contracts: Mapping[str, "Dataset"], spelled: str) -> dict[str, tuple[str, str]]:
    """Return the table and the SQL of each field. Raises BadInput for a field that is in no table."""
    return {name: _question(name, contracts, spelled) for name in fields}


def owner(contract: "Dataset") -> str:
    """Return the column with the company of each row of a table; "" if there is none."""
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
    dates = [each for each in contract.key if types[each] in _UP_TO]
    conditions = [OWNERS[owner(contract)], *(f'"{each}" <= {_UP_TO[types[each]]}' for each in dates)]
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
    """Query each field of each company at each instant, oldest first, in a single session that moves through time."""
    from pitlake.session import open_session

    tables = sorted({table for table, _ in sql_by_field.values()})
    with open_session(replace(viewpoint, as_of=instants[0]), datasets=tables) as session:
        for place, moment in enumerate(instants):
            progress(f"own tables: {place:,} of {len(instants):,} instants ({place / len(instants):.0%})")
            session.advance(moment)
            for ticker in tickers:
                for name, (_, sql) in sql_by_field.items():
                    values: dict[str, Any] = {"company": session.company(ticker).company}
                    if "$day" in sql:
                        values["day"] = clock.new_york_day(moment - clock.MICROSECOND)
                    yield ticker, moment, name, session.sql(sql, values)


def members(
    table: str, contracts: Mapping[str, "Dataset"], viewpoint: "Viewpoint", instants: Sequence[datetime], spelled: str
) -> tuple[Members, list["Result"]]:
    """Return the members of a mounted table of intervals, as known at each instant, and the answers behind them.

    A company's newest interval applies if it has not ended. Raises BadInput for a table without intervals or tickers,
    or without a member at any instant.
    """
    from pitlake.session import open_session

    own = [name for name, contract in contracts.items() if contract.group == "mounted"]
    if table not in own:
        raise BadInput(spelled, f"there is no mounted table {table!r}", choice(table, own, "pitlake mount"))
    contract, mount = contracts[table], read_contract(open_store(viewpoint.open_lake().location), table)
    owner = next((name for name in ("ticker", "symbol") if name in contract.key), None)
    if owner is None or mount is None or not mount.until:
        step = "mount it with --key ticker, --available-at and --until"
        raise BadInput(spelled, f"{table} has no intervals by ticker", step)
    types = {column.name: column.type for column in contract.columns}
    dates = [name for name in contract.key if types[name] in _UP_TO]
    limits = " AND ".join(f'"{name}" <= {_UP_TO[types[name]]}' for name in dates) or "true"
    newest = ", ".join(f'"{name}" DESC' for name in (*dates, clock.AVAILABLE_AT))
    sql = (
        f'SELECT "{owner}" FROM (SELECT "{owner}", "{mount.until}" AS ended, row_number() OVER (PARTITION BY "{owner}" '
        f'ORDER BY {newest}) AS place FROM "{table}" WHERE {limits}) WHERE place = 1 AND ended IS NULL ORDER BY ALL'
    )
    results: list[Result] = []
    memberships: list[tuple[str, datetime]] = []
    with open_session(replace(viewpoint, as_of=instants[0]), datasets=[table]) as session:
        for moment in instants:
            session.advance(moment)
            day = {"day": clock.new_york_day(moment - clock.MICROSECOND)} if "$day" in sql else None
            results.append(session.sql(sql, day))
            memberships += [(ticker.upper(), moment) for (ticker,) in results[-1].rows()]
    if not memberships:
        raise BadInput(spelled, f"{table} has no member at these instants", "give later ones, or check the table")
    return frozenset(memberships), results
