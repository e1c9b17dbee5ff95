"""`python -m bench.curves FILE FOLDER`: draw the curves of the figures that `python -m bench --keep FILE` stored. Each
part with curves gets one picture of cost over size, with both axes logarithmic.
"""

import json
import math
import sys
from collections.abc import Iterable
from html import escape
from pathlib import Path

from bench.figures import Figure

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 240, 40, 36
COLOURS = ("#1b6ca8", "#c2571a", "#2e7d4f", "#8e3b8a", "#7a6a00", "#b3263a")
SUFFIXES = ((1e9, "B"), (1e6, "M"), (1e3, "k"))

Points = list[tuple[float, float]]


def drawn(part: str, figures: Iterable[Figure]) -> str:
    """Return a part's curves as SVG; empty if it has none."""
    curves: dict[str, Points] = {}
    for figure in figures:
        if figure.get("curve"):
            curves.setdefault(figure["curve"], []).append((figure["at"], figure["value"]))
    if not curves:
        return ""
    points = [point for each in curves.values() for point in each]
    across, up = _axis([at for at, _ in points]), _axis([value for _, value in points])
    lines = [_line(number, name, each, across, up) for number, (name, each) in enumerate(curves.items())]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12" role="img" aria-label="{escape(part)}: milliseconds of CPU beside the size">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
        f'<text x="{LEFT}" y="22" font-size="14" font-weight="bold">{escape(part)}: ms of CPU</text>'
        f"{_grid(across, up)}{''.join(lines)}</svg>\n"
    )


def _axis(values: list[float]) -> tuple[int, int]:
    """Return the powers of ten around these values."""
    least, most = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return least, max(most, least + 1)


def _x(at: float, axis: tuple[int, int]) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(at) - axis[0]) / (axis[1] - axis[0])


def _y(value: float, axis: tuple[int, int]) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(value) - axis[0]) / (axis[1] - axis[0])


def _grid(across: tuple[int, int], up: tuple[int, int]) -> str:
    marks = []
    for power in range(across[0], across[1] + 1):
        x = _x(10.0**power, across)
        marks.append(f'<path d="M{x:.0f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        marks.append(f'<text x="{x:.0f}" y="{HEIGHT - 16}" text-anchor="middle">{_short(10.0**power)}</text>')
    for power in range(up[0], up[1] + 1):
        y = _y(10.0**power, up)
        marks.append(f'<path d="M{LEFT} {y:.0f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        marks.append(f'<text x="{LEFT - 8}" y="{y + 4:.0f}" text-anchor="end">{_short(10.0**power)}</text>')
    return "".join(marks)


def _line(number: int, name: str, points: Points, across: tuple[int, int], up: tuple[int, int]) -> str:
    colour = COLOURS[number % len(COLOURS)]
    places = [(_x(at, across), _y(value, up)) for at, value in sorted(points)]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)
    beside, below = WIDTH - RIGHT + 20, TOP + 16 + 20 * number
    return (
        f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>{dots}'
        f'<circle cx="{beside}" cy="{below - 4}" r="5" fill="{colour}"/>'
        f'<text x="{beside + 12}" y="{below}">{escape(name)}</text>'
    )


def _short(value: float) -> str:
    for unit, suffix in SUFFIXES:
        if value >= unit:
            return f"{value / unit:g} {suffix}"
    return f"{value:g}"


def main(file: str, folder: str) -> None:
    """Draw each part that has curves."""
    for part, figures in json.loads(Path(file).read_text())["parts"].items():
        if picture := drawn(part, figures):
            path = Path(folder) / f"scale-{part}.svg"
            path.write_text(picture)
            print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
