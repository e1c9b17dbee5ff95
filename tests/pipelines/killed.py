"""A process that extracts into a lake and sends itself SIGKILL at the n-th call of a named function.

test_kill.py starts it as `python -m tests.pipelines.killed MODULE:FUNCTION CALLS LAKE [KIND ROOT]`.
"""

import os
import signal
import sys
from functools import reduce
from importlib import import_module
from pathlib import Path

from assets.graph import all_extractors
from pitlake.lake.lake import Lake
from resources.graph.open import GraphSettings, open_graph
from tests.partitions import run_partitions
from tests.toys import OBSERVED, TOY, ToyGraph, between

DAYS = between("2024-03-01", "2024-03-31")


def notes(count: int) -> ToyGraph:
    """Return a graph of `count` notes and one note without a date."""
    graph = ToyGraph()
    for number in range(count):
        graph.write(f"n{number:03}", f"2024-03-{1 + number % 28:02}T12:00:00-05:00", f'{{"v":{number}}}')
    graph.write(f"undated, one of {count}", None)
    return graph


def kill_at(place: str, calls: int) -> None:
    """Kill the process at the n-th call of a function."""
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    owner = reduce(getattr, owners, import_module(module))
    original, left = getattr(owner, name), [calls]

    def deadly(*arguments, **names):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **names)

    setattr(owner, name, deadly)


def main(place: str, calls: str, lake: str, kind: str = "", root: str = "") -> None:
    """Extract notes, or a year's prices from the server of this kind and root."""
    if not kind:
        kill_at(place, int(calls))
        run_partitions(TOY, DAYS, notes(100), Lake(lake), run_id="killed", observed_at=OBSERVED)
        return
    with open_graph(GraphSettings(local=kind, root=Path(root))) as door:
        kill_at(place, int(calls))
        year = between("2024-01-01", "2024-12-31")
        run_partitions(all_extractors()["prices"], year, door, Lake(lake), run_id="killed", observed_at=OBSERVED)


if __name__ == "__main__":
    main(*sys.argv[1:])
