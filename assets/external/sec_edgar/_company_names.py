"""The names of a company over time, from EDGAR's submissions: each name, its first day and the proof.

The datasets `names` and `universe_events` both use these dates. Pure.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from http import HTTPStatus
from typing import Any, NamedTuple

from assets.edgar import is_by_others, withheld
from assets.extraction import UNFORESEEN
from assets.feeds import dating
from assets.feeds.acceptances import release
from pitlake import clock
from pitlake.errors import Unparsable, Unreadable
from resources.http.capture import Capture

ONE_DAY, EDGAR_BEGAN = timedelta(days=1), date(1993, 1, 1)
MOVED_AT_MOST = timedelta(days=7)
"""The maximum time by which EDGAR moves the date of a filing back from the day on which it was shown."""
EVENING = "17"
"""The first hour of an acceptance, on either clock, at which a filing may be shown after its date."""
FIRST_DRAFTS = date(2012, 10, 1)
"""The day from which companies file confidential drafts before any public filing."""

_SUBMISSIONS = re.compile(r"/submissions/CIK(\d{10})\.json$", re.ASCII)
_PAGE = re.compile(r"/submissions/(CIK\d{10}-submissions-\d+\.json)$", re.ASCII)


Days = Mapping[date, date]
"""The filing dates of filings by the company that EDGAR showed on acceptance, each with the first day on which a filing
of that date was shown.
"""


class Page(NamedTuple):
    """A page of older filings that was not read: its file, and the first and the last day of its filings."""

    name: str
    first: date
    last: date


class OlderFilings(NamedTuple):
    """A page of older filings that was read: its file, its fetch, its filings, and the first day of any filing."""

    name: str
    fetched_at: datetime
    days: Days
    first_listed: date


class Borne(NamedTuple):
    """A name of a company, the previous name, and the first and last days that EDGAR's answer allows for the name.

    shown: the first day on which a filing under the name was certainly shown; None if no day is certain. is_plain:
    whether nothing contradicts the first day that EDGAR gives.
    """

    name: str
    former: str | None
    begins: date
    until: date | None
    shown_day: date | None
    is_plain: bool


@dataclass(frozen=True, slots=True)
class Poll:
    """The names of a company in one answer from EDGAR. former: name, first and last day of each, oldest first.

    first_listed: the first day of any filing. pages: older filings that were not read.
    """

    fetched_at: datetime
    location: str
    cik: str
    name: str
    former: tuple[tuple[str, date, date], ...]
    tickers: tuple[str, ...]
    days: Days
    first_listed: date
    pages: tuple[Page, ...]

    def knows(self, name: str) -> bool:
        """Return whether the poll lists a name, present or former."""
        return name == self.name or any(name == former for former, _, _ in self.former)

    def reading(self, pages: Mapping[str, OlderFilings]) -> "Poll":
        """Return the poll with the filings of the older pages that were read."""
        read = [pages[page.name] for page in self.pages if page.name in pages]
        return replace(
            self,
            days={day: shown_day for page in read for day, shown_day in page.days.items()} | dict(self.days),
            first_listed=min([self.first_listed, *(page.first_listed for page in read)]),
            pages=tuple(page for page in self.pages if page.name not in pages),
        )


def polled(capture: Capture) -> Poll | None:
    """Return the names of a company in an answer; None for any other answer."""
    company = _SUBMISSIONS.search(capture.url)
    if capture.status != HTTPStatus.OK or not company:
        return None
    answer = capture.json()
    filings = answer["filings"]
    days, first_listed = _own_days(filings["recent"])
    former = (
        (_name(former["name"]), _day(former["from"]), _day(former["to"])) for former in answer.get("formerNames") or ()
    )
    return Poll(
        fetched_at=capture.fetched_at,
        location=capture.location,
        cik=company[1],
        name=_name(answer["name"]),
        former=tuple(sorted(former, key=lambda borne: borne[1:])),
        tickers=tuple(_name(ticker) for ticker in answer.get("tickers") or () if ticker),
        days=days,
        first_listed=first_listed,
        pages=tuple(
            Page(str(page.get("name")), dating.day(page["filingFrom"]), dating.day(page["filingTo"]))
            for page in filings.get("files") or ()
        ),
    )


def older_filings(capture: Capture) -> OlderFilings | None:
    """Return the filings of a page of older filings; None for any other answer."""
    page = _PAGE.search(capture.url)
    if capture.status != HTTPStatus.OK or not page:
        return None
    return OlderFilings(page[1], capture.fetched_at, *_own_days(capture.json()))


def names_of(poll: Poll, earlier: Sequence[Poll]) -> Iterator[Borne]:
    """Yield the names of a poll, oldest first, given the company's earlier polls in order.

    A name that an earlier poll did not contain begins after that poll.
    """
    ended: list[tuple[date, str]] = []
    for name, since, to in poll.former:
        begins = max([since, *(last + ONE_DAY for last, _ in ended), _unknown_until(name, earlier) + ONE_DAY])
        shown_day = _first_shown(poll, max(begins, EDGAR_BEGAN), to) if begins <= to else None
        yield Borne(name, _last(ended), begins, to, shown_day, begins == since)
        ended.append((to, name))
    begins = max([*(last for last, _ in ended), _unknown_until(poll.name, earlier)]) + ONE_DAY
    strangers = [before for before in earlier if not before.knows(poll.name)]
    unlisted = strangers and not poll.knows(strangers[-1].name)
    shown_day = None if unlisted else _first_shown(poll, begins, None)
    yield Borne(poll.name, _last(ended), begins, None, shown_day, True)


def pages_of_renames(main: Capture) -> list[str]:
    """Return the older pages with the first filing after each former name; [] if the answer is unreadable."""
    with suppress(Unparsable, *UNFORESEEN):
        poll = polled(main)
        if poll is not None:
            spans = sorted([*poll.pages, Page("", poll.first_listed, date.max)], key=lambda page: page.last)
            after = (next(page.name for page in spans if page.last > to) for _, _, to in poll.former)
            return sorted(set(after) - {""})
    return []


def shown_on(filing_date: date, form: str | None, acceptance: object) -> date:
    """Return the day on which EDGAR showed a filing. The SEC may move the filing's date back, but not its posting."""
    if isinstance(acceptance, str) and acceptance[:10] == str(filing_date) and acceptance[11:13] < EVENING:
        return filing_date
    with suppress(Unreadable):
        shown_day = clock.new_york_day(release(dating.edgar(acceptance, form), form, filing_date).at)
        if filing_date < shown_day <= filing_date + MOVED_AT_MOST:
            return shown_day
    return filing_date


