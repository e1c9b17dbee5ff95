"""The account as of an instant: values fills by the lake's bars, derives the book, and executes entries and exits.

Unless trading is halted, an approved Expression is executed at the open of the first session after its approval, in
whole shares or contracts, for its notional's share of the previous evening's net asset value. Its stop, target or last
day closes the position. If a fill of the PM names an Expression, or a fill of the Expression is void, code does not
open it. Code closes what is left of a position that it opened, unless its own fill is void.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from math import copysign, floor
from typing import NamedTuple, cast

from forge.core import config
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.book import HELD, PORTFOLIO, held_in, with_approved
from forge.memory.cash import cash, open_account
from forge.memory.effects import CODE, PM
from forge.memory.fills import all_fills, book_fills, fills
from forge.memory.guardrails import Guardrails, trade_of
from forge.memory.halts import halted, halted_spans, switch
from forge.memory.plausible import SIDES
from forge.memory.remembered import Remembered
from forge.providers.base import At
from forge.records import Cash, Expression, Fill, Halt, Portfolio, Position, render
from forge.records.kinds import NEW
from forge.tracking import ledger
from forge.tracking.bars import NotFollowable
from forge.tracking.rates import unit_of
from forge.tracking.risk import Market, guardrails, stops
from forge.tracking.settlement import whole_memory
from forge.tracking.trades import FollowedTrade, expressions, follow_held, texts_of
from forge.tracking.valuation import value, value_account
from pitlake.clock import new_york_day
from pitlake.errors import BadInput, LakeNotFound
from pitlake.exchange import session

BASIS_POINT = 1e-4
PERCENT = 100
WHOLE = 1e-9
"""The rounding error of a quotient of floats."""


class Due(NamedTuple):
    """A fill that is due on a day: an `entry` or an `exit`."""

    day: date
    leg: str
    expression: Expression
    trade: FollowedTrade


def advance_account(memory: Memory, at: At, settings: config.AccountSettings) -> list[str]:
    """Execute due entries and exits, update the book, and halt trading if a limit is exceeded.

    Return the reasons for trades that were not executed and for fills that can't be valued. The desk shows the sessions
    without a price. Open the account if the settings contain a capital; without an account, do nothing. A book that the
    PM stored stays unchanged until there is a fill.
    """
    open_account(memory, settings.capital, settings.financing_rate, settings.contracts)
    if not cash(whole_memory(memory, at.as_of)):
        return []
    gaps = execute(memory, at, settings)
    remembered = whole_memory(memory, at.as_of)
    row = remembered.newest(PORTFOLIO)
    if row and row.actor == PM and not fills(remembered):
        return gaps
    valued = value_account(remembered, at)
    write_book(memory, remembered, valued.account, guardrails(config.Limits(), at, stops=stops(remembered)))
    if halted(remembered) is None and (halt := loss_halt(remembered, valued.account, settings)):
        switch(memory, halt)
    return [*gaps, *valued.unvalued]


def execute(memory: Memory, at: At, settings: config.AccountSettings) -> list[str]:
    """Book the entries and exits that are due, in order of their days.

    Return the reasons for entries and exits that could not be booked.
    """
    remembered, gaps = whole_memory(memory, at.as_of), list[str]()
    booked, entries, due = fills(remembered), cash(remembered), list[Due]()
    recorded = {expression.id: list[Fill]() for _, expression in expressions(remembered)}
    for fill in all_fills(remembered):
        recorded.get(fill.expression, []).append(fill)
    for path, expression in expressions(remembered):
        own = recorded[expression.id]
        if own and [fill.status for fill in own if fill.source == CODE] != ["booked"]:
            continue
        try:
            trade = follow_held(texts_of(remembered, path), at, halted_spans(remembered))
        except (NotFollowable, BadInput) as problem:
            gaps.append(f"{expression.id} is not executed: {problem}")
            continue
        if trade and trade.path.entry_price is None and trade.path.holes and expression.status in HELD:
            gaps.append(f"{expression.id} is not executed: {trade.describe_holes()}")
        if trade is None or trade.path.entry_price is None:
            continue
        if not own:
            due.append(Due(trade.path.marks[0].day, "entry", expression, trade))
        if trade.path.reason:
            due.append(Due(trade.path.marks[-1].day, "exit", expression, trade))
    for item in sorted(due, key=lambda item: (item.day, item.leg == "exit", item.expression.id)):
        new = _fill(item, booked, entries, settings, at)
        if isinstance(new, str):
            gaps.append(new)
        elif new:
            booked.append(new)
            book_fills(memory, {f"fill:{item.expression.id}:{item.leg}": new})
    return gaps


def write_book(memory: Memory, remembered: Remembered, account: ledger.Account, market: Guardrails) -> None:
    """Write the book of an account, in percent of net asset value, if it changed. market: computes exposures."""
    row = remembered.newest(PORTFOLIO)
    book = book_of(account, held_in(remembered).values(), market, fills(remembered))
    if row is None or replace(cast("Portfolio", remembered.record(row)), updated=None) != book:
        files = ForgeFS(memory, remembered, actor=CODE)
        files.write_file(PORTFOLIO, render(book), call_id=f"account:{row.seq if row else 0}")


def book_of(
    account: ledger.Account, expressions: Iterable[Expression], market: Guardrails, booked: Sequence[Fill] = ()
) -> Portfolio:
    """Return the book of an account, by exposure. Fills of a held Expression are one position, others one per ticker.
    A position includes the amount that its approval still allows to buy.

    Factors and duration are the larger of the claimed and the computed values. The duration is None if the duration of
    any position is neither claimed nor computed.
    """
    by_id, nav = {expression.id: expression for expression in expressions}, account.nav
    if nav <= 0:
        return Portfolio(id="state", body="The net asset value is not above 0, so percentages of it have no meaning.")
    notionals, parts = dict[str, float](), defaultdict[str, dict[str, float]](dict)
    for holding in account.positions:
        trade, share = by_id.get(holding.expression), holding.exposure / nav * PERCENT
        instruments = {trade.instrument, *(leg.instrument for leg in trade.legs)} if trade else set()
        # A hedge is not in the Expression's instruments, although it holds these too. In one sum, it would cancel them.
        is_hedge = (
            trade is not None
            and holding.instrument not in instruments
            and any(each.expression == trade.id and each.instrument in instruments for each in account.positions)
        )
        if trade is None or is_hedge:
            name = holding.instrument
            if holding.expression and trade is None:
                parts[name][holding.expression] = round(share, 6)
        else:
            name, share = trade.id, _notional_of(share, trade)
        notionals[name] = notionals.get(name, 0.0) + share
    for name in notionals.keys() & by_id.keys():
        notionals[name] += _unfilled(by_id[name], notionals[name], account, booked)
    exposures, positions, durations = dict[str, float](), list[Position](), list[float | None]()
    for name, notional in sorted(notionals.items()):
        loss = round(abs(notional) * account.losses.get(name, 0.0) / PERCENT, 6) or None
        position = Position(expression=name, notional=round(notional, 6), loss=loss, parts=parts[name])
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


def _notional_of(share: float, trade: Expression) -> float:
    """Return a holding's notional as a part of its Expression. Legs are added by size, so that they do not cancel."""
    whole = 0.0 if trade.direction in SIDES else sum(abs(leg.notional) for leg in trade.legs)
    return abs(share) / whole * (trade.notional or 0.0) if whole else share


