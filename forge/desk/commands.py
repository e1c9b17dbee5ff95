"""The PM's orders, used by the command line and by the desk's pages."""

import getpass
import os
from collections.abc import Mapping
from dataclasses import fields as names_of
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from forge.core.config import Limits
from forge.core.entries import OF_A_TICKER
from forge.core.stops import request_stop
from forge.core.tape import WORK, Tape
from forge.desk import WALKS, Desk
from forge.desk.papers import Ticket
from forge.memory import Memory
from forge.memory.cash import Entry, book_cash
from forge.memory.effects import CONSTRAINTS, PM
from forge.memory.fills import fills, import_fills, void_fill
from forge.memory.halts import switch
from forge.providers.base import At
from forge.records import KINDS, Constraints, Halt, View, render
from forge.records.base import read_reason
from forge.records.examples import EXAMPLES
from forge.records.kinds import NEW
from forge.tracking.account import advance_account
from forge.tracking.rates import rates_of
from pitlake.clock import new_york_day
from pitlake.errors import BadInput, LakeNotFound

LIMITS = tuple(limit.name for limit in names_of(Limits) if limit.name != "over")


def constrain(own: Desk, memory: Memory, limits: Mapping[str, float]) -> None:
    """Tighten the settings' limits.

    Raises BadInput for a limit that is wider than the settings', and if no limit is given.
    """
    fs = own.files(memory, memory.hydrate_now(), PM)
    row = fs.remembered.newest(CONSTRAINTS)
    current = cast("Constraints", fs.remembered.record(row)) if row else Constraints(id="constraints")
    if not limits:
        raise BadInput("--max-gross", "no limit is given", "give at least one limit")
    for name, limit in limits.items():
        configured = getattr(own.config.guardrails, name)
        if not 0 <= limit <= configured:
            option = f"--{name.replace('_', '-')}"
            raise BadInput(option, f"{limit:g} is not between 0 and the settings' {configured:g}", "tighten the limit")
    changed: dict[str, Any] = dict(limits)
    tightened = replace(current, **changed, updated=None)
    fs.write_file(CONSTRAINTS, render(tightened), call_id=f"constrain:{os.urandom(8).hex()}")
    memory.flush()


def switch_trading(memory: Memory, status: Literal["halted", "released"], reason: str) -> str:
    """Halt or release trading, and return the new state.

    Raises BadInput for a reason that is empty or can't be stored, and for a release when trading is not halted.
    """
    switch(memory, Halt(id="halt", by=getpass.getuser(), reason=read_reason(reason, "--reason"), status=status))
    memory.flush()
    return f"trading is {status}"


def add_fills(
    own: Desk, memory: Memory, source: Path | str, lake: str | Path, order: Path | None = None
) -> tuple[str, list[str]]:
    """Book the fills of a CSV file or of its text, and update the book. order: the ticket that the fills must match.

    Returns:
        The number of new fills, and the reasons why some are not booked or not in the book.

    Raises:
        BadInput: The settings contain no capital, a line is invalid or not on the ticket, or the lake has no rate for a
            line's currency. In these cases nothing is booked.
    """
    memory.journal.require_writable()
    own.check_capital()
    before, notes = memory.hydrate_now(), list[str]()
    ticket = Ticket(order, before) if order else None
    check_rate = partial(rates_of, at=At(as_of=before.as_of, lake=lake))
    new = import_fills(memory, source, ticket, check_rate, own.config.account.contracts, notes)
    ordered = ticket.filled(fills(memory.hydrate_now())) if ticket else {}
    parts = [f"{filled:g} of {quantity} {ticker} filled" for ticker, (filled, quantity) in ordered.items()]
    return "; ".join([f"{new} new fill{'' if new == 1 else 's'}", *parts]), [*notes, *_update_book(own, memory, lake)]


