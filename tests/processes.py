"""Inspection of other processes without races: a process that ends meanwhile, or that no parent reaps, counts as ended.
`kill` kills a process at a named step of its work.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import psutil

from pitlake.lake import Lake

_ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
Step = tuple[str, str, int, str]
_FORKED = multiprocessing.get_context("forkserver")
_IMPORTED_ONCE = ["tests.lake.world", "pitlake.session", "pandas", "pyarrow.dataset"]  # instead of by each victim
_FORKED.set_forkserver_preload(_IMPORTED_ONCE)


def kill(step: Step, work: Callable[..., object], root: Path | str, *inputs: object) -> None:
    """Do this work on the lake at `root` in a process that is killed at a step: (owner, name, number of the call,
    "before" or "after").
    """
    reply = (step, work, str(root), [str(each) for each in inputs], dict(os.environ))
    victim = _FORKED.Process(target=_until_killed, args=reply)
    victim.start()
    victim.join()
    assert victim.exitcode == -signal.SIGKILL


def _until_killed(
    step: Step, work: Callable[..., object], root: str, inputs: list[str], environment: dict[str, str]
) -> None:
    os.environ |= environment
    kill_at(*step)
    work(Lake(root), *inputs)


def kill_at(where: str, name: str, calls: int, when: str) -> None:
    """Let this process kill itself before or after the n-th call of a function. where: its module or class."""
    owner, place = resolve_name(where), count(1)
    real = getattr(owner, name)

    def stepping(*args: Any, **options: Any) -> object:
        due = next(place) == calls
        if due and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*args, **options)
        if due:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, stepping)


def ended(process: psutil.Process) -> bool:
    """Return whether a process has ended. A killed process keeps its sockets until its last thread has ended."""
    try:
        return not process.is_running() or (process.status() in _ENDED and process.num_threads() <= 1)
    except psutil.NoSuchProcess:
        return True


def running(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return the processes that still run."""
    return [process for process in processes if not ended(process)]


def children_with(word: str, pid: int | None = None) -> list[psutil.Process]:
    """Return the running children of a process, by default this one, whose command line contains a word."""
    children = []
    for child in psutil.Process(pid).children():
        with suppress(psutil.NoSuchProcess):
            if word in " ".join(child.cmdline()):
                children.append(child)
    return children


def wait_for_end(processes: Iterable[psutil.Process]) -> None:
    """Wait until none of these processes runs. Only the time limit of the test ends the wait."""
    left = list(processes)
    while left := running(left):
        time.sleep(0.01)
