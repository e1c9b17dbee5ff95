"""Expressions as trades that daily bars can follow, and the exits of open ones.

A trade is opened at the open of the first session after the PM's approval. What bars can't decide, such as an option or
a target in 32nds, becomes a gap with its reason and is never guessed.
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
from forge.tracking.bars import NotFollowable, sessions, traded_bars
from forge.tracking.paths import Path, Terms, Trade, follow
from forge.tracking.settlement import whole_memory
from pitlake.clock import new_york_day
from pitlake.errors import BadInput
from pitlake.exchange import session

SIDES = {"long": 1, "short": -1}
LAST_DAY = date(2199, 12, 31)
_PRICE = re.compile(r"\$?([0-9]+(?:\.[0-9]+)?)")


@dataclass(frozen=True)
class FollowedTrade:
    """A path and its source. answer: SHA-256 of the lake's answer; version: of the lake."""

    path: Path
    answer: str
    version: int | None


def expressions(remembered: Remembered) -> list[tuple[str, Expression]]:
    """Return every current Expression with its path."""
    rows = [(path, remembered.newest(path)) for path in remembered.paths("/memory/expressions/")]
    return [(path, cast("Expression", remembered.record(row))) for path, row in rows if row]


def follow_trade(
    expression: Expression, since: datetime, until: date, at: At, changes: tuple[Terms, ...] = ()
) -> FollowedTrade:
    """Follow an Expression opened at the first session from an instant on, whether it was held or not.

    changes: later terms that the PM approved. Raises NotFollowable with the reason, BadInput for an unknown ticker.
    """
    side = SIDES.get(expression.direction)
    if side is None:
        raise NotFollowable(f"a trade that is {expression.direction} can't be followed by daily bars")
    while session(until) is None and until > new_york_day(since):
        until -= timedelta(days=1)
    trade = Trade(side, parse_price(expression.target, "target"), parse_price(expression.stop, "stop"), until, changes)
    last_days = [terms.changed["until"] for terms in changes if "until" in terms.changed]
    last = max([until, *cast("list[date]", last_days)])
    prices = traded_bars(expression.instrument, new_york_day(since), at)
    return FollowedTrade(follow(trade, prices.bars, sessions(since, last, at.as_of)), prices.answer, prices.version)


def follow_held(texts: Sequence[tuple[datetime, Expression]], at: At) -> FollowedTrade | None:
    """Follow a position by the terms that were in force on each session; None where it was never active.

    Args:
        texts: Every text of the Expression with the instant it was written at, oldest first.

    Raises:
        NotFollowable, BadInput: As `follow_trade`.
    """
    active = [(written_at, text) for written_at, text in texts if text.status == "active"]
    if not active:
        return None
    since, first = active[0]
    changes = tuple(
        Terms(_next_open(written_at), _changed_terms(before, text))
        for (_, before), (written_at, text) in pairwise(active)
    )
    return follow_trade(first, since, first.expires or LAST_DAY, at, changes)


def _changed_terms(before: Expression, after: Expression) -> dict[str, float | date | None]:
    """Return the terms whose text differs: a level that stays as it was still moves with splits from its own day on."""
    changed: dict[str, float | date | None] = {
        name: parse_price(getattr(after, name), name)
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


def close_exits(memory: Memory, now: At) -> tuple[list[Outcome], list[str]]:
    """Close what reached its target, stop or last day. Return the Outcomes, and why others can't be followed."""
    remembered = whole_memory(memory, now.as_of)
    files, outcomes, gaps = ForgeFS(memory, remembered, actor=CODE), list[Outcome](), list[str]()
    for path, expression in expressions(remembered):
        if expression.status not in HELD:
            continue
        texts = [
            (remembered.written_at(row), cast("Expression", remembered.record(row))) for row in remembered.all(path)
        ]
        try:
            course = follow_held(texts, now)
            if course is None:
                continue
            closed = _closed(expression, course, now)
        except (NotFollowable, BadInput) as problem:
            gaps.append(f"{expression.id}: {problem}")
            continue
        if isinstance(closed, str):
            gaps.append(f"{expression.id}: {closed}")
        elif closed:
            write = files.write_file(path, render(closed), call_id=f"{expression.id}:exit")
            outcomes += [cast("Outcome", remembered.record(row)) for row in write.rows[1:]]
    return outcomes, gaps


def _closed(expression: Expression, trade: FollowedTrade, now: At) -> Expression | str | None:
    """Return the closed Expression, the reason if a bar is missing, or None while it is open."""
    path, over = trade.path, expression.expires and expression.expires < new_york_day(now.as_of)
    if path.reason == "" and (path.gap or not over):
        return f"there is no bar of {expression.instrument} on {path.gap}" if path.gap else None
    if expression.notional is None:
        return "its notional is missing"
    at = f"{path.reason} at {path.price:g} on {path.marks[-1].day}" if path.reason else "no session left to open in"
    entry = f"opened at {path.entry_price:g} on {path.marks[0].day}; " if path.entry_price else ""
    return replace(
        expression,
        status="closed",
        exit_reason=path.reason if path.reason in ("stop", "target") else expression.exit_reason or "time",
        exit_details=f"{entry}{at}; return {path.total_return:.6f}; lake version {trade.version}, answer "
        f"{trade.answer}",
        pnl=round(abs(expression.notional) * path.total_return, 9),
    )


def active_since(remembered: Remembered, path: str) -> datetime | None:
    """Return when an Expression first became active."""
    rows = (row for row in remembered.all(path) if cast("Expression", remembered.record(row)).status == "active")
    row = next(rows, None)
    return remembered.written_at(row) if row else None


def parse_price(text: str, name: str) -> float | None:
    """Parse a price in USD; None for an empty text. Raises NotFollowable for any other text."""
    match = _PRICE.fullmatch(text)
    if text and not match:
        raise NotFollowable(f"{name} {text[:40]!r} is not a price in USD")
    return float(match[1]) if match else None