def _unfilled(trade: Expression, notional: float, account: ledger.Account, booked: Sequence[Fill]) -> float:
    """Return the amount that an approval still allows to buy, with the sign of the position: the approved notional less
    purchases, at the net asset value before the PM's first fill. It is 0 below one share, and if code bought.
    """
    own = [fill for fill in booked if fill.expression == trade.id]
    if not own or any(fill.source == CODE for fill in own):
        return 0.0
    first, side = min(new_york_day(fill.filled_at) for fill in own), SIDES.get(trade.direction)
    start = account.capital - sum(account.flows.values())
    nav = next((nav for day, nav in reversed(account.curve) if day < first), start)
    sides = {trade.instrument: side} if side else {leg.instrument: leg.notional for leg in trade.legs}
    rates = {holding.instrument: holding.rate for holding in account.holdings}
    units = [fill.price * (fill.multiplier or 1.0) * rates.get(fill.instrument, 1.0) / nav * PERCENT for fill in own]
    bought = sum(
        abs(_notional_of(fill.quantity * unit, trade))
        for fill, unit in zip(own, units, strict=True)
        if fill.quantity * sides.get(fill.instrument, notional) > 0
    )
    rest = abs(trade.notional or 0.0) - bought
    return copysign(rest, notional) if rest >= min(units) * (1 - WHOLE) and (side or notional) * notional > 0 else 0.0


