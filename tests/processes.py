"""Looking at other processes without a race: one that ends while it is looked at, or that nobody reaps, has ended."""

import time
from collections.abc import Iterable

import psutil

_ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


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
