"""Guardrails: mechanical risk limits, checked by code.

The limits are in the configuration, and `/portfolio/constraints.md` can only tighten them. Code computes the figures of
a trade and of every position where possible. The larger of a computed and a claimed figure applies. A figure that is
neither computed nor claimed is a violation, because an unknown value is not within a limit. Closing and rejecting are
never blocked.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import floor, isfinite
from typing import Literal, NamedTuple

from forge.core.config import Limits
from forge.memory.plausible import SIDES, price
from forge.records import Constraints, Expression, Portfolio, Position

UNBLOCKED = frozenset({"draft", "closed", "rejected", "applied"})
Number = float | Literal["missing"]
MISSING: Literal["missing"] = "missing"
HALVINGS, SMALLEST = 30, 0.01
"""The steps of the search for a size within the limits, and the smallest size in percent of capital."""


@dataclass(frozen=True)
class Exposure:
    """The exposure that a trade adds to a book, in percent of capital, with duration in years.

    names: by instrument, negative if short. loss: the loss at the stops, infinite if unlimited. days_of_volume: the
    size as a multiple of an average day's volume. margin: of futures. Unknown values are None; gaps state the reasons.
    """

    names: Mapping[str, float] | None = None
    loss: float | None = None
    duration: float | None = None
    factors: Mapping[str, float] | None = None
    days_of_volume: float | None = None
    margin: float | None = 0.0
    gaps: tuple[str, ...] = ()


Compute = Callable[[Expression, float | None], Exposure]
"""Computes the exposure of a trade from the market, given the net asset value in USD if it is known."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure and its limit. The larger of the claimed and the computed number is compared with the limit.

    claimed, computed: None if the record contains no number, or code can't compute it; infinite if unlimited. why: the
    missing figures of the book, and who has to provide them.
    """

    rule: str
    limit: float
    claimed: float | None = None
    computed: float | None = None
    why: str = ""

    @property
    def actual(self) -> float | None:
        """The number that is compared with the limit, or None if it is neither claimed nor computed."""
        return max((number for number in (self.claimed, self.computed) if number is not None), default=None)

    @property
    def basis(self) -> Literal["computed", "claimed", "missing"]:
        """The source of the number: computed by code, claimed (the PM has to confirm it), or missing."""
        return "computed" if self.computed is not None else MISSING if self.claimed is None else "claimed"

    @property
    def within(self) -> bool:
        """Whether the number is known, finite and within the limit."""
        return self.actual is not None and isfinite(self.actual) and self.actual <= self.limit

    def __str__(self) -> str:
        numbers = (("claimed", self.claimed), ("computed", self.computed))
        text = ", ".join(f"{name} {number:g}" for name, number in numbers if number is not None)
        return f"{self.rule}: {text or MISSING} of {self.limit:g}{self.why and f'; {self.why}'}"


class Violation(NamedTuple):
    """A limit that is exceeded or can't be checked. In the second case, `actual` is "missing"."""

    rule: str
    actual: Number
    limit: float
    severity: str = "hard"

    def __str__(self) -> str:
        actual = self.actual if isinstance(self.actual, str) else f"{self.actual:g}"
        return f"[{self.severity}] {self.rule}: {actual} (limit: {self.limit:g})"


class BookLine(NamedTuple):
    """A figure of the book before and after a change; None if the book does not state it."""

    name: str
    before: float | None
    after: float | None

    def __str__(self) -> str:
        before, after = ("not stated" if number is None else f"{number:.4g}" for number in self[1:])
        return f"{self.name} {before} → {after}"


