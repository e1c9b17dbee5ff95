"""EDGAR's part of a sync: submissions and facts of the watched companies, their events, and their names.

Each company's submissions are requested again, with one request. Older pages, facts and documents are requested only if
the submissions show a change. Every answer is captured before it is published, so that a stopped sync continues from
the captures.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import date, timedelta
from typing import Any, Self
from uuid import uuid4

from assets.derived import names
from assets.external import feed
from assets.external.sec_edgar import sec_filings
from assets.feeds.feed import Feed, Scope, Unit
from assets.feeds.replaying import first_request, read_by
from assets.feeds.replaying import name as capture_name
from assets.feeds.runs import NO_ROW, run_feed
from assets.order import in_order
from checks.expectations import expected
from pipelines.sync.progress import Progress
from pipelines.sync.upkeep import Upkeep
from pitlake import clock
from pitlake.cli import render
from pitlake.clock import new_york_day
from pitlake.contract import UNREADABLE_RECORD
from pitlake.datasets._shared import WITHHELD
from pitlake.datasets.sec_facts import UNKNOWN_FILING
from pitlake.errors import AnswerRefused, Unparsable
from pitlake.lake.lake import Lake
from resources.http.capture import Capture, CaptureStore, Request
from resources.http.client import HttpClient
from resources.http.provider import NO_DATA, OK
from resources.http.providers.sec_edgar import PROVIDER

COMPANIES_AT_ONCE = 25
DATASETS = ("sec_filings", "sec_facts", "universe_events")
PROVEN_BY_ROWS = ("sec_filings", "sec_facts")
"""The datasets in which a company with records has a row."""
DOUBTFUL = (NO_ROW, UNREADABLE_RECORD)
"""The reasons of gaps, in addition to unreadable values, after which facts are requested again."""
A_DAY = timedelta(days=1)
FACTS_FOLLOW = timedelta(days=1)
"""The longest time from a filing until its facts appear in EDGAR's company facts."""


