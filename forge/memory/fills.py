"""Fills: the PM's own from a CSV file, and the fills that code books for approved Expressions.

Each fill is booked once.
"""

import csv
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Protocol, cast

from forge.memory.chain import Row
from forge.memory.effects import CODE, PM
from forge.memory.journal import WriteCall, Writing, digest
from forge.memory.memory import Memory
from forge.memory.remembered import Remembered
from forge.records import KINDS, Fill, parse, render
from forge.records.base import read_reason
from forge.records.kinds import NEW
from pitlake import clock
from pitlake.errors import BadInput

COLUMNS = ("ticker", "quantity", "price", "filled_at")
OPTIONAL = ("fees", "expression", "currency")
_TICKER = re.compile(r"[A-Z][A-Z0-9.\-]{0,14}")
_QUOTED = re.compile(r"[a-z]+(:[\w.\-/]{1,40}){1,2}")
"""The name of a quoted instrument, such as fx:EURUSD."""


def fills(remembered: Remembered) -> list[Fill]:
    """Return the fills up to an instant, in the order of trading."""
    return [fill for fill in all_fills(remembered) if fill.status == "booked"]


def all_fills(remembered: Remembered) -> list[Fill]:
    """Return the fills up to an instant with those that are void, in the order of trading."""
    rows = [cast("Row", remembered.newest(path)) for path in remembered.paths(KINDS["fills"].folder)]
    read = [cast("Fill", remembered.record(row)) for row in rows]
    return sorted(
        (fill for fill in read if fill.filled_at <= remembered.as_of), key=lambda fill: (fill.filled_at, fill.id)
    )


def void_fill(memory: Memory, name: str, reason: str) -> Fill:
    """Undo a wrong fill, which stays in the record, and return its new text. Raises BadInput."""
    now = memory.read_instant(memory.journal.clock.now())
    call = WriteCall(actor=PM, session=PM, call_id=f"fills:{os.urandom(10).hex()}", after=clock.micros(now))
    path, reason = KINDS["fills"].path(name), read_reason(reason, "--reason")

    def work(writing: Writing) -> None:
        row = writing.newest(path)
        if row is None:
            raise BadInput(
                "ID", f"there is no fill {name[:40]!r}", "give an id such as F-001: pitlake forge fills list"
            )
        fill = cast("Fill", parse(KINDS["fills"], row.content))
        if fill.status == "void":
            raise BadInput("ID", f"{name} is void: {fill.reason}", "nothing needs to be undone")
        writing.put(path, render(replace(fill, status="void", reason=reason, updated=now)), based_on=row.seq)

    (row,) = memory.journal.write(call, work)
    return cast("Fill", parse(KINDS["fills"], row.content))


class Order(Protocol):
    """What fills are compared with before they are booked."""

    def assign(self, fill: Fill) -> Fill: ...

    def check(self, booked: Iterable[Fill], new: Sequence[Fill]) -> None: ...


def import_fills(memory: Memory, source: Path | str, order: Order | None = None) -> int:
    """Book the fills of a CSV file, or of its text, that were not booked before. Return their number.

    Raises BadInput with the first invalid line, or if they don't match an order; then nothing is booked.
    """
    now = memory.read_instant(memory.journal.clock.now())
    remembered = memory.hydrate(now, session=PM)
    expressions = {path[len(KINDS["expressions"].folder) : -3] for path in remembered.paths("/memory/expressions/")}
    read = [_fill(line, row, now, expressions) for line, row in _rows(source)]
    if order:
        read = [order.assign(fill) for fill in read]
    # Two equal lines of one file are two fills. Importing the same file again adds none.
    counted = Counter[str]()
    caused = {}
    for fill in read:
        content = digest(render(fill))
        counted[content] += 1
        caused[f"fill:{content}:{counted[content]}"] = fill
    if order:
        causes = {remembered.all(path)[0].cause for path in remembered.paths(KINDS["fills"].folder)}
        order.check(fills(remembered), [fill for cause, fill in caused.items() if cause not in causes])
    return book_fills(memory, caused, PM)