@dataclass
class Totals:
    """The totals of a book, negative if short; None for a total that the PM's book does not state.

    names: exposure by instrument. loss: the loss if every stop is hit. margin: the margin of futures. counted: the
    exposure of each position. unbounded: the positions with unlimited loss.
    """

    gross: float | None = None
    net: float | None = None
    duration: float | None = None
    factors: Mapping[str, float] | None = None
    names: Mapping[str, float] | None = None
    loss: float | None = None
    margin: float | None = 0.0
    counted: list[tuple[str, Exposure]] = field(default_factory=list)
    unbounded: list[str] = field(default_factory=list)

    def compare(self, after: "Totals") -> tuple[BookLine, ...]:
        """Pair each total with the same total of the changed book."""
        pairs = [("gross", "gross"), ("net", "net"), ("loss if every stop is hit", "loss"), ("duration", "duration")]
        pairs += [] if (self.margin, after.margin) == (0.0, 0.0) else [("margin", "margin")]
        lines = [BookLine(name, getattr(self, total), getattr(after, total)) for name, total in pairs]
        first, then = self.factors or {}, after.factors or {}
        factors = sorted({*first, *then})
        return (*lines, *(BookLine(f"factor {name}", first.get(name, 0.0), then.get(name, 0.0)) for name in factors))