class EdgarSync:
    """Updates companies in a lake. Use as a context manager."""

    def __init__(self, lake: Lake, progress: Progress, *, since: date | None, headers: str) -> None:
        """since: the first day of filings and facts to load. headers: the option of `sec_filings`."""
        self._lake, self._progress, self._since, self._headers = lake, progress, since, headers
        self._store = CaptureStore.of(lake.location)
        self._begun_at = clock.now()
        self._feeds: dict[str, Feed] = {name: feed(name) for name in in_order(DATASETS)}
        self._read = {name: read_by(lake, name, self._store) for name in DATASETS}
        self._changed_pages: set[str] = set()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._anew = self._client("refresh")
        self._once = self._client("live")
        return self

    def __exit__(self, *_raised: object) -> None:
        self._stack.close()

    def _client(self, mode: str) -> HttpClient:
        return self._progress.counting(self._stack.enter_context(HttpClient(PROVIDER, self._store, mode)))

    def run(self, ciks: Sequence[str]) -> None:
        """Request the new data of companies and publish it, a few companies at a time, then derive their names."""
        upkeep, done, published = Upkeep(self._lake, (*DATASETS, "names")), 0, False
        for start in range(0, len(ciks), COMPANIES_AT_ONCE):
            answered: list[str] = []
            for cik in ciks[start : start + COMPANIES_AT_ONCE]:
                answered += [cik] if self._asked(cik) else []
                done += 1
                self._progress.now_and_then(f"sec_edgar: asked for {done} of {len(ciks)} companies")
            published |= self._publish(answered)
            upkeep.compact_where_due()
            self._progress.line(f"sec_edgar: {done} of {len(ciks)} companies are in the lake")
        if published:
            self._progress.say("names: deriving the names of companies")
            self._progress.add(names.derive(self._lake, run_id=_run_id(), audits=[expected]))
            upkeep.compact_where_due(at_end=True)

    def _scope(self, dataset: str, *ciks: str) -> Scope:
        options = {"headers": self._headers} if dataset == "sec_filings" else {}
        return Scope(ciks=ciks, date_from=self._since, options=options)

    def _asked(self, cik: str) -> bool:
        """Request all new data of a company. Return whether EDGAR answered, even if it has no data."""
        submissions: list[Capture] = []
        parts = (self._ask_for_filings, self._ask_for_facts, self._ask_for_events)
        answered = False
        for part in parts:
            try:
                part(cik, submissions)
                answered = True
            except AnswerRefused as refusal:
                answered |= refusal.answered_at is not None
                # A missing page raises an error, because EDGAR lists it.
                if refusal.gap_type != NO_DATA or (part == self._ask_for_filings and submissions):
                    self._progress.unanswered(f"CIK {cik}", refusal.reason)
            except Unparsable as problem:  # The run that reads the answer turns it into a gap.
                answered = True
                self._progress.unanswered(f"CIK {cik}", problem.problem)
            else:
                continue
            # A first reading of facts without their filings would make gaps of the facts, and date them too late.
            if part == self._ask_for_filings and not (submissions and self._has_read_facts(cik)):
                break
        return answered

    def _has_read_facts(self, cik: str) -> bool:
        request = first_request(self._feeds["sec_facts"], Unit(cik, self._scope("sec_facts", cik)))
        previous = self._newest_usable(request) if request else None
        return previous is not None and capture_name(previous) in self._read["sec_facts"]

    def _ask_for_filings(self, cik: str, submissions: list[Capture]) -> None:
        for capture in sec_filings.collect(Unit(cik, self._scope("sec_filings", cik)), self._fetch):
            submissions.append(capture)  # noqa: PERF402 - what came before a refusal counts

    def _ask_for_facts(self, cik: str, submissions: Sequence[Capture]) -> None:
        request = first_request(self._feeds["sec_facts"], Unit(cik, self._scope("sec_facts", cik)))
        if request is None:
            return
        previous = self._newest_usable(request)
        if previous is None:
            is_due = not self._is_missing(request, is_listed=_lists_facts(submissions, self._since))
        else:
            reasons = self._read["sec_facts"].get(capture_name(previous), ())
            is_doubtful = any(reason in DOUBTFUL or reason.endswith("unreadable") for reason in reasons)
            # EDGAR's list of filings at the time of these facts; blank if unknown.
            mains = self._store.newest_first(PROVIDER.name, submissions[0].request_key) if submissions else ()
            usable = (main for main in mains if main.fetched_at <= previous.fetched_at and PROVIDER.judge(main) == OK)
            earlier_list = next((main.body for main in usable), b"")
            is_due = _lacks_facts(previous, submissions, earlier_list) or (
                is_doubtful and not self._is_repeated(request)
            )
        if is_due:
            self._anew.fetch(request)

    def _ask_for_events(self, cik: str, _submissions: Sequence[Capture]) -> None:
        for _ in self._feeds["universe_events"].collect(Unit(cik, self._scope("", cik)), self._fetch):
            pass

    def _fetch(self, request: Request) -> Capture:
        """Return the answer to a feed's request. Request it again only if the capture may be out of date."""
        page = request.path.rpartition("/")[2] if request.path.startswith("/submissions/") else ""
        if "-submissions-" in page or not page:
            if not page and self._is_missing(request, is_listed=False):
                raise AnswerRefused(NO_DATA, "EDGAR has no such file", PROVIDER.url(request))
            client = self._anew if page in self._changed_pages else self._once
            return client.fetch(request)
        before = self._newest_usable(request)
        main = self._anew.fetch(request)
        if before is not None and before.sha256 != main.sha256:
            pages, pages_before = _pages(main), _pages(before)
            self._changed_pages |= {page for page, digest in pages.items() if pages_before.get(page) != digest}
        return main

    def _is_missing(self, request: Request, *, is_listed: bool) -> bool:
        """Return whether EDGAR lacks a file and need not be asked again yet: for a day after the first such answer, and
        for good after a second one a day later. is_listed: whether EDGAR lists the file, so that the first answer may
        be a mistake.
        """
        newest = next(self._store.newest_first(PROVIDER.name, request.key(PROVIDER.name)), None)
        if newest is None or PROVIDER.judge(newest).gap_type != NO_DATA:
            return False
        is_new = self._begun_at - newest.fetched_at < A_DAY
        return (is_new and not is_listed) or self._is_repeated(request)

    def _is_repeated(self, request: Request) -> bool:
        """Return whether the newest answer to a request is the same as an answer that is at least a day older."""
        answers = self._store.newest_first(PROVIDER.name, request.key(PROVIDER.name))
        newest = next(answers, None)
        return newest is not None and any(
            (newest.status, newest.sha256) == (older.status, older.sha256)
            and newest.fetched_at - older.fetched_at >= A_DAY
            for older in answers
        )

    def _newest_usable(self, request: Request) -> Capture | None:
        captures = self._store.newest_first(PROVIDER.name, request.key(PROVIDER.name))
        return next((capture for capture in captures if PROVIDER.judge(capture) == OK), None)

    def _publish(self, ciks: Sequence[str]) -> bool:
        """Publish the unread captures of companies, and return whether there were any."""
        published = False
        for dataset, source in self._feeds.items():
            unread = tuple(cik for cik in ciks if self._is_unread(source, cik))
            if not unread:
                continue
            run_id = _run_id()
            with HttpClient(PROVIDER, self._store, "replay") as client:
                scope = self._scope(dataset, *unread)
                report = run_feed(source, scope, client, self._lake, run_id=run_id, audits=(expected,))
            if self._progress.add(report) and dataset in PROVEN_BY_ROWS:
                self._report_without_rows(dataset, run_id)
            published = True
        return published

    def _report_without_rows(self, dataset: str, run_id: str) -> None:
        """Report the companies of a run whose records all became gaps."""
        refused: Mapping[str, Sequence[str]] = self._store.run(run_id, dataset).get("refused", {})
        count = sum(NO_ROW in reasons and not {NO_ROW, WITHHELD.reason} >= set(reasons) for reasons in refused.values())
        if count:
            companies = render.count(count, "company", "companies")
            problem = f"every record of {companies} became a gap"
            self._progress.failures.append(f"{dataset}: {problem}; the next sync asks again")

    def _is_unread(self, source: Feed, cik: str) -> bool:
        """Return whether a company's newest answer must be read: either no run has read it, or it had facts of filings
        that the lake then lacked.
        """
        request = first_request(source, Unit(cik, self._scope(source.dataset.name, cik)))
        taken = self._store.newest_first(PROVIDER.name, request.key(PROVIDER.name)) if request else iter(())
        newest = next(taken, None)
        if newest is None:
            return False
        reasons = self._read[source.dataset.name].get(capture_name(newest))
        return reasons is None or UNKNOWN_FILING.reason in reasons


