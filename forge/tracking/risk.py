"""The exposure and risk of a trade or a position, computed from bars and quotes as of an instant."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import groupby, pairwise
from statistics import correlation, covariance, mean, stdev, variance
from types import MappingProxyType
from typing import Any, cast

from forge.analytics import options
from forge.core.config import Limits
from forge.core.currencies import USD, read_currency
from forge.memory.book import HELD, held_in, remembered_book
from forge.memory.cash import cash
from forge.memory.guardrails import Exposure, Guardrails, claimed, set_apart, trade_of
from forge.memory.instruments import FUTURE
from forge.memory.plausible import SIDES, level_price
from forge.memory.remembered import Remembered
from forge.providers.base import At
from forge.records import Cash, Expression, Leg, Portfolio
from forge.tracking.bars import NotFollowable, adjusted_bars
from forge.tracking.quotes import parse_quoted, years_of
from forge.tracking.rates import Unit, unit_of
from pitlake.clock import new_york_day
from pitlake.errors import BadInput, LakeNotFound
from pitlake.exchange import session

Stops = Mapping[tuple[str, ...], datetime]
"""The instants at which stops were stated, by the Expression's id, its stop and its legs' stops."""
INDEX, EQUITY, RATES = "SPY", "equity", "rates"
EQUITY_BARS = "prices"
"""The dataset whose tickers are companies and equity funds."""
WINDOW, VOLUME_WINDOW = timedelta(days=92), 20
LEAST_RETURNS = 20
SESSIONS_A_YEAR = 252
PERCENT, BASIS_POINT, WHOLE = 100, 1e-4, 1e-9
Rows = list[Mapping[str, Any]]


@dataclass(frozen=True)
class Risk:
    """A trade's risk. Figures that can't be computed are None; gaps state the reasons.

    loss_at_stop: percent of capital lost between the last close and the stop. loss_with_gap: the same with the largest
    adverse overnight move of the last quarter beyond the stop. volatility: the volatility of daily returns, in percent
    a year. beta: the beta to the index. concentration: the trade's share of the gross exposure including the trade, in
    percent. correlation: the correlation of its signed returns with the returns of the book. days_of_volume: the number
    of shares, as a multiple of an average day's volume. dv01: USD lost if rates rise by a basis point. price: the last
    close, in `unit`. contracts, margin: the number of futures contracts, and their initial margin in USD.
    """

    price: float | None = None
    loss_at_stop: float | None = None
    loss_with_gap: float | None = None
    volatility: float | None = None
    beta: float | None = None
    concentration: float | None = None
    correlation: float | None = None
    days_of_volume: float | None = None
    dv01: float | None = None
    contracts: int | None = None
    margin: float | None = None
    unit: str = USD
    gaps: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the figures as texts with their units."""
        figures = (
            ("last close", self.price, self.unit),
            ("contracts", self.contracts, ""),
            ("initial margin", self.margin, "USD"),
            ("loss at stop", self.loss_at_stop, "% of capital"),
            ("loss with a gap at the stop", self.loss_with_gap, "% of capital"),
            ("volatility", self.volatility, "% a year"),
            (f"beta to {INDEX}", self.beta, ""),
            ("share of gross exposure", self.concentration, "%"),
            ("correlation with the book", self.correlation, ""),
            ("days of volume", self.days_of_volume, ""),
            ("value of a basis point", self.dv01, "USD"),
        )
        return [f"{name}: {number:.4g} {unit}".rstrip() for name, number, unit in figures if number is not None]


