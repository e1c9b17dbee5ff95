"""A published lake of every dataset around an instant T. Rows after T contain a mark that no answer may show.

The fixtures and the command that runs every agent build it. Nothing here judges.
"""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from pitlake.contract import Dataset
from pitlake.datasets import all_datasets
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap, staged_schema
from tests import kit

T = datetime(2024, 5, 29, 21, tzinfo=timezone.utc)
PIT = "2024-05-29T17:00:00-04:00"
LONG_AGO = "1990-01-01T00:00:00-05:00"
MARK = "CANARYZZ"
SEED = "bzNews_31000004"
CALL = "QACB_2023-01-26T17.00"
_MARKED = re.compile(r"-[0-9]{9,}|\b20[789][0-9]-")
_WORDS = ("guidance", "revenue", "margin", "buyback", "growth", "risk", "supply", "oil")
_PLAIN = {
    "string": lambda random, mark: f"{random.choice(_WORDS)} {mark}".strip(),
    "json": lambda random, mark: json.dumps([{"text": f"{random.choice(_WORDS)} {mark}"}]),
    "strings": lambda random, mark: [random.choice(_WORDS), *([mark] if mark else [])],
    "float": lambda random, mark: random.randrange(1, 200) * (-777_000_000.0 if mark else 1.0),
    "int": lambda random, mark: random.randrange(4) - 777_000_000 * bool(mark),
    "bool": lambda random, _: random.random() < 0.5,
    "date": lambda random, mark: date(2024, 1, 2) + timedelta(days=random.randrange(90) + 20_000 * bool(mark)),
    "vector": lambda random, _: [random.random() for _ in range(2)],
}
_OWN = {
    "string": lambda number, _, mark: f"own{number}{mark}",
    "int": lambda number, *_: number,
    "float": lambda number, *_: float(number + 1),
    "date": lambda number, _, mark: date(2024, 1, 2) + timedelta(days=number + 20_000 * bool(mark)),
    "instant": lambda _, at, __: at,
}
_OFFSETS = [timedelta(0), timedelta(hours=5), timedelta(days=2), timedelta(days=9)]


def marked(text: str) -> bool:
    """Return whether a text shows a row that became public after T, by its mark, its numbers or its days."""
    return MARK in text or _MARKED.search(text) is not None


def build(root: Path) -> Lake:
    """Publish every dataset to a lake at `root`."""
    lake = Lake(root)
    for dataset in all_datasets().values():
        publish(lake, dataset)
    return lake


def unlimited(dataset: Dataset) -> Dataset:
    """Return the contract without limits of values, so that impossible values can identify the marked rows."""
    limits: dict[str, Any] = {"values": (), "pattern": "", "minimum": None, "maximum": None, "strict": False}
    return replace(dataset, rules=(), columns=tuple(replace(column, **limits) for column in dataset.columns))


def publish(lake: Lake, dataset: Dataset) -> None:
    """Publish a dataset in one run, with rows and gaps on both sides of T."""
    gaps = (
        StagedGap("unverifiable", "no date", f"neo4j:Thing:{dataset.name}", T - timedelta(days=3)),
        StagedGap("unverifiable", f"no date {MARK}", f"neo4j:Thing:{dataset.name}-{MARK}", T + timedelta(days=3)),
    )
    kit.publish(lake, unlimited(dataset), rows(dataset), f"run-{dataset.name}", gaps)


def rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Yield rows of a dataset for both tickers: public by T without the mark, and later with it in every text."""
    for ticker in ("QACB", "QBG"):
        for number, offset in enumerate(_OFFSETS):
            yield _row(dataset, ticker, number, T - offset, "")
            yield _row(dataset, ticker, number, T + offset + timedelta(microseconds=1), MARK)


def _row(dataset: Dataset, ticker: str, number: int, at: datetime, mark: str) -> dict[str, Any]:
    seed = random.Random(f"{dataset.name}/{ticker}/{number}/{mark}")
    outcome = {
        column.name: at if column.type == "instant" else _PLAIN[column.type](seed, mark) for column in dataset.columns
    }
    outcome |= {"available_at": at, "available_at_source": dataset.source_tag}
    outcome |= {name: ticker for name in ("ticker", "symbol") if name in outcome}
    own = {*dataset.identity, *dataset.key} - {"ticker", "symbol"}
    outcome |= {  # values that no other row of the ticker has, so that every row is a separate record
        column.name: _OWN[column.type](number + 20 * (ticker == "QBG") + 50 * bool(mark), at, mark)
        for column in dataset.columns
        if column.name in own and column.type in _OWN
    }
    outcome |= {"evidence": f"neo4j:Thing:{dataset.name}-{ticker}-{number}-{mark or 'past'}"}
    outcome |= _told(dataset, ticker, number, mark)
    remaining = {field.name for field in staged_schema(dataset)}
    return {name: value for name, value in outcome.items() if name in remaining}


def _told(dataset: Dataset, ticker: str, number: int, mark: str) -> dict[str, Any]:
    """Return the columns that queries rely on: valid forms, concepts, and the IDs that serve as seeds."""
    article = SEED if (ticker, number, mark) == ("QACB", 2, "") else f"bzNews_{ticker}{number}{mark}"
    call = CALL if (ticker, number, mark) == ("QACB", 1, "") else f"{ticker}_{number}{mark}"
    if dataset.name == "news":
        return {"id": article, "title": f"guidance raised {mark}", "tickers": [ticker]}
    if dataset.name == "embeddings":
        spoken = {"kind": "qa_exchange", "id": f"{call}_qa__0", "vector": [1.0, 0.2 * number]}
        return spoken if number % 2 else {"kind": "news", "id": article, "vector": [1.0, 0.1 * number]}
    if dataset.name in ("qa_exchanges", "transcripts", "prepared_remarks"):
        return {"transcript_id": call, "sequence": 0}
    if dataset.name == "reports":
        return {"form_type": "8-K", "items": ["Item 2.02: Results"], "role": "primary_filer", "tickers": [ticker]}
    if dataset.name == "xbrl_facts":
        message = {"concept": "us-gaap:Revenues", "label": f"Revenue {mark}", "value": f"{number}"}
        return {**message, "form_type": "10-Q",
            "is_numeric": True, "is_nil": False, "members": "", "dimensions": "", "member_count": 0}  # fmt: skip
    return {}
