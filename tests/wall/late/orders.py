"""Replays of scopes in random orders, which lead to the same lake. The captures are of dividends and splits, by ticker
and by days; their records change between the polls.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

from assets.external import feed
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from assets.order import in_order
from pitlake.clock import AVAILABLE_AT
from pitlake.datasets import get
from pitlake.errors import NotCaptured
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore, Request
from resources.http.client import HttpClient
from tests.answers import captured
from tests.tally import Tally
from tests.wall.late.asking import Held
from tests.wall.late.judge import MICROSECOND

BEGAN = datetime(2024, 3, 1, 15, tzinfo=timezone.utc)
TICKERS = ("AAA", "BBB", "CCC")
DAYS = Scope(date_from=date(2024, 2, 1), date_to=date(2024, 2, 29))
SCOPES = (*(Scope(tickers=(ticker,)) for ticker in TICKERS), DAYS)
FEEDS = ("polygon_dividends", "polygon_splits")
ORDERS, INSTANTS = 3, 200


def judged(seed: int, root: Path) -> Tally:
    """Compare lakes into which one store of captures is replayed scope by scope, in random orders.

    If feeds are replayed in an order other than the loading order, a record may appear later, but never earlier.
    """
    rng = Random(seed)
    store = CaptureStore(root / "captures")
    for name in FEEDS:
        _captured(rng, store, name)
    tally = Tally()
    first, *others = (_lake(rng, store, root / f"lake-{number}", in_order(FEEDS)) for number in range(ORDERS))
    shuffled = _lake(rng, store, root / "shuffled", rng.sample(FEEDS, len(FEEDS)))
    changes = [row[AVAILABLE_AT] for rows in first.rows.values() for row in rows]
    for number in range(INSTANTS):
        between = BEGAN + timedelta(days=rng.uniform(-40, 60))
        as_of = rng.choice((between, rng.choice(changes or [between]) + rng.choice((-1, 0, 1)) * MICROSECOND))
        expected = _rows(first, as_of)
        for other in others:
            tally.compared += len(expected)
            if _rows(other, as_of) != expected:
                tally.failures.append(f"seed {seed}, as of {as_of}, instant {number}: the order of scopes changes it")
        if early := _contents(shuffled, as_of) - _contents(first, as_of):
            tally.failures.append(f"seed {seed}, as of {as_of}: another order of feeds shows early {sorted(early)}")
    return tally


def _lake(rng: Random, store: CaptureStore, root: Path, names: Sequence[str]) -> Held:
    """Replay feeds in this order, and the scopes of each in a random order."""
    lake = Lake(root)
    for name in names:
        for scope in rng.sample(SCOPES, len(SCOPES)):
            _replayed(store, lake, name, scope)
    return Held(lake)


def _rows(content: Held, as_of: datetime) -> dict[str, list[str]]:
    answers = {name: rows for name, rows in content.answers(as_of).items() if name != "FROM gaps"}
    return {name: sorted(repr(sorted(row.items(), key=repr)) for row in rows) for name, rows in answers.items()}


def _contents(content: Held, as_of: datetime) -> set[str]:
    """Return all contents of the revisions of records, as of an instant."""
    answers = content.answers(as_of)
    return {
        repr([(column, row[column]) for column in get(name).content_columns])
        for name in FEEDS
        for row in answers.get(f"FROM {name}_revisions", ())
    }


def _captured(rng: Random, store: CaptureStore, name: str) -> None:
    """Capture a provider's responses to random scopes at random times, between which records change."""
    source = feed(name)
    records = {(ticker, number): _record(rng, name, ticker, number) for ticker in TICKERS for number in range(2)}
    for step in range(6):
        at = BEGAN + timedelta(days=step, hours=rng.uniform(0, 20))
        scope = rng.choice(SCOPES)
        for _ in range(rng.randrange(3)):
            key = rng.choice(sorted(records))
            records[key] = {**records[key], **_changed(rng, name)}
        answer = [record for (ticker, _), record in records.items() if not scope.tickers or ticker in scope.tickers]

        def fetch(request: Request, answer: list[Any] = answer, at: datetime = at) -> Any:
            body = json.dumps({"status": "OK", "results": answer}).encode()
            return store.put(captured(source.provider, request, body, fetched_at=at, headers={}))

        for unit in source.units(scope):
            for _ in source.collect(unit, fetch):
                pass
    store.flush()


def _record(rng: Random, name: str, ticker: str, number: int) -> dict[str, Any]:
    day = f"2024-02-{5 + 12 * number + rng.randrange(5):02d}"
    record = {"id": f"{ticker}-{number}", "ticker": ticker}
    if name == "polygon_splits":
        return record | {"execution_date": day, "split_from": 1, "split_to": 2}
    return record | {
        "cash_amount": 0.5, "declaration_date": "2024-02-01", "ex_dividend_date": day, "dividend_type": "CD",
    }  # fmt: skip


def _changed(rng: Random, name: str) -> dict[str, Any]:
    if name == "polygon_splits":
        return {"split_to": rng.randrange(2, 9)}
    return {"cash_amount": rng.randrange(1, 99) / 100}


def _replayed(store: CaptureStore, lake: Lake, name: str, scope: Scope) -> None:
    run_id = f"{name}-{'-'.join(scope.tickers) or 'days'}"
    with HttpClient(feed(name).provider, store, "replay") as client, suppress(NotCaptured):
        run_feed(feed(name), scope, client, lake, run_id=run_id)