def is_own(form: object) -> bool:
    """Return whether a form proves the company's name: the company files it, and EDGAR shows it on acceptance."""
    return not withheld(form) and not is_by_others(form)


def _own_days(columns: Mapping[str, Sequence[Any]]) -> tuple[Days, date]:
    """Return the days of the company's own filings in a list from EDGAR, and the first day of any filing."""
    dates, forms = [dating.day(day) for day in columns["filingDate"]], columns["form"]
    acceptances = columns.get("acceptanceDateTime") or [None] * len(dates)
    days: dict[date, date] = {}
    for day, form, acceptance in zip(dates, forms, acceptances, strict=True):
        if is_own(form) and days.get(day) != day:
            shown_day = shown_on(day, form, acceptance)
            days[day] = min(shown_day, days.get(day, shown_day))
    return days, min(dates, default=date.max)


def _last(ended: Sequence[tuple[date, str]]) -> str | None:
    """Return the name that the company had last."""
    return max(ended, key=lambda borne: borne[0])[1] if ended else None


def _unknown_until(name: str, earlier: Iterable[Poll]) -> date:
    """Return the New York day of the last poll that did not contain a name; date.min if there is none."""
    days = (clock.new_york_day(poll.fetched_at) for poll in earlier if not poll.knows(name))
    return max(days, default=date.min)


def _first_shown(poll: Poll, since: date, until: date | None) -> date | None:
    """Return the first day on which EDGAR showed a filing of the company under a name; None if no such day is certain.

    since, until: the days of the name, which EDGAR derives from all filings, including those that it withheld at
    first.
    """
    if until is not None and since < poll.first_listed and since < FIRST_DRAFTS:
        return since
    days = [shown_day for day, shown_day in poll.days.items() if since <= day <= (until or day)]
    edges = [
        page.first if page.first < FIRST_DRAFTS and until is None else min(page.last, until or page.last)
        for page in poll.pages
    ]
    return min((*days, *(day for day in edges if since <= day <= (until or day))), default=None)


def _name(value: Any) -> str:
    """Return a name unchanged. Raises Unreadable if it is missing or not a string."""
    if not isinstance(value, str) or not value.strip():
        raise Unreadable("a name is required")
    return value


def _day(text: object) -> date:
    """Return the day of an instant in EDGAR's list of former names. Raises Unreadable."""
    return dating.day(str(text)[:10])
