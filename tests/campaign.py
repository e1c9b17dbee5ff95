"""The long comparisons, with one command: `python -m tests.campaign NAME [NAME …] --n N --seed S`.

A campaign consists of shares. A share is a function of a seed and an empty folder that returns a `Tally`. Shares of
consecutive seeds run on every core until N answers, cases or rounds are compared, or one has nothing left to compare;
`--seed S --n 1` repeats a single share. Progress goes to stderr; counts and failures go to stdout. The exit code is 1
after a failure.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count
from multiprocessing import active_children
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

from tests.tally import Tally


class Campaign(NamedTuple):
    """A campaign. share: the import path of its function. n: how much to compare by default."""

    share: str
    n: int = 100_000


FAULTS = ("kills", "full-disks", "writers", "clocks", "limits", "graph", "providers", "s3", "zips", "edgar")
CAMPAIGNS = {
    "truth": Campaign("tests.wall.truth:share"),
    "truth-unions": Campaign("tests.wall.unions.judge:truth"),
    "truth-mounted": Campaign("tests.wall.walks:truth"),
    "late": Campaign("tests.wall.late.judge:share"),
    "late-orders": Campaign("tests.wall.late.orders:judged"),
    "late-unions": Campaign("tests.wall.unions.judge:late"),
    "late-mounted": Campaign("tests.wall.walks:late"),
    "mounts": Campaign("tests.mounting.test_oracle:share", 10_000),
    "attack": Campaign("tests.wall.fuzz:share"),
    "attack-mounted": Campaign("tests.wall.mounted:attack"),
    "attack-whole": Campaign("tests.wall.whole:attack"),
    "split-worlds": Campaign("tests.wall.split_worlds:share", 10**9),  # All worlds.
    "split-figures": Campaign("tests.wall.split_figures:share"),
    "study": Campaign("tests.studies.sequences:share", 10_000),
    "two-worlds": Campaign("tests.proxy.two_worlds:share", 250_000),
    "hook-messages": Campaign("tests.agents.mutate:share", 20_000),
    "hook-times": Campaign("tests.agents.guard_times:share", 10_000),
    "drifts": Campaign("tests.assets.drifts:share", 2_000),
    "drifts-large": Campaign("tests.assets.drifts:large", 100),
    "poisoned": Campaign("tests.assets.poisoned:share", 1_000),
    "retractions": Campaign("tests.lake.test_retract:share", 1_000),
    **{f"faults-{kind}": Campaign(f"tests.faults.campaign:{kind.replace('-', '_')}", 1_000) for kind in FAULTS},
    "memory": Campaign("tests.forge.campaign:truth", 10_000),
    "memory-kills": Campaign("tests.forge.campaign:kills", 100),
    "memory-races": Campaign("tests.forge.campaign:races", 1_000),
    "memory-fuzz": Campaign("tests.forge.campaign:fuzz", 10_000),
    "killed-decisions": Campaign("tests.forge.killed:share", 100),
    "tool-calls": Campaign("tests.forge.test_tools:share", 80_000),
    "task-graphs": Campaign("tests.forge.graphs:share", 10_000),
    "settlements": Campaign("tests.forge.test_settlement:share", 500),
    "ledgers": Campaign("tests.forge.test_ledger:share", 1_000),
    "quarters": Campaign("tests.forge.test_books:share", 300),
    "paths": Campaign("tests.forge.test_held:share", 10_000),
    "limits": Campaign("tests.forge.test_limits:share", 20_000),
    "asks": Campaign("tests.forge.test_turns:share", 1_000),
    "masks": Campaign("tests.forge.test_mask_leaks:share", 20),
}


def shared(share: str, seed: int) -> Tally:
    """Run one share in a new folder. A failed assertion becomes a failure of the share."""
    with tempfile.TemporaryDirectory(prefix="campaign-", dir=memory()) as folder:
        try:
            tally: Tally = resolve_name(share)(seed, Path(folder))
        except AssertionError as problem:
            tally = Tally(1, failures=[f"share {seed}: {problem}"])
    return tally


def memory() -> str | None:
    """Return an in-memory file system for small lakes, None if there is none."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def run(name: str, n: int, first: int, workers: int) -> int:
    """Run a campaign, print what it compared, and return the number of failures."""
    started, total = time.monotonic(), Tally()
    with ProcessPoolExecutor(workers) as pool:
        for tally in tallies(pool, CAMPAIGNS[name].share, first):
            total.compared += tally.compared
            total.answered += tally.answered
            total.counts += tally.counts
            total.failures += tally.failures
            progress = (
                f"{total.compared:,} of {n:,}, {len(total.failures)} failures, {time.monotonic() - started:,.0f} s"
            )
            print(f"{name}: {progress}", *tally.failures, sep="\n", file=sys.stderr)
            if total.compared >= n or not tally.compared:
                break
    counts = "".join(f", {count:,} {what}" for what, count in total.counts.most_common() if count)
    answered = f", {total.answered:,} answered" if total.answered else ""
    print(f"{name}: {total.compared:,} compared in {time.monotonic() - started:,.0f} s, {len(total.failures)} failures"
          f"{answered}{counts}", *total.failures, sep="\n", flush=True)  # fmt: skip
    return len(total.failures)


def tallies(pool: ProcessPoolExecutor, share: str, first: int) -> Iterator[Tally]:
    """Yield the tallies of shares in the order of their seeds, until the caller stops."""
    seeds = count(first)
    # Enough shares that no worker waits for a slow one.
    running = deque(pool.submit(shared, share, next(seeds)) for _ in range(8 * pool._max_workers))
    try:
        while True:
            yield running.popleft().result()
            running.append(pool.submit(shared, share, next(seeds)))
    finally:
        for worker in active_children():  # Their current shares are no longer needed.
            worker.terminate()


def main(arguments: list[str] | None = None) -> int:
    """Run campaigns one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=CAMPAIGNS, metavar="NAME", help=", ".join(CAMPAIGNS))
    parser.add_argument("--n", type=int, help="how much to compare, in place of each campaign's own number")
    parser.add_argument("--seed", type=int, default=0, help="of the first share")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args(arguments)
    campaign = partial(run, first=options.seed, workers=options.workers)
    return min(1, sum([campaign(name, options.n or CAMPAIGNS[name].n) for name in options.names]))


if __name__ == "__main__":
    sys.exit(main())
