"""Pictures as inline SVG: prices up to T, a number's revisions on two clocks, the marks of the slider.

Drawn as text, without a library and a script: they take the page's colours and name their values. The known part has a
ground that ends at T; no scale leaves room for what comes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from markupsafe import Markup

from pitlake.clock import NEW_YORK
from pitlake.web.shown import day_text, written

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
TICKS, MOST_LABELS = 4, 8
_LABEL_ROOM, _YEAR_ROOM, _LETTER_ROOM = 130, 24, 6.5


@dataclass(frozen=True)
class Frame:
    """Where a picture is drawn: its size and the room around the plot."""

    width: float
    height: float
    left: float = 46
    right: float = 8
    top: float = 12
    bottom: float = 22

    def x(self, share: float) -> float:
        """Across, for a share from 0 to 1."""
        return round(self.left + share * (self.width - self.left - self.right), 1)

    def y(self, share: float) -> float:
        """Up, for a share from 0 to 1."""
        return round(self.height - self.bottom - share * (self.height - self.top - self.bottom), 1)

    def beside(self, values: Sequence[float]) -> "Frame":
        """The same with room at its left for these values."""
        longest = max(len(written(value)) for value in values)
        return replace(self, left=max(self.left, _LETTER_ROOM * longest + 10))


WIDE, NARROW = Frame(760, 300), Frame(360, 230)
FULL, HALF = Frame(1200, 300), Frame(480, 240)
TALL, TALL_NARROW = Frame(1200, 300, left=92), Frame(360, 300, left=82)


def prices(
    bars: Sequence[Any],
    as_of: datetime,
    marks: Sequence[datetime],
    frame: Frame,
    kind: str,
    also: datetime | None = None,
) -> Markup:
    """Closes up to T as a line, with the instants of releases under it. bars: adjusted, oldest first; also: an earlier
    instant to mark.
    """
    points = [(one.date, one.adjusted) for one in bars if one.adjusted is not None]
    if len(points) < 2:
        return Markup()
    first, last = points[0][0], as_of.astimezone(NEW_YORK).date()
    days = max((last - first).days, 1)
    values = [value for _, value in points]
    steps = ticks(min(values), max(values))
    low, high = min(steps[0], *values), max(steps[-1], *values)
    drawn = [ground(frame), *across(frame, steps, low, high), *months(frame, first, last)]
    line = " ".join(
        f"{frame.x((day - first).days / days)},{frame.y((value - low) / (high - low))}" for day, value in points
    )
    drawn.append(f'<polyline class="k-line" points="{line}"/>')
    bottom = frame.y(0)
    for at in marks:
        day = at.astimezone(NEW_YORK).date()
        if day >= first:
            x = frame.x((day - first).days / days)
            drawn.append(f'<line class="k-mark" x1="{x}" x2="{x}" y1="{bottom - 6}" y2="{bottom}"/>')
    if also is not None and (day := also.astimezone(NEW_YORK).date()) >= first:
        x = frame.x((day - first).days / days)
        drawn.append(f'<line class="k-t" x1="{x}" x2="{x}" y1="{frame.y(1)}" y2="{bottom}"/>')
    day, value = points[-1]
    x, y = frame.x((day - first).days / days), frame.y((value - low) / (high - low))
    drawn.append(f'<circle class="k-dot t" cx="{x}" cy="{y}" r="3.5"/>{edge(frame)}')
    title = (
        f"Daily closes from {day_text(first)} to {day_text(day)}: first {written(values[0])}, lowest "
        f"{written(min(values))}, highest {written(max(values))}, last {written(value)}. The picture ends at T."
    )
    return svg(frame, kind, title, drawn)


def vintages(
    rows: Sequence[tuple[date, datetime, float]], about: date, as_of: datetime, frame: Frame, kind: str
) -> Markup:
    """Revisions on two clocks: across, when each was known; up, the day it is about. about: the number asked for."""
    days = sorted({day for day, _, _ in rows})
    first = min(at for _, at, _ in rows)
    seconds = max((as_of - first).total_seconds(), 1.0)
    drawn = [ground(frame), *_known_from(frame, first, as_of)]
    step = max(1, len(days) // MOST_LABELS)
    for place, day in enumerate(days):
        y = frame.y(_share(place, len(days)))
        strong = ' class="b"' if day == about else ""
        if day == about or (place % step == 0 and abs(place - days.index(about)) >= step):
            drawn.append(f'<text x="{frame.left - 6}" y="{y + 4}" text-anchor="end"{strong}>{day_text(day)}</text>')
    before: dict[date, float] = {}
    for day, at, value in sorted(rows, key=lambda row: row[1]):
        x, y = frame.x((at - first).total_seconds() / seconds), frame.y(_share(days.index(day), len(days)))
        new = day not in before or before[day] != value
        before[day] = value
        kinds = "k-dot" if new else "k-dot hollow"
        drawn.append(f'<circle class="{kinds}{" t" if day == about and new else ""}" cx="{x}" cy="{y}" r="3.5"/>')
    drawn.append(edge(frame))
    title = f"{len(rows)} statements about {len(days)} periods, each at when it was known and what it is about."
    return svg(frame, kind, title, drawn)


def steps(rows: Sequence[tuple[datetime, float]], as_of: datetime, frame: Frame, kind: str) -> Markup:
    """A number over time as it was known: steps from the first statement up to T."""
    if not rows:
        return Markup()
    first = rows[0][0]
    seconds = max((as_of - first).total_seconds(), 1.0)
    values = [value for _, value in rows]
    marks = ticks(min(values), max(values))
    low, high, frame = min(marks[0], *values), max(marks[-1], *values), frame.beside(marks)
    drawn = [ground(frame), *across(frame, marks, low, high), *_known_from(frame, first, as_of)]
    path: list[str] = []
    last = 0.0
    for at, value in rows:
        x, y = frame.x((at - first).total_seconds() / seconds), frame.y((value - low) / (high - low))
        path += [f"{x},{last}", f"{x},{y}"] if path else [f"{x},{y}"]
        drawn.append(f'<circle class="k-dot" cx="{x}" cy="{y}" r="3.5"/>')
        last = y
    path.append(f"{frame.x(1)},{last}")
    drawn.insert(-len(rows), f'<polyline class="k-line" points="{" ".join(path)}"/>')
    return svg(frame, kind, "The value as it was known, from its first statement to T.", [*drawn, edge(frame)])


def slider(first: date, last: date, as_of: datetime, marks: Sequence[datetime]) -> Markup:
    """The marks over the slider: what became public, up to T."""
    span = max((last - first).days, 1)
    end = _place(as_of, first, span)
    places = sorted({_place(at, first, span) for at in marks if at <= as_of})
    lines = "".join(f'<line class="k-mark" x1="{x}" x2="{x}" y1="4" y2="11"/>' for x in places if x >= 0)
    return Markup(  # noqa: S704 - made of numbers
        '<svg viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">'
        f'<line class="k-axis" x1="0" x2="{end}" y1="11" y2="11"/>{lines}</svg>'
    )


def spark(values: Sequence[float], name: str) -> Markup:
    """A small line without a scale."""
    if len(values) < 2:
        return Markup()
    low, high = min(values), max(values)
    points = " ".join(
        f"{2 + 92 * place / (len(values) - 1):.1f},{22 - 18 * (value - low) / ((high - low) or 1):.1f}"
        for place, value in enumerate(values)
    )
    return Markup('<svg class="spark" viewBox="0 0 96 26" role="img" aria-label="{}">{}</svg>').format(
        name,
        Markup(f'<polyline class="k-line thin" points="{points}"/>'),  # noqa: S704 - made of numbers
    )


def ticks(low: float, high: float) -> list[float]:
    """Round values that reach from at or below `low` to at or above `high`."""
    room = (high - low) or abs(high) or 1.0
    power = 10.0 ** (len(f"{int(room / TICKS)}") - 1) if room / TICKS >= 1 else 1.0
    while power > room / TICKS:
        power /= 10
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= room / TICKS)
    first = step * (low // step)
    found = [first]
    while found[-1] < high or len(found) == 1:
        found.append(first + step * len(found))
    return found


def _place(at: datetime, first: date, span: int) -> float:
    return round(1000 * (at.astimezone(NEW_YORK).date() - first).days / span, 1)


def _share(place: int, count: int) -> float:
    return (place + 0.5) / count


def ground(frame: Frame) -> str:
    """The known part."""
    width, height = frame.x(1) - frame.x(0), frame.y(0) - frame.y(1)
    return f'<rect class="k-known" x="{frame.left}" y="{frame.top}" width="{width:.1f}" height="{height:.1f}"/>'


def edge(frame: Frame) -> str:
    """Where it ends, at T."""
    return f'<line class="k-t" x1="{frame.x(1)}" x2="{frame.x(1)}" y1="{frame.y(1)}" y2="{frame.y(0)}"/>'


def across(frame: Frame, values: Sequence[float], low: float, high: float) -> list[str]:
    """Lines across the plot at these values, which stand beside them."""
    drawn = []
    for value in values:
        y = frame.y((value - low) / (high - low))
        drawn.append(f'<line class="k-grid" x1="{frame.left}" x2="{frame.x(1)}" y1="{y}" y2="{y}"/>')
        drawn.append(f'<text x="{frame.left - 6}" y="{y + 4}" text-anchor="end">{written(value)}</text>')
    return drawn


def months(frame: Frame, first: date, last: date) -> list[str]:
    """The axis of days."""
    days = max((last - first).days, 1)
    every = [(year, month) for year in range(first.year, last.year + 1) for month in range(1, 13)]
    starts = [day for day in (date(year, month, 1) for year, month in every) if first <= day <= last]
    step = max(1, -(-len(starts) // (TICKS if frame is NARROW else MOST_LABELS)))
    drawn = []
    for place, day in enumerate(starts):
        x = frame.x((day - first).days / days)
        drawn.append(f'<line class="k-axis" x1="{x}" x2="{x}" y1="{frame.y(0)}" y2="{frame.y(0) + 4}"/>')
        if place % step == 0 and x < frame.width - 40:
            text = f"{MONTHS[day.month - 1]} {day.year}" if place == 0 or day.month == 1 else MONTHS[day.month - 1]
            drawn.append(f'<text x="{x}" y="{frame.height - 5}">{text}</text>')
    return drawn


def _known_from(frame: Frame, first: datetime, as_of: datetime) -> list[str]:
    """The axis of when things were known: its first day, the years that begin on it, and T."""
    seconds = max((as_of - first).total_seconds(), 1.0)
    left, bottom = day_text(first.astimezone(NEW_YORK).date()), frame.height - 5
    drawn = [
        f'<text x="{frame.left}" y="{bottom}">known {left}</text>',
        f'<text class="tt" x="{frame.x(1)}" y="{bottom}" text-anchor="end">T</text>',
    ]
    for year in range(first.year + 1, as_of.year + 1):
        x = frame.x((datetime(year, 1, 1, tzinfo=NEW_YORK) - first).total_seconds() / seconds)
        drawn.append(f'<line class="k-grid" x1="{x}" x2="{x}" y1="{frame.y(1)}" y2="{frame.y(0)}"/>')
        if frame.left + _LABEL_ROOM < x < frame.x(1) - _YEAR_ROOM:
            drawn.append(f'<text x="{x}" y="{bottom}" text-anchor="middle">{year}</text>')
    return drawn


def svg(frame: Frame, kind: str, title: str, drawn: Sequence[str]) -> Markup:
    """The picture. kind: wide or narrow; title: what it says, for who can't see it."""
    return Markup('<svg class="plot {}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        kind,
        frame.width,
        frame.height,
        title,
        Markup("".join(drawn)),  # noqa: S704 - made of numbers and of our own words
    )
