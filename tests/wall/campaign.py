"""The long campaigns, as commands: `python -m tests.wall.campaign truth|attack|late|study --n N`.

Shares run on every core; progress goes to stderr, the tally and each failure to stdout; exit code 1 on any failure.
`late --seed S` repeats one history, and prints it if it fails. The campaigns of unions put the questions that read
several sources to lakes in which these disagree; those of mounted tables ask for random tables as of many instants, or
put hostile SQL to them.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from tests.studies import sequences
from tests.wall import fuzz, mounted, truth, walks, whole
from tests.wall.distinguish import Report, distinguish
from tests.wall.late import judge, orders
from tests.wall.late.looks import lived
from tests.wall.sealed import Sealed
from tests.wall.unions import judge as union_judge
from tests.wall.worlds import DATASETS

SHARE = 2_000

Tally = judge.Tally | union_judge.Tally | mounted.Tally


def truth_share(number: int) -> truth.Tally:
    """One share of the truncation campaign."""
    with tempfile.TemporaryDirectory(prefix="truth-") as scratch:
        return truth.campaign(Path(scratch), SHARE, seed=number)


def attack_share(number: int) -> Report:
    """One share of the attack campaign: the written attacks, the functions, then generated statements."""
    with tempfile.TemporaryDirectory(prefix="attack-") as scratch:
        os.chdir(scratch)
        root = Path(scratch) / "lake"
        if number == 0:
            return distinguish(root, Sealed, lambda world: fuzz.written(world, DATASETS), a_session=1)
        if number == 1:
            return distinguish(root, Sealed, fuzz.called, a_session=fuzz.STATEMENTS_A_SESSION)
        return fuzz.sealed_attacks(root, SHARE, seed=number * SHARE)


def late_share(seed: int) -> judge.Tally:
    """One history of the late-look campaign. A failure is shown by the smallest history that was found to cause it."""
    with tempfile.TemporaryDirectory(prefix="late-", dir=memory()) as scratch:
        tally = judge.judged(lived(seed), Path(scratch) / "whole")
        if tally.mismatches:
            least = lived(seed, frozenset(tally.blamed))
            again = judge.judged(least, Path(scratch) / "least")
            tally.mismatches += ["in this history:", *(least if again.mismatches else lived(seed)).story()]
    return tally


def judged_share(judge: Callable[[int, Path], Tally | Report], seed: int) -> Tally | Report:
    """One history of unions, or one mounted table, put to a judge."""
    with tempfile.TemporaryDirectory(prefix="judged-", dir=memory()) as scratch:
        return judge(seed, Path(scratch))


def memory() -> str | None:
    """A file system in memory for small lakes, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def main(arguments: list[str] | None = None) -> int:
    """Run one campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("campaign", choices=SHARES)
    parser.add_argument("--n", type=int, default=100_000, help="pairs, or statements")
    parser.add_argument("--seed", type=int, help="of late, unions and mounted tables: this history alone")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    question = parser.parse_args(arguments)
    started = time.monotonic()
    share, describe = SHARES[question.campaign]
    done, failures = 0, []
    with ProcessPoolExecutor(question.workers) as pool:
        for result in results(pool, share, question.seed):
            count, failed = describe(result)
            done, failures = done + count, failures + failed
            print(f"{done:,} done, {len(failures)} failures, {time.monotonic() - started:,.0f} s", file=sys.stderr)
            if done >= question.n:
                break
    print(f"{question.campaign}: {done:,} compared in {time.monotonic() - started:,.0f} s, {len(failures)} failures")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


def results(pool: ProcessPoolExecutor, share: Callable[[int], Any], only: int | None) -> Iterator[Any]:
    """The shares' results in order, for as long as they are wanted; or of one share."""
    if only is not None:
        yield share(only)
        return
    numbers = count()
    running = deque(
        pool.submit(share, next(numbers)) for _ in range(8 * pool._max_workers)
    )  # none waits for a slow one
    try:
        while True:
            yield running.popleft().result()
            running.append(pool.submit(share, next(numbers)))
    finally:
        for item in running:
            item.cancel()


def _describe_truth(tally: truth.Tally) -> tuple[int, list[str]]:
    return tally.pairs, [f"mismatch as of {as_of}, seed {seed}: {sql}" for as_of, seed, sql in tally.mismatches]


def _describe_attack(report: Report) -> tuple[int, list[str]]:
    noise = f", {len(report.noisy)} judged by canaries alone: {', '.join(report.noisy[:20])}" if report.noisy else ""
    print(f"{report.statements:,} statements, {report.answered:,} answered{noise}")
    return report.statements, [f"{finding.kind} {finding.name}: {finding.sql}" for finding in report.findings]


def _describe_late(tally: Tally) -> tuple[int, list[str]]:
    return tally.pairs, tally.mismatches


SHARES = {
    "truth": (truth_share, _describe_truth),
    "attack": (attack_share, _describe_attack),
    "late": (late_share, _describe_late),
    "late-orders": (partial(judged_share, orders.judged), _describe_late),
    "truth-unions": (partial(judged_share, union_judge.truth), _describe_late),
    "late-unions": (partial(judged_share, union_judge.late), _describe_late),
    "truth-mounted": (partial(judged_share, walks.truth), _describe_late),
    "late-mounted": (partial(judged_share, walks.late), _describe_late),
    "study": (sequences.share, lambda result: result),
    "attack-mounted": (partial(judged_share, mounted.attack), _describe_attack),
    "attack-whole": (partial(judged_share, whole.attack), _describe_attack),
}

if __name__ == "__main__":
    sys.exit(main())
