"""Fills, each booked once: the PM's fills from a CSV file, and code's fills for approved Expressions."""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Literal, Protocol, cast

from forge.core.config import Contract
from forge.core.csv_files import read_csv, read_number
from forge.core.currencies import USD, read_currency
from forge.memory.cash import cash, unrecorded
from forge.memory.effects import CODE, PM
from forge.memory.instruments import read_ticker, required_contract
from forge.memory.journal import WriteCall, Writing, digest
from forge.memory.memory import Memory
from forge.memory.remembered import Remembered
from forge.records import KINDS, Cash, Fill, parse, render
from forge.records.base import read_reason
from forge.records.kinds import NEW
from pitlake import clock
from pitlake.errors import BadInput

COLUMNS = ("ticker", "quantity", "price", "filled_at")
OPTIONAL = ("fees", "expression", "currency")


def fills(remembered: Remembered) -> list[Fill]:
    """Return the fills up to an instant, in the order of trading."""
    return [fill for fill in all_fills(remembered) if fill.status == "booked"]


def all_fills(remembered: Remembered) -> list[Fill]:
    """Return the fills up to an instant, including void ones, in the order of trading."""
    read = [cast("Fill", remembered.record(row)) for row in remembered.rows("fills")]
    return sorted(
        (fill for fill in read if fill.filled_at <= remembered.as_of), key=lambda fill: (fill.filled_at, fill.id)
    )


def void_fill(memory: Memory, name: str, reason: str, status: Literal["void", "booked"] = "void") -> Fill:
    """Mark a fill as void, or book it again. Return the fill with its new status. Raises BadInput."""
    now = memory.read_instant(memory.journal.clock.now())
    call = WriteCall(actor=PM, session=PM, call_id=f"fills:{os.urandom(10).hex()}", after=clock.micros(now))
    path, reason = KINDS["fills"].path(name), read_reason(reason, "--reason")
    others = [fill for fill in fills(memory.hydrate(now, session=PM)) if fill.id != name]

    def work(writing: Writing) -> None:
        row = writing.newest(path)
        if row is None:
            raise BadInput(
                "ID", f"there is no fill {name[:40]!r}", "give an id such as F-001: pitlake forge fills list"
            )
        fill = cast("Fill", parse(KINDS["fills"], row.content))
        if fill.status == status:
            raise BadInput("ID", f"{name} is {status}{fill.reason and f': {fill.reason}'}", "nothing needs to be done")
        if status == "booked":
            _refuse_other_multipliers(others, [replace(fill, id=NEW)])
            _refuse_second_execution(others, [fill])
        writing.put(path, render(replace(fill, status=status, reason=reason, updated=now)), based_on=row.seq)

    (row,) = memory.journal.write(call, work)
    return cast("Fill", parse(KINDS["fills"], row.content))


class Order(Protocol):
    """An order with which fills are compared before they are booked."""

    def assign(self, fill: Fill) -> Fill: ...

    def check(self, booked: Iterable[Fill], new: Sequence[Fill]) -> None: ...


def import_fills(
    memory: Memory,
    source: Path | str,
    order: Order | None = None,
    check_rate: Callable[[str, date], object] | None = None,
    contracts: Mapping[str, Contract] | None = None,
    notes: list[str] | None = None,
) -> int:
    """Book the fills of a CSV file, or of its text, that were not booked before. Return their number.

    check_rate: raises BadInput if a currency has no rate up to its first day. contracts: the settings' contracts, in
    case the account lacks them. notes: receives the lines that are not booked because their fill is void. Raises
    BadInput for the first invalid line, or if the fills don't match the order. Nothing is booked in this case.
    """
    now = memory.read_instant(memory.journal.clock.now())
    remembered = memory.hydrate(now, session=PM)
    expressions = {path[len(KINDS["expressions"].folder) : -3] for path in remembered.paths("/memory/expressions/")}
    entries, currencies = cash(remembered), {fill.instrument: fill.currency for fill in fills(remembered)}
    entries += unrecorded(contracts or {}, entries, now)
    read = list[Fill]()
    columns, lines = read_csv("fills", source, COLUMNS)
    if unknown := [name for name in columns if name not in COLUMNS + OPTIONAL]:
        step = f"give {', '.join(COLUMNS)} and {', '.join(OPTIONAL)}"
        raise BadInput("fills", f"there is a column {unknown[0][:40]!r}", step)
    for line, row in lines:
        fill = _fill(line, row, now, expressions, entries)
        if fill.currency and ":" not in fill.instrument:
            problem = f"the lake's bars of {fill.instrument} are in {USD}, so it can't be valued in {fill.currency}"
            step = f"load its quotes into market_quotes, in {fill.currency} per share, and give index:{fill.instrument}"
            raise _wrong(line, problem, step)
        if fill.currency != (first := currencies.setdefault(fill.instrument, fill.currency)):
            problem = f"currency of {fill.instrument} is {fill.currency or USD}, but its fills are in {first or USD}"
            raise _wrong(line, problem, "give all fills of an instrument in one currency")
        read.append(fill)
    latest_first = sorted(read, key=lambda fill: fill.filled_at, reverse=True)
    first_days = {fill.currency: clock.new_york_day(fill.filled_at) for fill in latest_first if fill.currency}
    if check_rate:
        for currency, day in first_days.items():
            check_rate(currency, day)
    if order:
        read = [order.assign(fill) for fill in read]
    # Two equal lines of one file are two fills. Importing the same file again adds no fill.
    counted = Counter[str]()
    caused = {}
    for fill in read:
        # The digest covers only the file's content, so that changed settings of a contract add no fill.
        content = digest(render(replace(fill, multiplier=None, currency="" if fill.multiplier else fill.currency)))
        counted[content] += 1
        caused[f"fill:{content}:{counted[content]}"] = fill
    earlier = {remembered.all(KINDS["fills"].path(fill.id))[0].cause: fill for fill in all_fills(remembered)}
    new = [fill for cause, fill in caused.items() if cause not in earlier]
    void = [earlier[cause] for cause in caused if cause in earlier and earlier[cause].status == "void"]
    step = "to book it again: pitlake forge fills restore"
    (notes if notes is not None else []).extend(f"{fill.id} is void: {fill.reason}; {step} {fill.id}" for fill in void)
    _refuse_other_multipliers(fills(remembered), new)
    _refuse_second_execution(fills(remembered), new)
    if order:
        order.check(fills(remembered), new)
    return book_fills(memory, caused, PM)


