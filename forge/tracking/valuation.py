"""Values fills by the lake's bars: the account as of an instant, and the P&L of one Expression."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from forge.core import config
from forge.providers.base import At
from forge.records import Fill
from forge.tracking import ledger
from forge.tracking.bars import NotFollowable, daily_prices, sessions
from forge.tracking.ledger import Holding, Prices
from pitlake.clock import new_york_day
from pitlake.errors import BadInput

PERCENT = 100


@dataclass(frozen=True)
class Valued:
    """An account, with the reasons why some positions are not valued by a price of the last session."""

    account: ledger.Account
    gaps: tuple[str, ...]


def value(booked: Iterable[Fill], settings: config.AccountSettings, at: At) -> Valued:
    """Return the account of these fills as of an instant. Raises LakeNotFound; needs `settings.capital`."""
    traded = list(booked)
    if settings.capital is None:
        raise BadInput("account.capital", "is not set", "write it to the settings: [account] capital = 1000000")
    until = new_york_day(at.as_of)
    if not traded:
        return Valued(ledger.keep(settings.capital, (), {}, (), until), ())
    first = min(fill.filled_at for fill in traded)
    prices, gaps = dict[str, Prices](), list[str]()
    for ticker in sorted({fill.instrument for fill in traded}):
        try:
            prices[ticker] = daily_prices(ticker, new_york_day(first), at)
        except (NotFollowable, BadInput) as problem:
            gaps.append(f"{ticker}: {problem}")
    due = sessions(first, until, at.as_of)
    account = ledger.keep(settings.capital, traded, prices, set(due), until, settings.financing_rate)
    for ticker, days in account.missing.items():
        if ticker in prices and days:
            what = f"no bar on {days[0]}" if len(days) == 1 else f"no bar on {len(days)} days, {days[0]} to {days[-1]}"
            still = due and days[-1] == due[-1] and any(position.instrument == ticker for position in account.positions)
            gaps.append(f"{ticker}: {what}{'; valued at its last close' if still else ''}")
    return Valued(account, tuple(gaps))


@dataclass(frozen=True)
class Result:
    """The P&L of the fills of Expressions.

    usd: in USD. percent: in percent of the account's capital. holdings: by instrument.
    """

    usd: float
    percent: float
    holdings: tuple[Holding, ...]

    def describe(self) -> str:
        rest = [
            f"{holding.quantity:g} {holding.instrument} still held" for holding in self.holdings if holding.quantity
        ]
        return "; ".join([f"{self.usd:+.2f} USD by its fills", *rest]) if self.holdings else "no fill"


def result_of(expression: str, booked: Iterable[Fill], settings: config.AccountSettings, at: At) -> Result:
    """Return the P&L of an Expression's fills as of an instant. Raises as `value`."""
    valued = value((fill for fill in booked if fill.expression == expression), settings, at)
    return sum_results([expression], valued.account)


def sum_results(expressions: Collection[str], account: ledger.Account) -> Result:
    """Return the P&L of the fills of these Expressions in an account."""
    holdings = tuple(holding for holding in account.holdings if holding.expression in expressions)
    usd = sum(holding.result for holding in holdings)
    return Result(usd, usd / account.capital * PERCENT, holdings)
