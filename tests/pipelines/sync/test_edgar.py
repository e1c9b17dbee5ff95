"""The requests of a sync to EDGAR about one company, and how the responses are read before anything is published."""

import pytest

from pipelines.sync.edgar import EdgarSync
from pipelines.sync.progress import Progress
from pitlake.lake.storage.watch_list import WatchList
from tests.loopback import Answer

CIK = "0000001000"
FACTS, SUBMISSIONS = f"/api/xbrl/companyfacts/CIK{CIK}.json", f"/submissions/CIK{CIK}.json"
PAGE = SUBMISSIONS.replace(".json", "-submissions-001.json")


class Asking:
    """A sync of the first company without publishing, with its output lines and failures."""

    def __init__(self, edgar, lake) -> None:
        self.edgar, self.lake = edgar, lake
        self.lines, self.failures, self.answered = [], [], []

    def ask(self, headers="none"):
        self.edgar.server.asked.clear()
        progress = Progress(self.lines.append)
        with EdgarSync(self.lake, progress, since=None, headers=headers) as syncing:
            syncing.run([CIK])
        self.failures = progress.failures
        return self.edgar.asked


@pytest.fixture
def asking(edgar, lake, monkeypatch):
    def publish(_, ciks):
        asking.answered += ciks
        return False

    asking = Asking(edgar, lake)
    monkeypatch.setattr(EdgarSync, "_publish", publish)
    lake.watch(WatchList())
    return asking


def test_a_company_without_facts_is_no_failure(edgar, asking):
    edgar.server.plays(FACTS, Answer(b"", 404))
    assert FACTS in asking.ask()
    assert asking.failures == []
    assert asking.lines[-1].startswith("sec_edgar: 1 of 1 companies are in the lake (")


def test_a_company_that_edgar_does_not_have_is_no_failure(edgar, asking):
    edgar.server.plays(SUBMISSIONS, Answer(b"", 404))
    asking.ask()
    assert asking.failures == []
    assert asking.answered == [CIK]


def test_an_older_page_that_edgar_lists_and_does_not_have_is_a_failure(edgar, asking):
    edgar.server.plays(PAGE, Answer(b"", 404))
    assert FACTS not in asking.ask()
    assert asking.failures == [f"no answer: CIK {CIK}: HTTP 404; the next sync asks again"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda filings: filings["recent"]["filingDate"].pop(), "the answer is unreadable"),
        (lambda filings: filings["files"][0].update(filingTo="soon"), "its list of pages can't be read: "),
    ],
    ids=["uneven columns", "a list of pages without days"],
)
def test_submissions_that_cannot_be_read_are_a_failure(edgar, asking, change, problem):
    main = edgar.companies[0].submissions()[f"CIK{CIK}.json"]
    change(main["filings"])
    edgar.server.plays(SUBMISSIONS, Answer(main, headers={"content-type": "application/json"}))
    asking.ask()
    [failure] = asking.failures
    assert failure.startswith(f"no answer: CIK {CIK}: {problem}")


def test_an_older_page_is_requested_again_only_if_its_listing_has_changed(edgar, asking):
    assert PAGE in asking.ask()
    edgar.companies[0].reports(2018, 1)
    edgar.publish()
    assert PAGE not in asking.ask()
    edgar.companies[0].older += 1
    edgar.publish()
    assert PAGE in asking.ask()


@pytest.mark.parametrize(("headers", "count"), [("none", 0), ("all", 3)])
def test_filing_headers_are_requested_only_if_the_option_says_so(edgar, asking, headers, count):
    del edgar.companies[0].filings[3:]
    edgar.publish()
    paths = asking.ask(headers=headers)
    assert len([path for path in paths if "/Archives/" in path]) == count, paths
