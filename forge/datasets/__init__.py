"""Contracts of Forge's own datasets, and what a session needs to know of them."""

from functools import cache
from importlib.resources import files

from forge.datasets.forge_memory import DATASET
from pitlake.contract import Dataset

MEMORY = DATASET.name


@cache
def contracts() -> dict[str, Dataset]:
    """Every contract of Forge, by name."""
    return {DATASET.name: DATASET}


@cache
def views() -> dict[str, str]:
    """The text of each dataset's view, by name."""
    return {name: (files("forge.sql") / f"{name}.sql").read_text() for name in contracts()}
