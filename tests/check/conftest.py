"""A lake whose later rows change the past: a company ends, a name changes, figures are restated."""

import math
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from pitlake.check import runners
from pitlake.lake import Lake
from tests.doors.conftest import CONCEPT, news, publish

FIRST, LAST_OF_GONE, DAYS = date(2023, 12, 1), date(2024, 4, 10), 200
TICKERS = ("AAA", "BBB", "CCC", "GONE")


def prices() -> Iterator[dict[str, Any]]:
    for number in range(DAYS):
        day = FIRST + timedelta(days=number)
        for place, ticker in enumerate(TICKERS):
            if day.weekday() > 4 or (ticker == "GONE" and day > LAST_OF_GONE):
                continue
            close = 50.0 + 10 * place + 9 * math.sin(number / (7 + place)) + (number % (5 + place)) * 0.3
            yield {
                "entity_kind": "company",
                "entity_id": f"{place + 1:010d}",
                "symbol": ticker,
                "date": day,
                **dict.fromkeys(("open", "high", "low", "close", "vwap"), close),
                "volume": 1000.0 + 17 * (number % 13),
                "available_at": datetime(day.year, day.month, day.day, 21, tzinfo=timezone.utc),
                "evidence": f"neo4j:HAS_PRICE:{day}:{ticker}",
            }


def facts() -> Iterator[dict[str, Any]]:
    """Yield revenues of six months, each filed forty days after the month's end and restated forty days later."""
    for month in range(1, 7):
        end = date(2023, 10, 31) + timedelta(days=30 * month)
        for restated in (0, 1):
            filed = end + timedelta(days=40 * (1 + restated))
            number = 100.0 + 10 * month + 7 * restated
            yield {
                "accession_no": f"0000000001-24-{2 * month + restated:06d}",
                "form_type": "10-Q",
                "cik": "0000000001",
                "ticker": "AAA",
                "available_at": datetime(filed.year, filed.month, filed.day, 20, tzinfo=timezone.utc),
                "evidence": f"neo4j:Fact:{month}-{restated}",
                "concept": CONCEPT,
                "label": "Revenues",
                "value": str(number),
                "value_number": number,
                "unit": "iso4217:USD",
                "period_type": "duration",
                "period_start": end - timedelta(days=30),
                "period_end": end,
                "is_numeric": True,
                "is_nil": False,
                "dimensions": "",
                "members": "",
                "member_count": 0,
            }


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = Lake(tmp_path_factory.mktemp("check") / "lake")
    for name, rows in (("prices", prices()), ("news", news()), ("xbrl_facts", facts())):
        publish(lake, name, rows, name)
    return lake.root


@pytest.fixture(scope="session", autouse=True)
def shared_runners() -> Iterator[None]:
    """One pair of processes for all checks, because each takes seconds to start."""
    with runners.started(2) as children, pytest.MonkeyPatch.context() as patch:
        patch.setattr(children, "close", lambda: None)
        patch.setattr(runners, "Runners", lambda _count: children)
        yield
        patch.undo()
