"""Random companies whose vendors adjust figures per share for splits, and polls of splits in random order.

After each poll, every figure is dated as a run would date it then. A figure that a split has changed must take effect
at its fetch. If polls cover every day until the fetch, the figure must keep its own date. `make splits` runs this.
"""

import random
import tempfile
from collections import Counter
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from assets.extraction import RunFacts
from assets.splits import LakeSplits, per_share_since
from pitlake.clock import end_of_new_york_day
from pitlake.datasets import get
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap, staged_schema
from tests import kit
from tests.tally import Tally

FIRST, DAYS = date(2020, 1, 1), 400
RATIOS = (2.0, 4.0, 1.5, 0.1)
POLLS, COMPANIES, FIGURES = 8, 60, 4


class Company(NamedTuple):
    """A company. tickers: each with its first and last day; several at the same time are share classes. splits: day,
    ratio and ticker. The vendor lists a split under each ticker of that day.
    """

    cik: str
    tickers: tuple[tuple[str, date, date], ...]
    splits: tuple[tuple[date, float, str], ...]

    def split(self, after: date, until: date) -> bool:
        """Return whether the shares were split between two days."""
        return any(after < day <= until for day, _, _ in self.splits)


class Poll(NamedTuple):
    """A poll of splits. tickers: None for all. since: the first day, None for no limit."""

    at: datetime
    tickers: frozenset[str] | None
    since: date | None

    def covers(self, ticker: str, after: date, until: date) -> bool:
        """Return whether the poll covers every day after `after` until `until`."""
        question = self.tickers is None or ticker in self.tickers
        return question and until <= self.at.date() and (self.since is None or self.since <= after + timedelta(days=1))


def day(rng: random.Random) -> date:
    return FIRST + timedelta(days=rng.randrange(DAYS))


def company(number: int, rng: random.Random) -> Company:
    renamed, name = day(rng), f"C{number}"
    tickers = rng.choice([
        ((f"{name}A", date.min, date.max),),
        ((f"{name}A", date.min, date.max), (f"{name}B", date.min, date.max)),
        ((f"{name}OLD", date.min, renamed - timedelta(days=1)), (f"{name}A", renamed, date.max)),
    ])  # fmt: skip
    splits = []
    for _ in range(rng.choice((0, 0, 1, 2))):
        executed, ratio = day(rng), rng.choice(RATIOS)
        splits += [(executed, ratio, ticker) for ticker, first, last in tickers if first <= executed <= last]
    return Company(f"{number + 1:010}", tickers, tuple(splits))


def poll(companies: list[Company], rng: random.Random) -> Poll:
    every = [ticker for each in companies for ticker, _, _ in each.tickers]
    tickers = None if rng.random() < 0.1 else frozenset(rng.sample(every, len(every) * 3 // 4))
    at = datetime.combine(day(rng), datetime.min.time(), timezone.utc) + timedelta(hours=15)
    return Poll(at, tickers, rng.choice((None, None, day(rng))))


def publish(lake: Lake, companies: list[Company], seen: Poll, number: int) -> None:
    """Publish the findings of a poll: executed splits as rows, others as gaps."""
    contract, rows, gaps = get("polygon_splits"), [], []
    for item in companies:
        for ordinal, (executed, ratio, ticker) in enumerate(item.splits):
            if (seen.tickers is not None and ticker not in seen.tickers) or (seen.since and executed < seen.since):
                continue
            public = end_of_new_york_day(executed)
            evidence = f"made:splits&item={ticker}&day={executed}"
            if public > seen.at:
                gaps.append(StagedGap("pit_excluded", "not public yet", evidence))
                continue
            rows.append({
                "ticker": ticker, "execution_date": executed, "ordinal": ordinal, "split_from": 1.0,
                "split_to": ratio, "available_at": public, "available_at_source": contract.source_tag,
                "evidence": evidence,
            })  # fmt: skip
    with lake.stage(contract, f"poll-{number}") as stage:
        stage.poll(entities=seen.tickers)
        bounds = (("execution_date", seen.since.isoformat(), None),) if seen.since else ()
        for ticker in [None] if seen.tickers is None else seen.tickers:
            stage.cover(ticker, bounds)
        table = pa.Table.from_pylist(rows, staged_schema(contract))
        stage.add(None, table, gaps, extracted=len(rows) + len(gaps))
        lake.publish(stage, seen.at)


def name(lake: Lake, companies: list[Company]) -> None:
    """Publish the tickers of companies that have several, with one row for each change."""
    rows = []
    for item in companies:
        for since in sorted({first for _, first, _ in item.tickers}):
            borne = [ticker for ticker, first, last in item.tickers if first <= since <= last]
            at = datetime.combine(max(since, date(2010, 1, 1)), datetime.min.time(), timezone.utc)
            rows.append({
                "cik": item.cik, "kind": "ticker", "name": borne[0], "all_names": borne, "source": "edgar_tickers",
                "statement": str(at), "evidence": f"made:{item.cik}/{since}", "available_at": at + timedelta(hours=6),
                "available_at_source": "provider_metadata",
            })  # fmt: skip
    kit.publish(lake, "names", rows, "names", observed_at=datetime(2026, 1, 1, tzinfo=timezone.utc))


class Figure(NamedTuple):
    """A figure of a day, under one of its company's tickers, as fetched on another day."""

    company: Company
    ticker: str
    day: date
    fetched_at: datetime


def figures(companies: list[Company], rng: random.Random) -> list[Figure]:
    outcome = []
    for item in companies:
        for _ in range(FIGURES):
            statement, fetched = sorted((day(rng), day(rng)))
            borne = [ticker for ticker, first, last in item.tickers if first <= fetched <= last]
            at = datetime.combine(fetched, datetime.min.time(), timezone.utc) + timedelta(hours=16)
            outcome.append(Figure(item, rng.choice(borne), statement, at))
    return outcome


def judge(seed: int, compared: Counter[str]) -> list[tuple]:
    """Return the figures of one world that were dated wrongly, with the poll after which they were."""
    rng, wrong = random.Random(seed), []
    companies = [company(number, rng) for number in range(COMPANIES)]
    question, polls = figures(companies, rng), []
    with tempfile.TemporaryDirectory() as root:
        lake = Lake(root)
        name(lake, companies)
        for number in range(POLLS):
            polls.append(poll(companies, rng))
            publish(lake, companies, polls[-1], number)
            splits = LakeSplits(lake)
            for figure in question:
                own = end_of_new_york_day(figure.day)
                run = RunFacts(observed_at=figure.fetched_at, fetched_at=figure.fetched_at, splits=splits)
                counted, fetched = per_share_since(figure.ticker, own, run), figure.fetched_at.date()
                changed = figure.company.split(figure.day, fetched)
                proven = len(figure.company.tickers) == 1 and any(
                    seen.covers(figure.ticker, figure.day, fetched) for seen in polls
                )
                soon = figure.company.split(figure.day, fetched + timedelta(days=1))
                compared["changed" if changed else "unchanged"] += 1
                compared["own date"] += counted == own
                if (changed and counted == own < figure.fetched_at) or (proven and not soon and counted > own):
                    wrong.append((seed, number, figure, counted, polls))
    return wrong


def share(seed: int, _folder: Path) -> Tally:
    """Compare the figures of one world."""
    counts = Counter[str]()
    wrong = judge(seed, counts)
    return Tally(counts["changed"] + counts["unchanged"], counts=counts, failures=wrong)
