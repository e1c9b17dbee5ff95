"""The ledger: cash, positions and P&L from dated entries, fills and daily prices.

On each day, splits and dividends are applied first, to the previous evening's positions; then deposits and other
entries, then fills, then the close. The cost is the average cost. A sale of more than is held closes the position and
opens a short one. A position is valued at its last close, adjusted for later splits, or before the first close at the
price of its last fill. For every night after the day's close, borrowed cash pays interest and a short position pays the
fee for the borrowed shares.

Futures are not paid for; each day's gain or loss is settled in cash in the evening. Amounts in another currency are
converted to USD at the rate of their day, or at the last rate before it.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from forge.core.currencies import USD
from forge.memory.instruments import contract_of
from forge.records import Cash, Fill
from pitlake.clock import new_york_day

DAYS_A_YEAR = 365
DUST = 1e-9
"""Smaller quantities are treated as 0, because they are rounding errors of fractions after a split."""


@dataclass(frozen=True)
class Prices:
    """Daily prices of one security, as traded.

    closes, splits and dividends: values by day. A split is the number of new shares per share; a dividend is in USD per
    share, on its ex-day. Closes are in the currency of the fills.
    """

    closes: Mapping[date, float]
    splits: Mapping[date, float] = field(default_factory=dict)
    dividends: Mapping[date, float] = field(default_factory=dict)


@dataclass
class Holding:
    """A position.

    quantity: shares or contracts. cost, price: the average cost and the last price, in `currency`, "" for USD.
    multiplier: the value of a future's point. rate: USD per unit of the currency. Other amounts are in USD. paid: the
    cost of the position, or a future's settled variation. closed: the P&L of closed parts. income: dividends. margin:
    the initial margin.
    """

    instrument: str
    expression: str
    quantity: float = 0.0
    cost: float = 0.0
    price: float = 0.0
    closed: float = 0.0
    income: float = 0.0
    fees: float = 0.0
    paid: float = 0.0
    margin: float = 0.0
    rate: float = 1.0
    currency: str = ""
    multiplier: float | None = None

    @property
    def terms(self) -> str:
        """Currency, multiplier and margin as a phrase, "" for shares in USD."""
        if self.multiplier:
            return f"{self.multiplier:g} {self.currency or USD} a point, margin {self.margin:,.0f} USD"
        return f"in {self.currency}" if self.currency else ""

    @property
    def exposure(self) -> float:
        """The notional in USD, negative for a short position."""
        return self.quantity * self.price * (self.multiplier or 1.0) * self.rate

    @property
    def value(self) -> float:
        """The contribution to the net asset value in USD; 0 for a future, whose variation is settled in cash."""
        return 0.0 if self.multiplier else self.exposure

    @property
    def open(self) -> float:
        """The P&L of the open position, in USD."""
        return self.value - self.paid

    @property
    def result(self) -> float:
        """Closed and open P&L plus dividends less fees, in USD."""
        return self.closed + self.open + self.income - self.fees

    def trade(self, quantity: float, price: float, fees: float) -> float:
        """Book a fill at the day's rate, and return its cost in USD cash."""
        unit = (price - (self.price if self.multiplier else 0.0)) * (self.multiplier or 1.0) * self.rate
        self.fees += fees * self.rate
        closing = 0.0
        if self.quantity * quantity < 0:
            closing = max(-abs(self.quantity), -abs(quantity)) * (1 if self.quantity > 0 else -1)
            sold = -closing / self.quantity * self.paid
            self.closed, self.paid = self.closed - closing * unit - sold, self.paid - sold
        opening = quantity - closing
        rest = self.quantity + closing
        self.quantity, self.paid = rest + opening, self.paid + opening * unit
        if abs(self.quantity) < DUST:
            self.quantity = self.cost = self.paid = 0.0
        elif opening:
            self.cost = (rest * self.cost + opening * price) / self.quantity
        return quantity * unit + fees * self.rate

    def mark(self, price: float) -> float:
        """Set the last price, and return the variation of a future in USD cash."""
        variation = (price - self.price) * self.quantity * self.multiplier * self.rate if self.multiplier else 0.0
        self.price, self.paid = price, self.paid - variation
        return variation

    def split(self, ratio: float) -> None:
        """Turn every share into `ratio` shares."""
        self.quantity, self.cost, self.price = self.quantity * ratio, self.cost / ratio, self.price / ratio


