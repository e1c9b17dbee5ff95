"""Simulated drifts: sources that change their form between two runs, and ordinary days, for graphs and for feeds.

The first run after a drift must be refused or published with a warning. An ordinary day must not be refused.
`make drifts` is the campaign; a sample of it is in the suite.
"""

import hashlib
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from functools import cache
from pathlib import Path
from typing import Any

from assets.graph import all_extractors
from assets.runs import RunReport, attempt_partitions
from pitlake.errors import CheckFailed
from pitlake.lake.lake import Lake
from tests.assets.feed_drifts import COMPANIES, FEED_KINDS, HIDDEN, FeedKind
from tests.assets.poisoned import KINDS, Kind, PoisonedGraph, Record
from tests.tally import Tally
from tests.toys import OBSERVED, seen

APRIL = [date(2024, 4, 1) + timedelta(days=number) for number in range(38)]
DAYS = [day for day in APRIL if day.weekday() < 5]
NEXT = date(2024, 5, 9)
SOURCES: tuple[Kind | FeedKind, ...] = (*KINDS, *FEED_KINDS)
BARS = {"prices", "av_daily_bars"}
SHARED = 20
"""The number of drifts per kind that start from the same lake."""
NUMBERS = {
    "prices": ("open", "high", "low", "close", "vwap"), "av_daily_bars": ("open", "high", "low", "close"),
    "dividends": ("cash_amount",), "polygon_dividends": ("cash_amount",), "xbrl_facts": ("value",),
}  # fmt: skip
DATES = (
    "created", "updated", "latest", "date", "close_at", "stamp", "declaration_date", "execution_date", "date_nodes",
    "ex_dividend_date", "timestamp",
)  # fmt: skip
IDS = ("id", "node", "accession_no", "entity_id", "timestamp")
UNREAD = {"stamp", "xbrl_status", "date_nodes", "label", HIDDEN}
"""Properties that no row depends on, and entries of a record that are not properties of its node."""


def record_of(kind: Kind | FeedKind, number: int, rng: random.Random, day: date | None = None) -> Record:
    """Return a record of a random company, with values that vary as they do in a real source."""
    if isinstance(kind, FeedKind):
        return kind.make(number, rng)
    record = kind.make(number, day or rng.choice(DAYS))
    ticker = rng.choice(COMPANIES)
    size = 1.0 + COMPANIES.index(ticker)
    varied: Record = {
        "tickers": [ticker], "ticker": ticker, "symbol": ticker, "filers": [[f"{COMPANIES.index(ticker):010}", ticker]],
        "title": f"{ticker} reports {'x' * rng.randrange(5, 60)}", "body": "word " * rng.randrange(20, 200),
        "description": f"Form 8-K {rng.random()}", "value": f"{int(size * rng.lognormvariate(12, 1)):,}",
        "cash_amount": f"{size * rng.uniform(0.1, 0.4):.3f}",
    }  # fmt: skip
    if kind.name == "prices":
        factor = size * rng.uniform(0.9, 1.1)
        varied |= {name: record[name] * factor for name in NUMBERS["prices"]} | {"volume": rng.lognormvariate(13, 1)}
    return record | {name: value for name, value in varied.items() if name in record}


@cache
def source(name: str, seed: int, count: int) -> tuple[Record, ...]:
    """Return the records of a source before it drifts."""
    kind, rng = next(kind for kind in SOURCES if kind.name == name), random.Random(seed)
    return tuple(record_of(kind, number, rng) for number in range(count))


def run(
    lake: Lake, kind: Kind | FeedKind, records: list[Record], at: datetime, days: list[date] | None = None
) -> RunReport:
    if isinstance(kind, FeedKind):
        return kind.run(lake, records, at)
    extractor = replace(all_extractors()[kind.name], prepared=None)
    graph = PoisonedGraph(extractor, kind.dated, records)
    days = days or [DAYS[0] + timedelta(days=number) for number in range((NEXT - DAYS[0]).days + 2)]
    return attempt_partitions(extractor, days, graph, lake, run_id="r", observed_at=at)


