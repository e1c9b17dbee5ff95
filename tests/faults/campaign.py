"""Fault campaigns. Each round disturbs a lake and compares it with an undisturbed one.

The first word of a failure is its kind: lost, doubled, half-visible, stuck, untrue or broken.
"""

import random
import shutil
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from tests.faults import downloads, outside, rounds
from tests.tally import Tally

Round = Callable[[random.Random, Path], tuple[Counter[str], list[str]]]
ROUNDS = 25


def share(surroundings: Callable[[], AbstractContextManager[Round]], seed: int, folder: Path) -> Tally:
    """Run rounds in the same surroundings. A round that cannot be judged is a failure and does not end the share."""
    tally = Tally(ROUNDS)
    with surroundings() as play:
        for number in range(seed * ROUNDS, (seed + 1) * ROUNDS):
            home = folder / str(number)
            home.mkdir()
            try:
                counts, problems = play(random.Random(number), home)
            except Exception as problem:  # noqa: BLE001 - see above
                last = traceback.extract_tb(problem.__traceback__)[-1]
                text = " ".join(str(problem).split())[:300]
                counts, problems = (
                    Counter(),
                    [f"broken: {type(problem).__name__} at {last.filename}:{last.lineno}: {text}"],
                )
            tally.counts += counts
            tally.failures += [f"round {number}: {each}" for each in problems]
            shutil.rmtree(home, ignore_errors=True)
    return tally


kills, full_disks, writers, clocks, limits = (
    partial(share, partial(nullcontext, each))
    for each in (rounds.kills, rounds.full_disks, rounds.writers, rounds.clocks, rounds.limits)
)
graph, providers, s3 = (partial(share, each) for each in (outside.graphs, outside.providers, outside.stores))
zips, edgar = partial(share, downloads.zips), partial(share, downloads.edgars)
