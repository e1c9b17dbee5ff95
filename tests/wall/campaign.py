"""The long campaigns, as commands: `python -m tests.wall.campaign truth|attack --n N`.

Shares run on every core; progress goes to stderr, the tally and each failure to stdout; exit code 1 on any failure.
"""

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.wall import fuzz, truth
from tests.wall.distinguish import Report, distinguish
from tests.wall.sealed import Sealed
from tests.wall.worlds import DATASETS

SHARE = 2_000


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


def main(arguments: list[str] | None = None) -> int:
    """Run one campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("campaign", choices=("truth", "attack"))
    parser.add_argument("--n", type=int, default=100_000, help="pairs, or statements")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    asked = parser.parse_args(arguments)
    started = time.monotonic()
    share, describe = (truth_share, _describe_truth) if asked.campaign == "truth" else (attack_share, _describe_attack)
    done, failures = 0, []
    with ProcessPoolExecutor(asked.workers) as pool:
        for result in pool.map(share, range(-(-asked.n // SHARE))):
            count, failed = describe(result)
            done, failures = done + count, failures + failed
            print(f"{done:,} done, {len(failures)} failures, {time.monotonic() - started:,.0f} s", file=sys.stderr)
    print(f"{asked.campaign}: {done:,} compared in {time.monotonic() - started:,.0f} s, {len(failures)} failures")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


def _describe_truth(tally: truth.Tally) -> tuple[int, list[str]]:
    return tally.pairs, [f"mismatch as of {as_of}, seed {seed}: {sql}" for as_of, seed, sql in tally.mismatches]


def _describe_attack(report: Report) -> tuple[int, list[str]]:
    noise = f", {len(report.noisy)} judged by canaries alone: {', '.join(report.noisy[:20])}" if report.noisy else ""
    print(f"{report.statements:,} statements, {report.answered:,} answered{noise}")
    return report.statements, [f"{finding.kind} {finding.name}: {finding.sql}" for finding in report.findings]


if __name__ == "__main__":
    sys.exit(main())
