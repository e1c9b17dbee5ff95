"""Fixtures shared by the tests of derived datasets. `put` publishes rows of any dataset, with only the columns that a
test states.
"""

from collections.abc import Callable
from datetime import datetime, timezone

import pytest

from pitlake.lake.lake import Lake
from tests.kit import publish

Put = Callable[..., None]
CIK, OTHER = "0000000777", "0000000888"
OBSERVED = datetime(2026, 1, 1, tzinfo=timezone.utc)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(timezone.utc)


def put_rows(lake: Lake, dataset: str, *rows: dict) -> None:
    publish(lake, dataset, rows, "put", observed_at=OBSERVED)


def ticker(cik, tickers, at, source="edgar_tickers"):
    return {
        "cik": cik, "kind": "ticker", "name": tickers[0] if tickers else None, "all_names": list(tickers),
        "source": source, "statement": at.isoformat(), "available_at": at,
    }  # fmt: skip


@pytest.fixture
def put(lake) -> Put:
    return lambda dataset, *rows: put_rows(lake, dataset, *rows)