@dataclass
class Market:
    """Computes exposures as of an instant. The lake is queried once per ticker."""

    at: At
    entries: Sequence[Cash] = ()
    stops: Stops = field(default_factory=dict)
    _rows: dict[str, Rows | str] = field(default_factory=dict)
    _units: dict[str, Unit] = field(default_factory=dict)

    def rows(self, ticker: str, gaps: list[str]) -> Rows:
        """Return the bars of the last quarter whose split basis is proven; no bars if there is a gap."""
        if ticker not in self._rows:
            start = new_york_day(self.at.as_of) - WINDOW
            try:
                bars = [row for row in adjusted_bars(ticker, start, self.at) if row["close"]]
                self._rows[ticker] = bars or f"{ticker}: there are no bars since {start}"
            except (BadInput, LakeNotFound, NotFollowable) as problem:
                self._rows[ticker] = f"{ticker}: {problem if isinstance(problem, BadInput) else 'there is no lake'}"
        rows = self._rows[ticker]
        if isinstance(rows, str):
            gaps.append(rows)
            return []
        return rows

    def compute(self, trade: Expression, nav: float | None) -> Exposure:
        """Return the exposure of a trade; see `forge.memory.guardrails.Exposure`."""
        gaps, legs = list[str](), self._legs(trade)
        if not legs or not trade.notional:
            gaps.append(f"the risk of a trade that is {trade.direction} is computed from its legs, and it has none")
            return Exposure(gaps=tuple(gaps))
        if not all(self.rows(leg.instrument, gaps) for leg in legs):
            return Exposure(margin=self.margin(legs, gaps), gaps=tuple(gaps))
        names = claimed(replace(trade, legs=legs)).names or {}
        factors, durations, volumes = dict[str, float](), list[float | None](), list[float]()
        for leg in legs:
            signed = -leg.notional if leg.kind == "put" else leg.notional
            factor, unit, years = self._factor(leg.instrument, gaps)
            factors[factor] = factors.get(factor, 0.0) + signed * unit
            durations.append(None if years is None else signed / PERCENT * years)
            rows = self.rows(leg.instrument, [])
            traded = [row["volume"] / row["split_factor"] for row in rows[-VOLUME_WINDOW:] if row["volume"]]
            shares = abs(leg.notional) / PERCENT * nav / last_price(rows) if nav else None
            volumes += [shares / mean(traded)] if shares and traded else []
        # Each leg is closed at its stop, but options expire with their underlying at its worst.
        loss = 0.0
        for instrument, together in groupby(sorted(legs, key=lambda leg: leg.instrument), lambda leg: leg.instrument):
            group = list(together)
            spot = last_price(self.rows(instrument, gaps))
            if all(leg.kind == "linear" for leg in group):
                loss += sum(self._stopped(leg, spot, gaps, gap=True) for leg in group)
            else:
                payoffs = [
                    options.Leg("underlying", spot, leg.notional / spot)
                    if leg.kind == "linear"
                    else options.Leg(leg.kind, leg.strike, leg.notional / spot, leg.premium)
                    for leg in group
                ]
                loss += max(0.0, -options.payoff(payoffs).least)
        return Exposure(
            names=names,
            loss=loss,
            duration=None if None in durations else sum(cast("list[float]", durations)),
            factors=factors,
            days_of_volume=max(volumes, default=None),
            margin=self.margin(legs, gaps),
            gaps=tuple(dict.fromkeys(gaps)),
        )

    def _legs(self, trade: Expression) -> tuple[Leg, ...]:
        """Return the legs of a trade. Stops of a held trade are adjusted for splits since they were stated."""
        side, legs, since = SIDES.get(trade.direction), trade.legs, self.stops.get(_stops_of(trade))
        if side is not None and trade.notional:
            legs = (Leg(instrument=trade.instrument, notional=side * abs(trade.notional), stop=trade.stop),)
        if since is None:
            return legs
        adjusted_legs, day = list[Leg](), new_york_day(since)
        for leg in legs:
            rows, stop = self.rows(leg.instrument, []), level_price(leg.stop)
            if rows and rows[0]["date"] > day:
                rows = [row for row in adjusted_bars(leg.instrument, day - WINDOW, self.at) if row["close"]]
            sessions = [row for row in rows if (hours := session(row["date"])) and hours.open <= since] or rows[:1]
            level = stop * rows[-1]["split_factor"] / sessions[-1]["split_factor"] if stop and rows else None
            adjusted_legs.append(leg if level is None else replace(leg, stop=str(level)))
        return tuple(adjusted_legs)

    def beta(self, ticker: str) -> float | None:
        """Return the beta to the index; None if there are too few common returns."""
        if ticker == INDEX:
            return 1.0
        own, index = _paired(_returns(self.rows(ticker, [])), _returns(self.rows(INDEX, [])))
        if len(own) < LEAST_RETURNS or not variance(index):
            return None
        return covariance(own, index) / variance(index)

    def _factor(self, ticker: str, gaps: list[str]) -> tuple[str, float, float | None]:
        """Return an instrument's factor, its exposure per unit of notional, and its duration if it is computed."""
        if quoted := parse_quoted(ticker):
            price, years = self.rows(ticker, gaps)[-1]["close"], years_of(quoted)
            if years:
                return RATES, 1.0, years / (100 / price) ** (1 / years)
            # Other futures and currency pairs are separate factors.
            return {"index": EQUITY, "commodity": "commodity"}.get(quoted.kind, quoted.instrument), 1.0, 0.0
        beta = self.beta(ticker)
        if beta is None:
            gaps.append(f"{ticker}: its beta to {INDEX} is taken as 1, because there are too few common returns")
        shares = self.rows(ticker, [])[-1].get("source") == EQUITY_BARS
        return EQUITY, 1.0 if beta is None else beta, 0.0 if shares else None

    def _stopped(self, leg: Leg, spot: float, gaps: list[str], *, gap: bool) -> float:
        """Return the loss of a leg at its stop. Without a stop, a long leg can lose its notional, a short leg more."""
        side, stop = 1 if leg.notional > 0 else -1, level_price(leg.stop)
        if stop is None:
            gaps.append(f"{leg.instrument}: has no stop that code can follow, so its whole value can be lost")
            return abs(leg.notional) if side > 0 else math.inf
        through = 1 - side * (overnight(self.rows(leg.instrument, gaps), side) if gap else 0.0)
        level = min(stop, spot) if side > 0 else max(stop, spot)
        return max(0.0, side * (spot - level * through)) / spot * abs(leg.notional)

    def margin(self, legs: Iterable[Leg], gaps: list[str]) -> float | None:
        """Return the initial margin of all futures legs; 0 without an account, None if it is unknown."""
        total = 0.0
        for leg in legs if self.entries else ():
            if leg.instrument.startswith(FUTURE):
                rows = self.rows(leg.instrument, gaps)
                try:
                    unit = self.unit(leg.instrument) if rows else None
                except BadInput as problem:
                    gaps.append(str(problem))
                    unit = None
                if unit is None:
                    return None
                total += abs(leg.notional) * unit.margin / (last_price(rows) * unit.usd)
        return total

    def unit(self, instrument: str) -> Unit:
        """Return the unit of an instrument with bars. Raises as `unit_of`."""
        if instrument not in self._units:
            currency, today = read_currency(self.rows(instrument, [])[-1].get("unit", USD)), new_york_day(self.at.as_of)
            self._units[instrument] = unit_of(instrument, currency, self.entries, today, self.at)
        return self._units[instrument]

    def quantity(self, notional: float, nav: float, instrument: str) -> int:
        """Return the number of whole shares or contracts for a notional in percent, at the last close; 0 unless the net
        asset value is above 0. Raises as `unit_of`.
        """
        price = last_price(self.rows(instrument, [])) * self.unit(instrument).usd
        return max(0, math.floor(abs(notional) / PERCENT * nav / price + WHOLE))

    def at_stop(self, trade: Expression) -> float | None:
        """Return the loss of a long or short trade at its stop, without a gap; None without a price or a stop."""
        rows = self.rows(trade.instrument, [])
        if trade.direction not in SIDES or not trade.notional or not rows or level_price(trade.stop) is None:
            return None
        return self._stopped(self._legs(trade)[0], last_price(rows), [], gap=False)


