"""The risk of a proposed trade, computed from bars as of an instant, to compare with the agent's own figures."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import pairwise
from statistics import correlation, covariance, mean, stdev, variance
from typing import cast

from forge.memory.book import held_in, remembered_book
from forge.memory.guardrails import Violation
from forge.memory.remembered import Remembered
from forge.providers.base import At
from forge.records import KINDS, Expression
from forge.tracking.bars import NotFollowable, adjusted_bars
from forge.tracking.trades import SIDES, parse_price
from pitlake.clock import new_york_day
from pitlake.errors import BadInput, LakeNotFound

INDEX = "SPY"
WINDOW, VOLUME_WINDOW = timedelta(days=92), 20
LEAST_RETURNS = 20
SESSIONS_A_YEAR = 252
PERCENT = 100


@dataclass(frozen=True)
class Risk:
    """A trade's risk. None where it can't be computed; gaps say why.

    loss_at_stop: percent of capital lost between the last close and the stop. volatility: the volatility of its daily
    returns, in percent a year. beta: the beta to the index. concentration: the trade's share of the gross exposure that
    includes it, in percent. correlation: the correlation of its returns, with the trade's sign, and the returns of the
    book. days_of_volume: the shares needed, as a multiple of an average day's volume. price: the last close.
    """

    price: float | None = None
    loss_at_stop: float | None = None
    volatility: float | None = None
    beta: float | None = None
    concentration: float | None = None
    correlation: float | None = None
    days_of_volume: float | None = None
    gaps: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the figures as texts with their units."""
        figures = (
            ("last close", self.price, "USD"),
            ("loss at stop", self.loss_at_stop, "% of capital"),
            ("volatility", self.volatility, "% a year"),
            (f"beta to {INDEX}", self.beta, ""),
            ("share of gross exposure", self.concentration, "%"),
            ("correlation with the book", self.correlation, ""),
            ("days of volume", self.days_of_volume, ""),
        )
        return [f"{name}: {number:.4g} {unit}".rstrip() for name, number, unit in figures if number is not None]


@dataclass
class _Bars:
    at: At
    gaps: list[str] = field(default_factory=list)

    def rows(self, ticker: str) -> list[Mapping[str, float]]:
        start = new_york_day(self.at.as_of) - WINDOW
        try:
            rows = adjusted_bars(ticker, start, self.at)
        except (BadInput, LakeNotFound) as problem:
            self.gaps.append(f"{ticker}: {problem if isinstance(problem, BadInput) else 'there is no lake'}")
            return []
        proven = [row for row in rows if row["close"]]
        if not proven:
            self.gaps.append(f"{ticker}: there is no bar since {start}")
        return proven

    def returns(self, ticker: str) -> dict[date, float]:
        return _returns(self.rows(ticker))


def risk(expression: Expression, remembered: Remembered, at: At) -> Risk:
    """Return the risk of a trade as of an instant, with the book of that memory."""
    bars = _Bars(at)
    rows = bars.rows(expression.instrument)
    side, notional = SIDES.get(expression.direction), abs(expression.notional or 0.0)
    if not rows or side is None or not notional:
        if side is None:
            bars.gaps.append(f"the risk of a trade that is {expression.direction} can't be computed from bars")
        return Risk(gaps=tuple(bars.gaps))
    price, book = _last_price(rows), remembered_book(remembered)
    own = _returns(rows)
    others = _book_returns(expression, remembered, bars)
    signed = {day: side * change for day, change in own.items()}
    gross = (book.gross if book else None) or 0.0
    gross -= (
        sum(abs(position.notional) for position in book.positions if position.expression == expression.id)
        if book
        else 0.0
    )
    volumes = [row["volume"] / row["split_factor"] for row in rows[-VOLUME_WINDOW:] if row["volume"]]
    shares = notional / PERCENT * book.nav / price if book and book.nav else None
    return Risk(
        price=price,
        loss_at_stop=loss_at_stop(expression, price, bars.gaps),
        volatility=stdev(own.values()) * math.sqrt(SESSIONS_A_YEAR) * PERCENT if len(own) >= LEAST_RETURNS else None,
        beta=_beta(own, bars.returns(INDEX)) if expression.instrument != INDEX else 1.0,
        concentration=notional / (gross + notional) * PERCENT,
        correlation=_correlation(signed, others),
        days_of_volume=shares / mean(volumes) if shares and volumes else None,
        gaps=tuple(dict.fromkeys(bars.gaps)),
    )


