"""Records per second that the feed of each outside source turns into rows and gaps, including the parsing of its
bundled answers. The answers are small and parsed repeatedly, so the cost of an answer is spread over few records.
bench.external measures a large answer of EDGAR.
"""

import time
from datetime import date, datetime, timezone

from assets.edgar import Release
from assets.external import all_feeds
from assets.extraction import RunFacts
from assets.feeds.feed import Feed, Scope
from assets.feeds.runs import collect_unit, outcomes
from assets.reading import collector_paused
from bench.figures import Figure, figure
from pitlake.datasets._shared import BY_FILING_DATE
from sample.bundled import captured
from tests.providers.scopes import SCOPES

FETCHED = datetime(2025, 3, 3, 15, tzinfo=timezone.utc)
SECONDS = 0.3


class Accepted:
    """A lake that has the release of every filing, and no earnings."""

    def release(self, accession_no: str, cik: str, filing_date: date | None = None) -> Release:
        return Release(FETCHED, BY_FILING_DATE, FETCHED)

    def __call__(self, ticker: str, day: date) -> None:
        return None


def normalised(feed: Feed, scope: Scope) -> Figure:
    """Return the records of one feed per CPU second."""
    unit = feed.units(scope)[0]
    captures, refusal = collect_unit(feed, unit, lambda request: captured(feed.provider, request, FETCHED))
    run = RunFacts(observed_at=FETCHED, releases=Accepted())
    records, spent = 0, 0.0
    with collector_paused():
        started = time.process_time()
        while spent < SECONDS:
            records += sum(1 for _ in outcomes(feed, unit, captures, refusal, run))
            spent = time.process_time() - started
    return figure(f"{feed.provider.name} {feed.dataset.name}: answer to rows and gaps", records / spent, "records/s")


def run() -> list[Figure]:
    """Return the figure of every feed."""
    return [normalised(feed, SCOPES[name]) for name, feed in all_feeds().items()]
