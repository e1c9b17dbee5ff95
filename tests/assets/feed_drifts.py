"""Feeds whose responses drift: simulated external providers whose records vary realistically."""

import csv
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from email.utils import format_datetime
from io import StringIO
from types import SimpleNamespace
from typing import Any

from assets.external import all_feeds
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from assets.runs import RunReport
from pitlake.clock import NEW_YORK
from pitlake.errors import AnswerRefused
from pitlake.exchange import session
from pitlake.lake.lake import Lake
from resources.http.capture import Capture, CaptureStore, Request
from resources.http.provider import OK
from tests.answers import captured, poll_without_splits

Record = dict[str, Any]
COMPANIES = [f"T{number}" for number in range(12)]
START = date(2024, 1, 2)
GROWN = 10**6
"""The first number of the records that are added later."""
LAST = {"date_from": date(2024, 1, 20), "date_to": date(2024, 2, 9)}
OF_TWELVE = 1800
"""The number of records of the first twelve companies. A larger source has more companies."""
HIDDEN = "_asked"
"""The property by which requests select records. No drift changes it."""


def article(number: int, rng: random.Random) -> Record:
    day = LAST["date_to"] if number >= GROWN else LAST["date_from"] + timedelta(days=number % 20)
    stamp = format_datetime(datetime(day.year, day.month, day.day, 12, number % 60, tzinfo=NEW_YORK))
    ticker = rng.choice(COMPANIES)
    return {
        HIDDEN: str(day), "id": number, "title": f"{ticker} reports {'x' * rng.randrange(5, 60)}",
        "body": "word " * rng.randrange(20, 200), "url": f"https://news.example/{number}", "author": "A. Author",
        "created": stamp, "updated": stamp, "stocks": [{"name": ticker}],
    }  # fmt: skip


def company(number: int) -> tuple[str, int]:
    """Return the ticker of a record, and the record's position among those of the ticker."""
    block, number = divmod(number % GROWN, OF_TWELVE)
    return f"T{12 * block + number % 12}", number // 12


def dividend(number: int, rng: random.Random) -> Record:
    (ticker, place), size = company(number), 1.0 + number % 12
    weeks = place + 200 * (number >= GROWN)
    day = START - timedelta(days=7 * 150) + timedelta(days=7 * weeks)
    return {
        HIDDEN: ticker, "id": f"E{number}", "ticker": ticker, "cash_amount": round(size * rng.uniform(0.1, 0.4), 3),
        "declaration_date": str(day), "ex_dividend_date": str(day + timedelta(days=20)), "dividend_type": "CD",
        "frequency": 4, "currency": "USD",
    }  # fmt: skip


SESSIONS = [day for number in range(510) if session(day := START + timedelta(days=number))]


def bar(number: int, rng: random.Random) -> Record:
    (ticker, place), size = company(number), 10.0 * (1 + number % 12)
    place += 200 * (number >= GROWN)
    low = size * rng.uniform(0.9, 1.1)
    return {
        HIDDEN: ticker, "timestamp": str(SESSIONS[place]), "open": low * 1.01, "high": low * 1.03, "low": low,
        "close": low * 1.02, "volume": int(rng.lognormvariate(13, 1)),
    }  # fmt: skip


def shown(records: list[Record]) -> list[Record]:
    return [{n: v for n, v in record.items() if n != HIDDEN and v is not None} for record in records]


def as_lines(records: list[Record]) -> bytes:
    """Return bars as CSV, without columns that no record has."""
    records = shown(records)
    names = [
        name for name in ("timestamp", "open", "high", "low", "close", "volume") if any(name in r for r in records)
    ]
    lines = StringIO()
    writer = csv.DictWriter(lines, names or ["timestamp"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return lines.getvalue().encode()


@dataclass(frozen=True)
class FeedKind:
    """A feed, a factory of its records, a scope that requests all of them, the writer of a response's body, the request
    parameter that selects records, and the values of an edited record.
    """

    name: str
    make: Callable[[int, random.Random], Record]
    scope: Scope
    body: Callable[[list[Record]], bytes]
    asked_by: str
    other: Mapping[str, Any]

    def page(self, records: list[Record], request: Request) -> bytes:
        query = dict(request.query)
        chosen = [record for record in records if record[HIDDEN] == query[self.asked_by]]
        size, number = int(query.get("pageSize", len(records) + 1)), int(query.get("page", 0))
        return self.body(chosen[number * size : (number + 1) * size])

    def run(self, lake: Lake, records: list[Record], at: datetime) -> RunReport:
        """Run the feed on a provider that serves these records."""
        feed, scope = all_feeds()[self.name], self.scope
        tickers = dict.fromkeys((*COMPANIES, *(record[HIDDEN] for record in records if scope.tickers)))
        scope = replace(scope, tickers=tuple(tickers)) if scope.tickers else scope
        if not lake.polls("polygon_splits"):
            poll_without_splits(lake, *tickers, at=at)
        store = CaptureStore.of(lake.root)

        def fetch(request: Request) -> Capture:
            capture = store.put(captured(feed.provider, request, self.page(records, request), fetched_at=at))
            verdict = feed.provider.judge(capture)
            if verdict != OK:
                raise AnswerRefused(verdict.gap_type, verdict.reason, capture.evidence)
            return capture

        client = SimpleNamespace(store=store, fetch=fetch, mode="live")
        return run_feed(feed, scope, client, lake, run_id=f"r{at:%d}", observed_at=at)


FEED_KINDS = (
    FeedKind(
        "benzinga_news", article, Scope(**LAST), lambda records: json.dumps(shown(records)).encode(), "dateFrom",
        {"title": "another"},
    ),
    FeedKind(
        "polygon_dividends", dividend, Scope(tickers=tuple(COMPANIES)),
        lambda records: json.dumps({"status": "OK", "results": shown(records)}).encode(), "ticker",
        {"cash_amount": 0.26},
    ),
    FeedKind(
        "av_daily_bars", bar, Scope(tickers=tuple(COMPANIES), options={"outputsize": "full"}), as_lines, "symbol",
        {"volume": 1000},
    ),
)  # fmt: skip
