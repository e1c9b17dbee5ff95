"""Fixtures shared by the tests of external providers: a local server, invalid keys, and a client that never waits."""

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
PATIENCE, NO_PATIENCE = 5.0, 0.1  # the second is for servers that withhold their response
ACCEPTED = datetime(2025, 3, 1, 12, tzinfo=timezone.utc)


def hasty(provider: Provider, patience: float = PATIENCE) -> Provider:
    """Return the provider with short timeouts and few attempts, for a local server."""
    return replace(provider, timeout=(PATIENCE, patience), attempts=3)


class NoLimit:
    """A rate limit that is never reached. The real limit uses a file, which would take longer than the requests."""

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
    """The local server, without faults and recorded requests."""
    loopback.behave()
    return loopback


class Accepted:
    """The releases of a lake that knows every filing, but no earnings."""

    def release(self, accession_no: str, cik: str, filing_date: date | None = None) -> Release:
        return Release(ACCEPTED, BY_FILING_DATE, ACCEPTED)

    def __call__(self, ticker: str, day: date) -> None:
        return None

    def silent_around(self, ticker: str, day: date) -> bool:
        return False


def run_once(name: str, lake: Lake, run_id: str = "run", mode: str = "live", **scope: object) -> RunReport:
    """Run a feed over the network into a lake. scope: changes to the feed's example scope."""
    feed = all_feeds()[name]
    with HttpClient(hasty(feed.provider), CaptureStore.of(lake.root), mode, pause=lambda _: None) as client:
        question = replace(SCOPES[name], **scope)
        return run_feed(feed, question, client, lake, run_id=run_id, releases=Accepted())


@dataclass
class Asker:
    """A feed that is queried over the network, and the pauses between its attempts."""

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
