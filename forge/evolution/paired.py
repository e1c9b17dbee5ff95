"""The test of a skill's change: the same decisions with it and without it, judged by what came true."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import comb

LEVEL = 0.01
"""Chance alone, and so a harmful change too, promotes at most so many."""


@dataclass(frozen=True)
class Pair:
    """One decision, settled after the lessons: whether it came out right without the change, and with it."""

    category: str
    without: bool
    changed: bool


@dataclass(frozen=True)
class Trial:
    """better, worse: pairs that only one of them got right; p: that chance alone makes the change look so good or
    better, exactly; worse_in: categories that got worse.
    """

    pairs: int
    better: int
    worse: int
    p: float
    worse_in: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the change is shown to help, and to harm nowhere."""
        return self.p < LEVEL and not self.worse_in

    def __str__(self) -> str:
        word, where = (
            "passed" if self.passed else "failed",
            f", worse in {', '.join(self.worse_in)}" * bool(self.worse_in),
        )
        return f"{word}: {self.pairs} pairs, {self.better} better, {self.worse} worse, p = {self.p:.4f}{where}"


def trial(pairs: Iterable[Pair]) -> Trial:
    """McNemar's exact test, one-sided."""
    told = list(pairs)
    gained = Counter(one.category for one in told if one.changed and not one.without)
    lost = Counter(one.category for one in told if one.without and not one.changed)
    better, worse = gained.total(), lost.total()
    n = better + worse
    p = sum(comb(n, k) for k in range(better, n + 1)) / 2**n
    return Trial(len(told), better, worse, p, tuple(sorted(name for name in lost if lost[name] > gained[name])))
