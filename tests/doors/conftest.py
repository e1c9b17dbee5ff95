"""One small published lake for the tests of all interfaces: news, bars, facts, filings and calls of two companies in
one spring.
"""

import shutil
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from pitlake.clock import instant
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap
from tests.kit import publish

AS_OF = "2024-05-01T00:00:00Z"
START = datetime(2024, 1, 2, 15, tzinfo=timezone.utc)
HEADLINES = ("oil output rose", "gross margin fell", "guidance raised", "dividend declared", "new credit line")
CONCEPT = "us-gaap:Revenues"


def news() -> Iterator[dict[str, Any]]:
    for number in range(150):
        at = START + timedelta(days=number)
        ticker = ("QBG", "QZP")[number % 2]
        yield {
            "id": f"bzNews_{number}", "ticker": ticker, "tickers": [ticker],
            "title": HEADLINES[number % len(HEADLINES)],
            "body": f"Text {number} about {HEADLINES[number % len(HEADLINES)]}.", "channels": ["Earnings", "News"],
            "created": at, "available_at": at, "evidence": f"neo4j:News:bzNews_{number}",
        }  # fmt: skip


def embeddings() -> Iterator[dict[str, Any]]:
    for number, article in enumerate(news()):
        vector = [1.0 if place == number % len(HEADLINES) else 0.01 * number for place in range(len(HEADLINES))]
        remaining = {name: article[name] for name in ("id", "ticker", "available_at", "evidence")}
        yield {"kind": "news", "vector": vector, **remaining}


def prices() -> Iterator[dict[str, Any]]:
    for number in range(150):
        day = date(2024, 1, 2) + timedelta(days=number)
        if day.weekday() < 5:
            for cik, ticker in (("0000000001", "QBG"), ("0000000002", "QZP")):
                yield {
                    "entity_kind": "company",
                    "entity_id": cik,
                    "symbol": ticker,
                    "date": day,
                    **dict.fromkeys(("open", "high", "low", "close", "vwap"), 10.0 + number),
                    "volume": 1000.0,
                    "available_at": datetime(day.year, day.month, day.day, 21, tzinfo=timezone.utc),
                    "evidence": f"neo4j:HAS_PRICE:{day}:{ticker}",
                }


QUARTERS = (date(2024, 2, 20), date(2024, 5, 20))


def filings(
    dataset: str, days: tuple[date, ...] = QUARTERS, form: str = "10-Q", series: int = 1, **more: Any
) -> Iterator[dict[str, Any]]:
    for number, day in enumerate(days):
        accepted = datetime(day.year, day.month, day.day, 22, tzinfo=timezone.utc)
        yield {
            "accession_no": f"000000000{series}-24-00000{number}",
            "form_type": form,
            "cik": "0000000001",
            "ticker": "QBG",
            "available_at": accepted,
            "evidence": f"neo4j:{dataset}:{series}-{number}",
        } | {name: value(number, accepted) if callable(value) else value for name, value in more.items()}


def facts() -> Iterator[dict[str, Any]]:
    return filings(
        "Fact",
        concept=CONCEPT,
        label="Revenues",
        value=lambda number, _: str(100 + number),
        value_number=lambda number, _: 100.0 + number,
        unit="iso4217:USD",
        period_type="duration",
        period_start=lambda number, _: (date(2023, 10, 1), date(2024, 1, 1))[number],
        period_end=lambda number, _: (date(2023, 12, 31), date(2024, 3, 31))[number],
        is_numeric=True,
        is_nil=False,
        dimensions="",
        members="",
        member_count=0,
    )


def reports() -> Iterator[dict[str, Any]]:
    company = {"role": "primary_filer", "tickers": ["QBG"], "created": lambda _, accepted: accepted}
    yield from filings("Report", **company)
    announced = (date(2024, 2, 15), date(2024, 5, 14))
    yield from filings("Report", announced, "8-K", 2, items=["Item 2.02: Results of Operations"], **company)


def sections() -> Iterator[dict[str, Any]]:
    return filings("Section", section_name="RiskFactors", content=lambda n, _: f"Prices of oil may fall {n}. " * 40)


LOST = (
    StagedGap("unverifiable", "created is missing or unreadable", "neo4j:News:bzNews_900", START),
    StagedGap("unverifiable", "created is missing or unreadable", "neo4j:News:bzNews_901", START + timedelta(days=140)),
)


def small(root: Path) -> Lake:
    """Create a lake with only news."""
    lake = Lake(root, allow_drift="other articles at each look")
    publish(lake, "news", news(), "news", LOST)
    return lake


@pytest.fixture(scope="module")
def small_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return small(tmp_path_factory.mktemp("small") / "lake")


def build(root: Path) -> Lake:
    """Build the lake, dataset by dataset."""
    lake = small(root)
    for name, rows in (
        ("embeddings", embeddings()),
        ("prices", prices()),
        ("xbrl_facts", facts()),
        ("reports", reports()),
        ("report_sections", sections()),
    ):
        publish(lake, name, rows, name)
    return lake


@pytest.fixture(scope="session")
def lake(market_lake: Path) -> Path:
    """The lake's root. Tests that publish or vacuum copy it."""
    return market_lake


def build_twins(folder: Path) -> tuple[Path, Path]:
    """Build a lake that ends at AS_OF, and the same lake with six more versions, which add only later rows."""
    ends, goes_on = folder / "ends", folder / "goes on"
    build(ends)
    shutil.copytree(ends, goes_on)
    later, day = Lake(goes_on, allow_drift="other ids"), timedelta(days=1)
    moved = instant(AS_OF) - START + 30 * day
    for number in range(3):
        late = ({"id": f"late_{number}_{row['id']}", "available_at": row["available_at"] + moved} for row in news())
        publish(later, "news", map(dict.__or__, news(), late), f"late-{number}")
    dated = ({"date": row["date"] + moved, "available_at": row["available_at"] + moved} for row in prices())
    publish(later, "prices", map(dict.__or__, prices(), dated), "late-prices")
    lost = StagedGap("unverifiable", "created is missing or unreadable", "neo4j:News:late", instant(AS_OF) + day)
    publish(later, "news", (), "late-gap", (lost,))
    later.compact("news")
    assert later.head() > Lake(ends).head() + 4
    return ends, goes_on
