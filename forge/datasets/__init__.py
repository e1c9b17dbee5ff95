"""Contracts of Forge's own datasets, and their views."""

from functools import cache
from importlib.resources import files

from forge.datasets.forge_memory import DATASET
from pitlake.contract import Dataset

MEMORY = DATASET.name


@cache
def contracts() -> dict[str, Dataset]:
    """Return every contract of Forge, by name."""
    return {DATASET.name: DATASET}


@cache
def views() -> dict[str, str]:
    """Return the SQL of each dataset's view, by name."""
    return {name: (files("forge.sql") / f"{name}.sql").read_text() for name in contracts()}
