"""The account's dated entries: its opening, deposits, withdrawals, fees, interest, rates and futures contracts.

The settings open the account once. Later changes to the settings do not affect earlier entries.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import NamedTuple, cast

from forge.core.config import Contract
from forge.core.currencies import read_currency
from forge.core.entries import ENTRIES, OF_A_TICKER
from forge.memory.book import PORTFOLIO
from forge.memory.effects import CODE, PM
from forge.memory.instruments import read_ticker
from forge.memory.journal import WriteCall, Writing
from forge.memory.memory import Memory
from forge.memory.remembered import Remembered
from forge.records import KINDS, Cash, Portfolio, parse, render
from forge.records.base import read_reason
from forge.records.kinds import NEW
from forge.records.spelling import TOO_LARGE
from pitlake import clock
from pitlake.errors import BadInput, choice


class Entry(NamedTuple):
    """An entry that the PM books. The fields are as in `Cash`."""

    entry: str
    amount: float
    booked_on: date
    reason: str
    ticker: str = ""


def cash(remembered: Remembered) -> list[Cash]:
    """Return the account's entries up to an instant, in the order of their days."""
    rows = sorted(remembered.rows("cash"), key=lambda row: row.seq)
    entries = [cast("Cash", remembered.record(row)) for row in rows]
    return sorted(entries, key=lambda entry: entry.booked_on)


def open_account(
    memory: Memory, capital: float | None, financing_rate: float, contracts: Mapping[str, Contract] | None = None
) -> None:
    """Open the account with an empty book if there is none, and record changed contracts and a changed financing rate.

    Does nothing without a capital.
    """

    def work(writing: Writing) -> None:
        if capital is None:
            return
        entries = [cast("Cash", parse(KINDS["cash"], row.content)) for row in writing.all_of("cash")]
        today = clock.new_york_day(now)
        if not any(entry.entry == "opening" for entry in entries):
            _put(writing, Cash(id=NEW, entry="opening", amount=capital, booked_on=today, updated=now))
            if writing.newest(PORTFOLIO) is None:
                zero = Portfolio(id="state", gross=0.0, net=0.0, duration=0.0, nav=capital, factor_exposures={})
                writing.put(PORTFOLIO, render(replace(zero, updated=now)))
        rates = [entry.amount for entry in entries if entry.entry == "rate"]
        if [financing_rate] != rates[-1:]:
            _put(writing, Cash(id=NEW, entry="rate", amount=financing_rate, booked_on=today, updated=now))
        for entry in unrecorded(contracts or {}, entries, now):
            _put(writing, entry)

    if capital is None:
        return
    now = memory.read_instant(memory.journal.clock.now())
    _write(memory, CODE, work)


def unrecorded(contracts: Mapping[str, Contract], entries: Iterable[Cash], now: datetime) -> list[Cash]:
    """Return entries for the contracts whose terms differ from their last entry, or that have no entry."""
    last = {entry.ticker: entry for entry in entries if entry.entry == "contract"}
    changed = list[Cash]()
    for name, terms in contracts.items():
        entry = Cash(
            id=NEW, entry="contract", amount=terms.margin, booked_on=clock.new_york_day(now), ticker=name, updated=now,
            multiplier=terms.multiplier, currency=read_currency(terms.currency),
        )  # fmt: skip
        same = ("amount", "multiplier", "currency")
        if name not in last or any(getattr(last[name], term) != getattr(entry, term) for term in same):
            changed.append(entry)
    return changed


def book_cash(memory: Memory, typed: Entry) -> str:
    """Book an entry of the PM, and return its id. Raises BadInput."""
    now = memory.read_instant(memory.journal.clock.now())
    if typed.entry not in ENTRIES:
        raise BadInput("entry", f"{typed.entry[:40]!r} is not an entry", choice(typed.entry, ENTRIES))
    if typed.booked_on > clock.new_york_day(now):
        raise BadInput("--on", f"{typed.booked_on} is in the future", "give a day up to today")
    if not 0 <= typed.amount < TOO_LARGE or (typed.entry not in OF_A_TICKER and not typed.amount):
        raise BadInput("AMOUNT", f"{typed.amount:g} is not above 0", "give USD; the entry says in which direction")
    if (typed.entry in OF_A_TICKER) != bool(typed.ticker):
        step = "a borrow or a loss has the ticker of its position, and no other entry has one"
        raise BadInput("--ticker", "is missing" if not typed.ticker else f"does not belong to a {typed.entry}", step)
    ticker = read_ticker(typed.ticker)
    if typed.ticker and not ticker:
        raise BadInput(
            "--ticker", f"{typed.ticker[:40]!r} is not a ticker", "give it as the position has it, such as NVDA"
        )
    reason, names = read_reason(typed.reason, "--reason"), list[str]()
    entry = Cash(id=NEW, **{**typed._asdict(), "reason": reason, "ticker": ticker}, updated=now)
    _write(memory, PM, lambda writing: names.append(_put(writing, entry)))
    return names[0]


def _put(writing: Writing, entry: Cash) -> str:
    numbered = replace(entry, id=writing.next_id("cash"))
    writing.put(KINDS["cash"].path(numbered.id), render(numbered))
    return numbered.id


def _write(memory: Memory, actor: str, work: Callable[[Writing], None]) -> None:
    now = memory.read_instant(memory.journal.clock.now())
    call_id = f"cash:{os.urandom(10).hex()}"
    memory.journal.write(WriteCall(actor=actor, session=PM, call_id=call_id, after=clock.micros(now)), work)
