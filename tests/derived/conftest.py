"""Shared by the tests of derived datasets: puts rows of any dataset into a lake, with only the columns that a test
needs.
"""

from collections.abc import Callable
from datetime import datetime, timezone

import pyarrow as pa
import pytest

from pitlake.clock import new_york_day
from pitlake.datasets import get
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.stage import staged_schema

Put = Callable[..., None]
CIK, OTHER = "0000000777", "0000000888"
OBSERVED = datetime(2026, 1, 1, tzinfo=timezone.utc)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(timezone.utc)


def put_rows(lake: Lake, dataset: str, *rows: dict) -> None:
    contract = get(dataset)
    tag = {"available_at_source": contract.source_tag}
    named = [
        tag | {"evidence": f"{dataset}:{row['available_at']:%Y%m%d%H%M%S}:{index}"} | row
        for index, row in enumerate(rows)
    ]
    with lake.stage(contract, "put") as stage:
        for row in named:
            day = new_york_day(row["available_at"])
            stage.add(day, pa.Table.from_pylist([row], staged_schema(contract)), extracted=1)
        lake.publish(stage, OBSERVED)


def ticker(cik, tickers, at, source="edgar_tickers"):
    return {
        "cik": cik, "kind": "ticker", "name": tickers[0] if tickers else None, "all_names": list(tickers),
        "source": source, "statement": at.isoformat(), "available_at": at,
    }  # fmt: skip


@pytest.fixture
def lake(tmp_path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture
def put(lake) -> Put:
    return lambda dataset, *rows: put_rows(lake, dataset, *rows)
