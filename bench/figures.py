"""Measured figures and their display."""

import gc
import operator
import re
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

Figure = dict[str, Any]
_AIM = re.compile(r"([≤≥]) ([\d.]+)( \w+)?")
_SIGNS = {"≤": operator.le, "≥": operator.ge}


def figure(
    name: str, value: float, unit: str, *, baseline: str = "", ratio: float | None = None, aim: str = ""
) -> Figure:
    """Return a figure: a measured value, its baseline, and its aim. An aim applies to the ratio ("≤ 1.3"), or to the
    value if it has a unit ("≤ 4 s") or there is no ratio.
    """
    return {"name": name, "value": value, "unit": unit, "baseline": baseline, "ratio": ratio, "aim": aim}


def met(figure: Figure) -> bool | None:
    """Return whether a figure meets its aim; None if it has none."""
    if not figure["aim"]:
        return None
    sign, limit, unit = _AIM.fullmatch(figure["aim"]).groups()
    measured = figure["value"] if unit or figure["ratio"] is None else figure["ratio"]
    return _SIGNS[sign](measured, float(limit))


Clock = Callable[[], float]


def processor(*pids: int) -> Clock:
    """Return a clock of the CPU seconds of this process and these processes, which other load hardly affects."""
    tasks = [Path(f"/proc/{pid}/task") for pid in pids]

    def computed() -> float:
        threads = (schedstat for task in tasks for schedstat in task.glob("*/schedstat"))
        return time.process_time() + sum(int(schedstat.read_text().split()[0]) for schedstat in threads) / 1e9

    return computed


def paired(
    ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int, clock: Clock = time.perf_counter
) -> tuple[float, float, float]:
    """Return the median seconds of two alternating pieces of work, and the median of their ratios, ours ÷ theirs."""
    mine, other = [], []
    for _ in range(rounds):
        mine.append(_seconds(ours, clock))
        other.append(_seconds(theirs, clock))
    ratios = [a / b for a, b in zip(mine, other, strict=True)]
    return statistics.median(mine), statistics.median(other), statistics.median(ratios)


def _seconds(work: Callable[[], Any], clock: Clock) -> float:
    gc.collect()
    started = clock()
    work()
    return clock() - started


def show(figures: Iterable[Figure], title: str) -> None:
    """Print figures as a table."""
    table = Table(title=title, title_justify="left")
    for column in ("what", "value", "unit", "ratio", "against", "aim", "met"):
        table.add_column(column, justify="right" if column in ("value", "ratio") else "left")
    for figure in figures:
        ratio = "" if figure.get("ratio") is None else f"{figure['ratio']:.2f}"
        value = f"{figure['value']:,.3g}" if figure["value"] < 1000 else f"{figure['value']:,.0f}"
        verdict = {None: "", True: "yes", False: "no"}[met(figure)]
        table.add_row(figure["name"], value, figure["unit"], ratio, figure["baseline"], figure["aim"], verdict)
    Console(width=150).print(table)