def scaled(value: Any, factor: float) -> Any:
    """Return a number in another unit, in its original format."""
    if isinstance(value, str):
        number = float(value.replace(",", "")) * factor
        return f"{number:,.0f}" if "," in value else f"{number:.6g}"
    return value * factor


def moved(value: Any) -> Any:
    """Return a date moved by one day, in its original format."""
    if isinstance(value, list):
        return [moved(part) for part in value]
    if isinstance(value, str) and value[:4].isdigit():
        return f"{date.fromisoformat(value[:10]) + timedelta(days=1)}{value[10:]}"
    return format_datetime(parsedate_to_datetime(value) + timedelta(days=1)) if isinstance(value, str) else value


def drifts(kind: Kind | FeedKind, records: list[Record], rng: random.Random) -> dict[str, Callable[[], list[Record]]]:
    """Return the drifts that are possible for a source, by name. Each function returns the records after the drift."""
    properties = [
        name for name, value in records[0].items() if name not in UNREAD and value not in (None, "", [], "[]")
    ]
    name, numbers = rng.choice(properties), NUMBERS.get(kind.name, ())
    identifier, later = next(name for name in IDS if name in records[0]), records[len(COMPANIES) :]
    ways: dict[str, Callable[[], list[Record]]] = {
        f"renamed {name}": lambda: [record | {name: None} for record in records],
        f"emptied {name}": lambda: [record | {name: type(record[name])()} for record in records],
        f"retyped {name}": lambda: [record | {name: {"value": record[name]}} for record in records],
        "renamed label": list,
        "half the nodes gone": lambda: rng.sample(records, len(records) // 2),
        "duplicated ids": lambda: [
            *records, *(record | {identifier: other[identifier]} for record, other in zip(records, later, strict=False))
        ],
        "dates a day later": lambda: [
            record | {name: moved(record[name]) for name in DATES if name in record} for record in records
        ],
    }  # fmt: skip
    for relation in {"tickers", "filers", "periods", "units", "concepts"} & set(records[0]):
        ways[f"reversed relation to {relation}"] = lambda relation=relation: [r | {relation: []} for r in records]
    if numbers:
        ways["unit × 1,000"] = lambda: [r | {name: scaled(r[name], 1000) for name in numbers} for r in records]
    return ways


def lake_of(kind: Kind | FeedKind, seed: int, count: int, folder: Path) -> tuple[Path, list[Record]]:
    """Return the root of a lake that has read a source, and the source's records."""
    records = list(source(kind.name, seed, count))
    root = folder / f"{kind.name}-{seed}-{count}"
    if not root.exists():
        assert not isinstance(run(Lake(root), kind, records, OBSERVED).outcome, CheckFailed)
    return root, records


def ended(lake: Lake, kind: Kind | FeedKind, seed: int, count: int, where: str = "") -> str:
    """Read the repaired source on the day after the drift, and return a digest of the lake's rows and gaps."""
    rng = random.Random(seed)
    new = (record_of(kind, 10**6 + number, rng, NEXT) for number in range(5))
    outcome = run(lake, kind, [*source(kind.name, seed, count), *new], OBSERVED + timedelta(days=2)).outcome
    assert not isinstance(outcome, CheckFailed), f"{where}: after the repair {outcome}"
    content = [seen(lake, table) for table in (kind.name, f"gaps/{kind.name}")]
    return hashlib.sha256(repr(content).encode()).hexdigest()


@cache
def calm(name: str, seed: int, count: int, folder: Path) -> str:
    """Return the digest of a lake whose source never drifted."""
    kind = next(kind for kind in SOURCES if kind.name == name)
    root, copy = lake_of(kind, seed, count, folder)[0], folder / f"calm-{name}-{seed}-{count}"
    shutil.copytree(root, copy)
    return ended(Lake(copy), kind, seed, count)


def noticed(report: RunReport) -> str:
    """Return which check refused the run or warned about it, or an empty string."""
    if isinstance(report.outcome, CheckFailed):
        return f"refused by {report.outcome.check}"
    failing = [check.name for check in report.checks if not check.passed and check.name not in {"freshness", "edited"}]
    return f"warned by {failing[0]}" if failing else ""


def drift(seed: int, folder: Path, count: int) -> tuple[str, str]:
    """Run one drift, and return its name and how it was noticed. Raises AssertionError if a drift that changes the lake
    goes unnoticed, or if the lake after the repair differs from an undisturbed source's.
    """
    rng = random.Random(seed)
    kind, variant = SOURCES[seed % len(SOURCES)], seed // (SHARED * len(SOURCES))
    base, records = lake_of(kind, variant, count, folder)
    ways = drifts(kind, records, rng)
    name = rng.choice(sorted(ways))
    lake = Lake(shutil.copytree(base, folder / f"drift-{seed}"))
    report = run(lake, kind, ways[name](), OBSERVED + timedelta(days=1))
    how = noticed(report)
    where = f"seed {seed}: {kind.name}, {name}"
    if isinstance(report.outcome, CheckFailed):
        same = ended(lake, kind, variant, count, where) == calm(kind.name, variant, count, folder)
        assert same, f"{where}: another lake after the repair"
    else:
        assert how or not report.outcome.changed, f"{where}: not noticed"
    shutil.rmtree(lake.root)
    return f"{kind.name}: {name}", how or "changed nothing"


def ordinary(seed: int, folder: Path, count: int) -> str:
    """Run a day of new, edited and deleted records and splits. Return why it was refused, or an empty string."""
    rng = random.Random(seed)
    kind, variant = SOURCES[seed % len(SOURCES)], seed // (SHARED * len(SOURCES))
    base, records = lake_of(kind, variant, count, folder)
    for _ in range(rng.choice((0, 1, 2, 5, 20, count // 15))):
        place = rng.randrange(len(records))
        records[place] = records[place] | ({"volume": 1000 + place} if kind.name in BARS else dict(kind.other))
    del records[: rng.choice((0, 0, 0, 1, 2))]
    if kind.name in BARS and rng.random() < 0.3:
        split, factor = rng.choice(COMPANIES), rng.choice((0.1, 0.5, 1 / 3, 0.05, 20.0, 100.0))
        ticker = "symbol" if kind.name == "prices" else HIDDEN
        records = [r | {n: r[n] * factor for n in NUMBERS[kind.name]} if r[ticker] == split else r for r in records]
    new = rng.choice((0, 1, 2, 3, 4, 5, 20, 40, count // 10))
    records += [record_of(kind, 10**6 + number, rng, NEXT) for number in range(new)]
    root = shutil.copytree(base, folder / f"ordinary-{seed}")
    days = rng.choice((None, [NEXT, NEXT + timedelta(days=1)]))
    report = run(Lake(root), kind, records, OBSERVED + timedelta(days=1), days)
    shutil.rmtree(root)
    return f"seed {seed}: {report.outcome}" if isinstance(report.outcome, CheckFailed) else ""


def share(seed: int, folder: Path, records: int = 1000, part: int = 100) -> Tally:
    """Run `part` drifts and `part` ordinary days."""
    tally = Tally(part)
    for number in range(seed * part, (seed + 1) * part):
        try:
            tally.counts[drift(number, folder, records)[1]] += 1
        except AssertionError as problem:
            tally.failures.append(str(problem))
        if refusal := ordinary(number, folder, records):
            tally.failures.append(f"an ordinary day is refused: {refusal}")
    return tally


def large(seed: int, folder: Path) -> Tally:
    """Run drifts and ordinary days of large sources."""
    return share(seed, folder, 20_000, 50)