@dataclass(frozen=True)
class Account:
    """The account as of a day.

    capital: deposits less withdrawals. holdings: all holdings, including closed ones. financing: interest paid, as a
    negative amount. curve: the net asset value at each day's end, before the night's charges. missing: the sessions
    without a price of a held security, by ticker. unrated: the sessions without a rate of a position's currency, by
    currency. flows: deposits less withdrawals by day. fees: the account's own fees. results: the P&L of each holding
    up to each day, by instrument and Expression. losses: the PM's maximum expected loss on an own position, in percent
    of its value, by ticker. Amounts are in USD.
    """

    capital: float
    cash: float
    holdings: tuple[Holding, ...]
    financing: float
    curve: tuple[tuple[date, float], ...]
    missing: Mapping[str, tuple[date, ...]]
    flows: Mapping[date, float] = field(default_factory=dict)
    fees: float = 0.0
    results: Mapping[date, Mapping[tuple[str, str], float]] = field(default_factory=dict)
    unrated: Mapping[str, tuple[date, ...]] = field(default_factory=dict)
    losses: Mapping[str, float] = field(default_factory=dict)

    @property
    def margin(self) -> float:
        """The initial margin of all futures."""
        return sum(holding.margin for holding in self.positions)

    @property
    def nav(self) -> float:
        """The net asset value."""
        return self.cash + sum(holding.value for holding in self.holdings)

    @property
    def positions(self) -> list[Holding]:
        return [holding for holding in self.holdings if holding.quantity]

    def growth(self) -> list[tuple[date, float]]:
        """Return the value of 1 USD invested at the start, at the end of each day, without deposits and withdrawals."""
        level, before, levels = 1.0, self.capital - sum(self.flows.values()), list[tuple[date, float]]()
        for day, nav in self.curve:
            before += self.flows.get(day, 0.0)
            level *= nav / before if before > 0 else 1.0
            before = nav
            levels.append((day, level))
        return levels

    def since(self, day: date) -> tuple[float, float]:
        """Return the P&L since the end of a day, in USD and in percent, without deposits and withdrawals."""
        levels = self.growth()
        before = [(nav, level) for (until, nav), (_, level) in zip(self.curve, levels, strict=True) if until <= day]
        nav, level = before[-1] if before else (self.capital - sum(self.flows.values()), 1.0)
        paid = sum(amount for paid_on, amount in self.flows.items() if paid_on > day)
        return self.nav - nav - paid, (levels[-1][1] / level - 1) * 100 if levels and level else 0.0

    def results_since(self, day: date) -> dict[tuple[str, str], float]:
        """Return the P&L of each holding since the end of a day, by instrument and Expression."""
        before = self.results.get(max((until for until in self.results if until <= day), default=day), {})
        return {key: holding.result - before.get(key, 0.0) for key, holding in self.by_key().items()}

    def by_key(self) -> dict[tuple[str, str], Holding]:
        return {(holding.instrument, holding.expression): holding for holding in self.holdings}

    def sums(self) -> dict[str, float]:
        """Return the totals of all holdings in USD, and the drawdown from the peak of `growth` in percent."""
        levels = [1.0, *(level for _, level in self.growth())]
        return {
            "closed_pnl": sum(holding.closed for holding in self.holdings),
            "open_pnl": sum(holding.open for holding in self.holdings),
            "dividends": sum(holding.income for holding in self.holdings),
            "fees": self.fees + sum(holding.fees for holding in self.holdings),
            "financing": self.financing,
            "margin": self.margin,
            "drawdown_pct": (1 - levels[-1] / max(levels)) * 100,
        }


def keep(
    entries: Sequence[Cash],
    fills: Sequence[Fill],
    prices: Mapping[str, Prices],
    sessions: Collection[date],
    until: date,
    rates: Mapping[str, Mapping[date, float]] | None = None,
) -> Account:
    """Return the account at the end of a day.

    Args: entries: The account's entries, by day. fills: The fills in any order. Later ones than `until` are ignored.
    prices: Prices by ticker. sessions: The exchange's completed days, on which a price is expected. until: The last
    day, for which no interest is due yet. rates: USD per unit of each currency of the fills, by day. The first rate
    also applies before its day.
    """
    ledger = _Ledger(sum(entry.amount for entry in entries if entry.entry == "opening"), rates or {})
    ledger.rate = next((entry.amount for entry in entries if entry.entry == "rate"), 0.0)
    by_day: dict[date, list[Fill]] = defaultdict(list)
    entries_by_day: dict[date, list[Cash]] = defaultdict(list)
    for fill in sorted(fills, key=lambda fill: (fill.filled_at, fill.id)):
        by_day[new_york_day(fill.filled_at)].append(fill)
    for entry in entries:
        if entry.entry != "opening":
            entries_by_day[entry.booked_on].append(entry)
    day = min([*by_day, *entries_by_day], default=until)
    ledger.rate_before(day)
    while day <= until:
        ledger.begin(day, prices)
        for entry in entries_by_day.get(day, ()):
            ledger.enter(entry)
        for fill in by_day.get(day, ()):
            ledger.book(fill, prices)
        ledger.mark(day, prices, due=day in sessions)
        ledger.curve.append((day, ledger.nav))
        ledger.results[day] = {key: holding.result for key, holding in ledger.holdings.items()}
        if day < until:
            ledger.pay_for_the_night()
        day += timedelta(days=1)
    for holding in ledger.holdings.values():
        if holding.multiplier and (contract := contract_of(holding.instrument, entries, until)):
            holding.margin = abs(holding.quantity) * contract.amount * holding.rate
    missing, unrated = (
        {name: tuple(days) for name, days in by_name.items()} for by_name in (ledger.missing, ledger.unrated)
    )
    return Account(
        ledger.capital, ledger.cash, tuple(ledger.holdings.values()), ledger.financing, tuple(ledger.curve), missing,
        dict(ledger.flows), ledger.fees, ledger.results, unrated, ledger.terms["loss"],
    )  # fmt: skip