def stops(remembered: Remembered) -> Stops:
    """Return when the stops of held Expressions were stated. Later versions with the same stops change nothing."""
    instants = dict[tuple[str, ...], datetime]()
    for path in held_in(remembered):
        last = None
        for row in remembered.all(path):
            text = cast("Expression", remembered.record(row))
            key = _stops_of(text)
            if text.status in HELD and key != last:
                instants[key], last = remembered.written_at(row), key
    return instants


def _stops_of(trade: Expression) -> tuple[str, ...]:
    return trade.id, trade.stop, *(leg.stop for leg in trade.legs)


def guardrails(limits: Limits, at: At, entries: Sequence[Cash] = (), stops: Stops = MappingProxyType({})) -> Guardrails:
    """Return guardrails that use the market as of an instant. entries: the account's entries, with its contracts."""
    return Guardrails(limits, Market(at, entries, stops).compute)


def risk(expression: Expression, remembered: Remembered, at: At) -> Risk:
    """Return the risk of a trade as of an instant, with the book of that memory."""
    market, book = Market(at, cash(remembered), stops(remembered)), set_apart(remembered_book(remembered), expression)
    nav = book.nav if book else None
    exposure = market.compute(expression, nav)
    rows, side = market.rows(expression.instrument, []), SIDES.get(expression.direction)
    duration = exposure.duration
    shared: dict[str, Any] = {
        "loss_with_gap": exposure.loss,
        "days_of_volume": exposure.days_of_volume,
        "dv01": duration * nav * BASIS_POINT if duration and nav else None,
    }
    if not rows or side is None or not expression.notional:
        return Risk(gaps=exposure.gaps, **shared)
    own, notional, gaps = _returns(rows), abs(expression.notional), list(exposure.gaps)
    positions = [position for position in book.positions if position.expression == expression.id] if book else []
    gross = ((book.gross if book else None) or 0.0) - sum(abs(position.notional) for position in positions)
    if nav and market.entries:
        try:
            if (unit := market.unit(expression.instrument)).multiplier:
                quantity = market.quantity(notional, nav, expression.instrument)
                shared |= {"contracts": quantity, "margin": quantity * unit.margin}
        except BadInput as problem:
            gaps.append(str(problem))
    returns = book_returns(book, held_in(remembered).values(), market, gaps, expression.id)
    mine, theirs = _paired({day: side * change for day, change in own.items()}, returns)
    comparable = len(mine) >= LEAST_RETURNS and variance(mine) and variance(theirs)
    return Risk(
        price=last_price(rows),
        unit=rows[-1].get("unit", USD),
        loss_at_stop=market.at_stop(expression),
        volatility=volatility({day: change * PERCENT for day, change in own.items()}),
        beta=market.beta(expression.instrument),
        concentration=notional / (gross + notional) * PERCENT,
        correlation=correlation(mine, theirs) if comparable else None,
        gaps=tuple(dict.fromkeys(gaps)),
        **shared,
    )


