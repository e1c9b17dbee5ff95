"""European options priced with Black-Scholes-Merton, and the payoff of option positions at expiry."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erf, exp, inf, log, pi, sqrt
from typing import Literal

from pitlake.errors import BadInput

Kind = Literal["call", "put", "underlying"]


@dataclass(frozen=True)
class Greeks:
    """Value and sensitivities: delta and gamma with respect to spot, vega and rho per 1.00, theta per year."""

    price: float
    delta: float
    gamma: float
    vega: float
    theta: float
    rho: float


def black_scholes(
    kind: Kind, spot: float, strike: float, years: float, volatility: float, rate: float = 0.0, dividend: float = 0.0
) -> Greeks:
    """Return a European option's value and greeks. volatility, rate, dividend: fractions per year, continuous.

    Raises BadInput unless spot, strike, years and volatility are above 0.
    """
    if kind not in ("call", "put"):
        raise BadInput("kind", f'must be "call" or "put", not {kind!r}', "choose one of the two")
    for name, value in (("spot", spot), ("strike", strike), ("years", years), ("volatility", volatility)):
        if not 0 < value < inf:
            raise BadInput(name, f"{value} is not above 0", "give a number above 0")
    sign, root = (1 if kind == "call" else -1), volatility * sqrt(years)
    d1 = (log(spot / strike) + (rate - dividend + volatility**2 / 2) * years) / root
    d2 = d1 - root
    carried, discounted = spot * exp(-dividend * years), strike * exp(-rate * years)
    density = exp(-d1 * d1 / 2) / sqrt(2 * pi)
    return Greeks(
        price=sign * (carried * _normal(sign * d1) - discounted * _normal(sign * d2)),
        delta=sign * exp(-dividend * years) * _normal(sign * d1),
        gamma=exp(-dividend * years) * density / (spot * root),
        vega=carried * density * sqrt(years),
        theta=-carried * density * volatility / (2 * sqrt(years))
        + sign * (dividend * carried * _normal(sign * d1) - rate * discounted * _normal(sign * d2)),
        rho=sign * discounted * years * _normal(sign * d2),
    )


@dataclass(frozen=True)
class Leg:
    """Options with a premium each, or the underlying with its cost as `strike`. A negative quantity is short."""

    kind: Kind
    strike: float
    quantity: float
    premium: float = 0.0

    def at(self, spot: float) -> float:
        """Return the profit at expiry."""
        worth = {
            "call": max(spot - self.strike, 0),
            "put": max(self.strike - spot, 0),
            "underlying": spot - self.strike,
        }
        return self.quantity * (worth[self.kind] - self.premium)


@dataclass(frozen=True)
class Payoff:
    """A position's payoff at expiry: maximum and minimum (infinite if unbounded), and breakevens."""

    most: float
    least: float
    breakevens: tuple[float, ...]


def payoff(legs: Sequence[Leg]) -> Payoff:
    """Return the exact payoff of a position with one expiry, which is linear between strikes. Raises BadInput."""
    if not legs or any(leg.strike < 0 for leg in legs):
        raise BadInput(
            "legs", "there are no legs, or one has a strike below 0", "give kind, strike, quantity and premium"
        )
    corners = sorted({0.0, *(leg.strike for leg in legs)})
    profits = [profit(legs, spot) for spot in corners]
    slope = sum(leg.quantity for leg in legs if leg.kind != "put")
    zeros = {spot for spot, value in zip(corners, profits, strict=True) if value == 0}
    for place in range(len(corners) - 1):
        low, high = profits[place], profits[place + 1]
        if low * high < 0:
            zeros.add(corners[place] + (corners[place + 1] - corners[place]) * low / (low - high))
    if slope and -profits[-1] / slope > 0:
        zeros.add(corners[-1] - profits[-1] / slope)
    most = inf if slope > 0 else max(profits)
    least = -inf if slope < 0 else min(profits)
    return Payoff(most, least, tuple(sorted(zeros)))


def profit(legs: Sequence[Leg], spot: float) -> float:
    """Return the profit of a position at expiry."""
    return sum(leg.at(spot) for leg in legs)


def _normal(x: float) -> float:
    return (1 + erf(x / sqrt(2))) / 2
