"""Bar charts as inline SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from pitlake.charts import Svg

COLUMN_WIDTH, COLUMN_HEIGHT = 10.0, 100.0
"""The size of vertical bars before the page stretches them."""
ROW_LENGTH, ROW_HEIGHT, ROW_LABEL_WIDTH = 360, 18, 150
"""The size of horizontal bars and their labels, in pixels."""


@dataclass(frozen=True)
class Bar:
    """A bar of a bar chart. parts: pairs of style class and value, from the start of the bar."""

    label: str
    parts: Sequence[tuple[str, float]]

    @property
    def total(self) -> float:
        return sum(value for _, value in self.parts)


def bar_chart(bars: Sequence[Bar], label: str, *, lying: bool = False) -> Svg:
    """Draw stacked bars of values that are 0 or more.

    Args:
        bars: The bars, each with its parts.
        label: What the chart shows.
        lying: Whether bars are horizontal, with names and values at their ends. Vertical bars use the page's width and
        have their names in tooltips.
    """
    highest = max((bar.total for bar in bars), default=0) or 1
    shapes = []
    for place, bar in enumerate(bars):
        start, rects = 0.0, []
        for css, value in bar.parts:
            length = value / highest
            if lying:
                x, y = ROW_LABEL_WIDTH + ROW_LENGTH * start, (place + 1) * ROW_HEIGHT + 3
                size = f'width="{ROW_LENGTH * length:.1f}" height="12"'
                rects.append(f'<rect x="{x:g}" y="{y}" {size} fill="#4a7ebb"/>')
            else:
                left, top = place * COLUMN_WIDTH + 1, COLUMN_HEIGHT * (1 - start - length)
                size = f'width="{COLUMN_WIDTH - 2:.0f}" height="{COLUMN_HEIGHT * length:.2f}"'
                rects.append(f'<rect class="{escape(css)}" x="{left:.0f}" y="{top:.2f}" {size}/>')
            start += length
        if lying:
            y = (place + 1) * ROW_HEIGHT + 13
            shapes.append(f'<text x="0" y="{y}">{escape(bar.label)}</text>{"".join(rects)}')
            shapes.append(f'<text x="{ROW_LABEL_WIDTH + ROW_LENGTH * start + 4:.1f}" y="{y}">{bar.total:g}</text>')
        elif bar.total:
            parts = ", ".join(f"{value:,} {css.replace('_', ' ')}" for css, value in bar.parts if value)
            shapes.append(f"<g><title>{escape(bar.label)}: {escape(parts)}</title>{''.join(rects)}</g>")
    if lying:
        return Svg(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{ROW_LABEL_WIDTH + ROW_LENGTH + 60}" '
            f'height="{(len(bars) + 1) * ROW_HEIGHT}" font-family="sans-serif" font-size="12">'
            f'<text x="0" y="13" font-weight="bold">{escape(label)}</text>{"".join(shapes)}</svg>'
        )
    return Svg(
        f'<svg class="bars" viewBox="0 0 {max(len(bars), 1) * COLUMN_WIDTH:.0f} {COLUMN_HEIGHT:.0f}" '
        f'preserveAspectRatio="none" role="img" aria-label="{escape(label)}">{"".join(shapes)}</svg>'
    )
