"""What became of a position held in a security, by its daily bars as traded, in the order that a bar allows.

A position is opened at the open of its first session. In each bar the open comes first: where it lies through the stop
or the target, that is what was got. Where a bar touches both later, the stop counts, which is the worse. Splits move
shares, stop and target; a dividend belongs to who held before its ex-day. Where a session has no bar, the path ends.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from forge.records import Mark

Reason = Literal["target", "stop", "time"]


@dataclass(frozen=True)
class Bar:
    """One session as traded, in USD. split: shares that one share of the eve became; dividend: USD a share, of those
    that are ex on this day.
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
    """What replaces terms of a held position from a session's open on.

    changed: `target` and `stop`, in USD as of the eve of `since`, and `until`; only what was changed.
    """

    since: date
    changed: Mapping[str, float | date | None]


@dataclass(frozen=True)
class Trade:
    """side: 1 long, -1 short; target, stop: in USD as of the eve of the first session, None for none; until: its last
    day; changes: later terms, in order.
    """

    side: int
    target: float | None
    stop: float | None
    until: date
    changes: tuple[Terms, ...] = ()


@dataclass(frozen=True)
class Path:
    """opened: USD at the open of the first session; marks: return at each close, in shares of what was opened; reason,
    price: of the exit, "" and None while it is held; gap: the session that has no bar, None where none is missing.
    """

    opened: float | None
    marks: tuple[Mark, ...]
    reason: Reason | Literal[""] = ""
    price: float | None = None
    gap: date | None = None

    @property
    def made(self) -> float:
        """Return so far, in shares of what was opened."""
        return self.marks[-1].value if self.marks else 0.0


def followed(trade: Trade, bars: Mapping[date, Bar], sessions: Iterable[date]) -> Path:
    """The path of a trade. sessions: those it was held in and that are over, in order."""
    opened, shares, cash, marks = None, 1.0, 0.0, list[Mark]()
    terms: dict[str, Any] = {"target": trade.target, "stop": trade.stop, "until": trade.until}
    changes = list(trade.changes)
    for day in sessions:
        bar = bars.get(day)
        if bar is None:
            return Path(opened, tuple(marks), gap=day)
        while changes and changes[0].since <= day:
            terms.update(changes.pop(0).changed)
        terms |= {level: _moved(terms[level], bar.split) for level in ("target", "stop")}
        if opened is None:
            opened = bar.open
        else:
            shares *= bar.split
            cash += shares * bar.dividend
        reason, price = _exit(trade.side, bar, **terms)
        made = trade.side * ((bar.close if price is None else price) * shares + cash - opened) / opened
        marks.append(Mark(day=day, value=round(made, 9)))
        if price is not None:
            return Path(opened, tuple(marks), reason, price)
    return Path(opened, tuple(marks))


def _exit(
    side: int, bar: Bar, target: float | None, stop: float | None, until: date
) -> tuple[Reason | Literal[""], float | None]:
    """Why and at what price a position is left in a bar."""
    worst, best = (bar.low, bar.high) if side > 0 else (bar.high, bar.low)
    for price, certain in ((bar.open, True), (None, False)):
        if stop is not None and side * (bar.open if certain else worst) <= side * stop:
            return "stop", price or stop
        if target is not None and side * (bar.open if certain else best) >= side * target:
            return "target", price or target
    return ("time", bar.close) if bar.day >= until else ("", None)


def _moved(level: float | None, split: float) -> float | None:
    return None if level is None else level / split
