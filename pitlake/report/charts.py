"""The report's pictures as inline SVG: a calendar of days, bars by month, a sparkline. Colours are the style sheet's.

Drawn here and not by a plotting library, because the pictures take the page's own colours, light and dark, weigh little
and name every value in a tooltip without a script. Text stands beside the pictures, so that it stays readable when they
shrink. Numbers come from `pitlake.report.measures`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from markupsafe import Markup, escape

from pitlake.report.measures import Day

CELL, GAP = 11, 2
STEP = CELL + GAP
MONTH_ROOM = 14
DAYS_A_WEEK = 7
SHADES = 5
MOST_YEARS = 6
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
BAR_WIDTH, BAR_HEIGHT = 10.0, 100.0


@dataclass(frozen=True)
class Stack:
    """One bar: what it stands for and its parts from the bottom, each a style class with a count."""

    label: str
    parts: Sequence[tuple[str, int]]

    @property
    def total(self) -> int:
        """The height of the bar."""
        return sum(count for _, count in self.parts)


def calendar(days: Mapping[date, Day]) -> list[tuple[int, Markup]]:
    """A picture for each of the newest years, newest first: a column a week, a row a weekday, darker for more rows."""
    if not days:
        return []
    bounds = shade_bounds([day.rows for day in days.values() if day.rows])
    years = range(max(days).year, max(min(days).year, max(days).year - MOST_YEARS + 1) - 1, -1)
    return [(year, _year(year, days, bounds)) for year in years]


def shade_bounds(counts: Sequence[int]) -> list[int]:
    """The least counts of the shades, lightest first: quantiles of the days that have rows, fewer where they agree."""
    ordered = sorted(counts)
    return sorted({ordered[len(ordered) * shade // SHADES] for shade in range(SHADES)}) if ordered else []


def _year(year: int, days: Mapping[date, Day], bounds: Sequence[int]) -> Markup:
    first = date(year, 1, 1)
    start = first - timedelta(days=first.weekday())
    cells, months = [], []
    day = first
    while day.year == year:
        week = (day - start).days // DAYS_A_WEEK
        if day.day == 1:
            months.append(f'<text x="{week * STEP}" y="10">{MONTHS[day.month - 1]}</text>')
        if day in days:
            cells.append(_cell(week, day, days[day], bounds))
        day += timedelta(days=1)
    weeks = (date(year, 12, 31) - start).days // DAYS_A_WEEK + 1
    width, height = weeks * STEP, MONTH_ROOM + DAYS_A_WEEK * STEP
    empty = f'<rect class="none" y="{MONTH_ROOM}" width="{width - GAP}" height="{height - MONTH_ROOM - GAP}" rx="3"/>'
    return Markup(  # noqa: S704 - made of numbers and of our own texts
        f'<svg class="calendar" viewBox="0 0 {width} {height}" role="img" aria-label="Rows per day of {year}">'
        f"{empty}{''.join(months)}{''.join(cells)}</svg>"
    )


def _cell(week: int, day: date, what: Day, bounds: Sequence[int]) -> str:
    passed = sum(what.rows >= bound for bound in bounds) if what.rows else 0
    shade = math.ceil(passed * SHADES / len(bounds)) if bounds else 0
    marks = f"s{shade}{' gap' if what.gaps else ''}"
    x, y = week * STEP, MONTH_ROOM + day.weekday() * STEP
    return f'<rect class="{marks}" x="{x}" y="{y}"><title>{escape(day_text(day, what))}</title></rect>'


def day_text(day: date, what: Day) -> str:
    """A day in words, for its tooltip."""
    parts = [f"{what.rows:,} rows"]
    if what.revisions:
        parts.append(f"{what.revisions:,} of them revisions")
    parts += [f"{count:,} {kind.replace('_', ' ')}" for kind, count in sorted(what.gaps.items())]
    return f"{day:%a %d %b %Y}: {', '.join(parts)}"


def bars(stacks: Sequence[Stack], name: str) -> Markup:
    """Stacked bars side by side, as wide as the page; each names itself and its parts in its tooltip."""
    highest = max((stack.total for stack in stacks), default=0)
    drawn = (_bar(place, stack, highest) for place, stack in enumerate(stacks) if stack.total)
    return _strip(drawn, len(stacks), "bars", name)


def spark(counts: Sequence[int], name: str) -> Markup:
    """A small picture of a series, without tooltips."""
    highest = max(counts, default=0)
    drawn = (_rect(place, 0, count / highest, "rows") for place, count in enumerate(counts) if count)
    return _strip(drawn, len(counts), "spark", name)


def _bar(place: int, stack: Stack, highest: int) -> str:
    drawn, bottom = [], 0.0
    for kind, count in stack.parts:
        drawn.append(_rect(place, bottom, count / highest, kind))
        bottom += count / highest
    told = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in stack.parts if count)
    return f"<g><title>{escape(stack.label)}: {escape(told)}</title>{''.join(drawn)}</g>"


def _rect(place: int, bottom: float, height: float, kind: str) -> str:
    y = BAR_HEIGHT * (1 - bottom - height)
    return (
        f'<rect class="{escape(kind)}" x="{place * BAR_WIDTH + 1:.0f}" y="{y:.2f}" width="{BAR_WIDTH - 2:.0f}" '
        f'height="{BAR_HEIGHT * height:.2f}"/>'
    )


def _strip(drawn: Iterable[str], count: int, kind: str, name: str) -> Markup:
    return Markup(  # noqa: S704 - made of numbers and of escaped texts
        f'<svg class="{kind}" viewBox="0 0 {max(count, 1) * BAR_WIDTH:.0f} {BAR_HEIGHT:.0f}" '
        f'preserveAspectRatio="none" role="img" aria-label="{escape(name)}">{"".join(drawn)}</svg>'
    )
