"""Alerts for the PM, computed from the book, the Views and the lake as of an instant, without a model.

An alert reports that trading is halted, the book exceeds a limit or has a position with unlimited loss, a stop is near,
one of the PM's positions lost more than the PM stated, a position is not followed, a View's question is due, or data
for a position or a View is late.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal, cast

from forge.core import config
from forge.memory.book import held_in, remembered_book
from forge.memory.cash import cash
from forge.memory.effects import CONSTRAINTS
from forge.memory.guardrails import Guardrails
from forge.memory.halts import halted, halted_spans
from forge.memory.plausible import SIDES
from forge.memory.remembered import Remembered
from forge.providers.base import At
from forge.records import KINDS, Constraints, Expression, Settlement, View
from forge.tracking.account import book_guardrails
from forge.tracking.bars import NotFollowable, adjusted_bars
from forge.tracking.settlement import ANSWERED, Forecast, settlements
from forge.tracking.trades import FollowedTrade, follow_held, texts_of
from pitlake import datasets
from pitlake.clock import iso, new_york_day
from pitlake.errors import BadInput, LakeNotFound
from pitlake.exchange import session
from pitlake.questions import catalogue

PERCENT = 100
LOOKBACK = timedelta(days=14)


@dataclass(frozen=True)
class Alert:
    """An alert. subject: the limit, Expression, View, ticker or dataset; text: the rest of the sentence."""

    kind: Literal[
        "halted", "over limit", "loss missing", "stop near", "loss passed", "still held", "unfollowed",
        "View due", "data late",
    ]  # fmt: skip
    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject} {self.text}"


def alerts(
    remembered: Remembered, market: At, settings: config.Config, limits: Guardrails | None = None
) -> list[Alert]:
    """Return the alerts as of an instant.

    Args:
        remembered: The PM's memory as of the instant.
        market: The viewpoint on the lake.
        settings: The limits and the thresholds.
        limits: Guardrails of the same memory and market that have already valued the book.
    """
    thresholds = settings.alerts
    due, last = _open_views(remembered), _due_session(market, timedelta(hours=thresholds.data_late_hours))
    positions = list(_positions(remembered, market, thresholds.stop_near, last[0] if last else None))
    unfollowed = {alert.subject for alert in positions if alert.kind == "unfollowed"}
    halt = halted(remembered)
    return [
        *([Alert("halted", "trading", f"stopped by {halt.by}: {halt.reason}")] if halt else []),
        *_over(remembered, limits or book_guardrails(settings.guardrails, remembered, market)),
        *positions,
        *_losses(remembered, market),
        *_closed(remembered),
        *_due(due, remembered, market.as_of, thresholds.view_due_days),
        *(_late(_tickers(remembered, unfollowed), [view for view, _ in due], market, *last) if last else ()),
    ]


def _over(remembered: Remembered, limits: Guardrails) -> Iterator[Alert]:
    """Yield the limits that the book exceeds, with every position computed, and the unbounded losses."""
    row = remembered.newest(CONSTRAINTS)
    constraints = cast("Constraints | None", remembered.record(row) if row else None)
    book = limits.current(remembered_book(remembered))
    for figure in limits.book(book, constraints, held_in(remembered).values()):
        if figure.why:
            yield Alert("loss missing", figure.rule, f"is unknown, so nothing is approved: {figure.why}")
        elif figure.actual is not None and not figure.within:
            yield Alert("over limit", figure.rule, f"is {figure.actual:.4g}, beyond the limit of {figure.limit:g}")


def _positions(remembered: Remembered, market: At, near: float, due: date | None) -> Iterator[Alert]:
    """Yield the alerts about held Expressions. due: the last session whose bars should be in the lake."""
    halts = halted_spans(remembered)
    for path, expression in held_in(remembered).items():
        try:
            trade = follow_held(texts_of(remembered, path), market, halts)
        except (NotFollowable, BadInput, LakeNotFound) as problem:
            reason = "there is no lake" if isinstance(problem, LakeNotFound) else problem
            if expression.stop:
                text = f"has a stop {expression.stop} that can't be followed: {reason}"
                yield Alert("stop near", expression.id, text)
            continue
        since = trade.path.unfollowed if trade else None
        if trade and since and due and since <= due and not trade.path.reason:
            yield Alert("unfollowed", expression.id, _unfollowed_text(trade, since, SIDES[expression.direction]))
        elif trade and (text := _stop_text(trade, near)):
            yield Alert("stop near", expression.id, text)


def _losses(remembered: Remembered, market: At) -> Iterator[Alert]:
    """Yield alerts for the PM's positions that lost more since the PM's statement than the PM stated."""
    book, losses = remembered_book(remembered), {each.ticker: each for each in cash(remembered) if each.entry == "loss"}
    for position in book.positions if book else ():
        if entry := losses.get(position.expression):
            try:
                rows = adjusted_bars(entry.ticker, entry.booked_on - LOOKBACK, market)
            except (BadInput, LakeNotFound, NotFollowable):
                continue  # The desk lists the position as late.
            closes = {row["date"]: row["close"] for row in rows if row["close"]}
            before = [day for day in closes if day <= entry.booked_on] or [*closes][:1]
            moves = [(closes[max(closes)] / closes[day] - 1) * PERCENT for day in before[-1:]]
            lost = max((move if position.notional < 0 else -move for move in moves), default=0.0)
            if lost > entry.amount:
                text = f"lost {lost:.2f} % since {before[-1]}, more than the {entry.amount:g} % that you stated"
                yield Alert("loss passed", entry.ticker, f"{text}; code does not close it")


def _closed(remembered: Remembered) -> Iterator[Alert]:
    """Yield alerts for closed Expressions that the PM's fills still hold, because code sells only what it bought."""
    book = remembered_book(remembered)
    for name, notional in (part for each in (book.positions if book else ()) for part in each.parts.items()):
        row = remembered.newest(KINDS["expressions"].path(name))
        if row and cast("Expression", remembered.record(row)).status == "closed":
            text = f"is closed, but your fills of it still hold {notional:+.4g} % of capital"
            yield Alert("still held", name, f"{text}: trade it, then import the fill")