class _Ledger:
    def __init__(self, capital: float, rates: Mapping[str, Mapping[date, float]]) -> None:
        self.capital = self.cash = capital
        self.rates, self.last_rates = rates, {"": 1.0}
        self.unrated: dict[str, list[date]] = defaultdict(list)
        self.financing = self.fees = self.rate = 0.0
        self.terms: dict[str, dict[str, float]] = {"borrow": {}, "loss": {}}
        self.flows: dict[date, float] = defaultdict(float)
        self.holdings: dict[tuple[str, str], Holding] = {}
        self.curve: list[tuple[date, float]] = []
        self.missing: dict[str, list[date]] = defaultdict(list)
        self.results: dict[date, dict[tuple[str, str], float]] = {}

    @property
    def nav(self) -> float:
        return self.cash + sum(holding.value for holding in self.holdings.values())

    def rate_before(self, day: date) -> None:
        """Start with each currency's last rate up to a day, or with its first rate."""
        for currency, by_day in self.rates.items():
            self.last_rates[currency] = by_day[max((on for on in by_day if on <= day), default=min(by_day))]

    def begin(self, day: date, prices: Mapping[str, Prices]) -> None:
        for currency, by_day in self.rates.items():
            self.last_rates[currency] = by_day.get(day, self.last_rates[currency])
        for holding in self.holdings.values():
            holding.rate = self.last_rates[holding.currency]
            history = prices.get(holding.instrument)
            if history is None:
                continue
            if ratio := history.splits.get(day):
                holding.split(ratio)
            paid = holding.quantity * history.dividends.get(day, 0.0)
            holding.income, self.cash = holding.income + paid, self.cash + paid

    def enter(self, entry: Cash) -> None:
        if entry.entry == "rate":
            self.rate = entry.amount
            return
        if entry.entry in self.terms:
            self.terms[entry.entry][entry.ticker] = entry.amount
            return
        if entry.entry == "contract":
            return  # Fills state the multiplier, and the margin is not cash.
        amount = entry.amount if entry.entry == "deposit" else -entry.amount
        self.cash += amount
        if entry.entry == "fee":
            self.fees -= amount
        elif entry.entry == "interest":
            self.financing += amount
        else:
            self.capital += amount
            self.flows[entry.booked_on] += amount

    def pay_for_the_night(self) -> None:
        """Pay interest on borrowed cash, and charge each position the fees for its borrowed shares."""
        interest = min(self.cash, 0.0) * self.rate / 100 / DAYS_A_YEAR
        self.cash, self.financing = self.cash + interest, self.financing + interest
        for holding in self.holdings.values():
            fee = -min(holding.value, 0.0) * self.terms["borrow"].get(holding.instrument, 0.0) / 100 / DAYS_A_YEAR
            self.cash, holding.fees = self.cash - fee, holding.fees + fee

    def book(self, fill: Fill, prices: Mapping[str, Prices]) -> None:
        key = fill.instrument, fill.expression
        holding = self.holdings.setdefault(key, Holding(*key, currency=fill.currency, multiplier=fill.multiplier))
        holding.rate = self.last_rates[holding.currency]
        day, history = new_york_day(fill.filled_at), prices.get(fill.instrument)
        if not holding.quantity:
            price, days = 0.0, [closed_on for closed_on in history.closes if closed_on <= day] if history else []
            if history and days:
                # The last close is adjusted for the splits since.
                price = history.closes[max(days)]
                for split_on, ratio in history.splits.items():
                    price /= ratio if max(days) < split_on <= day else 1.0
            holding.price, holding.multiplier = price or fill.price, fill.multiplier
        elif history is None or not any(closed_on <= day for closed_on in history.closes):
            self.cash += holding.mark(fill.price)
        self.cash -= holding.trade(fill.quantity, fill.price, fill.fees)

    def mark(self, day: date, prices: Mapping[str, Prices], *, due: bool) -> None:
        for holding in self.holdings.values():
            history = prices.get(holding.instrument)
            if history and day in history.closes:
                self.cash += holding.mark(history.closes[day])
            elif due and holding.quantity and day not in self.missing[holding.instrument]:
                self.missing[holding.instrument].append(day)
            rated = not holding.currency or day in self.rates[holding.currency]
            if due and holding.quantity and not rated and day not in self.unrated[holding.currency]:
                self.unrated[holding.currency].append(day)
