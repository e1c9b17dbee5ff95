"""Every source through a whole run, faults included: what was extracted is published, unchanged or a gap, and shown."""

import pytest

from assets.external import all_feeds
from assets.feeds.runs import run_feed
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from tests.providers.conftest import Accepted, hasty
from tests.providers.faults import CASES, always, at_first
from tests.providers.scopes import SCOPES

BUSY = next(case for case in CASES if case.name == "429")
DOWN = next(case for case in CASES if case.name == "503")


@pytest.fixture
def lake(tmp_path) -> Lake:
    """A lake for each source, because two sources of one provider may ask the same."""
    return Lake(tmp_path / "lake")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", all_feeds())
def test_nothing_is_lost_silently_whatever_happens(server, lake, name):
    feed = all_feeds()[name]

    def run(run_id: str, fault) -> object:
        server.behave(fault)
        with HttpClient(hasty(feed.provider), CaptureStore.of(lake.root), "live", pause=lambda _: None) as client:
            report = run_feed(feed, SCOPES[name], client, lake, run_id=run_id, releases=Accepted())
        assert {check.name: check.passed for check in report.checks}["conservation"]
        total = report.outcome.total
        assert total.extracted == total.published + total.unchanged + total.gaps > 0
        return total

    down = run("down", always(DOWN))
    assert (down.published, down.gaps) == (0, down.extracted)
    up = run("up", at_first(BUSY))
    assert up.published
    again = run("again", None)
    assert server.asked == []
    assert (again.published, again.unchanged) == (0, up.published + up.unchanged)
