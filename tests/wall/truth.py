"""Truncation invariance: the full lake's answer matches, byte for byte, the answer from a lake without the future.

Three worlds are built: a whole one, one with only its rows up to T, and one with a different future after these rows.
The same rows are in different files in each. Each generated question is put to all three as of T, to one of them in a
session that was opened earlier and moved. The answers from the first and third must match the second's.
"""

import random
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import datetime, timedelta
from pathlib import Path

from pitlake.session.arguments import LEFT_OUT
from tests.tally import Tally
from tests.wall import questions, statements
from tests.wall.sealed import Sealed
from tests.wall.worlds import CANARY, T, World, build, instants

SHARE = 2_000
QUESTIONS_A_SESSION = 200
NAMED = 40  # one in so many is a query of the catalogue, including full-text, vectors and as-of joins


def moments(seed: int) -> Iterator[datetime]:
    """Yield random and critical instants: those of rows, a microsecond before and after, month ends, midnights."""
    rng = random.Random(f"moments/{seed}")
    rows = [*instants(0, 120, after=False), *instants(1, 120, after=True)]
    while True:
        at = rng.choice(rows) + timedelta(microseconds=rng.choice((-1, 0, 0, 1, 999)))
        month_end = at.replace(day=1, hour=rng.choice((3, 4, 5)), minute=0, second=0, microsecond=0)
        yield rng.choice(
            (at, at, at, month_end, month_end - timedelta(microseconds=1), T + timedelta(days=rng.randrange(-80, 80)))
        )


def share(seed: int, scratch: Path, pairs: int = SHARE) -> Tally:
    """Compare this many pairs of answers, an even number."""
    tally = Tally()
    whole = build(scratch / "whole", future=1)
    for number, as_of in enumerate(moments(seed)):
        if tally.compared >= pairs:
            return tally
        cut = build(scratch / f"cut-{number}", future=1, cut=as_of, landings=3)
        other = build(scratch / f"other-{number}", future=1, cut=as_of, then=2, landings=1)
        first = (seed * 1_000 + number) * 10**6
        left = (pairs - tally.compared) // 2
        _compare(tally, cut, (whole, other), as_of, range(first, first + min(QUESTIONS_A_SESSION, left)))
        shutil.rmtree(cut.root)
        shutil.rmtree(other.root)
    return tally


def ways_to(as_of: datetime, seed: int) -> tuple[datetime, ...]:
    """Return earlier instants through which a session moves to `as_of`, from the same day to a hundred days before."""
    rng = random.Random(f"ways/{seed}/{as_of}")
    before = (timedelta(microseconds=1), timedelta(hours=3), *(timedelta(days=days) for days in (1, 3, 12, 40, 100)))
    return tuple(as_of - each for each in sorted(rng.sample(before, rng.randrange(1, 4)), reverse=True))


def _compare(tally: Tally, cut: World, full: tuple[World, ...], as_of: datetime, seeds: range) -> None:
    with ExitStack() as handle:
        hindsight = "omit" if as_of.microsecond % 4 == 1 else "show"
        ways = [(), ways_to(as_of, seeds.start)]
        random.Random(f"ways/{seeds.start}").shuffle(ways)
        bare, *ours = (
            handle.enter_context(closing(Sealed(world, as_of, hindsight=hindsight, earlier=earlier)))
            for world, earlier in zip((cut, *full), ((), *ways), strict=True)
        )
        for seed in seeds:
            sql, values = statements.select(seed), None
            if seed % NAMED == 0:
                sql, values = questions.named(seed, as_of)
            expected = bare.run(sql, values)
            for session in ours:
                answer = session.run(sql, values)
                tally.compared += 1
                tally.answered += not answer.startswith("error")
                tally.counts["left out"] += answer.startswith("error") and LEFT_OUT in answer
                if answer != expected or (as_of <= T and CANARY in answer):
                    tally.failures.append(f"mismatch as of {as_of.isoformat()}, seed {seed}: {sql}")
