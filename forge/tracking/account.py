"""The account as of an instant: values fills by the lake's bars, derives the book, and executes entries and exits.

Unless trading is halted, an approved Expression is executed at the open of the first session after its approval, in
whole shares, for its notional's share of the previous evening's net asset value. Its stop, target or last day closes
it. If one of the PM's own fills names an Expression, code does not execute that Expression.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, timedelta
from math import floor
from typing import NamedTuple, cast

from forge.core import config
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.book import HELD, PORTFOLIO, held_in
from forge.memory.effects import CODE
from forge.memory.fills import book_fills, fills
from forge.memory.guardrails import Guardrails, trade_of
from forge.memory.halts import halted, halted_spans, switch
from forge.memory.remembered import Remembered
from forge.providers.base import At
from forge.records import Expression, Fill, Halt, Portfolio, Position, render
from forge.records.kinds import NEW
from forge.tracking import ledger
from forge.tracking.bars import NotFollowable
from forge.tracking.risk import guardrails
from forge.tracking.settlement import whole_memory
from forge.tracking.trades import FollowedTrade, expressions, follow_held
from forge.tracking.valuation import value
from pitlake.clock import new_york_day
from pitlake.errors import BadInput
from pitlake.exchange import session

BASIS_POINT = 1e-4
PERCENT = 100
WHOLE = 1e-9
"""The rounding error of a quotient of floats."""


class Due(NamedTuple):
    """A fill that is due: `entry` or `exit`, on a day."""

    day: date
    leg: str
    expression: Expression
    trade: FollowedTrade


def advance_account(memory: Memory, at: At, settings: config.AccountSettings) -> list[str]:
    """Execute due entries and exits, update the book, and halt trading if a limit is exceeded.

    Return the reasons for trades that were not executed. Does nothing if the settings state no capital.
    """
    if settings.capital is None:
        return []
    gaps = execute(memory, at, settings)
    remembered = whole_memory(memory, at.as_of)
    booked = fills(remembered)
    if not booked and remembered.newest(PORTFOLIO):
        return gaps
    valued = value(booked, settings, at)
    write_book(memory, remembered, valued.account, guardrails(config.Limits(), at))
    if halted(remembered) is None and (halt := loss_halt(remembered, valued.account, settings)):
        switch(memory, halt)
    return [*gaps, *valued.gaps]


def execute(memory: Memory, at: At, settings: config.AccountSettings) -> list[str]:
    """Book the entries and exits that are due, in order of their days.

    Return the reasons for those that could not be booked.
    """
    remembered, gaps = whole_memory(memory, at.as_of), list[str]()
    booked = fills(remembered)
    own = {fill.expression for fill in booked if fill.source == "import"}
    due = list[Due]()
    for path, expression in expressions(remembered):
        if expression.id in own:
            continue
        try:
            trade = follow_held(texts_of(remembered, path), at, halted_spans(remembered))
        except (NotFollowable, BadInput) as problem:
            gaps.append(f"{expression.id} is not executed: {problem}")
            continue
        if trade and trade.path.gap and expression.status in HELD:
            gaps.append(
                f"{expression.id} is not executed: there is no bar of {expression.instrument} on {trade.path.gap}"
            )
        if trade is None or trade.path.entry_price is None:
            continue
        legs = sum(fill.expression == expression.id for fill in booked)
        if legs == 0:
            due.append(Due(trade.path.marks[0].day, "entry", expression, trade))
        if trade.path.reason and legs < len(("entry", "exit")):
            due.append(Due(trade.path.marks[-1].day, "exit", expression, trade))
    for item in sorted(due, key=lambda item: (item.day, item.leg == "exit", item.expression.id)):
        fill = _fill(item, booked, settings, at)
        if isinstance(fill, str):
            gaps.append(fill)
        elif fill:
            booked.append(fill)
            book_fills(memory, {f"fill:{item.expression.id}:{item.leg}": fill})
    return gaps


def texts_of(remembered: Remembered, path: str) -> list[tuple[datetime, Expression]]:
    """Return every text of an Expression with the instant it was written at, oldest first."""
    return [(remembered.written_at(row), cast("Expression", remembered.record(row))) for row in remembered.all(path)]


def write_book(memory: Memory, remembered: Remembered, account: ledger.Account, market: Guardrails) -> None:
    """Write the book of an account, in percent of its net asset value, if it changed. market: computes positions."""
    row, book = remembered.newest(PORTFOLIO), book_of(account, held_in(remembered).values(), market)
    if row is None or replace(cast("Portfolio", remembered.record(row)), updated=None) != book:
        files = ForgeFS(memory, remembered, actor=CODE)
        files.write_file(PORTFOLIO, render(book), call_id=f"account:{row.seq if row else 0}")


def book_of(account: ledger.Account, expressions: Iterable[Expression], market: Guardrails) -> Portfolio:
    """Return the book of an account. Fills of one Expression are one position; others are one position per ticker.

    Factors and duration are the larger of what an Expression claims and what code computes. The duration is None if one
    position's is neither claimed nor computed.
    """
    by_id, nav = {expression.id: expression for expression in expressions}, account.nav
    if nav <= 0:
        return Portfolio(id="state", body="The net asset value is not above 0, so percentages of it have no meaning.")
    notionals = dict[str, float]()
    for holding in account.positions:
        name = holding.expression or holding.instrument
        notionals[name] = notionals.get(name, 0.0) + holding.value / nav * PERCENT
    exposures, positions, durations = dict[str, float](), list[Position](), list[float | None]()
    for name, notional in sorted(notionals.items()):
        position = Position(expression=name, notional=round(notional, 6))
        counted = market.counted(trade_of(position, by_id.get(name)), nav)
        factors = {factor: round(share, 6) for factor, share in (counted.factors or {}).items()}
        for factor, share in factors.items():
            exposures[factor] = exposures.get(factor, 0.0) + share
        durations.append(counted.duration)
        positions.append(replace(position, factor_exposures=factors, duration=round(counted.duration or 0.0, 6)))
    return Portfolio(
        id="state",
        gross=sum(abs(position.notional) for position in positions),
        net=sum(position.notional for position in positions),
        duration=None if None in durations else sum(position.duration for position in positions),
        nav=round(nav, 2),
        positions=tuple(positions),
        factor_exposures=dict(sorted(exposures.items())),
    )


def loss_halt(remembered: Remembered, account: ledger.Account, settings: config.AccountSettings) -> Halt | None:
    """Return the halt that the account's losses require, or None. Losses count from the last release."""
    spans = halted_spans(remembered)
    released = spans[-1][1] if spans else None
    curve = [nav for day, nav in account.curve if released is None or day >= new_york_day(released)]
    start = account.capital if released is None or not curve else curve[0]
    highest = max([start, *curve])
    for name, limit, base in (
        ("loss", settings.max_loss, start),
        ("drawdown", settings.max_drawdown, highest),
    ):
        lost = (1 - account.nav / base) * PERCENT
        if limit is not None and lost > limit:
            reason = f"a {name} of {lost:.2f} % is beyond the limit of {limit:g} %"
            return Halt(id="halt", by=CODE, reason=reason, lost=round(lost, 6), limit=limit)
    return None


