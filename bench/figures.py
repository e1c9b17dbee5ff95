"""One measured figure, and how a run's figures are shown."""

import gc
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

Figure = dict[str, Any]


def figure(
    name: str, value: float, unit: str, *, baseline: str = "", ratio: float | None = None, aim: str = ""
) -> Figure:
    """A figure: what was measured, against which baseline, and the aim it is held to ("≥ 0.85" or "≤ 1.3")."""
    return {"name": name, "value": value, "unit": unit, "baseline": baseline, "ratio": ratio, "aim": aim}


Clock = Callable[[], float]


def processor(*pids: int) -> Clock:
    """A clock of the seconds this process and others' threads have computed: a busy machine moves it little."""
    tasks = [Path(f"/proc/{pid}/task") for pid in pids]

    def computed() -> float:
        threads = (one for task in tasks for one in task.glob("*/schedstat"))
        return time.process_time() + sum(int(one.read_text().split()[0]) for one in threads) / 1e9

    return computed


def paired(
    ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int, clock: Clock = time.perf_counter
) -> tuple[float, float, float]:
    """Median seconds of two pieces of work done in turn, and the median of their ratios, ours ÷ theirs."""
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
    for column in ("what", "value", "unit", "ratio", "against", "aim"):
        table.add_column(column, justify="right" if column in ("value", "ratio") else "left")
    for one in figures:
        ratio = "" if one.get("ratio") is None else f"{one['ratio']:.2f}"
        value = f"{one['value']:,.3g}" if one["value"] < 1000 else f"{one['value']:,.0f}"
        table.add_row(one["name"], value, one["unit"], ratio, str(one.get("baseline") or ""), str(one.get("aim") or ""))
    Console(width=150).print(table)