def loss_at_stop(expression: Expression, price: float, gaps: list[str]) -> float | None:
    """Return the percent of capital lost between a price and the stop; without a stop, return None and a gap."""
    try:
        stop = parse_price(expression.stop, "stop")
    except NotFollowable as problem:
        gaps.append(str(problem))
        return None
    if stop is None:
        gaps.append("it has no stop, so its loss is unlimited")
        return None
    distance = SIDES[expression.direction] * (price - stop) / price
    return max(0.0, distance) * abs(expression.notional or 0.0)


def claim_check(at: At) -> Callable[[Expression], tuple[Violation, ...]]:
    """Return a check of an Expression's claims: a claimed loss below half of the loss at its stop is a violation."""

    def check(expression: Expression) -> tuple[Violation, ...]:
        claimed = expression.max_loss_pct
        if claimed is None or expression.exit_reason or SIDES.get(expression.direction) is None:
            return ()
        price = _last_price(_Bars(at).rows(expression.instrument))
        computed = loss_at_stop(expression, price, []) if price else None
        if computed is None or claimed >= computed / 2:
            return ()
        return (Violation("loss_at_stop_over_twice_the_claim", computed, 2 * claimed),)

    return check


def _last_price(rows: list[Mapping[str, float]]) -> float:
    """Return the last close as traded, 0 without a bar."""
    return rows[-1]["close"] * rows[-1]["split_factor"] if rows else 0.0


def _returns(rows: list[Mapping[str, float]]) -> dict[date, float]:
    return {cast("date", later["date"]): later["close"] / earlier["close"] - 1 for earlier, later in pairwise(rows)}


def _book_returns(expression: Expression, remembered: Remembered, bars: _Bars) -> dict[date, float]:
    """Return the daily returns of the book without this trade, as a sum over positions weighted by notional."""
    book = remembered_book(remembered)
    positions_by_id = {position.id: position for position in held_in(remembered).values()}
    weights = dict[str, float]()
    for position in book.positions if book else ():
        position_expression = positions_by_id.get(position.expression)
        is_expression = KINDS["expressions"].names(position.expression)
        if position.expression == expression.id or (is_expression and position_expression is None):
            continue
        ticker = position_expression.instrument if position_expression else position.expression
        weights[ticker] = weights.get(ticker, 0.0) + position.notional
    sums, counted = dict[date, float](), dict[date, int]()
    followed = {ticker: changes for ticker in weights if (changes := bars.returns(ticker))}
    for ticker, changes in followed.items():
        for day, change in changes.items():
            sums[day], counted[day] = sums.get(day, 0.0) + weights[ticker] * change, counted.get(day, 0) + 1
    return {day: total for day, total in sums.items() if counted[day] == len(followed)}


def _paired(first: Mapping[date, float], other: Mapping[date, float]) -> tuple[list[float], list[float]]:
    days = sorted(first.keys() & other.keys())
    return [first[day] for day in days], [other[day] for day in days]


def _beta(own: Mapping[date, float], index: Mapping[date, float]) -> float | None:
    mine, theirs = _paired(own, index)
    if len(mine) < LEAST_RETURNS or not variance(theirs):
        return None
    return covariance(mine, theirs) / variance(theirs)


def _correlation(own: Mapping[date, float], book: Mapping[date, float]) -> float | None:
    mine, theirs = _paired(own, book)
    if len(mine) < LEAST_RETURNS or not variance(mine) or not variance(theirs):
        return None
    return correlation(mine, theirs)
