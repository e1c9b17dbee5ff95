"""Expressions as trades that daily bars can follow, and the exits of open ones.

A trade is opened at the open of the first session after the PM's approval. A trade that bars can't settle, such as an
option or a target in 32nds, becomes a gap with a reason; its result is never guessed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import pairwise
from math import prod
from typing import Any, cast

from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.book import HELD
from forge.memory.cash import cash
from forge.memory.effects import CODE
from forge.memory.fills import fills
from forge.memory.halts import Span, halted_spans
from forge.memory.plausible import SIDES
from forge.memory.remembered import Remembered
from forge.providers.base import At
from forge.records import Expression, Fill, Outcome, render
from forge.records.spelling import read_number
from forge.tracking.bars import NotFollowable, days_text, sessions, traded_bars
from forge.tracking.paths import Path, Terms, Trade, follow
from forge.tracking.settlement import whole_memory
from forge.tracking.valuation import Result, result_of
from pitlake.clock import new_york_day
from pitlake.errors import BadInput
from pitlake.exchange import session

LAST_DAY = date(2199, 12, 31)


@dataclass(frozen=True)
class FollowedTrade:
    """A path and its source.

    ticker: the instrument. answer, version: SHA-256 of the lake's answer, and the lake's version. unpriced: the holes
    without a bar. seen: the last hole with an unproven split, and its close. gaps: data that the lake's answer leaves
    out. currency: the currency of the prices, "" for USD.
    """

    path: Path
    ticker: str
    answer: str
    version: int | None
    unpriced: tuple[date, ...] = ()
    seen: tuple[date, float] | None = None
    gaps: tuple[str, ...] = ()
    currency: str = ""

    def describe_holes(self, since: date | None = None) -> str:
        """Return a phrase with the data that is missing since a day, "" if there is none."""
        missing = [day for day in self.unpriced if since is None or day >= since]
        unproven = self.seen and (since is None or self.seen[0] >= since)
        parts = [f"there are no bars for {self.ticker} {days_text(missing)}" if missing else ""]
        parts.append(f"the split of {self.seen[0]} is unproven" if self.seen and unproven else "")
        return "; ".join(filter(None, (*parts, *self.gaps)))


def expressions(remembered: Remembered) -> list[tuple[str, Expression]]:
    """Return every current Expression with its path."""
    return [(row.path, cast("Expression", remembered.record(row))) for row in remembered.rows("expressions")]


def texts_of(remembered: Remembered, path: str) -> list[tuple[datetime, Expression]]:
    """Return every version of an Expression with the instant at which it was written, oldest first."""
    return [(remembered.written_at(row), cast("Expression", remembered.record(row))) for row in remembered.all(path)]


def follow_trade(
    expression: Expression,
    since: datetime,
    until: date,
    at: At,
    changes: tuple[Terms, ...] = (),
    opens: datetime | None = None,
    *,
    closing: bool = False,
) -> FollowedTrade:
    """Follow an Expression from the first session after an instant, whether it was held or not.

    Args:
        expression: The Expression to follow.
        since: The instant at which its levels were stated, in USD as traded then.
        until: Its last day.
        at: The viewpoint.
        changes: Later terms that the PM approved.
        opens: The earliest instant to open it, if later than `since`.
        closing: Whether the PM ordered its close on its last day.

    Raises:
        NotFollowable: Bars can't follow the trade. The error states the reason.
        BadInput: The ticker is unknown.
    """
    side = SIDES.get(expression.direction)
    if side is None:
        raise NotFollowable(f"a trade that is {expression.direction} can't be followed by daily bars")
    prices = traded_bars(expression.instrument, new_york_day(since), at)
    held_days = sessions(opens or since, LAST_DAY, at.as_of)
    waited = [day for day in sessions(since, LAST_DAY, at.as_of) if held_days and day < held_days[0]]
    ratio = prod(prices.prices.splits.get(day, 1.0) for day in waited)
    target, stop = (parse_price(getattr(expression, name), name) for name in ("target", "stop"))
    until = _session_by(until, new_york_day(since))
    trade = Trade(side, target and target / ratio, stop and stop / ratio, until, changes, closing)
    path = follow(trade, prices.bars, prices.prices, held_days, prices.unproven)
    seen = [(day, prices.bars[day].close) for day in path.holes if day in prices.bars]
    return FollowedTrade(
        path,
        expression.instrument,
        prices.answer,
        prices.version,
        tuple(day for day in path.holes if day not in prices.bars),
        seen[-1] if seen else None,
        prices.gaps,
        prices.currency,
    )


def _session_by(day: date, since: date) -> date:
    """Return the last session up to a day, but never a day before `since`."""
    while session(day) is None and day > since:
        day -= timedelta(days=1)
    return day


def follow_held(
    texts: Sequence[tuple[datetime, Expression]], at: At, halts: tuple[Span, ...] = ()
) -> FollowedTrade | None:
    """Follow a position by the terms of each session; return None if it was never active.

    Args:
        texts: Every version of the Expression with the instant at which it was written, oldest first.
        halts: The halts of trading, during which nothing was opened.

    Raises:
        NotFollowable, BadInput: As `follow_trade`.
    """
    active = [(written_at, text) for written_at, text in texts if text.status == "active"]
    if not active:
        return None
    since, first = active[0]
    # It opens at the first session's open at which trading is not halted.
    opens = since
    for halted_at, released_at in halts:
        if released_at is not None and released_at <= opens:
            continue
        numbers = range((at.as_of - opens).days + 2)
        hours_of_days = (session(new_york_day(opens) + timedelta(days=number)) for number in numbers)
        first_open = next((hours.open for hours in hours_of_days if hours and hours.open >= opens), None)
        if first_open is None or first_open < halted_at:
            break
        opens = released_at or at.as_of
        if released_at is None:
            break
    changes = list[Terms]()
    for (_, before), (written_at, text) in pairwise(active):
        # An unchanged level is still adjusted for splits since it was stated.
        changed: dict[str, Any] = {
            name: parse_price(getattr(text, name), name)
            for name in ("target", "stop")
            if getattr(text, name) != getattr(before, name)
        }
        if text.expires != before.expires:
            changed["until"] = _session_by(text.expires or LAST_DAY, date.min)
        if text.exit_reason:
            changed["closing"] = True
        # New terms apply from the first session that opens at or after the instant. An order to close also applies to a
        # session that is open at the instant.
        day = new_york_day(written_at)
        hours, orders_close = session(day), text.exit_reason and not before.exit_reason
        if hours and written_at <= hours.open:
            days = [day]
        else:
            during = [day] if hours and written_at < hours.close and orders_close else []
            days = [*during, day + timedelta(days=1)]
        changes += [Terms(first_day, changed) for first_day in days]
    ordered, closing = sorted(changes, key=lambda terms: terms.since), bool(first.exit_reason)
    return follow_trade(first, since, first.expires or LAST_DAY, at, tuple(ordered), opens, closing=closing)


def close_exits(memory: Memory, now: At) -> tuple[list[Outcome], list[str]]:
    """Close positions that reached their target, stop or last day, or that the PM's fills closed.

    Return the Outcomes, and the reasons for positions that can't be followed.

    With an account, the P&L comes from the fills, and fills that are later booked or voided restate the Outcome.
    Otherwise, it comes from the path, for the whole notional and without costs.
    """
    now = now.pinned()
    remembered = whole_memory(memory, now.as_of)
    files, outcomes, gaps = ForgeFS(memory, remembered, actor=CODE), list[Outcome](), list[str]()
    halts, booked, entries = halted_spans(remembered), fills(remembered), cash(remembered)
    for path, expression in expressions(remembered):
        if expression.status == "closed" and entries:
            _restate(files, expression, lambda name: result_of(name, booked, entries, now), now)
        if expression.status not in HELD:
            continue
        closed, gap = _closed(expression, texts_of(remembered, path), now, halts)
        own = any((fill.expression, fill.source) == (expression.id, "import") for fill in booked)
        result = result_of(expression.id, booked, entries, now) if entries and (closed or own) else None
        if closed is None and own and result and not any(holding.quantity for holding in result.holdings):
            closed = replace(expression, exit_reason=expression.exit_reason or "fill")
        if closed is None:
            gaps += [f"{expression.id}: {gap}"] if gap else []
            continue
        closed = replace(closed, status="closed", version=now.version)
        if result:
            details = "; ".join(filter(None, (closed.exit_details, result.describe())))
            answer = closed.answer or result.answer
            closed = replace(closed, pnl=round(result.percent, 9), exit_details=details, answer=answer)
        write = files.write_file(path, render(closed), call_id=f"{expression.id}:exit")
        outcomes += [cast("Outcome", remembered.record(row)) for row in write.rows[1:]]
    return outcomes, gaps


def _restate(files: ForgeFS, expression: Expression, result_of_fills: Callable[[str], Result], now: At) -> None:
    """Rewrite the result of a closed Expression if one of its fills was booked or voided after its Outcome."""
    remembered = files.remembered
    booked = [(row.seq, cast("Fill", remembered.record(row))) for row in remembered.rows("fills")]
    changed = [(seq, fill.id) for seq, fill in booked if fill.expression == expression.id]
    for row in remembered.rows("outcomes") if changed else ():
        outcome = cast("Outcome", remembered.record(row))
        later = [name for seq, name in changed if seq > row.seq]
        if outcome.expression == expression.id and later:
            result = result_of_fills(expression.id)
            body = f"{outcome.body}\nRestated after {', '.join(later)}: {result.describe()}"
            pnl = round(result.percent, 9)
            restated = replace(outcome, pnl=pnl, version=now.version, answer=result.answer, body=body)
            files.write_file(row.path, render(restated), call_id=f"{outcome.id}:{row.seq}")


def _closed(
    expression: Expression, texts: Sequence[tuple[datetime, Expression]], now: At, halts: tuple[Span, ...]
) -> tuple[Expression | None, str]:
    """Return the Expression with the result of its exit (None while it is open), and why it can't be followed."""
    over = bool(expression.expires and expression.expires < new_york_day(now.as_of))
    ordered = over and bool(expression.exit_reason)
    try:
        trade = follow_held(texts, now, halts)
    except (NotFollowable, BadInput) as problem:
        closed = replace(expression, exit_details=f"no result by bars: {problem}")
        return closed if ordered else None, "" if ordered else str(problem)
    if trade is None:
        return None, ""
    path, holes = trade.path, trade.describe_holes()
    never_opened = over and path.entry_price is None and (ordered or not path.holes)
    if not path.reason and not never_opened:
        return None, trade.describe_holes(path.unfollowed) if path.unfollowed else ""
    if expression.notional is None:
        return None, "its notional is missing"
    at = f"{path.reason} at {path.price:g} on {path.marks[-1].day}" if path.reason else "no session left to open in"
    entry = f"opened at {path.entry_price:g} on {path.marks[0].day}; " if path.entry_price else ""
    details = f"{entry}{at}; {holes + '; ' if holes else ''}return {path.total_return:.6f}"
    return replace(
        expression,
        exit_reason=path.reason if path.reason in ("stop", "target") else expression.exit_reason or "time",
        exit_details=f"{details}; lake version {trade.version}, answer {trade.answer}",
        pnl=round(abs(expression.notional) * path.total_return, 9) if path.reason or not path.holes else None,
        answer=trade.answer,
    ), ""


def active_since(remembered: Remembered, path: str) -> datetime | None:
    """Return when an Expression first became active."""
    return next((at for at, text in texts_of(remembered, path) if text.status == "active"), None)


def parse_price(text: str, name: str) -> float | None:
    """Parse a price in USD; None for an empty text. Raises NotFollowable for any other text."""
    try:
        return float(read_number(text, 0)) if text else None
    except ValueError:
        raise NotFollowable(f"{name} {text[:40]!r} is not a price in USD") from None
