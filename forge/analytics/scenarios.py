"""Scenario trees: branches with probabilities, and leaves with values."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, isclose, sqrt

from pitlake.errors import BadInput


@dataclass(frozen=True)
class Branch:
    """A scenario. probability: conditional on its parent. value: only for a leaf."""

    name: str
    probability: float
    value: float | None = None
    branches: "tuple[Branch, ...]" = ()


@dataclass(frozen=True)
class Outlook:
    """Every path with its probability and value, and their mean and standard deviation."""

    paths: tuple[tuple[str, float, float], ...]
    mean: float
    deviation: float


def outlook(branches: Sequence[Branch]) -> Outlook:
    """Return all paths of a tree. Raises BadInput if sibling probabilities do not sum to 1, or a leaf has no value."""
    paths = tuple(_paths("", 1.0, branches))
    mean = fsum(chance * value for _, chance, value in paths)
    return Outlook(paths, mean, sqrt(fsum(chance * (value - mean) ** 2 for _, chance, value in paths)))


def _paths(above: str, chance: float, branches: Sequence[Branch]) -> list[tuple[str, float, float]]:
    if wrong := [branch.probability for branch in branches if not 0 <= branch.probability <= 1]:
        raise BadInput("probability", f"{wrong[0]} in {above or 'the tree'} is not between 0 and 1", "give fractions")
    if not isclose(total := fsum(branch.probability for branch in branches), 1, abs_tol=1e-9):
        raise BadInput("probability", f"the sum in {above or 'the tree'} is {total:.10g}, not 1", "list all scenarios")
    paths = []
    for branch in branches:
        name = f"{above} / {branch.name}" if above else branch.name
        if branch.branches:
            paths += _paths(name, chance * branch.probability, branch.branches)
        elif branch.value is None:
            raise BadInput("value", f"{name} has neither a value nor branches", "give one of the two")
        else:
            paths.append((name, chance * branch.probability, branch.value))
    return paths
