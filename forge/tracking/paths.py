"""The path of a position in one security, followed by its daily bars as traded.

A position is opened at the open of its first session. In each bar, the open comes first: if it is beyond the stop or
the target, the position is closed at the open. If the bar then touches both, the position is closed at the stop, the
worse of the two. Splits adjust shares, stop and target; a dividend goes to the holder before its ex-day. A session
without a bar, or with an unproven split, is a hole: the position is followed again from the next bar. A position whose
last day was a hole is closed at the open of the next bar. If the PM ordered its close and several sessions have no
bars, it is closed at its last price.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from forge.records import Mark
from forge.tracking.ledger import Prices

PATIENCE = 5
"""The number of sessions without a bar after which a close ordered by the PM uses the last price."""
Reason = Literal["target", "stop", "time"]


@dataclass(frozen=True)
class Bar:
    """One session as traded, in USD."""

    day: date
    open: float
    high: float
    low: float
    close: float


@dataclass(frozen=True)
class Terms:
    """New terms of a held position, which apply from a session's open.

    changed: `target` and `stop` are in USD as of the day before `since`. Only changed terms are set.
    """

    since: date
    changed: Mapping[str, Any]


@dataclass(frozen=True)
class Trade:
    """A trade.

    side: 1 for long, -1 for short. target, stop: levels in USD as of the day before the first session, or None. until:
    its last day. changes: later terms, in order. closing: whether the PM ordered its close on its last day.
    """

    side: int
    target: float | None
    stop: float | None
    until: date
    changes: tuple[Terms, ...] = ()
    closing: bool = False


@dataclass(frozen=True)
class Path:
    """The path of a trade.

    entry_price: USD at the open of the first session. marks: the return at each close, as a share of the entry price.
    reason, price: reason and price of the exit, "" and None before it. shares: the number of shares that one share of
    the first session has become. close, stop, target: the latest values, adjusted for later splits. holes: the sessions
    on which it was not followed. unfollowed: the first hole since the last bar, None if there is none.
    """

    entry_price: float | None
    marks: tuple[Mark, ...]
    reason: Reason | Literal[""] = ""
    price: float | None = None
    shares: float = 1.0
    close: float | None = None
    stop: float | None = None
    holes: tuple[date, ...] = ()
    unfollowed: date | None = None
    target: float | None = None

    @property
    def total_return(self) -> float:
        """The return to date, as a share of the entry price."""
        return self.marks[-1].value if self.marks else 0.0


def follow(
    trade: Trade, bars: Mapping[date, Bar], prices: Prices, sessions: Iterable[date], unproven: Collection[date] = ()
) -> Path:
    """Follow a trade.

    sessions: the completed sessions from the trade's first one, in order. unproven: the days with an unproven split.
    """
    entry_price, shares, cash, marks, holes = None, 1.0, 0.0, list[Mark](), list[date]()
    terms: dict[str, Any] = {name: getattr(trade, name) for name in ("target", "stop", "until", "closing")}
    changes, close, unfollowed = list(trade.changes), None, None
    reason: Reason | Literal[""] = ""
    price: float | None = None
    for day in sessions:
        while changes and changes[0].since <= day:
            terms.update(changes.pop(0).changed)
        ratio, bar = prices.splits.get(day, 1.0), None if day in unproven else bars.get(day)
        terms |= {level: _moved(terms[level], ratio) for level in ("target", "stop")}
        close = _moved(close, ratio)
        if entry_price is None and day > terms["until"]:
            break
        if entry_price is not None:
            shares *= ratio
            cash += shares * prices.dividends.get(day, 0.0)
        if bar is None:
            holes.append(day)
            unfollowed = unfollowed or day
            if terms["closing"] and sum(hole >= terms["until"] for hole in holes) >= PATIENCE:
                reason, price = "time", close
        else:
            entry_price, close, unfollowed = entry_price or bar.open, bar.close, None
            reason, price = _exit(trade.side, bar, terms["target"], terms["stop"], terms["until"])
        if entry_price is not None and (bar or price is not None):
            worth = (close if price is None else price) or 0.0
            path_return = trade.side * (worth * shares + cash - entry_price) / entry_price
            marks.append(Mark(day=day, value=round(path_return, 9)))
        if price is not None:
            break
    stop, target = terms["stop"], terms["target"]
    return Path(entry_price, tuple(marks), reason, price, shares, close, stop, tuple(holes), unfollowed, target)


def _exit(
    side: int, bar: Bar, target: float | None, stop: float | None, until: date
) -> tuple[Reason | Literal[""], float | None]:
    """Return the reason and the price at which a position is closed in a bar."""
    worst, best = (bar.low, bar.high) if side > 0 else (bar.high, bar.low)
    for price, certain in ((bar.open, True), (None, False)):
        if stop is not None and side * (bar.open if certain else worst) <= side * stop:
            return "stop", price or stop
        if target is not None and side * (bar.open if certain else best) >= side * target:
            return "target", price or target
        if certain and bar.day > until:
            return "time", bar.open
    return ("time", bar.close) if bar.day >= until else ("", None)


def _moved(level: float | None, split: float) -> float | None:
    return None if level is None else level / split
