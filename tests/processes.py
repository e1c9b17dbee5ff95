"""Looking at other processes without a race: one that ends while it is looked at, or that nobody reaps, has ended. And
killing one at a named step of its work.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

_ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
_VICTIM = """
import os, signal, sys
from pkgutil import resolve_name
from pitlake.lake import Lake
owner, name, calls, when, work, root, *given = sys.argv[1:]
owner, calls = resolve_name(owner), int(calls)
real = getattr(owner, name)

def until_killed(*args, **options):
    global calls
    calls -= 1
    if calls == 0 and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = real(*args, **options)
    if calls == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(owner, name, until_killed)
resolve_name(work)(Lake(root), *given)
"""
Step = tuple[str, str, int, str]


def kill(step: Step, work: Callable[..., object], root: Path | str, *given: object) -> None:
    """Do this work on the lake at `root`, in a process that is killed at a step: (where, name, which call, "before" or
    "after" it).
    """
    told = (*step, f"{work.__module__}:{work.__name__}", root, *given)
    command = [sys.executable, "-c", _VICTIM, *map(str, told)]
    assert subprocess.run(command, check=False).returncode == -9


def ended(process: psutil.Process) -> bool:
    """Whether it runs no more, with none of its threads: a killed one holds its sockets until the last has gone."""
    try:
        return not process.is_running() or (process.status() in _ENDED and process.num_threads() <= 1)
    except psutil.NoSuchProcess:
        return True


def running(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those that still run."""
    return [process for process in processes if not ended(process)]


def wait_for_end(processes: Iterable[psutil.Process]) -> None:
    """Return when none runs any more; the limit of the test's own time is the limit of patience."""
    left = list(processes)
    while left := running(left):
        time.sleep(0.01)
