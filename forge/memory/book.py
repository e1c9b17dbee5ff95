"""The current book: the PM's positions and the approved Expressions that the PM has not entered yet."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from typing import cast

from forge.memory.chain import Row
from forge.memory.guardrails import add_shares, set_apart, sum_of
from forge.memory.remembered import Remembered
from forge.records import KINDS, Approval, Expression, Kind, Portfolio, Position, Record, kind_of_path, parse

HELD = frozenset({"active", "review_required"})
PORTFOLIO = KINDS["portfolio"].path("state")


def remembered_book(remembered: Remembered) -> Portfolio | None:
    """Return the book of a turn's memory, including approved Expressions; None if the PM has not stored a book."""
    row = remembered.newest(PORTFOLIO)
    portfolio = cast("Portfolio", remembered.record(row)) if row else None
    return with_approved(portfolio, held_in(remembered).values())


def held_in(remembered: Remembered) -> dict[str, Expression]:
    """Return the held Expressions of a turn's memory by path."""
    return held_expressions(remembered.rows("expressions"), remembered.rows("approvals"), remembered.record)


def held_expressions(
    expression_rows: Iterable[Row],
    approval_rows: Iterable[Row],
    read: Callable[[Row], Record] = lambda row: parse(cast("Kind", kind_of_path(row.path)), row.content),
) -> dict[str, Expression]:
    """Return the Expressions, by path, that the PM approved and that are not closed. read: parses a row."""
    decisions = (cast("Approval", read(row)) for row in approval_rows)
    approved = {decision.subject for decision in decisions if decision.decision == "approved"}
    records = {row.path: cast("Expression", read(row)) for row in expression_rows if row.path in approved}
    return {path: record for path, record in records.items() if record.status in HELD}


def position_of(expression: Expression) -> Position:
    """Return an Expression as a line of the book, with a negative notional for a short trade."""
    sign = -1 if expression.direction == "short" else 1
    notional = sign * abs(expression.notional or 0.0)
    return Position(
        expression=expression.id,
        notional=notional,
        factor_exposures=dict(expression.factor_exposures or {}),
        duration=expression.duration_impact or 0.0,
    )


def with_approved(portfolio: Portfolio | None, positions: Iterable[Expression]) -> Portfolio | None:
    """Return the PM's book plus the approved Expressions that it does not list yet. Each of them has its notional, or
    the size of its earlier fills if that is larger.

    A total that the PM's book does not state stays unknown (None). A missing number of an Expression counts as 0;
    guardrails prevent the approval of such an Expression.
    """
    if portfolio is None:
        return None
    listed_ids = {position.expression for position in portfolio.positions}
    missing = [expression for expression in positions if expression.id not in listed_ids]
    portfolio = reduce(set_apart, missing, cast("Portfolio | None", portfolio)) or portfolio
    own_fills = {each.expression: each for each in portfolio.positions if each.expression not in listed_ids}
    approved = map(position_of, missing)
    added = [max(each, own_fills.get(each.expression, each), key=lambda size: abs(size.notional)) for each in approved]
    changes = [*((1, position) for position in added), *((-1, position) for position in own_fills.values())]
    factors = portfolio.factor_exposures
    for sign, position in changes:
        factors = None if factors is None else add_shares(factors, position.factor_exposures, sign)
    return replace(
        portfolio,
        gross=sum_of(portfolio.gross, *(sign * abs(position.notional) for sign, position in changes)),
        net=sum_of(portfolio.net, *(sign * position.notional for sign, position in changes)),
        duration=sum_of(portfolio.duration, *(sign * position.duration for sign, position in changes)),
        positions=(*(each for each in portfolio.positions if each.expression not in own_fills), *added),
        factor_exposures=factors,
    )
