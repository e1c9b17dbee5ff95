"""Bundled responses of outside providers, served without a network: what a feed collects, and the rows and gaps that it
produces.

A response is chosen by method, path and the parameters in its entry, and for POST also by a string that the body
contains.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path

from assets.extraction import Gap, Row, RunFacts
from assets.feeds.feed import Feed, Scope
from assets.feeds.runs import collect_unit, outcomes
from pitlake.datasets import get
from pitlake.errors import AnswerRefused
from pitlake.lake.lake import Lake
from resources.http.capture import Capture, CaptureStore, Request
from resources.http.provider import OK, Provider

FOLDER = Path(__file__).resolve().parents[1] / "sample/external"
FETCHED = datetime(2025, 3, 3, 15, tzinfo=timezone.utc)
JSON = {"content-type": "application/json"}


def at(text: str) -> datetime:
    """Return an instant in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def captured(provider: Provider, request: Request, body: bytes, **facts) -> Capture:
    """Return a response as the client captures it."""
    return Capture(
        **{
            "source": provider.name,
            "method": request.method,
            "url": provider.url(request),
            "params": request.query,
            "payload": request.json,
            "status": 200,
            "headers": JSON,
            "body": body,
            "fetched_at": FETCHED,
            "sha256": sha256(body).hexdigest(),
            "request_key": request.key(provider.name),
        }
        | facts
    )


def poll_without_splits(lake: Lake, *tickers: str, at: datetime = datetime(2026, 1, 1, tzinfo=timezone.utc)) -> None:
    """Publish a poll that proves that these tickers had no splits, so that figures per share keep their dates."""
    poll_without_rows(lake, "polygon_splits", *tickers, at=at)


def poll_without_rows(
    lake: Lake, dataset: str, *tickers: str, at: datetime = datetime(2026, 1, 1, tzinfo=timezone.utc)
) -> None:
    """Publish a complete poll of a dataset for these tickers that found nothing."""
    with lake.stage(get(dataset), f"no-{dataset}") as stage:
        stage.poll(entities=tickers)
        for ticker in tickers:
            stage.cover(ticker)
        lake.publish(stage, at)


def yahoo_events(*rows: list, columns=("startdatetime", "epsestimate", "epsactual", "epssurprisepct")) -> dict:
    """Return a response of Yahoo about earnings."""
    documents = [{"columns": [{"id": name} for name in columns], "rows": list(rows)}]
    return {"finance": {"result": [{"documents": documents}], "error": None}}


def yahoo_ratings(*history: dict) -> dict:
    return {"quoteSummary": {"result": [{"upgradeDowngradeHistory": {"history": list(history)}}], "error": None}}


@dataclass
class Played:
    """A provider that serves its bundled responses and records the requests."""

    provider: Provider
    fetched_at: datetime = FETCHED
    asked: list[Request] = field(default_factory=list)

    def entries(self) -> list[dict]:
        return json.loads((FOLDER / self.provider.name / "answers.json").read_text())

    def capture(self, request: Request) -> Capture:
        entry = next(entry for entry in self.entries() if answers(entry, request))
        body = (FOLDER / self.provider.name / entry["file"]).read_bytes()
        facts = {name: entry[name] for name in ("status", "headers") if name in entry}
        return captured(self.provider, request, body, fetched_at=self.fetched_at, **facts)

    def fetch(self, request: Request) -> Capture:
        self.asked.append(request)
        capture = self.capture(request)
        verdict = self.provider.judge(capture)
        if verdict != OK:
            raise AnswerRefused(verdict.gap_type, verdict.reason, capture.evidence)
        return capture

    def keep(self, store: CaptureStore) -> None:
        """Store a capture of every requested response, so that a run can be replayed."""
        for request in self.asked:
            store.put(self.capture(request))


def answers(entry: dict, request: Request) -> bool:
    """Return whether an entry answers a request."""
    question = dict(request.query)
    return (
        entry.get("method", "GET") == request.method
        and entry["path"].strip("/") == request.path.strip("/")
        and entry.get("host", "") == request.host
        and all(question.get(name) == value for name, value in entry["params"].items())
        and entry.get("contains", "") in json.dumps(request.json)
    )


def happened(feed: Feed, scope: Scope, fetch, observed_at: datetime = FETCHED, **facts) -> list[Row | Gap]:
    """Return the outcome of every record of a scope. facts: fields of the run, such as `releases`."""
    return list(_happened(feed, scope, fetch, RunFacts(observed_at=observed_at, **facts)))


def _happened(feed: Feed, scope: Scope, fetch, run: RunFacts) -> Iterator[Row | Gap]:
    for unit in feed.units(scope):
        captures, refusal = collect_unit(feed, unit, fetch)
        for outcome, _ in outcomes(feed, unit, captures, refusal, run):
            yield outcome


def rows(result: Sequence[Row | Gap]) -> list[Row]:
    return [each for each in result if isinstance(each, Row)]


def gaps(result: Sequence[Row | Gap]) -> list[tuple[str, str]]:
    return [(each.type, each.reason) for each in result if isinstance(each, Gap)]
