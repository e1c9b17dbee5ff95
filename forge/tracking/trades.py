"""Expressions as trades that daily bars can follow, and the exits of those that are held.

A trade is opened at the open of the first session after the PM's word. What an Expression says that no bar can be held
against, as an option or a target in 32nds, is a gap with its reason, never guessed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import cast

from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.book import HELD
from forge.memory.effects import CODE
from forge.memory.remembered import Remembered
from forge.providers.base import At
from forge.records import Expression, Outcome, render
from forge.tracking.bars import Untold, sessions, traded
from forge.tracking.paths import Path, Terms, Trade, followed
from forge.tracking.settlement import hydrated
from pitlake.clock import new_york_day
from pitlake.errors import BadInput
from pitlake.exchange import session

SIDES = {"long": 1, "short": -1}
LAST_DAY = date(2199, 12, 31)
_PRICE = re.compile(r"\$?([0-9]+(?:\.[0-9]+)?)")


@dataclass(frozen=True)
class FollowedTrade:
    """A path with where it comes from. answer: SHA-256 of what the lake said; version: which was asked."""

    path: Path
    answer: str
    version: int | None


def expressions(known: Remembered) -> list[tuple[str, Expression]]:
    """Every Expression as it stands, with its path."""
    rows = [(path, known.newest(path)) for path in known.paths("/memory/expressions/")]
    return [(path, cast("Expression", known.record(row))) for path, row in rows if row]


def told_by_bars(
    expression: Expression, since: datetime, until: date, at: At, changes: tuple[Terms, ...] = ()
) -> FollowedTrade:
    """What became, or would have become, of an Expression opened at the first session from an instant on.

    changes: its later terms, where the PM approved any. Raises Untold where bars can't say, with the reason; BadInput
    for an instrument that is no ticker.
    """
    side = SIDES.get(expression.direction)
    if side is None:
        raise Untold(f"bars of one security can't follow a trade that is {expression.direction}")
    while session(until) is None and until > new_york_day(since):
        until -= timedelta(days=1)
    trade = Trade(side, level(expression.target, "target"), level(expression.stop, "stop"), until, changes)
    last_days = [terms.changed["until"] for terms in changes if "until" in terms.changed]
    last = max([until, *cast("list[date]", last_days)])
    found = traded(expression.instrument, new_york_day(since), at)
    return FollowedTrade(followed(trade, found.bars, sessions(since, last, at.as_of)), found.answer, found.version)


def follow_held(texts: Sequence[tuple[datetime, Expression]], at: At) -> FollowedTrade | None:
    """Follow a position by the terms that were in force on each session; None where it was never active.

    Args:
        texts: Every text of the Expression with the instant it was written at, oldest first.

    Raises:
        Untold, BadInput: As `told_by_bars`.
    """
    held = [(written_at, text) for written_at, text in texts if text.status == "active"]
    if not held:
        return None
    since, first = held[0]
    changes = tuple(
        Terms(_next_open(written_at), _changed_terms(before, text))
        for (_, before), (written_at, text) in pairwise(held)
    )
    return told_by_bars(first, since, first.expires or LAST_DAY, at, changes)


def _changed_terms(before: Expression, after: Expression) -> dict[str, float | date | None]:
    """Return the terms whose text differs: a level that stays as it was still moves with splits from its own day on."""
    changed: dict[str, float | date | None] = {
        name: level(getattr(after, name), name)
        for name in ("target", "stop")
        if getattr(after, name) != getattr(before, name)
    }
    if after.expires != before.expires:
        changed["until"] = after.expires or LAST_DAY
    return changed


def _next_open(moment: datetime) -> date:
    """Return the day from which terms count: that of the first session that opens at or after an instant."""
    day = new_york_day(moment)
    exchange_session = session(day)
    return day if exchange_session and moment <= exchange_session.open else day + timedelta(days=1)


def exits(memory: Memory, now: At) -> tuple[list[Outcome], list[str]]:
    """Close what reached its target, its stop or its last day; the Outcomes, and why others can't be followed."""
    known = hydrated(memory, now.as_of)
    files, made, gaps = ForgeFS(memory, known, actor=CODE), list[Outcome](), list[str]()
    for path, expression in expressions(known):
        if expression.status not in HELD:
            continue
        texts = [(known.written_at(row), cast("Expression", known.record(row))) for row in known.all(path)]
        try:
            course = follow_held(texts, now)
            if course is None:
                continue
            closed = _closed(expression, course, now)
        except (Untold, BadInput) as problem:
            gaps.append(f"{expression.id}: {problem}")
            continue
        if isinstance(closed, str):
            gaps.append(f"{expression.id}: {closed}")
        elif closed:
            written = files.write_file(path, render(closed), call_id=f"{expression.id}:exit")
            made += [cast("Outcome", known.record(row)) for row in written.rows[1:]]
    return made, gaps


def _closed(expression: Expression, told: FollowedTrade, now: At) -> Expression | str | None:
    """The Expression once it is left; the reason where a bar is missing, None while it is held."""
    path, over = told.path, expression.expires and expression.expires < new_york_day(now.as_of)
    if path.reason == "" and (path.gap or not over):
        return f"there is no bar of {expression.instrument} on {path.gap}" if path.gap else None
    if expression.notional is None:
        return "its notional is missing"
    at = f"{path.reason} at {path.price:g} on {path.marks[-1].day}" if path.reason else "no session was left to open in"
    opened = f"opened at {path.opened:g} on {path.marks[0].day}; " if path.opened else ""
    return replace(
        expression,
        status="closed",
        exit_reason=path.reason if path.reason in ("stop", "target") else expression.exit_reason or "time",
        exit_details=f"{opened}{at}; return {path.made:.6f}; lake version {told.version}, answer {told.answer}",
        pnl=round(abs(expression.notional) * path.made, 9),
    )


def held_since(known: Remembered, path: str) -> datetime | None:
    """When an Expression became active first."""
    rows = (row for row in known.all(path) if cast("Expression", known.record(row)).status == "active")
    row = next(rows, None)
    return known.written_at(row) if row else None


def level(text: str, name: str) -> float | None:
    """A price in USD; None where none is said. Raises Untold for another text."""
    found = _PRICE.fullmatch(text)
    if text and not found:
        raise Untold(f"{name} {text[:40]!r} is not a price in USD")
    return float(found[1]) if found else None