class Guardrails:
    """Checks Expressions against limits. limits: the configured limits. compute: computes exposures from the market; by
    default nothing is computed. value: returns the book at the market's prices, or None without an account.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        compute: Compute = lambda _trade, _nav: Exposure(),
        value: Callable[[], Portfolio | None] = lambda: None,
    ) -> None:
        self._limits, self._compute, self._value = limits or Limits(), compute, cache(value)

    def current(self, stored: Portfolio | None) -> Portfolio | None:
        """Return the book at the market's prices. Without an account, return the stored book."""
        return self._value() or stored

    def check(
        self,
        expression: Expression,
        portfolio: Portfolio | None,
        constraints: Constraints | None,
        trades: Iterable[Expression] = (),
    ) -> tuple[Violation, ...]:
        """Return the limits that an Expression breaks in a book.

        trades: the held Expressions. The check replaces any position that the book already has in the Expression.
        """
        if expression.status in UNBLOCKED or (expression.adjusts and expression.exit_reason):
            return ()
        figures = self.figures(expression, portfolio, constraints, trades)
        return tuple(
            Violation(figure.rule, MISSING if figure.actual is None else figure.actual, figure.limit)
            for figure in figures
            if not figure.within
        )

    def reasons(
        self, expression: Expression, portfolio: Portfolio | None, trades: Iterable[Expression] = ()
    ) -> list[str]:
        """Return the reasons for missing figures of the book, and who has to state them. Arguments: as for `check`."""
        rest = self.totals(set_apart(portfolio, expression), trades, expression.adjusts or expression.id)
        return [_unbounded_text(rest.unbounded)] if rest.unbounded else []

    def figures(
        self,
        expression: Expression,
        portfolio: Portfolio | None,
        constraints: Constraints | None,
        trades: Iterable[Expression] = (),
    ) -> tuple[Figure, ...]:
        """Return the figure of every limit for an Expression, regardless of its status."""
        portfolio = set_apart(portfolio, expression)
        rest = self.totals(portfolio, trades, expression.adjusts or expression.id)
        expression = _largest_size(expression, portfolio)
        claims, computed = claimed(expression), self._compute(expression, portfolio.nav if portfolio else None)
        names = {*(claims.names or {}), *(computed.names or {})}
        factors = {*(claims.factors or {}), *(computed.factors or {})}
        figures: list[tuple[str, str, Callable[[Exposure], float | None]]] = [
            ("max_single_risk", "max_single_risk", lambda own: own.loss),
            ("max_gross_exposure", "max_gross", lambda own: sum_of(rest.gross, _gross(own.names))),
            ("max_duration_contribution", "max_duration", lambda own: own.duration),
            ("max_factor_concentration", "max_factor_conc", lambda own: _largest(rest.factors, own.factors, factors)),
        ]
        # Report a missing number only once.
        if names:
            figures.append(("max_single_name", "max_single_name", lambda own: _largest(rest.names, own.names, names)))
            figures.append(("max_net_exposure", "max_net", lambda own: sum_of(rest.net, _net(own.names))))
        if claims.loss is not None or computed.loss is not None:
            figures.append(("max_total_loss", "max_total_loss", lambda own: sum_of(rest.loss, own.loss)))
        if computed.days_of_volume is not None:
            figures.append(("max_days_of_volume", "max_days_of_volume", lambda own: own.days_of_volume))
        if computed.margin != 0.0:
            figures.append(("max_margin", "max_margin", lambda own: sum_of(rest.margin, own.margin or None)))
        return tuple(
            Figure(
                rule=rule,
                limit=self.limit(name, constraints),
                claimed=_size(of(claims)),
                computed=_size(of(computed)),
                why=_unbounded_text(rest.unbounded) if name == "max_total_loss" else "",
            )
            for rule, name, of in figures
        )

    def book(
        self, portfolio: Portfolio | None, constraints: Constraints | None, trades: Iterable[Expression] = ()
    ) -> tuple[Figure, ...]:
        """Return the figures of a book without a new trade, with every position computed."""
        sums = self.totals(portfolio, trades, "")
        totals = {
            "max_gross": sums.gross,
            "max_duration": sums.duration,
            "max_factor_conc": _largest(sums.factors, {}, sums.factors or ()),
            "max_single_name": _largest(sums.names, {}, sums.names or ()),
            "max_total_loss": sums.loss,
            "max_net": sums.net,
        } | ({} if sums.margin == 0.0 else {"max_margin": sums.margin})
        return tuple(
            Figure(
                rule=name,
                limit=self.limit(name, constraints),
                computed=_size(total),
                why=_unbounded_text(sums.unbounded) if name == "max_total_loss" else "",
            )
            for name, total in totals.items()
        )

    def what_if(
        self, expression: Expression, portfolio: Portfolio | None, trades: Iterable[Expression] = ()
    ) -> tuple[BookLine, ...]:
        """Return the book's totals before and after an Expression's approval."""
        trades = list(trades)
        before, portfolio = self.totals(portfolio, trades, ""), set_apart(portfolio, expression)
        after = self.totals(portfolio, trades, expression.adjusts or expression.id)
        if portfolio is None or expression.exit_reason:
            return before.compare(after) if portfolio else ()
        own = self.counted(_largest_size(expression, portfolio), portfolio.nav)
        after.gross, after.net = sum_of(after.gross, _gross(own.names)), sum_of(after.net, _net(own.names))
        after.loss, after.duration = sum_of(after.loss, own.loss), sum_of(after.duration, own.duration)
        after.margin = sum_of(after.margin, own.margin)
        after.factors = None if after.factors is None else add_shares(after.factors, own.factors or {})
        return before.compare(after)

    def cap(
        self,
        expression: Expression,
        portfolio: Portfolio | None,
        constraints: Constraints | None,
        trades: Iterable[Expression] = (),
    ) -> Expression | None:
        """Return an Expression cut to the largest size within all limits, with its earlier notional. Return None if no
        size is within all limits, or if the settings refuse such trades.
        """
        if self._limits.over != "cap" or expression.notional is None or expression.adjusts:
            return None
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            fits = not self.check(sized(expression, middle), portfolio, constraints, trades)
            low, high = (middle, high) if fits else (low, middle)
        notional = floor(abs(expression.notional) * low / SMALLEST) * SMALLEST
        capped = replace(sized(expression, notional / abs(expression.notional)), capped_from=expression.notional)
        fits = notional > 0 and not self.check(capped, portfolio, constraints, trades)
        return capped if fits else None

    def limit(self, name: str, constraints: Constraints | None) -> float:
        """Return the effective limit: the configured one, or the PM's if it is tighter."""
        tighter = getattr(constraints, name, None)
        configured: float = getattr(self._limits, name)
        return configured if tighter is None else min(configured, tighter)

    def totals(self, portfolio: Portfolio | None, trades: Iterable[Expression], without: str) -> Totals:
        """Return the totals of a book without one Expression, using computed exposures for the other positions."""
        if portfolio is None:
            return Totals()
        sums = Totals(portfolio.gross, portfolio.net, portfolio.duration, portfolio.factor_exposures, {}, 0.0)
        by_id = {expression.id: expression for expression in trades}
        for position in portfolio.positions:
            trade = trade_of(position, by_id.get(position.expression))
            gone = position.expression == without
            counted = Exposure(loss=0.0) if gone else self.counted(trade, portfolio.nav)
            sums.counted += [] if gone else [(position.expression, counted)]
            loss = counted.loss
            if loss is None or not isfinite(loss):
                # A long can lose at most its notional. For other positions, use only a loss that the PM stated.
                loss = abs(position.notional) if trade.direction == "long" else claimed(trade).loss
            sums.unbounded += [position.expression] if loss is None else []
            sums.gross = sum_of(sums.gross, _gross(counted.names or {}), -abs(position.notional))
            sums.net = sum_of(sums.net, _net(counted.names or {}), -position.notional)
            sums.duration = sum_of(sums.duration, counted.duration or 0.0, -position.duration)
            sums.margin = sum_of(sums.margin, counted.margin)
            if sums.factors is not None:
                others = add_shares(sums.factors, position.factor_exposures, -1)
                sums.factors = add_shares(others, counted.factors or {})
            sums.names, sums.loss = add_shares(sums.names or {}, counted.names or {}), sum_of(sums.loss, loss)
        return sums

    def counted(self, trade: Expression, nav: float | None) -> Exposure:
        """Return a position's exposure: for each part, the larger of the claimed and the computed value."""
        claims, computed = claimed(trade), self._compute(trade, nav)
        parts = {*(claims.factors or {}), *(computed.factors or {})}
        factors = {
            name: _larger((claims.factors or {}).get(name), (computed.factors or {}).get(name)) for name in parts
        }
        return replace(
            computed,
            names=computed.names if computed.names is not None else claims.names,
            loss=_larger(claims.loss, computed.loss),
            duration=_larger(claims.duration, computed.duration),
            factors={name: share for name, share in factors.items() if share is not None},
        )