def _pages(main: Capture) -> Mapping[str, Any]:
    """Return the submissions' description of each older page."""
    files = main.json().get("filings", {}).get("files") or []
    return {str(page.get("name")): page for page in files if isinstance(page, dict)}


def _lists_facts(submissions: Sequence[Capture], since: date | None) -> bool:
    """Return whether submissions list a filing with XBRL on or after a day."""
    rows = (row for page in submissions if "/submissions/" in page.url for row in sec_filings.rows_of(page))
    return any(row["is_xbrl"] == 1 and (since is None or str(row["filing_date"]) >= since.isoformat()) for row in rows)


def _lacks_facts(facts: Capture, submissions: Sequence[Capture], earlier_list: bytes) -> bool:
    """Return whether submissions list a filing with XBRL that is newer than the fetched facts, or that EDGAR did not
    list at that time, because a filing may appear days after its date.
    """
    first: date = new_york_day(facts.fetched_at) - FACTS_FOLLOW
    for page in submissions:
        if "/submissions/" not in page.url:
            continue
        for row in sec_filings.rows_of(page):
            number = str(row["accession_no"]).encode()
            is_new = page is submissions[0] and bool(earlier_list) and number not in earlier_list
            is_new |= str(row["filing_date"]) >= first.isoformat()
            if row["is_xbrl"] == 1 and is_new and number not in facts.body:
                return True
    return False


def _run_id() -> str:
    return f"sync-{uuid4().hex}"