def book_guardrails(limits: config.Limits, remembered: Remembered, at: At) -> Guardrails:
    """Return guardrails that use the market as of an instant, and value the book of an account at its prices."""

    def value_book() -> Portfolio | None:
        trades = held_in(remembered).values()
        try:
            account = value_account(remembered, at).account if fills(remembered) else None
        except (BadInput, LakeNotFound):
            return None
        if account is None:
            return None
        return with_approved(book_of(account, trades, Guardrails(limits, compute), fills(remembered)), trades)

    compute = Market(at, cash(remembered), stops(remembered)).compute
    return Guardrails(limits, compute, value_book)


def loss_halt(remembered: Remembered, account: ledger.Account, settings: config.AccountSettings) -> Halt | None:
    """Return the halt that the account's losses require, or None. Losses are measured from the last release."""
    spans = halted_spans(remembered)
    released = spans[-1][1] if spans else None
    levels = [level for day, level in account.growth() if released is None or day >= new_york_day(released)]
    if not levels:
        return None
    start = 1.0 if released is None else levels[0]
    for name, limit, base in (
        ("loss", settings.max_loss, start),
        ("drawdown", settings.max_drawdown, max([start, *levels])),
    ):
        lost = (1 - levels[-1] / base) * PERCENT
        if limit is not None and lost > limit:
            reason = f"a {name} of {lost:.2f} % is beyond the limit of {limit:g} %"
            return Halt(id="halt", by=CODE, reason=reason, lost=round(lost, 6), limit=limit)
    return None


def _fill(
    item: Due, booked: list[Fill], entries: list[Cash], settings: config.AccountSettings, at: At
) -> Fill | str | None:
    expression, path = item.expression, item.trade.path
    hours = session(item.day)
    if hours is None:
        return None
    if item.leg == "entry":
        if expression.notional is None:
            return f"{expression.id} is not executed: its notional is missing"
        price, evening = cast("float", path.entry_price), item.day - timedelta(days=1)
        try:
            unit = unit_of(expression.instrument, item.trade.currency, entries, evening, at)
        except BadInput as problem:
            return f"{expression.id} is not executed: {problem}"
        earlier = [fill for fill in booked if new_york_day(fill.filled_at) <= evening]
        nav = value(earlier, entries, at, evening).account.nav
        side = -1 if expression.direction == "short" else 1
        quantity = float(side * max(0, floor(abs(expression.notional) / PERCENT * nav / (price * unit.usd) + WHOLE)))
        currency, multiplier, filled_at = item.trade.currency, unit.multiplier, hours.open
    else:
        own = [fill for fill in booked if fill.expression == expression.id]
        before = [fill for fill in own if new_york_day(fill.filled_at) <= item.day]
        spans = (before, item.day), (before, today := new_york_day(at.as_of)), (own, today)
        accounts = (value(own_fills, entries, at, day).account for own_fills, day in spans)
        exiting, unsold, left = (
            sum(each.quantity for each in account.positions if each.instrument == expression.instrument)
            for account in accounts
        )
        # Shares that the PM has sold since are not sold again.
        if not unsold or left / unsold <= 0:
            return None
        price, quantity = cast("float", path.price), -exiting * min(left / unsold, 1.0)
        currency, multiplier, filled_at = own[0].currency, own[0].multiplier, hours.close
    if not quantity:
        smallest = "contract" if multiplier else "share"
        return f"{expression.id} is not executed: its notional is too small for a whole {smallest}"
    fees = round(abs(quantity) * price * (multiplier or 1.0) * settings.costs_bp * BASIS_POINT, 6)
    return Fill(
        id=NEW, instrument=expression.instrument, quantity=quantity, price=price, filled_at=filled_at, fees=fees,
        expression=expression.id, source="code", currency=currency, multiplier=multiplier,
    )  # fmt: skip
