"""A lake of every dataset with many revisions: keys stated twice, contents changed, values missing."""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from pitlake.contract import Dataset
from pitlake.datasets import all_datasets
from pitlake.lake.lake import Lake
from pitlake.lake.storage.log import LOG
from tests.agents import world
from tests.kit import publish


def build(root: Path) -> tuple[Lake, list[int]]:
    """Return the lake and four of its versions: before any revision, complete, compacted, and without tombstones. It
    has no table for `splits`, and none for `dividends` in the first version.
    """
    lake = Lake(root, allow_drift="much is revised")
    every = [dataset for name, dataset in all_datasets().items() if name != "splits"]
    for dataset in every:
        if dataset.name != "dividends":
            world.publish(lake, dataset)
    versions = [lake.head()]
    for dataset in every:
        publish(lake, world.unlimited(dataset), revised(dataset), f"revise-{dataset.name}")
    versions.append(lake.head())
    for dataset in every:
        lake.compact(dataset)
    newest = lake.entry()
    tables = {name: pin for name, pin in newest.tables.items() if not name.startswith("superseded/")}
    undated = replace(newest, version=newest.version + 1, parent=newest.version, tables=tables)
    (root / LOG / f"{undated.version:020d}.json").write_bytes(undated.to_json())
    return lake, [*versions, newest.version, undated.version]


def revised(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Yield each record with some values missing, and another record of its key if the key can have several."""
    rng = random.Random(dataset.name)
    reply = [name for name in dataset.identity if name not in dataset.key]
    free = [
        column.name
        for column in dataset.columns
        if not column.required and column.name not in (*dataset.identity, *dataset.key)
    ]
    for row in world.rows(dataset):
        yield row | dict.fromkeys(name for name in free if rng.random() < 0.4)
        if reply:
            later = row["available_at"] + timedelta(minutes=rng.choice((0, 90) if dataset.tiebreak else (90,)))
            other = {name: another(row[name]) for name in reply} | {"evidence": f"{row['evidence']}-other"}
            yield row | other | dict.fromkeys(name for name in free if rng.random() < 0.4) | {"available_at": later}


def another(value: Any) -> Any:
    """Return a different value close to this one."""
    if isinstance(value, str):
        return f"{value}é"
    return value + timedelta(days=1) if isinstance(value, date | datetime) else value + 1
