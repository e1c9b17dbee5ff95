"""The progress of the demo on stderr: a bar in a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

Tick = Callable[[int, str], None]

_console = Console(stderr=True, highlight=False)


@contextmanager
def step(title: str, of: int | None = None) -> Iterator[Tick]:
    """Show a step while the block runs, and then its duration. The block may call the tick with a count and an item."""
    began = time.monotonic()
    with _bar(title, of) if _console.is_terminal else _lines(title, of) as tick:
        yield tick
    finished(f"{title}: {time.monotonic() - began:.1f} s")


def finished(line: str) -> None:
    """Print a permanent line."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def _bar(title: str, of: int | None) -> Iterator[Tick]:
    columns = [SpinnerColumn(), TextColumn(title), *([BarColumn(), MofNCompleteColumn()] if of else [])]
    with Progress(
        *columns, TimeElapsedColumn(), TextColumn("{task.fields[last]}"), console=_console, transient=True
    ) as bar:
        task = bar.add_task(title, total=of, last="")
        yield lambda done, last: bar.update(task, completed=done, last=last)


@contextmanager
def _lines(title: str, of: int | None) -> Iterator[Tick]:
    finished(f"{title} …")
    yield lambda done, last: finished(f"  {done} of {of}: {last}")
