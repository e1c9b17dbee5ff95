"""Pictures of what came of something: the course of a trade beside its levels, and how often forecasts came true."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from markupsafe import Markup, escape

from pitlake.clock import NEW_YORK
from pitlake.web.plots import Frame, across, edge, ground, months, svg, ticks
from pitlake.web.shown import day_text, written

SQUARE, SMALL = Frame(480, 360, left=40, bottom=34), Frame(360, 320, left=36, bottom=34)
_TENTHS = [place / 5 for place in range(6)]


@dataclass(frozen=True)
class Level:
    """A value that a course is held against. kind: good where it is aimed for, bad where it is feared."""

    name: str
    value: float
    kind: str


@dataclass(frozen=True)
class Point:
    """Forecasts of one band, all from 0 to 1. said: their mean; came_true: the share that did, with its interval; low,
    high: between which it lies by chance where the forecasts are right.
    """

    said: float
    came_true: float
    least: float
    most: float
    low: float
    high: float

    @property
    def by_chance(self) -> bool:
        """Whether chance alone explains the distance."""
        return self.low <= self.came_true <= self.high


def course(
    points: Sequence[tuple[date, float]], levels: Sequence[Level], as_of: datetime, frame: Frame, kind: str
) -> Markup:
    """A value by day up to T, with its levels. points: oldest first."""
    if not points:
        return Markup()
    first, last = points[0][0], as_of.astimezone(NEW_YORK).date()
    days = max((last - first).days, 1)
    values = [0.0, *(value for _, value in points), *(level.value for level in levels)]
    marks = ticks(min(values), max(values))
    low, high = min(marks[0], *values), max(marks[-1], *values)

    def up(value: float) -> float:
        return frame.y((value - low) / (high - low))

    drawn = [ground(frame), *across(frame, marks, low, high), *months(frame, first, last)]
    for level in levels:
        y = up(level.value)
        drawn.append(f'<line class="k-{level.kind}" x1="{frame.left}" x2="{frame.x(1)}" y1="{y}" y2="{y}"/>')
        drawn.append(f'<text class="b" x="{frame.x(1) - 4}" y="{y - 4}" text-anchor="end">{escape(level.name)}</text>')
    line = [(frame.x((day - first).days / days), up(value)) for day, value in points]
    drawn.append(f'<polyline class="k-line" points="{" ".join(f"{x},{y}" for x, y in line)}"/>')
    drawn.append(f'<circle class="k-dot" cx="{line[-1][0]}" cy="{line[-1][1]}" r="3.5"/>{edge(frame)}')
    beside = "".join(f", {level.name} {written(level.value)}" for level in levels)
    title = f"From {day_text(first)} to {day_text(points[-1][0])}: last {written(points[-1][1])}{beside}."
    return svg(frame, kind, title, drawn)


def reliability(points: Sequence[Point], frame: Frame, kind: str) -> Markup:
    """What was said, across, against what came true, up; the ground is where right forecasts fall by chance."""
    if not points:
        return Markup()
    ordered = sorted(points, key=lambda one: one.said)
    bounds = [*((one.said, one.low) for one in ordered), *((one.said, one.high) for one in reversed(ordered))]
    drawn = [*across(frame, _TENTHS, 0, 1), f'<polygon class="k-band" points="{_joined(frame, bounds)}"/>']
    drawn.append(f'<polyline class="k-line alt" points="{_joined(frame, [(0, 0), (1, 1)])}"/>')
    drawn += [
        f'<text x="{frame.x(tenth)}" y="{frame.y(0) + 14}" text-anchor="middle">{tenth:g}</text>' for tenth in _TENTHS
    ]
    drawn.append(f'<text x="{frame.x(0.5)}" y="{frame.height - 4}" text-anchor="middle">said</text>')
    drawn.append(
        f'<polyline class="k-line thin" points="{_joined(frame, [(one.said, one.came_true) for one in ordered])}"/>'
    )
    for one in ordered:
        x = frame.x(one.said)
        drawn.append(f'<line class="k-err" x1="{x}" x2="{x}" y1="{frame.y(one.least)}" y2="{frame.y(one.most)}"/>')
        hollow = "" if one.by_chance else " hollow"
        drawn.append(f'<circle class="k-dot{hollow}" cx="{x}" cy="{frame.y(one.came_true)}" r="4"/>')
    outside = sum(not one.by_chance for one in ordered)
    title = f"{len(ordered)} bands of forecasts, {outside} of them outside of what chance alone would show."
    return svg(frame, kind, title, drawn)


def _joined(frame: Frame, points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{frame.x(across)},{frame.y(up)}" for across, up in points)
