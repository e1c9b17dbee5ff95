"""Alerts for the PM, computed from the book, the Views and the lake as of an instant, without a model.

An alert reports that trading is halted, that the book exceeds a limit or has a position with unlimited loss, or that a
stop is near. Or a position of the PM lost more than he stated, a position is not followed, a View's question is due, or
data for a position or a View is late.
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
from forge.records import KINDS, Constraints, Expression, View
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
    """An alert. subject: the limit, Expression, View, ticker or dataset. text: the rest of the sentence."""

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
    answered = {(each.view, each.question) for each in settlements(remembered) if each.status in ANSWERED}
    due = list[tuple[View, Forecast]]()  # active Views whose question has no answer yet
    for row in remembered.rows("views"):
        view = cast("View", remembered.record(row))
        forecast = Forecast(view, remembered.written_at(row), row.actor, "")
        if view.status == "active" and view.settles and (view.id, forecast.question) not in answered:
            due.append((view, forecast))
    last = _due_session(market, timedelta(hours=thresholds.data_late_hours))
    positions = list(_positions(remembered, market, thresholds.stop_near, last[0] if last else None))
    unfollowed = {alert.subject for alert in positions if alert.kind == "unfollowed"}
    halt = halted(remembered)
    all_alerts = [Alert("halted", "trading", f"stopped by {halt.by}: {halt.reason}")] if halt else []
    limits = limits or book_guardrails(settings.guardrails, remembered, market)
    limit_row = remembered.newest(CONSTRAINTS)
    constraints = cast("Constraints | None", remembered.record(limit_row) if limit_row else None)
    own_book = remembered_book(remembered)
    for figure in limits.book(limits.current(own_book), constraints, held_in(remembered).values()):
        if figure.why:
            text = f"is unknown, so nothing is approved: {figure.why}"
            all_alerts.append(Alert("loss missing", figure.rule, text))
        elif figure.actual is not None and not figure.within:
            text = f"is {figure.actual:.4g}, beyond the limit of {figure.limit:g}"
            all_alerts.append(Alert("over limit", figure.rule, text))
    all_alerts += [*positions, *_losses(remembered, market)]
    for name, notional in (part for each in (own_book.positions if own_book else ()) for part in each.parts.items()):
        trade_row = remembered.newest(KINDS["expressions"].path(name))
        if trade_row and cast("Expression", remembered.record(trade_row)).status == "closed":
            # Code sells only what it bought.
            text = f"is closed, but your fills of it still hold {notional:+.4g} % of capital"
            all_alerts.append(Alert("still held", name, f"{text}: trade it, then import the fill"))
    tried = {(each.view, each.question): each for each in settlements(remembered)}
    for view, forecast in due:
        by = forecast.settles.by
        if forecast.due <= market.as_of:
            settlement = tried.get((view.id, forecast.question))
            problem = f": {settlement.reason}" if settlement else ""
            all_alerts.append(Alert("View due", view.id, f"was due on {by}, not settled{problem}"))
        elif by - new_york_day(market.as_of) <= timedelta(days=thresholds.view_due_days):
            all_alerts.append(Alert("View due", view.id, f"is due on {by}: {forecast.settles.rule}"))
    if last:
        all_alerts += _late(remembered, unfollowed, [view for view, _ in due], market, *last)
    return all_alerts


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


def _unfollowed_text(trade: FollowedTrade, since: date, side: int) -> str:
    stop, text = trade.path.stop, f"unfollowed since {since}: {trade.describe_holes(since)}"
    if stop is None:
        return f"is {text}"
    if trade.seen and trade.seen[0] >= since and side * (trade.seen[1] - stop) <= 0:
        return f"has passed its stop {stop:g} at {trade.seen[1]:g}, {text}"
    return f"may have passed its stop {stop:g}, {text}"


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


def _late(
    remembered: Remembered, unfollowed: Collection[str], views: Iterable[View], market: At, day: date, close: datetime
) -> Iterator[Alert]:
    """Yield alerts for instruments without a bar of the last session, and for datasets that Views' questions read and
    that are older than their contracts allow.

    The instruments are those of held Expressions, except unfollowed ones, and of the book's other positions, including
    the rest of closed Expressions.
    """
    book = remembered_book(remembered)
    names = {record.id for record in held_in(remembered).values()}
    names = (names | {position.expression for position in (book.positions if book else ())}) - {*unfollowed}
    texts = [row for name in names if (row := remembered.newest(KINDS["expressions"].path(name)))]
    instruments = {cast("Expression", remembered.record(text)).instrument for text in texts}
    for ticker in sorted(instruments | {name for name in names if not KINDS["expressions"].names(name)}):
        try:
            days = [str(row["date"])[:10] for row in adjusted_bars(ticker, day - LOOKBACK, market)]
        except BadInput:
            days = []
        newest = date.fromisoformat(max(days)) if days else None
        if newest is None or newest < day:
            missing = f"after {newest}" if newest else f"since {day - LOOKBACK}"
            yield Alert("data late", ticker, f"has no bars {missing}; the last session was {day}")
    datasets_read = {name for view in views if view.settles for name in catalogue.get(view.settles.query).reads}
    limits = {name: limit for name in sorted(datasets_read) if (limit := datasets.get(name).freshness)}
    if not limits:
        return
    with market.open(list(limits)) as session_of_lake:
        watermarks = dict(session_of_lake.sql("SELECT dataset, watermark FROM lake_info").rows())
    for name, limit in limits.items():
        watermark = watermarks.get(name)
        if watermark is not None and close - watermark > limit:
            allowed = "1 day" if limit.days == 1 else f"{limit.days} days"
            problem = f"has no rows after {iso(watermark)}; the contract allows {allowed} before the last close"
            yield Alert("data late", name, problem)
