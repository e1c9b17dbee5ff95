"""Guardrails: mechanical risk limits. Code, not intelligence.

Four limits of the configuration, which `/portfolio/constraints.md` can only tighten. A number that is missing or can't
be read is a violation: what is not known is not within a limit. Closing and rejecting are never blocked.
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
    """A limit that is broken, or that can't be shown to be kept: `actual` is "missing" then."""

    rule: str
    actual: Number
    limit: float
    severity: str = "hard"

    def __str__(self) -> str:
        actual = self.actual if isinstance(self.actual, str) else f"{self.actual:g}"
        return f"[{self.severity}] {self.rule}: {actual} (limit: {self.limit:g})"


class Measure(NamedTuple):
    """What an Expression would come to beside its limit; None where a number that is needed is missing."""

    rule: str
    actual: float | None
    limit: float

    @property
    def kept(self) -> bool:
        """Whether it is shown to be within the limit."""
        return self.actual is not None and math.isfinite(self.actual) and self.actual <= self.limit


class Guardrails:
    """Checks Expressions against limits. limits: of the configuration."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()

    def check(
        self, expression: Expression, portfolio: Portfolio | None, constraints: Constraints | None
    ) -> tuple[Violation, ...]:
        """What an Expression breaks. The book's own position in it, if there is one, is replaced, not added to."""
        if expression.status in UNBLOCKED:
            return ()
        broken = (one for one in self.measure(expression, portfolio, constraints) if not one.kept)
        return tuple(Violation(one.rule, _told(one.actual), one.limit) for one in broken)

    def measure(
        self, expression: Expression, portfolio: Portfolio | None, constraints: Constraints | None
    ) -> tuple[Measure, ...]:
        """Every limit beside what an Expression would come to, whatever its status."""
        measured = self._measured(expression, portfolio)
        return tuple(Measure(rule, actual, self.limit(name, constraints)) for rule, name, actual in measured)

    def limit(self, name: str, constraints: Constraints | None) -> float:
        """The limit that holds: the configuration's, or the PM's where it is tighter."""
        tighter = getattr(constraints, name, None)
        configured: float = getattr(self._limits, name)
        return configured if tighter is None else min(configured, tighter)

    def _measured(self, expression: Expression, portfolio: Portfolio | None) -> Iterator[tuple[str, str, float | None]]:
        replaced_id = expression.adjusts or expression.id
        held = [one for one in portfolio.positions if one.expression == replaced_id] if portfolio else []
        gross = portfolio.gross if portfolio else None
        replaced = -sum(abs(one.notional) for one in held)
        yield "max_single_risk", "max_single_risk", _size(expression.max_loss_pct)
        yield "max_gross_exposure", "max_gross", _sum(gross, _size(expression.notional), replaced)
        yield "max_duration_contribution", "max_duration", _size(expression.duration_impact)
        book = portfolio.factor_exposures if portfolio else None
        after = _concentration(expression.factor_exposures, book, [one.factor_exposures for one in held])
        yield "max_factor_concentration", "max_factor_conc", after


def _concentration(
    own: Mapping[str, float] | None, book: Mapping[str, float] | None, held: list[dict[str, float]]
) -> float | None:
    """The largest exposure to one factor the Expression adds to, once it is in the book."""
    if own is None or book is None:
        return None
    after = (abs(book.get(name, 0) + share - sum(one.get(name, 0) for one in held)) for name, share in own.items())
    return max(after, default=0.0)


def _told(actual: float | None) -> Number:
    return MISSING if actual is None or not math.isfinite(actual) else actual


def _size(number: float | None) -> float | None:
    return None if number is None else abs(number)


def _sum(*numbers: float | None) -> float | None:
    known = [one for one in numbers if one is not None]
    return sum(known) if len(known) == len(numbers) else None
