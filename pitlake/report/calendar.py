"""The report's calendar: one cell per day, darker for more rows, with a border if there are gaps."""

import math
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from html import escape

from pitlake.charts import MONTHS, Svg
from pitlake.report.measures import Day

CELL, GAP, MONTH_LABEL_HEIGHT = 11, 2, 14
STEP = CELL + GAP
DAYS_PER_WEEK = 7
SHADES = 5
MAX_YEARS = 6


def calendars(days: Mapping[date, Day]) -> list[tuple[int, Svg]]:
    """Draw a calendar for each of the newest years, newest first: one column per week, one row per weekday."""
    if not days:
        return []
    bounds = shade_bounds([day.rows for day in days.values() if day.rows])
    newest, oldest = max(days).year, min(days).year
    return [(year, _year(year, days, bounds)) for year in range(newest, max(oldest, newest - MAX_YEARS + 1) - 1, -1)]


def shade_bounds(counts: Sequence[int]) -> list[int]:
    """Return the lowest count of each shade, lightest first: quantiles, or fewer if they coincide."""
    ordered = sorted(counts)
    return sorted({ordered[len(ordered) * shade // SHADES] for shade in range(SHADES)}) if ordered else []


def _year(year: int, days: Mapping[date, Day], bounds: Sequence[int]) -> Svg:
    first = date(year, 1, 1)
    monday = first - timedelta(days=first.weekday())
    shapes = []
    for day in (first + timedelta(days=number) for number in range((date(year + 1, 1, 1) - first).days)):
        x = (day - monday).days // DAYS_PER_WEEK * STEP
        if day.day == 1:
            shapes.append(f'<text x="{x}" y="10">{MONTHS[day.month - 1]}</text>')
        if day in days:
            y, counts = MONTH_LABEL_HEIGHT + day.weekday() * STEP, days[day]
            reached = sum(counts.rows >= bound for bound in bounds) if counts.rows else 0
            shade = math.ceil(reached * SHADES / len(bounds)) if bounds else 0
            css = f"s{shade}{' gap' if counts.gaps else ''}"
            parts = [f"{counts.rows:,} rows"]
            if counts.revisions:
                parts.append(f"{counts.revisions:,} of them revisions")
            parts += [f"{count:,} {kind.replace('_', ' ')}" for kind, count in sorted(counts.gaps.items())]
            tooltip = escape(f"{day:%a %d %b %Y}: {', '.join(parts)}")
            shapes.append(f'<rect class="{css}" x="{x}" y="{y}"><title>{tooltip}</title></rect>')
    weeks = (date(year, 12, 31) - monday).days // DAYS_PER_WEEK + 1
    width, height = weeks * STEP, DAYS_PER_WEEK * STEP
    return Svg(
        f'<svg class="calendar" viewBox="0 0 {width} {MONTH_LABEL_HEIGHT + height}" role="img" '
        f'aria-label="Rows per day of {year}"><rect class="none" y="{MONTH_LABEL_HEIGHT}" width="{width - GAP}" '
        f'height="{height - GAP}" rx="3"/>{"".join(shapes)}</svg>'
    )
