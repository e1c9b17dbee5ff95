"""Values fills by the lake's bars: the account as of an instant, and the P&L of one Expression."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from forge.core.currencies import USD
from forge.memory.cash import cash
from forge.memory.fills import all_fills, fills
from forge.memory.journal import digest
from forge.memory.remembered import Remembered
from forge.providers.base import At
from forge.records import Cash, Fill
from forge.tracking import ledger
from forge.tracking.bars import days_text, sessions, traded_bars
from forge.tracking.ledger import Holding, Prices
from forge.tracking.rates import rates_of
from pitlake.clock import new_york_day
from pitlake.errors import BadInput

PERCENT = 100


@dataclass(frozen=True)
class Valued:
    """An account.

    gaps: why some positions are not valued at a price of the last session. answer: SHA-256 of the lake's results.
    notes: later changes to the account's past. unvalued: the gaps that only the PM can fill, not a later session.
    """

    account: ledger.Account
    gaps: tuple[str, ...]
    answer: str = ""
    notes: tuple[str, ...] = ()
    unvalued: tuple[str, ...] = ()


def value_account(remembered: Remembered, at: At, capital: float | None = None) -> Valued:
    """Return the account of a memory as of an instant. capital: as in the settings. Raises LakeNotFound, BadInput."""
    entries = cash(remembered)
    notes = [
        f"{fill.id} ({fill.quantity:g} {fill.instrument} at {fill.price:g}) is void: {fill.reason}; the account leaves "
        f"it out from {new_york_day(fill.filled_at)} on"
        for fill in all_fills(remembered)
        if fill.status == "void"
    ]
    start = next((entry.amount for entry in entries if entry.entry == "opening"), None)
    if capital not in (None, start) and start is not None:
        notes.append(
            f"the account was opened with {start:,.0f} USD; the setting, now {capital:,.0f}, has no effect on an open "
            "account. To change the capital, book the difference: pitlake forge cash deposit"
        )
    return replace(value(fills(remembered), entries, at), notes=tuple(notes))


def value(booked: Iterable[Fill], entries: Sequence[Cash], at: At, until: date | None = None) -> Valued:
    """Return the account of these fills and entries at the end of a day (default: the day of the instant).

    Raises LakeNotFound, and BadInput if the account is not open.
    """
    traded, until = list(booked), until or new_york_day(at.as_of)
    if not entries:
        raise BadInput("account", "is not open as of this instant", "see [account] capital in the settings")
    if not traded:
        return Valued(ledger.keep(entries, (), {}, (), until), ())
    unvalued, holes, answers = list[str](), list[str](), list[str]()
    rates = _rates(traded, at, unvalued, answers)
    traded = [fill for fill in traded if not fill.currency or fill.currency in rates]
    if not traded:
        return Valued(ledger.keep(entries, (), {}, (), until), tuple(unvalued), unvalued=tuple(unvalued))
    first, prices = min(fill.filled_at for fill in traded), dict[str, Prices]()
    for ticker, currency in sorted({(fill.instrument, fill.currency) for fill in traded}):
        try:
            answer = traded_bars(ticker, new_york_day(first), at)
        except BadInput as problem:
            unvalued.append(f"{ticker}: {problem}")
            continue
        if answer.currency != currency:
            of_lake, of_fills = answer.currency or USD, currency or USD
            unvalued.append(
                f"{ticker}: the lake prices it in {of_lake}, its fills are in {of_fills}; valued at its last fill"
            )
            continue
        prices[ticker] = answer.prices
        answers.append(answer.answer)
        holes += [f"{ticker}: {gap}" for gap in answer.gaps]
        unvalued += [] if answer.prices.closes else [f"{ticker}: the lake has no price for it; valued at its last fill"]
    due = sessions(first, until, at.as_of)
    account = ledger.keep(entries, traded, prices, set(due), until, rates)
    for ticker, days in account.missing.items():
        if ticker in prices and prices[ticker].closes and days:
            still = due and days[-1] == due[-1] and any(position.instrument == ticker for position in account.positions)
            holes.append(f"{ticker}: no bar {days_text(days)}{'; valued at its last close' if still else ''}")
    for currency, days in account.unrated.items():
        holes += [f"{currency}: no rate {days_text(days)}; the last one is used"] if days else []
    return Valued(account, (*unvalued, *holes), digest(*answers), unvalued=tuple(unvalued))


def _rates(traded: Iterable[Fill], at: At, gaps: list[str], answers: list[str]) -> dict[str, Mapping[date, float]]:
    """Return the rates of the fills' currencies, without currencies that the lake lacks."""
    first_days, rates = dict[str, date](), dict[str, Mapping[date, float]]()
    for fill in traded:
        day = new_york_day(fill.filled_at)
        first_days[fill.currency] = min(day, first_days.get(fill.currency, day))
    for currency, day in sorted(first_days.items()):
        try:
            answer = rates_of(currency, day, at) if currency else None
        except BadInput as problem:
            gaps.append(f"{currency}: {problem}; its fills are not counted")
            continue
        if answer:
            rates[currency] = answer.by_day
            answers.append(answer.answer)
    return rates


@dataclass(frozen=True)
class Result:
    """The P&L of the fills of Expressions.

    usd: in USD. percent: in percent of the account's capital. holdings: by instrument. answer: as in `Valued`.
    """

    usd: float
    percent: float
    holdings: tuple[Holding, ...]
    answer: str = ""

    def describe(self) -> str:
        rest = [
            f"{holding.quantity:g} {holding.instrument} still held" for holding in self.holdings if holding.quantity
        ]
        return "; ".join([f"{self.usd:+.2f} USD by its fills", *rest]) if self.holdings else "no fill"


def result_of(expression: str, booked: Iterable[Fill], entries: Sequence[Cash], at: At) -> Result:
    """Return the P&L of an Expression's fills as of an instant. Raises as `value`."""
    valued = value((fill for fill in booked if fill.expression == expression), entries, at)
    return replace(sum_results([expression], valued.account), answer=valued.answer)


def sum_results(expressions: Collection[str], account: ledger.Account) -> Result:
    """Return the P&L of the fills of these Expressions in an account."""
    holdings = tuple(holding for holding in account.holdings if holding.expression in expressions)
    usd = sum(holding.result for holding in holdings)
    return Result(usd, usd / account.capital * PERCENT, holdings)