def _refuse_other_multipliers(booked: Sequence[Fill], new: Sequence[Fill]) -> None:
    """Raise BadInput if a position would combine contracts of two multipliers, because it has only one multiplier."""
    quantities, multipliers = defaultdict[tuple[str, str], float](float), dict[tuple[str, str], float | None]()
    for fill in sorted([*booked, *new], key=lambda fill: (fill.filled_at, fill.id)):
        position = fill.instrument, fill.expression
        if not round(quantities[position], 9):
            multipliers[position] = fill.multiplier
        elif fill.id == NEW and fill.multiplier != (first := multipliers[position]):
            problem = f"multiplier of {fill.instrument} is {fill.multiplier or 1:g}, but its open position has"
            raise BadInput("fills", f"{problem} {first or 1:g}", "close the position first, or void its fills")
        quantities[position] += fill.quantity


def _refuse_second_execution(booked: Sequence[Fill], new: Iterable[Fill]) -> None:
    """Raise BadInput if a fill of the PM repeats an execution by code, or vice versa, because it would count twice."""
    for fill in new:
        for other in booked if fill.expression else ():
            same = (other.expression, other.instrument) == (fill.expression, fill.instrument)
            if same and other.source != fill.source and other.quantity * fill.quantity > 0:
                twin = f"{other.id} ({other.quantity:g} {other.instrument} at {other.price:g}, by {other.source})"
                step = f"void that first: pitlake forge fills void {other.id}"
                raise BadInput("fills", f"{fill.expression} is executed by {twin}", step)


def book_fills(memory: Memory, fills_by_cause: Mapping[str, Fill], actor: str = CODE) -> int:
    """Book fills in one transaction, except those whose cause was booked before. Return the number of new fills."""
    now = memory.read_instant(memory.journal.clock.now())
    call = WriteCall(actor=actor, session=PM, call_id=f"fills:{os.urandom(10).hex()}", after=clock.micros(now))

    def work(writing: Writing) -> None:
        for cause, fill in fills_by_cause.items():
            numbered = replace(fill, id=writing.next_id("fills"), updated=now)
            writing.put(KINDS["fills"].path(numbered.id), render(numbered), cause=cause)

    return len(memory.journal.write(call, work))


def _fill(line: int, row: Mapping[str, str], now: datetime, expressions: set[str], entries: Sequence[Cash]) -> Fill:
    ticker, expression = read_ticker(row["ticker"]), (row.get("expression") or "").strip()
    if not ticker:
        raise _wrong(line, f"ticker is {row['ticker'][:40]!r}", "give a ticker such as NVDA or fx:EURUSD")
    if expression and expression not in expressions:
        raise _wrong(line, f"there is no Expression {expression[:40]!r}", "see pitlake forge expressions")
    quantity, price = (read_number("fills", (line, row), name) for name in ("quantity", "price"))
    fees = read_number("fills", (line, row), "fees", blank=0.0)
    if not quantity:
        raise _wrong(line, "quantity is 0", "give shares or contracts, negative for a sale")
    if price <= 0:
        raise _wrong(line, f"price is {price:g}", "give an amount per share or point")
    if fees < 0:
        raise _wrong(line, f"fees is {fees:g}", "give an amount from 0")
    try:
        filled_at = clock.instant(row["filled_at"].strip())
    except BadInput as problem:
        raise _wrong(
            line, f"filled_at {problem.problem}", "give an instant such as 2024-02-15T10:30:00-05:00"
        ) from None
    if filled_at > now:
        raise _wrong(line, f"filled_at {row['filled_at']} is in the future", "give a time up to now")
    text = (row.get("currency") or "").strip()
    if ticker.startswith("fx:") and not (ticker.split(":")[1].endswith(USD) and text.upper() in ("", USD)):
        raise _wrong(line, f"{ticker} is not priced in USD", "give a currency as fx:EURUSD, priced in USD")
    try:
        contract, currency = required_contract(ticker, entries, clock.new_york_day(filled_at)), read_currency(text)
    except BadInput as refused:
        raise _wrong(line, f"{refused.field} {refused.problem}", refused.next_step) from None
    if contract and text and currency != contract.currency:
        step = f"its contract is in {contract.currency or USD}; give price and fees in it"
        raise _wrong(line, f"currency of {ticker} is {currency or USD}", step)
    return Fill(
        id=NEW, instrument=ticker, quantity=quantity, price=price, filled_at=filled_at, fees=fees,
        expression=expression, currency=contract.currency if contract else currency,
        multiplier=contract.multiplier if contract else None,
    )  # fmt: skip


def _wrong(line: int, problem: str, step: str) -> BadInput:
    return BadInput("fills", f"line {line}: {problem}", step)
