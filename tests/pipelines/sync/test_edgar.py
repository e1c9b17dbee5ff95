"""What a sync makes of EDGAR's answers about a company, before anything of them is published."""

import pytest

from pipelines.sync.edgar import EdgarSync
from pipelines.sync.progress import Progress
from pitlake.lake.storage.watch_list import WatchList
from tests.loopback import Answer

CIK = "0000001000"
FACTS, SUBMISSIONS = f"/api/xbrl/companyfacts/CIK{CIK}.json", f"/submissions/CIK{CIK}.json"


@pytest.fixture
def failures(edgar, lake, monkeypatch):
    """Return the failures of a sync of one company, of which nothing is published."""
    monkeypatch.setattr(EdgarSync, "_publish", lambda *_: False)
    lake.watch(WatchList())

    def run():
        progress = Progress(lambda _: None)
        with EdgarSync(lake, progress, since=None, headers="none") as syncing:
            syncing.run([CIK])
        return progress.failures

    return run


def test_a_company_without_facts_is_answered(edgar, failures):
    edgar.server.plays(FACTS, Answer(b"", 404))
    assert failures() == []
    assert FACTS in edgar.asked


def test_a_company_that_edgar_does_not_have_is_answered(edgar, failures):
    edgar.server.plays(SUBMISSIONS, Answer(b"", 404))
    assert failures() == []


def test_an_older_page_that_edgar_lists_and_does_not_have_is_a_failure(edgar, failures):
    edgar.server.plays(SUBMISSIONS.replace(".json", "-submissions-001.json"), Answer(b"", 404))
    assert failures() == [f"no answer: CIK {CIK}: HTTP 404; the next sync asks again"]


def test_an_answer_that_cannot_be_read_is_a_failure(edgar, failures):
    edgar.server.plays(SUBMISSIONS, Answer(b'{"cik": "0000001000"}', headers={"content-type": "application/json"}))
    assert failures() == [f"no answer: CIK {CIK}: the answer is unreadable; the next sync asks again"]