def _unfollowed_text(trade: FollowedTrade, since: date, side: int) -> str:
    stop, text = trade.path.stop, f"unfollowed since {since}: {trade.describe_holes(since)}"
    if stop is None:
        return f"is {text}"
    if trade.seen and trade.seen[0] >= since and side * (trade.seen[1] - stop) <= 0:
        return f"has its stop {stop:g} passed at {trade.seen[1]:g}, {text}"
    return f"may have its stop {stop:g} passed, {text}"


def _stop_text(trade: FollowedTrade, near: float) -> str:
    """Return the reason why a stop needs the PM's attention, or ""."""
    path = trade.path
    if path.reason == "stop":
        return f"reached its stop {path.stop:g} on {path.marks[-1].day}"
    if path.reason or path.close is None or path.stop is None:
        return ""
    distance = abs(path.close - path.stop) / path.close * PERCENT
    if distance > near:
        return ""
    return f"closed at {path.close:g} on {path.marks[-1].day}, {distance:.2f} % from its stop {path.stop:g}"


def _open_views(remembered: Remembered) -> list[tuple[View, Forecast]]:
    """Return active Views whose question has no answer yet."""
    answered = {(each.view, each.question) for each in settlements(remembered) if each.status in ANSWERED}
    open_views = []
    for row in remembered.rows("views"):
        view = cast("View", remembered.record(row))
        forecast = Forecast(view, remembered.written_at(row), row.actor, "")
        if view.status == "active" and view.settles and (view.id, forecast.question) not in answered:
            open_views.append((view, forecast))
    return open_views


def _due(due: Iterable[tuple[View, Forecast]], remembered: Remembered, now: datetime, days: int) -> Iterator[Alert]:
    tried: dict[tuple[str, str], Settlement] = {(each.view, each.question): each for each in settlements(remembered)}
    for view, forecast in due:
        by = forecast.settles.by
        if forecast.due <= now:
            last = tried.get((view.id, forecast.question))
            yield Alert("View due", view.id, f"was due on {by}, not settled{f': {last.reason}' if last else ''}")
        elif by - new_york_day(now) <= timedelta(days=days):
            yield Alert("View due", view.id, f"is due on {by}: {forecast.settles.rule}")


def _due_session(market: At, wait: timedelta) -> tuple[date, datetime] | None:
    """Return the day and close of the last session whose bars should be in the lake, None without a lake."""
    market_lake = market.open_lake()
    try:
        market_lake.head()
    except LakeNotFound:
        return None
    moment = market_lake.judged_at(market.as_of) - wait
    days = (new_york_day(moment) - timedelta(days=number) for number in range(LOOKBACK.days))
    return next(((day, hours.close) for day in days if (hours := session(day)) and hours.close <= moment), None)


def _late(tickers: Iterable[str], views: Iterable[View], market: At, day: date, close: datetime) -> Iterator[Alert]:
    for ticker in tickers:
        newest = _newest_bar(ticker, day, market)
        if newest is None or newest < day:
            missing = f"after {newest}" if newest else f"since {day - LOOKBACK}"
            yield Alert("data late", ticker, f"has no bar {missing}; the last session was {day}")
    yield from _late_datasets(views, market, close)


def _tickers(remembered: Remembered, unfollowed: Collection[str]) -> list[str]:
    """Return the instruments of held Expressions, except unfollowed ones, and of the book's other positions, including
    the rest of closed Expressions.
    """
    book = remembered_book(remembered)
    names = {record.id for record in held_in(remembered).values()}
    names = (names | {position.expression for position in (book.positions if book else ())}) - {*unfollowed}
    rows = [row for name in names if (row := remembered.newest(KINDS["expressions"].path(name)))]
    instruments = {cast("Expression", remembered.record(row)).instrument for row in rows}
    return sorted(instruments | {name for name in names if not KINDS["expressions"].names(name)})


def _newest_bar(ticker: str, day: date, market: At) -> date | None:
    try:
        rows = adjusted_bars(ticker, day - LOOKBACK, market)
    except BadInput:
        return None
    newest = max((str(row["date"]) for row in rows), default=None)
    return date.fromisoformat(newest[:10]) if newest else None


def _late_datasets(views: Iterable[View], market: At, close: datetime) -> Iterator[Alert]:
    """Yield alerts for datasets that open Views' questions read and that are older than their contracts allow."""
    names = {name for view in views if view.settles for name in catalogue.get(view.settles.query).reads}
    limits = {name: limit for name in sorted(names) if (limit := datasets.get(name).freshness)}
    if not limits:
        return
    with market.open(list(limits)) as session_of_lake:
        newest = dict(session_of_lake.sql("SELECT dataset, watermark FROM lake_info").rows())
    for name, limit in limits.items():
        row = newest.get(name)
        if row is not None and close - row > limit:
            days = "1 day" if limit.days == 1 else f"{limit.days} days"
            yield Alert(
                "data late", name, f"has no row after {iso(row)}; the contract allows {days} before the last close"
            )
