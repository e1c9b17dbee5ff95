"""A lake filled poll by poll: each poll sees the records stated since the one before, each as last stated."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from pitlake.clock import new_york_day
from pitlake.datasets import get
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import staged_schema


def lake_of(root: Path, said: Mapping[str, Iterable[Mapping[str, Any]]], looks: Sequence[datetime]) -> Lake:
    """said: rows by dataset, oldest first. looks: when it was looked, after the instant from which on rows count."""
    lake = Lake(root, allow_drift="looks that differ")
    for name, rows in said.items():
        dataset, every = get(name), list(rows)
        for since, looked in pairwise(looks):
            seen = [row for row in every if since <= row["available_at"] < looked]
            by_day: dict[object, list[Mapping[str, Any]]] = {}
            for row in {tuple(one[key] for key in dataset.identity): one for one in seen}.values():
                by_day.setdefault(new_york_day(row["available_at"]), []).append(row)
            with lake.stage(dataset, f"look-of-{looked:%Y-%m-%d}") as stage:
                for day, listed in by_day.items():
                    stage.add(day, pa.Table.from_pylist(listed, staged_schema(dataset)), extracted=len(listed))
                lake.publish(stage, looked)
    return lake
