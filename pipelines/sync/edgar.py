"""EDGAR's part of a sync: submissions and facts of the watched companies, their events, and their names.

Each company's submissions are requested again, which takes one request. Older pages, facts and documents are requested
only if the submissions show a change. Every answer is captured before it is published, so that a stopped sync continues
from the captures.
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
from assets.feeds.runs import run_feed
from assets.order import in_order
from checks.expectations import expected
from pipelines.sync.progress import Progress
from pipelines.sync.upkeep import Upkeep
from pitlake import clock
from pitlake.clock import new_york_day
from pitlake.errors import AnswerRefused, Unparsable
from pitlake.lake.lake import Lake
from resources.http.capture import Capture, CaptureStore, Request
from resources.http.client import HttpClient
from resources.http.provider import NO_DATA, OK
from resources.http.providers.sec_edgar import PROVIDER

COMPANIES_AT_ONCE = 25
DATASETS = ("sec_filings", "sec_facts", "universe_events")
FACTS_FOLLOW = timedelta(days=1)
"""The longest time from a filing until its facts appear in EDGAR's company facts."""


class EdgarSync:
    """Brings companies of one lake up to date. Use as a context manager."""

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
        self._anew = self._stack.enter_context(HttpClient(PROVIDER, self._store, "refresh"))
        self._once = self._stack.enter_context(HttpClient(PROVIDER, self._store, "live"))
        return self

    def __exit__(self, *_raised: object) -> None:
        self._stack.close()

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
        """Request all new data of a company; return whether EDGAR answered, even if only that it has none."""
        submissions: list[Capture] = []
        try:
            for capture in sec_filings.collect(Unit(cik, self._scope("sec_filings", cik)), self._fetch):
                submissions.append(capture)  # noqa: PERF402 - what came before a refusal counts
            self._ask_for_facts(Unit(cik, self._scope("sec_facts", cik)), submissions)
            for _ in self._feeds["universe_events"].collect(Unit(cik, self._scope("", cik)), self._fetch):
                pass
        except AnswerRefused as refusal:
            if refusal.gap_type != NO_DATA:
                self._progress.unanswered.append(f"CIK {cik}: {refusal.reason}")
            return refusal.answered_at is not None or bool(submissions)
        except Unparsable:
            pass  # The run that reads an unreadable answer turns it into a gap.
        return True

    def _ask_for_facts(self, unit: Unit, submissions: Sequence[Capture]) -> None:
        request = first_request(self._feeds["sec_facts"], unit)
        if request is None:
            return
        previous = self._newest_usable(request)
        client = self._anew if previous is None or _lacks_facts(previous, submissions) else self._once
        try:
            self._count(client.fetch(request))
        except AnswerRefused as refusal:
            if refusal.gap_type != NO_DATA:
                raise

    def _fetch(self, request: Request) -> Capture:
        """Return the answer to a feed's request, requested again only if the capture may be out of date."""
        is_main = request.path.startswith("/submissions/") and "-submissions-" not in request.path
        if not is_main:
            client = self._anew if request.path.rpartition("/")[2] in self._changed_pages else self._once
            return self._count(client.fetch(request))
        before = self._newest_usable(request)
        main = self._count(self._anew.fetch(request))
        if before is not None and before.sha256 != main.sha256:
            pages, pages_before = _pages(main), _pages(before)
            self._changed_pages |= {page for page, digest in pages.items() if pages_before.get(page) != digest}
        return main

    def _newest_usable(self, request: Request) -> Capture | None:
        captures = self._store.newest_first(PROVIDER.name, request.key(PROVIDER.name))
        return next((capture for capture in captures if PROVIDER.judge(capture) == OK), None)

    def _count(self, capture: Capture) -> Capture:
        if capture.fetched_at >= self._begun_at:
            self._progress.answered(len(capture.body))
        return capture

    def _publish(self, ciks: Sequence[str]) -> bool:
        """Publish the unread captures of companies; return whether there were any."""
        published = False
        for dataset, source in self._feeds.items():
            unread = tuple(cik for cik in ciks if self._is_unread(source, cik))
            if not unread:
                continue
            with HttpClient(PROVIDER, self._store, "replay") as client:
                scope = self._scope(dataset, *unread)
                report = run_feed(source, scope, client, self._lake, run_id=_run_id(), audits=(expected,))
            self._progress.add(report)
            published = True
        return published

    def _is_unread(self, source: Feed, cik: str) -> bool:
        """Whether no run has read the newest answer to a company's first request."""
        request = first_request(source, Unit(cik, self._scope(source.dataset.name, cik)))
        taken = self._store.newest_first(PROVIDER.name, request.key(PROVIDER.name)) if request else iter(())
        newest = next(taken, None)
        return newest is not None and capture_name(newest) not in self._read[source.dataset.name]


def _pages(main: Capture) -> Mapping[str, Any]:
    """Return the submissions' description of each older page."""
    files = main.json().get("filings", {}).get("files") or []
    return {str(page.get("name")): page for page in files if isinstance(page, dict)}


def _lacks_facts(facts: Capture, submissions: Sequence[Capture]) -> bool:
    """Whether submissions list a filing with XBRL that is newer than the fetched facts."""
    first: date = new_york_day(facts.fetched_at) - FACTS_FOLLOW
    for page in submissions:
        if "/submissions/" not in page.url:
            continue
        for row in sec_filings.rows_of(page):
            late = row["is_xbrl"] == 1 and str(row["filing_date"]) >= first.isoformat()
            if late and str(row["accession_no"]).encode() not in facts.body:
                return True
    return False


def _run_id() -> str:
    return f"sync-{uuid4().hex}"
