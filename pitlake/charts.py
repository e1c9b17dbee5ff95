"""Charts as inline SVG: lines, sparklines, revisions on two clocks, a reliability diagram.

They need no plotting library and no script, use the colours of the page's style sheet, and have text descriptions for
people who cannot see them. A chart as of an instant ends at that instant, or at the last business date of a value that
was public at it. No axis leaves space for later values.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from html import escape
from typing import Any

from pitlake.clock import NEW_YORK

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
TICKS, MAX_LABELS = 4, 8
MILLION = 1_000_000
START_LABEL_WIDTH, YEAR_LABEL_WIDTH, LETTER_WIDTH, DOT = 130, 24, 6.5, 3.5


class Svg(str):
    """SVG text that templates insert without escaping."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


@dataclass(frozen=True)
class Frame:
    """The size of a chart, the margins around its plot, and the style class of the screens it is made for."""

    width: float
    height: float
    css: str = "wide"
    left: float = 46
    right: float = 8
    top: float = 12
    bottom: float = 22

    def x(self, share: float) -> float:
        """Return the horizontal position of a share between 0 (left) and 1 (right)."""
        return round(self.left + share * (self.width - self.left - self.right), 1)

    def y(self, share: float) -> float:
        """Return the vertical position of a share between 0 (bottom) and 1 (top)."""
        return round(self.height - self.bottom - share * (self.height - self.top - self.bottom), 1)

    def with_room_for(self, values: Sequence[float]) -> "Frame":
        """Return the frame with a left margin wide enough for the labels of these values."""
        longest = max(len(number_text(value)) for value in values)
        return replace(self, left=max(self.left, LETTER_WIDTH * longest + 10))


NARROW = Frame(360, 230, "narrow")
TWO_THIRDS = (Frame(760, 300), NARROW)
FULL_WIDTH = (Frame(1200, 300), NARROW)
HALF_WIDTH = (Frame(480, 240), NARROW)
LONG_LABELS = (Frame(1200, 300, left=92), Frame(360, 300, "narrow", left=82))
SQUARE = (Frame(480, 360, left=40, bottom=34), Frame(360, 320, "narrow", left=36, bottom=34))
"""Each chart is drawn twice, for a wide and for a narrow window; the style sheet shows one of them."""


@dataclass(frozen=True)
class Level:
    """A value to compare a line with. css: good for an aim, bad for a limit, axis for the starting value."""

    name: str
    value: float
    css: str


@dataclass(frozen=True)
class ForecastBand:
    """Forecasts of similar probability, all numbers between 0 and 1.

    forecast: their mean. came_true: the share that came true. least, most: its 95 % interval. low, high: the range of
    the share by chance if the forecasts are right.
    """

    forecast: float
    came_true: float
    least: float
    most: float
    low: float
    high: float

    @property
    def by_chance(self) -> bool:
        """Return whether chance alone explains the difference."""
        return self.low <= self.came_true <= self.high


