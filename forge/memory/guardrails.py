"""Guardrails: mechanical risk limits, checked by code.

There are four limits in the configuration, which `/portfolio/constraints.md` can only tighten. A missing or invalid
number is a violation: an unknown value is not within a limit. Closing and rejecting are never blocked.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from forge.core.config import Limits
from forge.records import Constraints, Expression, Portfolio

UNBLOCKED = frozenset({"draft", "closed", "rejected", "applied"})
Number = float | Literal["missing"]
MISSING: Literal["missing"] = "missing"


class Violation(NamedTuple):
    """A limit that is exceeded or can't be checked; in the second case `actual` is "missing"."""

    rule: str
    actual: Number
    limit: float
    severity: str = "hard"

    def __str__(self) -> str:
        actual = self.actual if isinstance(self.actual, str) else f"{self.actual:g}"
        return f"[{self.severity}] {self.rule}: {actual} (limit: {self.limit:g})"


class Measure(NamedTuple):
    """An Expression's value for one limit; None if a number it needs is missing."""

    rule: str
    actual: float | None
    limit: float

    @property
    def within(self) -> bool:
        """Whether the value is known and within the limit."""
        return self.actual is not None and math.isfinite(self.actual) and self.actual <= self.limit


class Guardrails:
    """Checks Expressions against limits. limits: from the configuration."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()

    def check(
        self, expression: Expression, portfolio: Portfolio | None, constraints: Constraints | None
    ) -> tuple[Violation, ...]:
        """Return the limits that an Expression breaks.

        If the book already has a position in the Expression, the check replaces that position.
        """
        if expression.status in UNBLOCKED:
            return ()
        broken = (measure for measure in self.measure(expression, portfolio, constraints) if not measure.within)
        return tuple(Violation(measure.rule, _number(measure.actual), measure.limit) for measure in broken)

    def measure(
        self, expression: Expression, portfolio: Portfolio | None, constraints: Constraints | None
    ) -> tuple[Measure, ...]:
        """Return the value of every limit for an Expression, whatever its status."""
        measurements = self._measurements(expression, portfolio)
        return tuple(Measure(rule, actual, self.limit(name, constraints)) for rule, name, actual in measurements)

    def limit(self, name: str, constraints: Constraints | None) -> float:
        """Return the effective limit: the configuration's, or the PM's if that is tighter."""
        tighter = getattr(constraints, name, None)
        configured: float = getattr(self._limits, name)
        return configured if tighter is None else min(configured, tighter)

    def _measurements(
        self, expression: Expression, portfolio: Portfolio | None
    ) -> Iterator[tuple[str, str, float | None]]:
        replaced_id = expression.adjusts or expression.id
        positions = (
            [position for position in portfolio.positions if position.expression == replaced_id] if portfolio else []
        )
        gross = portfolio.gross if portfolio else None
        replaced = -sum(abs(position.notional) for position in positions)
        yield "max_single_risk", "max_single_risk", _size(expression.max_loss_pct)
        yield "max_gross_exposure", "max_gross", _sum(gross, _size(expression.notional), replaced)
        yield "max_duration_contribution", "max_duration", _size(expression.duration_impact)
        book = portfolio.factor_exposures if portfolio else None
        after = _concentration(expression.factor_exposures, book, [position.factor_exposures for position in positions])
        yield "max_factor_concentration", "max_factor_conc", after


def _concentration(
    own: Mapping[str, float] | None, book: Mapping[str, float] | None, replaced: list[dict[str, float]]
) -> float | None:
    """Return the largest exposure to one of the Expression's factors, once it is in the book."""
    if own is None or book is None:
        return None
    after = (
        abs(book.get(name, 0) + share - sum(exposures.get(name, 0) for exposures in replaced))
        for name, share in own.items()
    )
    return max(after, default=0.0)


def _number(actual: float | None) -> Number:
    return MISSING if actual is None or not math.isfinite(actual) else actual


def _size(number: float | None) -> float | None:
    return None if number is None else abs(number)


def _sum(*numbers: float | None) -> float | None:
    present = [number for number in numbers if number is not None]
    return sum(present) if len(present) == len(numbers) else None
