"""Expressions as trades that daily bars can follow, and the exits of open ones.

A trade is opened at the open of the first session after the PM's approval. A trade that bars can't settle, such as an
option or a target in 32nds, becomes a gap with its reason. Its result is never guessed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import pairwise
from math import prod
from typing import cast

from forge.core import config
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.book import HELD
from forge.memory.effects import CODE
from forge.memory.fills import fills
from forge.memory.halts import Span, halted_spans
from forge.memory.plausible import SIDES
from forge.memory.remembered import Remembered
from forge.providers.base import At
from forge.records import Expression, Outcome, render
from forge.records.natural import read_number
from forge.records.values import Bounds
from forge.tracking.bars import NotFollowable, sessions, traded_bars
from forge.tracking.paths import Path, Terms, Trade, follow
from forge.tracking.settlement import whole_memory
from forge.tracking.valuation import result_of
from pitlake.clock import new_york_day
from pitlake.errors import BadInput
from pitlake.exchange import session

LAST_DAY = date(2199, 12, 31)


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
    expression: Expression,
    since: datetime,
    until: date,
    at: At,
    changes: tuple[Terms, ...] = (),
    opens: datetime | None = None,
) -> FollowedTrade:
    """Follow an Expression from the first session after an instant, whether it was held or not.

    Args:
        expression: What is followed.
        since: When its levels were stated, in USD as traded then.
        until: Its last day.
        at: The viewpoint.
        changes: Later terms that the PM approved.
        opens: When it may be opened, if that is later than `since`.

    Raises:
        NotFollowable: With the reason.
        BadInput: The ticker is unknown.
    """
    side = SIDES.get(expression.direction)
    if side is None:
        raise NotFollowable(f"a trade that is {expression.direction} can't be followed by daily bars")
    while session(until) is None and until > new_york_day(since):
        until -= timedelta(days=1)
    prices = traded_bars(expression.instrument, new_york_day(since), at)
    last_days = [terms.changed["until"] for terms in changes if "until" in terms.changed]
    last = max([until, *cast("list[date]", last_days)])
    held_days = sessions(opens or since, last, at.as_of)
    waited = [day for day in sessions(since, last, at.as_of) if held_days and day < held_days[0]]
    ratio = prod(prices.bars[day].split for day in waited if day in prices.bars)
    target, stop = (parse_price(getattr(expression, name), name) for name in ("target", "stop"))
    trade = Trade(side, target and target / ratio, stop and stop / ratio, until, changes)
    return FollowedTrade(follow(trade, prices.bars, held_days), prices.answer, prices.version)


def follow_held(
    texts: Sequence[tuple[datetime, Expression]], at: At, halts: tuple[Span, ...] = ()
) -> FollowedTrade | None:
    """Follow a position by the terms of each session; return None if it was never active.

    Args:
        texts: Every text of the Expression with the instant it was written at, oldest first.
        halts: When trading was halted; nothing was opened then.

    Raises:
        NotFollowable, BadInput: As `follow_trade`.
    """
    active = [(written_at, text) for written_at, text in texts if text.status == "active"]
    if not active:
        return None
    since, first = active[0]
    opens = _first_open(since, halts, at.as_of) or at.as_of
    changes = tuple(
        Terms(_next_open(written_at), _changed_terms(before, text))
        for (_, before), (written_at, text) in pairwise(active)
    )
    return follow_trade(first, since, first.expires or LAST_DAY, at, changes, opens)


def _first_open(since: datetime, halts: tuple[Span, ...], now: datetime) -> datetime | None:
    """Return the first session's open from an instant on at which trading is not halted, None where there is none."""
    for halted_at, released_at in halts:
        if released_at is not None and released_at <= since:
            continue
        days = (new_york_day(since) + timedelta(days=number) for number in range((now - since).days + 2))
        opens = next((hours.open for day in days if (hours := session(day)) and hours.open >= since), None)
        if opens is None or opens < halted_at:
            break
        if released_at is None:
            return None
        since = released_at
    return since


def _changed_terms(before: Expression, after: Expression) -> dict[str, float | date | None]:
    """Return the terms whose text differs. An unchanged level is still adjusted for the splits since its own day."""
    changed: dict[str, float | date | None] = {
        name: parse_price(getattr(after, name), name)
        for name in ("target", "stop")
        if getattr(after, name) != getattr(before, name)
    }
    if after.expires != before.expires:
        changed["until"] = after.expires or LAST_DAY
    return changed


def _next_open(moment: datetime) -> date:
    """Return the day from which terms apply: the day of the first session that opens at or after an instant."""
    day = new_york_day(moment)
    exchange_session = session(day)
    return day if exchange_session and moment <= exchange_session.open else day + timedelta(days=1)


def close_exits(
    memory: Memory, now: At, settings: config.AccountSettings | None = None
) -> tuple[list[Outcome], list[str]]:
    """Close positions that reached their target, stop or last day.

    Return the Outcomes, and the reasons for positions that can't be followed.

    With an account, the P&L comes from the fills. Otherwise it comes from the path, for the whole notional and without
    costs.
    """
    remembered = whole_memory(memory, now.as_of)
    files, outcomes, gaps = ForgeFS(memory, remembered, actor=CODE), list[Outcome](), list[str]()
    halts, booked = halted_spans(remembered), fills(remembered)
    for path, expression in expressions(remembered):
        if expression.status not in HELD:
            continue
        texts = [
            (remembered.written_at(row), cast("Expression", remembered.record(row))) for row in remembered.all(path)
        ]
        try:
            course = follow_held(texts, now, halts)
            if course is None:
                continue
            closed = _closed(expression, course, now)
            if isinstance(closed, Expression) and settings and settings.capital is not None:
                result = result_of(expression.id, booked, settings, now)
                details = f"{closed.exit_details}; {result.describe()}"
                closed = replace(closed, pnl=round(result.percent, 9), exit_details=details)
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
    try:
        return float(read_number(text, Bounds(0))) if text else None
    except ValueError:
        raise NotFollowable(f"{name} {text[:40]!r} is not a price in USD") from None
