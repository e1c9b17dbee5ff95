"""A lake filled poll by poll. Each poll finds the newest version of each record since the previous poll."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from pitlake.datasets import get
from pitlake.lake import Lake
from tests.kit import publish


def lake_of(root: Path, message: Mapping[str, Iterable[Mapping[str, Any]]], looks: Sequence[datetime]) -> Lake:
    """Return a lake. message: rows by dataset, oldest first. looks: the first bound, then the instant of each poll."""
    lake = Lake(root, allow_drift="looks that differ")
    for name, rows in message.items():
        dataset, every = get(name), list(rows)
        for since, looked in pairwise(looks):
            seen = [row for row in every if since <= row["available_at"] < looked]
            newest = {tuple(each[key] for key in dataset.identity): each for each in seen}
            publish(lake, dataset, newest.values(), f"look-of-{looked:%Y-%m-%d}", observed_at=looked)
    return lake
