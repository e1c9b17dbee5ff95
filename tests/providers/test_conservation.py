"""A whole run of every source, with faults: every extracted record is published, unchanged or a gap."""

import pytest

from assets.external import all_feeds
from tests.providers.conftest import run_once
from tests.providers.faults import CASES, always, at_first

BUSY, DOWN = (next(case for case in CASES if case.name == name) for name in ("429", "503"))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", all_feeds())
def test_every_extracted_record_is_published_unchanged_or_a_gap_despite_faults(server, lake, name):
    def run(run_id: str, fault, mode: str = "live") -> object:
        server.behave(fault)
        report = run_once(name, lake, run_id, mode)
        assert {check.name: check.passed for check in report.checks}["conservation"]
        total = report.outcome.total
        assert total.extracted == total.published + total.unchanged + total.gaps > 0
        return total

    down = run("down", always(DOWN))
    assert (down.published, down.gaps) == (0, down.extracted)
    up = run("up", at_first(BUSY))
    assert up.published
    for mode in ("live", "replay"):
        again = run(f"again-{mode}", None, mode)
        assert server.asked == []
        assert (again.published, again.unchanged) == (0, up.published + up.unchanged)