def volatility(returns: Mapping[date, float]) -> float | None:
    """Return the yearly volatility of daily returns; None if there are too few returns."""
    return stdev(returns.values()) * math.sqrt(SESSIONS_A_YEAR) if len(returns) >= LEAST_RETURNS else None


def last_price(rows: Rows) -> float:
    """Return the last close as traded."""
    return float(rows[-1]["close"] * rows[-1]["split_factor"])


def overnight(rows: Rows, side: int) -> float:
    """Return the largest adverse overnight move for a side, from a close to the next open, as a share."""
    moves = (side * (1 - later["open"] / earlier["close"]) for earlier, later in pairwise(rows) if later["open"])
    return max(moves, default=0.0) if rows else 0.0


def _returns(rows: Rows) -> dict[date, float]:
    return {cast("date", later["date"]): later["close"] / earlier["close"] - 1 for earlier, later in pairwise(rows)}


def book_returns(
    book: Portfolio | None, expressions: Iterable[Expression], market: Market, gaps: list[str], without: str = ""
) -> dict[date, float]:
    """Return the daily returns in percent of a book's present positions, except one."""
    weights, positions_by_id = dict[str, float](), {expression.id: expression for expression in expressions}
    for position in book.positions if book else ():
        ticker = trade_of(position, positions_by_id.get(position.expression)).instrument
        if position.expression != without:
            weights[ticker] = weights.get(ticker, 0.0) + position.notional
    sums, counted = dict[date, float](), dict[date, int]()
    followed = {ticker: changes for ticker in weights if (changes := _returns(market.rows(ticker, gaps)))}
    for ticker, changes in followed.items():
        for day, change in changes.items():
            sums[day], counted[day] = sums.get(day, 0.0) + weights[ticker] * change, counted.get(day, 0) + 1
    return {day: total for day, total in sums.items() if counted[day] == len(followed)}


def _paired(first: Mapping[date, float], other: Mapping[date, float]) -> tuple[list[float], list[float]]:
    days = sorted(first.keys() & other.keys())
    return [first[day] for day in days], [other[day] for day in days]