def number_text(value: Any) -> str:
    """Format a number for reading: large amounts in millions, others with up to four decimals."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if abs(value) >= MILLION:
        return f"{_without_zeros(value / MILLION, 3)} m"
    return _without_zeros(value, 4)


def _without_zeros(value: float, digits: int) -> str:
    whole, _, decimals = f"{value:,.{digits}f}".partition(".")
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals.ljust(2, '0')}" if decimals else whole


def day_text(day: date | None) -> str:
    """Format a day, such as 4 Mar 2024; empty for None."""
    return f"{day.day} {day:%b %Y}" if day else ""


def sparkline(values: Sequence[float], label: str) -> Svg:
    """Draw a small line without axes; nothing for fewer than two values."""
    if len(values) < 2:
        return Svg()
    low, high = min(values), max(values)
    points = " ".join(
        f"{2 + 92 * place / (len(values) - 1):.1f},{22 - 18 * (value - low) / ((high - low) or 1):.1f}"
        for place, value in enumerate(values)
    )
    return Svg(
        f'<svg class="spark" viewBox="0 0 96 26" role="img" aria-label="{escape(label)}">'
        f'<polyline class="k-line thin" points="{points}"/></svg>'
    )


def line_chart(
    points: Sequence[tuple[date, float]],
    as_of: datetime,
    frames: Sequence[Frame],
    label: str,
    *,
    stepped: bool = False,
    levels: Sequence[Level] = (),
    events: Sequence[datetime] = (),
    compared_with: datetime | None = None,
) -> list[Svg]:
    """Draw a value over time up to an instant, once for each frame.

    Args:
        points: (day, value), oldest first; (instant, value) where `stepped`.
        as_of: The end of the time axis, unless points are about later days.
        frames: The sizes to draw.
        label: The name of the value.
        stepped: Whether a value holds until the next one; each value is then marked with a dot.
        levels: Values to draw as horizontal lines.
        events: Instants to mark on the time axis.
        compared_with: An earlier instant to mark with a vertical line.

    Returns:
        One SVG for each frame; empty ones without points.
    """
    if not points:
        return [Svg()] * len(frames)
    today = as_of if stepped else as_of.astimezone(NEW_YORK).date()
    first, end = min(points[0][0], today), max(points[-1][0], today)
    ahead = 0 if stepped else sum(day > today for day, _ in points)
    values = [value for _, value in points]
    heights = [*values, *(level.value for level in levels)]
    marks = ticks(min(heights), max(heights))
    low, high = min(marks[0], *heights), max(marks[-1], *heights)
    description = (
        f"{label} from {_day_text(points[0][0])} to {_day_text(points[-1][0])}: first {number_text(values[0])}, lowest "
        f"{number_text(min(values))}, highest {number_text(max(values))}, last {number_text(values[-1])}"
        f"{''.join(f', {level.name} {number_text(level.value)}' for level in levels)}. "
        f"{f'{ahead} of them are about days after T' if ahead else 'It ends at T'}."
    )
    charts = []
    for frame in (frame.with_room_for(marks) for frame in frames):
        y = _Scale(frame, low, high)
        line = [(frame.x(_share(at, first, end)), y(value)) for at, value in points]
        shapes = [_background(frame), *_value_axis(frame, marks, y)]
        shapes += _knowledge_axis(frame, first, as_of) if stepped else _month_axis(frame, first, end)
        shapes += [shape for level in levels for shape in _level(frame, level, y(level.value))]
        corners = list(_steps(line, frame.x(1))) if stepped else line
        up_to_t, later = (corners, []) if not ahead else (corners[:-ahead], corners[-ahead - 1 :])
        shapes += [_polyline("k-line", up_to_t), *([_polyline("k-line alt", later)] if later else [])]
        for day in (at.astimezone(NEW_YORK).date() for at in events):
            if day >= first:
                shapes.append(_vertical("k-mark", frame.x(_share(day, first, end)), frame.y(0) - 6, frame.y(0)))
        if compared_with is not None and (day := compared_with.astimezone(NEW_YORK).date()) >= first:
            shapes.append(_vertical("k-t", frame.x(_share(day, first, end)), frame.y(1), frame.y(0)))
        if stepped:
            shapes += [_dot(x, height) for x, height in line]
        else:
            shapes += [_dot(*point, "k-dot t") for point in up_to_t[-1:]]
            shapes += [_dot(*point, "k-dot hollow") for point in later[-ahead:]]
        at_t = frame.x(_share(today, first, end))
        shapes += [f'<text class="tt" x="{at_t}" y="{frame.y(1) - 2}" text-anchor="middle">T</text>'] if ahead else []
        shapes.append(_vertical("k-t", at_t, frame.y(1), frame.y(0)))
        charts.append(_svg(frame, description, shapes))
    return charts


def vintage_chart(
    rows: Sequence[tuple[date, datetime, float]], about: date, as_of: datetime, frames: Sequence[Frame]
) -> list[Svg]:
    """Draw revisions on two clocks: when each became known (horizontal), and its business date (vertical).

    Args:
        rows: (business date, instant at which it became known, value); `about` is among the dates.
        about: The day to emphasise.
        as_of: The end of the axis of knowledge.
        frames: The sizes to draw.

    Returns:
        One SVG for each frame; empty ones without rows.
    """
    if not rows:
        return [Svg()] * len(frames)
    days = sorted({day for day, _, _ in rows})
    first = min(known_at for _, known_at, _ in rows)
    label_step = max(1, len(days) // MAX_LABELS)
    charts = []
    for frame in frames:
        heights = {day: frame.y((place + 0.5) / len(days)) for place, day in enumerate(days)}
        shapes = [_background(frame), *_knowledge_axis(frame, first, as_of)]
        for place, day in enumerate(days):
            css = ' class="b"' if day == about else ""
            if day == about or (place % label_step == 0 and abs(place - days.index(about)) >= label_step):
                x, y = frame.left - 6, heights[day] + 4
                shapes.append(f'<text x="{x}" y="{y}" text-anchor="end"{css}>{day_text(day)}</text>')
        values_before: dict[date, float] = {}
        new_values: dict[date, list[tuple[float, str]]] = {}
        for day, known_at, value in sorted(rows, key=lambda row: row[1]):
            is_new, x = values_before.get(day) != value, frame.x(_share(known_at, first, as_of))
            values_before[day] = value
            css = f"k-dot{' t' if day == about else ''}" if is_new else "k-dot hollow"
            shapes.append(_dot(x, heights[day], css))
            if is_new:
                new_values.setdefault(day, []).append((x, number_text(value)))
        for day, texts in new_values.items():
            shapes += _beside_dots(frame, texts, heights[day] + 4, "b" if day == about else "")
        description = f"{len(rows)} values for {len(days)} periods, by when each was known and what it is about."
        charts.append(_svg(frame, description, [*shapes, _vertical("k-t", frame.x(1), frame.y(1), frame.y(0))]))
    return charts


def _beside_dots(frame: Frame, texts: Sequence[tuple[float, str]], y: float, css: str) -> Iterator[str]:
    """Write values to the right of their dots, or to the left at the end of the chart. If two overlap, write only the
    later one.
    """
    least = math.inf
    for x, text in reversed(texts):
        width = LETTER_WIDTH * len(text) + 2 * DOT
        is_left = x + width > frame.width
        start = x - width if is_left else x
        if start + width <= least and start >= frame.left - DOT:
            least = start - DOT
            place = f'x="{x - 2 * DOT}" text-anchor="end"' if is_left else f'x="{x + 2 * DOT}"'
            yield f'<text {place} y="{y}" class="{css}">{text}</text>'


def slider_marks(first: date, last: date, as_of: datetime, events: Sequence[datetime]) -> Svg:
    """Draw the events up to an instant as marks above a slider of days."""

    def place(at: datetime) -> float:
        return round(1000 * _share(at.astimezone(NEW_YORK).date(), first, last), 1)

    places = sorted({place(at) for at in events if at <= as_of})
    marks = "".join(_vertical("k-mark", x, 4, 11) for x in places if x >= 0)
    return Svg(
        '<svg viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">'
        f'<line class="k-axis" x1="0" x2="{place(as_of)}" y1="11" y2="11"/>{marks}</svg>'
    )


def reliability_chart(bands: Sequence[ForecastBand], frames: Sequence[Frame]) -> list[Svg]:
    """Draw forecast probabilities against how often they came true; empty charts without bands."""
    if not bands:
        return [Svg()] * len(frames)
    ordered = sorted(bands, key=lambda band: band.forecast)
    tenths = [place / 5 for place in range(6)]
    outside = sum(not band.by_chance for band in ordered)
    description = f"{len(ordered)} bands of forecasts, {outside} of them outside the range of chance."
    charts = []
    for frame in frames:
        xs = [frame.x(band.forecast) for band in ordered]
        lower = [(x, frame.y(band.low)) for x, band in zip(xs, ordered, strict=True)]
        upper = [(x, frame.y(band.high)) for x, band in zip(xs, ordered, strict=True)]
        actual = [(x, frame.y(band.came_true)) for x, band in zip(xs, ordered, strict=True)]
        shapes = [
            *_value_axis(frame, tenths, _Scale(frame, 0, 1)),
            f'<polygon class="k-band" points="{_joined([*lower, *reversed(upper)])}"/>',
            f'<polyline class="k-line alt" points="{_joined([(frame.x(0), frame.y(0)), (frame.x(1), frame.y(1))])}"/>',
            *(_centred(frame.x(tenth), frame.y(0) + 14, f"{tenth:g}") for tenth in tenths),
            _centred(frame.x(0.5), frame.height - 4, "forecast"),
            f'<polyline class="k-line thin" points="{_joined(actual)}"/>',
        ]
        for (x, y), band in zip(actual, ordered, strict=True):
            shapes.append(_vertical("k-err", x, frame.y(band.least), frame.y(band.most)))
            shapes.append(f'<circle class="k-dot{"" if band.by_chance else " hollow"}" cx="{x}" cy="{y}" r="4"/>')
        charts.append(_svg(frame, description, shapes))
    return charts


def ticks(low: float, high: float) -> list[float]:
    """Return round values that cover the range from `low` to `high`."""
    distance = ((high - low) or abs(high) or 1.0) / TICKS
    power = 10.0 ** math.floor(math.log10(distance))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if power * factor >= distance)
    values = [step * (low // step)]
    while values[-1] < high or len(values) == 1:
        values.append(values[0] + step * len(values))
    return values


class _Scale:
    """Positions of values on the vertical axis of a frame."""

    def __init__(self, frame: Frame, low: float, high: float) -> None:
        self._frame, self._low, self._height = frame, low, high - low

    def __call__(self, value: float) -> float:
        return self._frame.y((value - self._low) / self._height)


def _share(at: date, first: date, last: date) -> float:
    """Return the share of the time from `first` to `last` that has passed at `at`: either days or instants."""
    return (at - first) / max(last - first, timedelta(seconds=1))


def _day_text(at: date) -> str:
    return day_text(at.astimezone(NEW_YORK).date() if isinstance(at, datetime) else at)


def _steps(line: Sequence[tuple[float, float]], end: float) -> Iterator[tuple[float, float]]:
    y_before = None
    for x, y in line:
        if y_before is not None:
            yield x, y_before
        yield x, y
        y_before = y
    yield end, line[-1][1]


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)


def _dot(x: float, y: float, css: str = "k-dot") -> str:
    return f'<circle class="{css}" cx="{x}" cy="{y}" r="{DOT}"/>'


def _vertical(css: str, x: float, top: float, bottom: float) -> str:
    return f'<line class="{css}" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>'


def _polyline(css: str, points: Sequence[tuple[float, float]]) -> str:
    return f'<polyline class="{css}" points="{_joined(points)}"/>'


def _centred(x: float, y: float, text: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle">{text}</text>'


def _background(frame: Frame) -> str:
    width, height = frame.x(1) - frame.x(0), frame.y(0) - frame.y(1)
    return f'<rect class="k-known" x="{frame.left}" y="{frame.top}" width="{width:.1f}" height="{height:.1f}"/>'


def _level(frame: Frame, level: Level, y: float) -> Iterator[str]:
    yield f'<line class="k-{level.css}" x1="{frame.left}" x2="{frame.x(1)}" y1="{y}" y2="{y}"/>'
    yield f'<text class="b" x="{frame.x(1) - 4}" y="{y - 4}" text-anchor="end">{escape(level.name)}</text>'


def _value_axis(frame: Frame, values: Sequence[float], scale: _Scale) -> Iterator[str]:
    for value in values:
        y = scale(value)
        yield f'<line class="k-grid" x1="{frame.left}" x2="{frame.x(1)}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{frame.left - 6}" y="{y + 4}" text-anchor="end">{number_text(value)}</text>'


def _month_axis(frame: Frame, first: date, last: date) -> Iterator[str]:
    months = [date(year, month, 1) for year in range(first.year, last.year + 1) for month in range(1, 13)]
    starts = [day for day in months if first <= day <= last]
    label_step = max(1, -(-len(starts) // (TICKS if frame.css == "narrow" else MAX_LABELS)))
    for place, day in enumerate(starts):
        x = frame.x(_share(day, first, last))
        yield _vertical("k-axis", x, frame.y(0), frame.y(0) + 4)
        if place % label_step == 0 and x < frame.width - 40:
            text = f"{MONTHS[day.month - 1]} {day.year}" if place == 0 or day.month == 1 else MONTHS[day.month - 1]
            yield f'<text x="{x}" y="{frame.height - 5}">{text}</text>'


def _knowledge_axis(frame: Frame, first: date, as_of: datetime) -> Iterator[str]:
    """Draw the axis of knowledge: its first day, the starts of years, and T."""
    bottom = frame.height - 5
    yield f'<text x="{frame.left}" y="{bottom}">known {_day_text(first)}</text>'
    yield f'<text class="tt" x="{frame.x(1)}" y="{bottom}" text-anchor="end">T</text>'
    for year in range(first.year + 1, as_of.year + 1):
        x = frame.x(_share(datetime(year, 1, 1, tzinfo=NEW_YORK), first, as_of))
        yield _vertical("k-grid", x, frame.y(1), frame.y(0))
        if frame.left + START_LABEL_WIDTH < x < frame.x(1) - YEAR_LABEL_WIDTH:
            yield _centred(x, bottom, str(year))


def _svg(frame: Frame, description: str, shapes: Sequence[str]) -> Svg:
    return Svg(
        f'<svg class="plot {frame.css}" viewBox="0 0 {frame.width} {frame.height}" role="img" '
        f'aria-label="{escape(description)}">{"".join(shapes)}</svg>'
    )