def _fill(item: Due, booked: list[Fill], settings: config.AccountSettings, at: At) -> Fill | str | None:
    expression, path = item.expression, item.trade.path
    hours = session(item.day)
    if hours is None:
        return None
    if item.leg == "entry":
        if expression.notional is None:
            return f"{expression.id} is not executed: its notional is missing"
        price = cast("float", path.entry_price)
        evening = item.day - timedelta(days=1)
        earlier = [fill for fill in booked if new_york_day(fill.filled_at) <= evening]
        nav = dict(value(earlier, settings, at).account.curve)[evening] if earlier else cast("float", settings.capital)
        side = -1 if expression.direction == "short" else 1
        quantity = float(side * floor(abs(expression.notional) / PERCENT * nav / price + WHOLE))
        filled_at = hours.open
    else:
        entry = next((fill for fill in booked if fill.expression == expression.id), None)
        if entry is None:
            return None
        price, quantity = cast("float", path.price), -entry.quantity * path.shares
        filled_at = hours.close
    if not quantity:
        return f"{expression.id} is not executed: its notional buys no whole share"
    fees = round(abs(quantity) * price * settings.costs_bp * BASIS_POINT, 6)
    return Fill(
        id=NEW, instrument=expression.instrument, quantity=quantity, price=price, filled_at=filled_at, fees=fees,
        expression=expression.id, source="code",
    )  # fmt: skip