def claimed(trade: Expression) -> Exposure:
    """Return the exposure that a record claims. The loss is at least the loss that its entry and stop imply."""
    notional = abs(trade.notional or 0.0) or None
    entry, stop = price(trade.entry_details), price(trade.stop)
    implied = abs(entry - stop) / entry * notional if entry and stop and notional else None
    names = dict[str, float]()
    for leg in trade.legs:
        names[leg.instrument] = names.get(leg.instrument, 0.0) + (-leg.notional if leg.kind == "put" else leg.notional)
    if not names and notional:
        names[trade.instrument] = SIDES.get(trade.direction, 1) * notional
    return Exposure(
        names=names if notional else None,
        loss=_larger(trade.max_loss_pct or None, implied),
        duration=trade.duration_impact,
        factors=trade.factor_exposures or None,
    )


def trade_of(position: Position, expression: Expression | None) -> Expression:
    """Return a line of the book as a trade: the held Expression at its present size, or a position without a stop."""
    side = -1 if position.notional < 0 else 1
    if expression and expression.notional and SIDES.get(expression.direction, side) == side:
        return sized(expression, abs(position.notional / expression.notional))
    instrument = expression.instrument if expression else position.expression
    direction: Literal["long", "short"] = "short" if side < 0 else "long"
    return Expression(
        id=position.expression, view_id="", category="thematic", instrument=instrument, status="active",
        direction=direction, notional=abs(position.notional), factor_exposures=position.factor_exposures,
        max_loss_pct=position.loss,
    )  # fmt: skip