def undo_fill(
    own: Desk, memory: Memory, name: str, reason: str, lake: str | Path, status: Literal["void", "booked"] = "void"
) -> tuple[str, list[str]]:
    """Void a fill or book it again, and update the book. Return the change and the book's gaps. Raises BadInput."""
    fill = void_fill(memory, name, reason, status)
    text = f"{name} ({fill.quantity:g} {fill.instrument} at {fill.price:g}) is {status}; the book"
    since = f"{'leaves it out' if status == 'void' else 'counts it'} from {new_york_day(fill.filled_at)} on"
    return f"{text} {since}", _update_book(own, memory, lake)


def enter_cash(own: Desk, memory: Memory, entry: Entry, lake: str | Path) -> tuple[str, list[str]]:
    """Book an entry of the account and update the book. Return the entry and the book's gaps. Raises BadInput."""
    memory.journal.require_writable()
    own.check_capital()
    name = book_cash(memory, entry)
    what = f"{entry.amount:,.2f} USD"
    if entry.ticker:
        what = f"of {entry.ticker}, {entry.amount:g} {OF_A_TICKER[entry.entry]},"
    return f"{name} {entry.entry} {what} on {entry.booked_on}", _update_book(own, memory, lake)


def _update_book(own: Desk, memory: Memory, lake: str | Path) -> list[str]:
    now = memory.read_instant(memory.journal.clock.now())
    try:
        gaps = advance_account(memory, At(as_of=now, lake=lake), own.config.account)
    except LakeNotFound:
        gaps = ["the book does not show it yet: there is no lake to value fills with"]
    memory.flush()
    return gaps


def example_view() -> str:
    """Return the text of an example View, which can be written unchanged."""
    return render(replace(cast("View", EXAMPLES["views"]), links=()))


def state_view(own: Desk, memory: Memory, text: str, name: str = NEW, once: str = "") -> str:
    """Write a View of the PM and return its id.

    Args:
        own: The desk.
        memory: Its memory.
        text: The record, in any form that agents may use.
        name: The id of the View to replace, else `new`.
        once: Letters and digits that identify this order. A repeated order writes nothing more.

    Raises:
        BadInput: The name is not a View's.
        RecordUnreadable: The text is not a valid View. The error lists every fault.
    """
    kind = KINDS["views"]
    if name != NEW and not kind.names(name):
        raise BadInput("id", f"{name[:40]!r} is not a View", "give an id such as V-001, or none for a new View")
    fs = own.files(memory, memory.hydrate_now(), PM)
    write = fs.write_file(kind.path(name), text, call_id=f"view:{once or os.urandom(8).hex()}")
    memory.flush()
    return write.path.removeprefix(kind.folder).removesuffix(".md")


def backtests_under_way(own: Desk) -> dict[str, Tape]:
    """Return the tapes of running backtests, by name."""
    places = sorted(Path(f"{own.beside}{WALKS}").glob("*/tape.sqlite"))
    tapes = {place.parent.name: Tape(place) for place in places}
    return {name: tape for name, tape in tapes.items() if tape.is_claimed(f"{WORK}{name}")}


def stop(own: Desk, name: str, reason: str) -> str:
    """Ask a running decision, or a running backtest with its parts, to stop. Return a message about the stop.

    Raises BadInput if nothing of this name is running.
    """
    why = f"{getpass.getuser()} stopped it: {read_reason(reason) if reason.strip() else 'no reason given'}"
    running = backtests_under_way(own)
    parts = [part for part in running if part == name or part.startswith(f"{name}-")]
    for part in parts:
        request_stop(running[part], part, why)
    if parts:
        return f"{', '.join(parts)} stops before the next decision"
    if name not in own.tape.decisions() or not own.tape.is_claimed(name):
        candidates = ", ".join([*running, *decisions_under_way(own)]) or "nothing"
        raise BadInput("name", f"{name[:60]} is not running", f"running: {candidates}")
    request_stop(own.tape, name, why)
    return f"{name} stops before its next request to a model"


def decisions_under_way(own: Desk) -> list[str]:
    """Return the running decisions."""
    open_names = (name for name in own.tape.decisions() if own.tape.receipt(name) is None)
    return [name for name in open_names if own.tape.is_claimed(name)]
