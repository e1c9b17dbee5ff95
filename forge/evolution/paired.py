"""The statistics of a skill test: the same decisions with and without the change, compared with the outcomes."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import comb

LEVEL = 0.01
"""The share of useless or harmful changes that may pass by chance."""


@dataclass(frozen=True)
class Pair:
    """One settled decision: whether it was right without the change, and with it."""

    category: str
    without: bool
    changed: bool


@dataclass(frozen=True)
class Trial:
    """The result of a test.

    better, worse: the numbers of pairs that only the changed or only the original decision got right. p: the exact
    probability of such a result by chance. worse_in: the categories that got worse.
    """

    pairs: int
    better: int
    worse: int
    p: float
    worse_in: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the change helps significantly and harms no category."""
        return self.p < LEVEL and not self.worse_in

    def __str__(self) -> str:
        word, where = (
            "passed" if self.passed else "failed",
            f", worse in {', '.join(self.worse_in)}" * bool(self.worse_in),
        )
        return f"{word}: {self.pairs} pairs, {self.better} better, {self.worse} worse, p = {self.p:.4f}{where}"


def trial(pairs: Iterable[Pair]) -> Trial:
    """Apply McNemar's exact test, one-sided."""
    all_pairs = list(pairs)
    gained = Counter(pair.category for pair in all_pairs if pair.changed and not pair.without)
    lost = Counter(pair.category for pair in all_pairs if pair.without and not pair.changed)
    better, worse = gained.total(), lost.total()
    n = better + worse
    p = sum(comb(n, k) for k in range(better, n + 1)) / 2**n
    return Trial(len(all_pairs), better, worse, p, tuple(sorted(name for name in lost if lost[name] > gained[name])))
