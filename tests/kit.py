"""A helper shared by tests of all parts: publishing rows into a lake."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from pitlake.clock import new_york_day
from pitlake.contract import Dataset
from pitlake.datasets import get
from pitlake.lake import Lake
from pitlake.lake.publishing.publish import Published
from pitlake.lake.publishing.stage import StagedGap, staged_schema


def publish(
    lake: Lake,
    dataset: str | Dataset,
    rows: Iterable[Mapping[str, Any]],
    run_id: str = "run",
    gaps: Sequence[StagedGap] = (),
    observed_at: datetime | None = None,
) -> Published:
    """Publish rows and gaps in one run, by default observed now. Rows without source or evidence get default values."""
    contract = get(dataset) if isinstance(dataset, str) else dataset
    by_day: dict[date | None, list[Mapping[str, Any]]] = {}
    for number, row in enumerate(rows):
        at = row["available_at"]
        evidence = f"{contract.name}:{at:%Y%m%d%H%M%S}:{number}"
        proof = {"available_at_source": contract.source_tag, "evidence": evidence}
        day = new_york_day(at) if contract.partitioned else None
        by_day.setdefault(day, []).append(proof | row)
    with lake.stage(contract, run_id) as stage:
        for day, listing in by_day.items():
            stage.add(day, pa.Table.from_pylist(listing, staged_schema(contract)), extracted=len(listing))
        if gaps:
            stage.add(None, gaps=gaps, extracted=len(gaps))
        return lake.publish(stage, observed_at)
