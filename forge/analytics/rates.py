"""Zero curves and bonds. Rates are fractions per year; zero rates are continuously compounded."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, isfinite, log

from pitlake.errors import BadInput


@dataclass(frozen=True)
class Curve:
    """Zero rates by maturity in years: linear between points, flat outside."""

    points: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, points: Iterable[tuple[float, float]]) -> "Curve":
        """Build a curve from (years, zero rate) points. Raises BadInput without points, or for repeated or non-positive
        years.
        """
        ordered = tuple(sorted((float(years), float(rate)) for years, rate in points))
        if not ordered or ordered[0][0] <= 0 or len({years for years, _ in ordered}) != len(ordered):
            raise BadInput(
                "points", "years must be above 0 and differ", "give (years, zero rate) once for each maturity"
            )
        if not all(isfinite(rate) for _, rate in ordered):
            raise BadInput("points", "a rate is not a finite number", "leave the maturity out")
        return cls(ordered)

    def zero(self, years: float) -> float:
        """Return the zero rate to a maturity."""
        after = bisect_right(self.points, (years, float("inf")))
        if after in (0, len(self.points)):
            return self.points[min(after, len(self.points) - 1)][1]
        (before, low), (behind, high) = self.points[after - 1], self.points[after]
        return low + (high - low) * (years - before) / (behind - before)

    def discount(self, years: float) -> float:
        """Return the present value of 1 paid at a maturity."""
        return exp(-self.zero(years) * years)

    def forward(self, start: float, end: float) -> float:
        """Return the continuously compounded rate between two times. Raises BadInput unless 0 <= start < end."""
        if not 0 <= start < end:
            raise BadInput("end", "a forward rate needs 0 <= start < end", "give two times in years")
        return log(self.discount(start) / self.discount(end)) / (end - start)

    def par(self, years: float, frequency: int = 2) -> float:
        """Return the annual coupon, paid `frequency` times a year, at which a bond of this maturity is worth 1."""
        times = _times(years, frequency)
        annuity = sum(self.discount(time) for time in times) / frequency
        return (1 - self.discount(times[-1])) / annuity


@dataclass(frozen=True)
class BondFigures:
    """Price per 1 of face value, Macaulay and modified duration in years, convexity, and the value of a basis point."""

    price: float
    macaulay: float
    modified: float
    convexity: float
    dv01: float


def bond(coupon: float, years: float, yield_: float, frequency: int = 2) -> BondFigures:
    """Return the figures of a bond with whole coupon periods, at a yield compounded once per coupon period.

    Raises BadInput for a maturity that is not whole periods, or a yield of -100 % per period or less.
    """
    times, factor = _times(years, frequency), 1 + yield_ / frequency
    if factor <= 0:
        raise BadInput("yield", "is -100 % a period or less", "give a fraction a year, such as 0.04")
    flows = [coupon / frequency + (1 if time == times[-1] else 0) for time in times]
    worth = [flow * factor ** (-time * frequency) for time, flow in zip(times, flows, strict=True)]
    price = sum(worth)
    if price <= 0:
        raise BadInput("coupon", "the bond is worth nothing", "give a coupon and a yield as fractions a year")
    macaulay = sum(time * value for time, value in zip(times, worth, strict=True)) / price
    curved = sum(time * (time + 1 / frequency) * value for time, value in zip(times, worth, strict=True))
    modified = macaulay / factor
    return BondFigures(price, macaulay, modified, curved / price / factor**2, modified * price / 10_000)


def _times(years: float, frequency: int) -> list[float]:
    count = round(years * frequency)
    if frequency < 1 or count < 1 or abs(count - years * frequency) > 1e-9 * max(1, count):
        raise BadInput("years", "is not a whole number of coupon periods", "give a maturity such as 10, or 2.5")
    return [number / frequency for number in range(1, count + 1)]