def book_fills(memory: Memory, fills_by_cause: Mapping[str, Fill], actor: str = CODE) -> int:
    """Book fills in one transaction, except those whose cause was booked before. Return the number of new fills."""
    now = memory.read_instant(memory.journal.clock.now())
    call = WriteCall(actor=actor, session=PM, call_id=f"fills:{os.urandom(10).hex()}", after=clock.micros(now))

    def work(writing: Writing) -> None:
        for cause, fill in fills_by_cause.items():
            numbered = replace(fill, id=writing.next_id("fills"), updated=now)
            writing.put(KINDS["fills"].path(numbered.id), render(numbered), cause=cause)

    return len(memory.journal.write(call, work))


def _rows(source: Path | str) -> Iterable[tuple[int, Mapping[str, str]]]:
    file = source if isinstance(source, Path) else "the text"
    with (
        source.open(newline="", encoding="utf-8-sig") if isinstance(source, Path) else StringIO(source, newline="")
    ) as text:
        reader = csv.DictReader(text, strict=True)
        try:
            rows = [(reader.line_num, row) for row in reader]
        except (csv.Error, UnicodeDecodeError) as problem:
            raise BadInput(
                "fills", f"{file} is not a CSV file ({problem})", f"give columns {', '.join(COLUMNS)}"
            ) from None
        names = reader.fieldnames or []
    if missing := [name for name in COLUMNS if name not in names]:
        raise BadInput("fills", f"{file} has no column {missing[0]}", f"give {', '.join(COLUMNS)}")
    if unknown := [name for name in names if name not in COLUMNS + OPTIONAL]:
        raise BadInput(
            "fills", f"{file} has a column {unknown[0][:40]!r}", f"give {', '.join(COLUMNS)} and {', '.join(OPTIONAL)}"
        )
    return rows


def read_ticker(text: str) -> str:
    """Return a typed instrument as positions spell it, "" for any other text."""
    ticker = text.strip()
    if not _QUOTED.fullmatch(ticker):
        ticker = ticker.upper()
    return ticker if _QUOTED.fullmatch(ticker) or _TICKER.fullmatch(ticker) else ""


def _fill(line: int, row: Mapping[str, str], now: datetime, expressions: set[str]) -> Fill:
    if None in row or None in row.values():
        raise _wrong(line, "its number of values differs from the first line", "quote values that contain commas")
    ticker, expression = read_ticker(row["ticker"]), (row.get("expression") or "").strip()
    if not ticker:
        raise _wrong(line, f"ticker is {row['ticker'][:40]!r}", "give a ticker such as NVDA or fx:EURUSD")
    if ticker.startswith("future:"):
        step = "the account keeps neither multiplier nor margin; book the result of a future as cash"
        raise _wrong(line, f"{ticker} is a future, which is not supported", step)
    if (currency := (row.get("currency") or "").strip().upper()) not in ("", "USD"):
        step = "the account is in USD; give price and fees in USD, and leave the currency out"
        raise _wrong(line, f"currency {currency[:10]!r} is not supported", step)
    if expression and expression not in expressions:
        raise _wrong(line, f"there is no Expression {expression[:40]!r}", "see pitlake forge expressions")
    quantity, price = _number(line, row, "quantity"), _number(line, row, "price")
    fees = _number(line, row, "fees") if (row.get("fees") or "").strip() else 0.0
    if not quantity:
        raise _wrong(line, "quantity is 0", "give shares, negative for a sale")
    if price <= 0:
        raise _wrong(line, f"price is {price:g}", "give USD per share")
    if fees < 0:
        raise _wrong(line, f"fees is {fees:g}", "give USD from 0")
    try:
        filled_at = clock.instant(row["filled_at"].strip())
    except BadInput as problem:
        raise _wrong(
            line, f"filled_at {problem.problem}", "give an instant such as 2024-02-15T10:30:00-05:00"
        ) from None
    if filled_at > now:
        raise _wrong(line, f"filled_at {row['filled_at']} is in the future", "give a time up to now")
    return Fill(
        id=NEW, instrument=ticker, quantity=quantity, price=price, filled_at=filled_at, fees=fees, expression=expression
    )


def _number(line: int, row: Mapping[str, str], name: str) -> float:
    try:
        value = float(row[name])
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise _wrong(line, f"{name} is {row[name][:40]!r}", "give a number")
    return value


def _wrong(line: int, problem: str, step: str) -> BadInput:
    return BadInput("fills", f"line {line}: {problem}", step)
