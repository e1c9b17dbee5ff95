"""Shared by the tests of outside providers: the loopback server, invalid keys, and a client that never waits."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone
from pathlib import Path

import pytest

from assets.edgar import Release
from assets.external import all_feeds
from assets.extraction import Gap, Row, RunFacts
from assets.feeds.feed import Feed, Scope
from assets.feeds.runs import RunReport, collect_unit, outcomes, run_feed
from pitlake import clock
from pitlake.datasets._shared import BY_FILING_DATE
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from resources.http.provider import Provider
from tests.providers.scopes import SCOPES
from tests.providers.server import Loopback

KEY = "no-key-opens-anything-0123456789"
CONTACT = "Pit Lake tests@example.com"
PATIENCE, NO_PATIENCE = 5.0, 0.1  # the second is for servers that hold their answer back
ACCEPTED = datetime(2025, 3, 1, 12, tzinfo=timezone.utc)


def hasty(provider: Provider, patience: float = PATIENCE) -> Provider:
    """A provider as a local server that is queried a few times."""
    return replace(provider, timeout=(PATIENCE, patience), attempts=3)


class NoLimit:
    """A rate that is never reached, because the real one's file would take longer than the requests."""

    def __init__(self, *_: object) -> None:
        pass

    def wait(self, seconds: float) -> bool:
        return True

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")  # its patches must be undone before other tests run
def loopback() -> Iterator[Loopback]:
    with Loopback() as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr("resources.http.client.RateLimit", NoLimit)
        for name, value in server.settings().items():
            patch.setenv(name, value)
        for feed in all_feeds().values():
            for variables in feed.provider.secrets.values():
                patch.setenv(variables[0], KEY)
            for variable in feed.provider.contact[:1]:
                patch.setenv(variable, CONTACT)
        yield server


@pytest.fixture
def server(loopback) -> Loopback:
    """The server without faults and without recorded requests."""
    loopback.behave()
    return loopback


class Accepted:
    """A lake that has the release of every filing, and no earnings."""

    def release(self, accession_no: str, cik: str, filing_date: date | None = None) -> Release:
        return Release(ACCEPTED, BY_FILING_DATE, ACCEPTED)

    def __call__(self, ticker: str, day: date) -> None:
        return None

    def silent_around(self, ticker: str, day: date) -> bool:
        return False


def run_once(name: str, lake: Lake, run_id: str = "run", mode: str = "live", **scope: object) -> RunReport:
    """Run a feed over the network into a lake, for its example or another scope."""
    feed = all_feeds()[name]
    with HttpClient(hasty(feed.provider), CaptureStore.of(lake.root), mode, pause=lambda _: None) as client:
        question = replace(SCOPES[name], **scope)
        return run_feed(feed, question, client, lake, run_id=run_id, releases=Accepted())


@dataclass
class Asker:
    """Runs one feed over the network, and records the outcome of every record and the pauses."""

    feed: Feed
    root: Path
    scope: Scope
    waited: list[float] = field(default_factory=list)

    def ask(self, mode: str = "live", patience: float = PATIENCE) -> list[Row | Gap]:
        result: list[Row | Gap] = []
        store = CaptureStore(self.root)
        with HttpClient(hasty(self.feed.provider, patience), store, mode, pause=self.waited.append) as client:
            for unit in self.feed.units(self.scope):
                captures, refusal = collect_unit(self.feed, unit, client.fetch)
                run = RunFacts(observed_at=clock.now(), releases=Accepted())
                result += [outcome for outcome, _ in outcomes(self.feed, unit, captures, refusal, run)]
        return result


@pytest.fixture
def asker(tmp_path_factory):
    def make(name: str) -> Asker:
        return Asker(all_feeds()[name], tmp_path_factory.mktemp(name), SCOPES[name])

    return make
