"""The faults of a soak, one after another. Each lasts until the UI shows a run that it hit.

Slow machines, whose runs take minutes, therefore have the same faults as fast ones.
"""

import contextlib
import errno
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.providers.server import Ask, Loopback, Reply
from tests.soak.evidence import shows
from tests.soak.house import House
from tests.soak.verdict import DIED, Fault
from tests.soak.world import Proxy, empty, fill

REFUSED = Reply(429, b'{"error_code": 429, "error_message": "Too many requests"}', {"retry-after": "1"})
SHARE_OF_A_FAULT, SHORTEST_SECONDS, LONGEST_SECONDS = 0.1, 60.0, 900.0
SAMPLE_SECONDS = 5.0
FULL = os.strerror(errno.ENOSPC)


class Blow(NamedTuple):
    """A fault: the share of the soak's time at which it begins, the job it hits, its signs, and the functions that
    start and end it. `again` is called repeatedly while it lasts.
    """

    share: float
    name: str
    job: str
    step: str
    told: str
    begin: Callable[[], object]
    end: Callable[[], object]
    again: Callable[[], object] = lambda: None


class Fate:
    """The faults of a soak, with their times. Memory is measured from the daemon's last start on."""

    def __init__(self, house: House, proxy: Proxy, provider: Loopback, disk: Path) -> None:
        self._house = house
        self._restarted = 0.0

        def refuse(_ask: Ask, _reply: Reply) -> Reply:
            return REFUSED

        graph, gone = "graph_days", "GraphUnavailable"
        self._blows = [
            Blow(0.05, "daemon", graph, "", DIED, self._kill, self._revive),
            Blow(0.25, "graph", graph, gone, gone, proxy.shut, proxy.reopen),
            Blow(0.45, "provider", "macro_watch", "", "HTTP 429", lambda: provider.behave(refuse), provider.behave),
            Blow(0.65, "disk", graph, FULL, FULL, lambda: fill(disk), lambda: empty(disk), lambda: fill(disk)),
        ]
        self.faults: list[Fault] = []

    def run(self, seconds: float) -> None:
        """Watch the processes for at least this many seconds, and cause every fault."""
        began = time.monotonic()
        for blow in self._blows:
            self._watch(began + blow.share * seconds)
            blow.begin()
            since = time.time()
            _say(began, f"{blow.name}: the fault begins")
            self._last(blow, since, max(SHARE_OF_A_FAULT * seconds, SHORTEST_SECONDS))
            blow.end()
            _say(began, f"{blow.name}: the fault is over")
            self.faults.append(_fault(blow, since, time.time()))
        self._watch(began + seconds)

    def _last(self, blow: Blow, since: float, seconds: float) -> None:
        """Wait until a fault shows. A dead daemon detects no dead run, so its fault has a fixed duration."""
        began = time.monotonic()
        if blow.name == "daemon":
            self._watch(began + seconds / 2)
            return
        self._watch(began + seconds, blow.again)
        while not self._is_seen(blow, since) and time.monotonic() < began + LONGEST_SECONDS:
            self._watch(time.monotonic() + 2 * SAMPLE_SECONDS, blow.again)

    def _is_seen(self, blow: Blow, since: float) -> bool:
        with contextlib.suppress(OSError):
            return shows(self._house, _fault(blow, since, time.time()))
        return False

    def _watch(self, until: float, again: Callable[[], object] = lambda: None) -> None:
        while (left := until - time.monotonic()) > 0:
            again()
            if self._restarted:
                self._house.measure(self._restarted)
            time.sleep(min(SAMPLE_SECONDS, left))

    def _kill(self) -> None:
        """Kill the daemon once a run is in progress."""

        def is_there() -> bool:
            return any((run["jobName"], run["status"]) == ("graph_days", "STARTED") for run in self._house.runs())

        until_true(is_there, LONGEST_SECONDS)
        self._house.kill("daemon")

    def _revive(self) -> None:
        self._house.start("daemon")
        self._restarted = time.monotonic()


def until_true(ready: Callable[[], bool], seconds: float) -> bool:
    """Wait until a condition holds, up to a limit. Return whether it holds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if ready():
                return True
        time.sleep(2)
    return False


def _fault(blow: Blow, began: float, ended: float) -> Fault:
    return Fault(name=blow.name, began=began, ended=ended, job=blow.job, step=blow.step, told=blow.told)


def _say(began: float, what: str) -> None:
    print(f"{time.monotonic() - began:6.0f} s  {what}", file=sys.stderr, flush=True)
