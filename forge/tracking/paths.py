"""The path of a position in one security, followed by its daily bars as traded.

A position is opened at the open of its first session. In each bar the open comes first: if it is beyond the stop or the
target, the position is closed at the open. If a bar later touches both, the stop counts, because it is the worse of the
two. Splits adjust shares, stop and target; a dividend goes to the holder before its ex-day. A session without a bar
ends the path.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from forge.records import Mark

Reason = Literal["target", "stop", "time"]


@dataclass(frozen=True)
class Bar:
    """One session as traded, in USD. split: new shares per share of the day before; dividend: USD per share, on its ex-
    day.
    """

    day: date
    open: float
    high: float
    low: float
    close: float
    split: float = 1.0
    dividend: float = 0.0


@dataclass(frozen=True)
class Terms:
    """New terms of a held position, which count from a session's open on.

    changed: `target` and `stop` are in USD as of the day before `since`. Only changed terms are set.
    """

    since: date
    changed: Mapping[str, float | date | None]


@dataclass(frozen=True)
class Trade:
    """A trade.

    side: 1 for long, -1 for short. target, stop: levels in USD as of the day before the first session, or None. until:
    its last day. changes: later terms, in order.
    """

    side: int
    target: float | None
    stop: float | None
    until: date
    changes: tuple[Terms, ...] = ()


@dataclass(frozen=True)
class Path:
    """The path of a trade.

    entry_price: USD at the open of the first session. marks: the return at each close, as a share of the entry price.
    reason, price: reason and price of the exit, "" and None before it. gap: the session without a bar, or None. shares:
    the number of shares that one share of the first session has become. close, stop: close and stop of the last
    session, as traded on that day.
    """

    entry_price: float | None
    marks: tuple[Mark, ...]
    reason: Reason | Literal[""] = ""
    price: float | None = None
    gap: date | None = None
    shares: float = 1.0
    close: float | None = None
    stop: float | None = None

    @property
    def total_return(self) -> float:
        """The return so far, as a share of the entry price."""
        return self.marks[-1].value if self.marks else 0.0


def follow(trade: Trade, bars: Mapping[date, Bar], sessions: Iterable[date]) -> Path:
    """Follow a trade. sessions: the completed sessions in which it was held, in order."""
    entry_price, shares, cash, marks = None, 1.0, 0.0, list[Mark]()
    terms: dict[str, Any] = {"target": trade.target, "stop": trade.stop, "until": trade.until}
    changes, close = list(trade.changes), None
    for day in sessions:
        bar = bars.get(day)
        if bar is None:
            return Path(entry_price, tuple(marks), gap=day, shares=shares, close=close, stop=terms["stop"])
        while changes and changes[0].since <= day:
            terms.update(changes.pop(0).changed)
        terms |= {level: _moved(terms[level], bar.split) for level in ("target", "stop")}
        if entry_price is None:
            entry_price = bar.open
        else:
            shares *= bar.split
            cash += shares * bar.dividend
        close = bar.close
        reason, price = _exit(trade.side, bar, **terms)
        path_return = trade.side * ((bar.close if price is None else price) * shares + cash - entry_price) / entry_price
        marks.append(Mark(day=day, value=round(path_return, 9)))
        if price is not None:
            return Path(entry_price, tuple(marks), reason, price, None, shares, close, terms["stop"])
    return Path(entry_price, tuple(marks), shares=shares, close=close, stop=terms["stop"])


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
    return ("time", bar.close) if bar.day >= until else ("", None)


def _moved(level: float | None, split: float) -> float | None:
    return None if level is None else level / split
