"""`python -m tests.faults.campaign --minutes 60`: faults of every kind, one round after the other, each judged.

A round disturbs a lake and compares it with an undisturbed lake. `--seed N` repeats
the same rounds, `--only NAME` runs one kind, `--n N` runs that many rounds. Ends with 1 when there was any problem, and
says which seed found it.
"""

import argparse
import contextlib
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.faults import downloads, outside, rounds

Round = Callable[[random.Random, Path], tuple[Counter[str], list[str]]]
KINDS = ("lost", "doubled", "half-visible", "stuck", "untrue", "broken")


def campaign(minutes: float, seed: int, only: str | None, n: int = 0) -> int:
    """Run rounds of each kind in turn until the time is up, or `n` of them. Returns the exit code."""
    counts: dict[str, Counter[str]] = {}
    problems: list[str] = []
    with contextlib.ExitStack() as running:
        dealt: dict[str, Round] = {
            each.__name__: each
            for each in (rounds.kills, rounds.full_disks, rounds.writers, rounds.clocks, rounds.limits)
        }
        for name, surroundings in (
            ("graph", outside.graphs),
            ("providers", outside.providers),
            ("s3", outside.stores),
            ("zips", downloads.zips),
            ("edgar", downloads.edgars),
        ):
            if only in (None, name):
                dealt[name] = running.enter_context(surroundings()).round
        names = [name for name in dealt if only in (None, name)]
        until, number = time.monotonic() + minutes * 60, 0
        while number < (n or len(names)) or (not n and time.monotonic() < until):
            name, chance = names[number % len(names)], random.Random(f"{seed} {number}")
            with tempfile.TemporaryDirectory(prefix="pitlake-faults-") as home:
                result, wrong = _judged(dealt[name], chance, Path(home))
            counts.setdefault(name, Counter()).update({"rounds": 1} | result)
            for item in wrong:
                problems.append(item)
                print(f"PROBLEM {name}, round {number} of seed {seed}: {item}", flush=True)
            number += 1
    for name, counted in counts.items():
        print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in counted.items()))
    kinds = Counter(problem.split(":", 1)[0] for problem in problems)
    print(f"{number} rounds of seed {seed}: " + ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS))
    return bool(problems)


def _judged(item: Round, chance: random.Random, home: Path) -> tuple[Counter[str], list[str]]:
    try:
        return item(chance, home)
    except Exception as problem:  # noqa: BLE001 - a round that can't be judged is a problem, not the end
        last = traceback.extract_tb(problem.__traceback__)[-1]
        text = " ".join(str(problem).split())[:300]
        return Counter(), [f"broken: {type(problem).__name__} at {last.filename}:{last.lineno}: {text}"]


def main() -> int:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--only")
    parser.add_argument("--n", type=int, default=0)
    question = parser.parse_args()
    return campaign(question.minutes, question.seed, question.only, question.n)


if __name__ == "__main__":
    sys.exit(main())