def set_apart(portfolio: Portfolio | None, trade: Expression) -> Portfolio | None:
    """Return a book in which the fills of a trade that is not held are a separate position, which checks replace."""
    instruments, positions = {trade.instrument, *(leg.instrument for leg in trade.legs)}, list[Position]()
    for whole in portfolio.positions if portfolio else ():
        share = whole.parts.get(trade.id, 0.0) if whole.expression in instruments else 0.0
        rest = _at_size(whole, round(whole.notional - share, 5))
        positions += [rest, replace(_at_size(whole, share), expression=trade.id)] if share else [whole]
    if portfolio is None or len(positions) == len(portfolio.positions):
        return portfolio
    before, after = (sum(abs(each.notional) for each in some) for some in (portfolio.positions, positions))
    return replace(portfolio, positions=tuple(positions), gross=sum_of(portfolio.gross, after - before))


def _at_size(position: Position, notional: float) -> Position:
    """Return a position scaled to a notional, which may have the opposite sign."""
    scale = notional / position.notional if position.notional else 0.0
    return replace(
        position,
        notional=notional,
        duration=position.duration * scale,
        parts={},
        factor_exposures={name: share * scale for name, share in position.factor_exposures.items()},
        loss=position.loss and position.loss * abs(scale),
    )


def _largest_size(trade: Expression, portfolio: Portfolio | None) -> Expression:
    """Return a trade at its size in the book, if fills or prices have made it larger than its notional."""
    own = [each for each in portfolio.positions if each.expression == (trade.adjusts or trade.id)] if portfolio else []
    sizes = [trade_of(position, trade) for position in own if trade.notional]
    return max([trade, *sizes], key=lambda each: abs(each.notional or 0.0))


def sized(trade: Expression, scale: float) -> Expression:
    """Return a trade scaled in size."""

    def at_scale(number: float | None) -> float | None:
        return None if number is None else round(number * scale, ndigits=9)

    factors = {name: share * scale for name, share in (trade.factor_exposures or {}).items()}
    return replace(
        trade,
        notional=at_scale(trade.notional),
        max_loss_pct=at_scale(trade.max_loss_pct),
        duration_impact=at_scale(trade.duration_impact),
        factor_exposures=None if trade.factor_exposures is None else factors,
        legs=tuple(replace(leg, notional=leg.notional * scale) for leg in trade.legs),
    )


def _unbounded_text(names: Sequence[str]) -> str:
    """Return why the loss of these positions is unbounded and what the PM can do about it; "" for no positions."""
    step = "the PM has to give it a stop, or state its loss in the `loss` column of positions.csv or with"
    command = "pitlake forge cash loss PERCENT --ticker"
    return "; ".join(f"nothing bounds the loss of {name}: {step} `{command} {name}`" for name in names)


def add_shares(first: Mapping[str, float], other: Mapping[str, float], sign: int = 1) -> dict[str, float]:
    """Add shares by name, or subtract them if the sign is -1."""
    return {name: first.get(name, 0.0) + sign * other.get(name, 0.0) for name in {**first, **other}}


def _largest(rest: Mapping[str, float] | None, own: Mapping[str, float] | None, names: Iterable[str]) -> float | None:
    """Return the largest absolute sum of `rest` and `own` over these names, None if either is unknown."""
    if rest is None or own is None:
        return None
    return max((abs(rest.get(name, 0.0) + own.get(name, 0.0)) for name in names), default=0.0)


def _gross(names: Mapping[str, float] | None) -> float | None:
    return None if names is None else sum(abs(share) for share in names.values())


def _net(names: Mapping[str, float] | None) -> float | None:
    return None if names is None else sum(names.values())


def _larger(first: float | None, other: float | None) -> float | None:
    return max((number for number in (first, other) if number is not None), key=abs, default=None)


def _size(number: float | None) -> float | None:
    return None if number is None else abs(number)


def sum_of(*numbers: float | None) -> float | None:
    """Return the sum, None if one part is unknown."""
    present = [number for number in numbers if number is not None]
    return sum(present) if len(present) == len(numbers) else None
