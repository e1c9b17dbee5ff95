"""The releases of filings in the lake, which date facts, search hits and earnings.

They are read lazily from the lake's reports and sec_filings, for one company or ticker at a time. Of the statements
about a filing, the first observed one is used: EDGAR's staff may later move a filing's date back, but not the day on
which it was shown. This module writes nothing.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from assets.edgar import Release, released
from assets.feeds.acceptances import release
from assets.feeds.dating import OFFSET, Dated
from pitlake.clock import MICROSECOND, end_of_new_york_day, from_micros, micros, new_york_day
from pitlake.datasets._shared import BY_ACCEPTANCE
from pitlake.errors import LakeNotFound
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.polls import Bounds
from pitlake.lake.storage.manifest import Snapshot
from pitlake.lake.tables.query import calculator, reading
from pitlake.questions.tickers import Tickers

COMPANIES_REMEMBERED = 64
# A release may be filed days after it was made, but not much earlier. The 8-K of a statement about a day is filed
# between these numbers of days before and after that day.
DAYS_BEFORE, DAYS_AFTER = 1, 4
# The first answer of a poll may be this much older than the poll.
MOST_BETWEEN_ANSWERS = timedelta(days=1)
# Since this day, an 8-K with results has item 2.02.
FIRST_ITEMS = date(2004, 8, 23)
# For each dataset: the columns of the acceptance, its rule and the filing date, and the pattern of an earnings item.
FILED = {
    "reports": (f"created, '{OFFSET}', NULL::DATE", "x LIKE 'Item 2.02%'"),
    "sec_filings": ("accepted_at, acceptance_rule, filing_date", "x = '2.02'"),
}
COMPANY = {"reports": "ticker = $asked", "sec_filings": "list_contains($ciks::VARCHAR[], cik)"}
OF_CIK = "cik = $asked"
OF_CIKS = "list_contains($ciks::VARCHAR[], cik)"
OF_TICKER = "{company} AND form_type = '8-K' AND len(list_filter(items, lambda x: {earnings})) > 0"
EIGHT_KS_OF_CIKS = f"{OF_CIKS} AND form_type = '8-K'"


class Filing(NamedTuple):
    """A lake's statement about a filing: acceptance, other facts about its release, and the first observation."""

    accepted: Dated
    form_type: str | None
    filing_date: date | None
    as_accepted: bool
    observed_at: datetime

    def release(self, filing_date: date | None) -> Release:
        """Return the filing's release, using its own filing date or otherwise the given one."""
        day = self.filing_date or filing_date
        return release(self.accepted, self.form_type, day, as_accepted=self.as_accepted)


class LakeReleases:
    """The releases of one lake version: the newest one at the first use."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._snapshot: Snapshot | None = None
        self.of_cik = lru_cache(COMPANIES_REMEMBERED)(lambda cik: self._filings(OF_CIK, cik))
        self.of_ticker = lru_cache(COMPANIES_REMEMBERED)(lambda ticker: self._filings(OF_TICKER, ticker))
        self.eight_ks = lru_cache(COMPANIES_REMEMBERED)(self._eight_ks)

    def at(self, observed_at: datetime) -> "ReleasesAt":
        """Return the releases as known to the lake at an observation."""
        return ReleasesAt(self, observed_at)

    def of_ciks(self, ciks: Sequence[str]) -> Mapping[str, Mapping[str, Sequence[Filing]]]:
        """Return the statements about all filings of many companies, by CIK and accession number, in one query."""
        return self._statements(OF_CIKS, {"ciks": list(ciks)}, by="cik")

    @cached_property
    def complete_lists(self) -> Mapping[str | None, Sequence[tuple[datetime, Bounds]]]:
        """Return the bounds within which polls read EDGAR's list of a company's filings completely, by CIK, each with
        its poll's instant. The key None stands for all companies.
        """
        lists: defaultdict[str | None, list[tuple[datetime, Bounds]]] = defaultdict(list)
        for poll in self._lake.polls("sec_filings"):
            for part in poll.coverage:
                for cik in (None,) if part.entities is None else part.entities:
                    lists[cik].append((from_micros(poll.observed), part.bounds))
        return lists

    @cached_property
    def _tickers(self) -> Tickers:
        return Tickers(self._lake_version())

    def _eight_ks(self, ticker: str) -> tuple[Sequence[str], Sequence[date]]:
        """Return the CIKs of a ticker, and the days on which they filed 8-Ks, in order."""
        ciks = self._tickers.resolve(ticker, None).ciks
        filings = self._statements(EIGHT_KS_OF_CIKS, {"ciks": list(ciks)}).get("", {}) if ciks else {}
        days = {new_york_day(filing.accepted.instant) for statements in filings.values() for filing in statements}
        return ciks, sorted(days)

    def _filings(self, question: str, cik: str) -> Mapping[str, Sequence[Filing]]:
        ciks = self._tickers.resolve(cik, None).ciks if question is OF_TICKER else ()
        return self._statements(question, {"asked": cik, "ciks": list(ciks)}).get("", {})

    def _lake_version(self) -> Snapshot:
        if self._snapshot is None:
            try:
                self._snapshot = self._lake.snapshot()
            except LakeNotFound:
                self._snapshot = Snapshot(0)
        return self._snapshot

    def _statements(
        self, question: str, values: Mapping[str, Any], by: str = "''"
    ) -> Mapping[str, Mapping[str, Sequence[Filing]]]:
        """Return statements by a column and accession number, from every dataset with acceptances."""
        snapshot = self._lake_version()
        filings: defaultdict[str, defaultdict[str, list[Filing]]] = defaultdict(lambda: defaultdict(list))
        for dataset, (facts, earnings) in FILED.items():
            files = snapshot.files(dataset)
            if not files:
                continue
            snapshot.fetch(files)
            accepted, rule, filing_date = facts.split(", ")
            whose = question.format(earnings=earnings, company=COMPANY[dataset])
            sql = f"""
                SELECT {by}, accession_no, epoch_us({accepted}), {rule}, form_type, {filing_date}, release_rule,
                    epoch_us(min(observed_at))
                FROM {reading(files)} WHERE {whose} GROUP BY ALL"""
            params = {name: value for name, value in values.items() if f"${name}" in sql}
            with calculator() as connection:
                for group, number, at, acceptance_rule, form_type, day, released_by, observed in connection.sql(
                    sql, params=params
                ).fetchall():
                    accepted_at = Dated(from_micros(at), acceptance_rule)
                    filings[group][number].append(
                        Filing(accepted_at, form_type, day, released_by == BY_ACCEPTANCE, from_micros(observed))
                    )
        return filings


class ReleasesAt:
    """The releases of a lake as they were known at an observation.

    A lake that is filled from captures may contain statements that were observed later than the record to be dated.
    """

    def __init__(self, releases: LakeReleases, observed_at: datetime) -> None:
        self._releases, self._observed_at = releases, observed_at
        self._of_cik = lru_cache(COMPANIES_REMEMBERED)(lambda cik: self._filings(releases.of_cik(cik)))
        self._earnings = lru_cache(COMPANIES_REMEMBERED)(self._earnings_of)

    def release(self, accession_no: str, cik: str, filing_date: date | None = None) -> Release | None:
        """Return when EDGAR released a filing of a CIK (10 digits); None if the lake lacks the filing, or if the
        release is after the observation. filing_date: used if the lake has no filing date.
        """
        return _released(self._of_cik(cik).get(accession_no), filing_date, self._observed_at)

    def of_companies(self, ciks: Sequence[str]) -> "KnownReleases":
        """Return the releases of all filings of many companies, read in one query."""
        filings_of_ciks = self._releases.of_ciks(ciks)
        filings = {cik: self._filings(statements) for cik, statements in filings_of_ciks.items()}
        return KnownReleases(filings, self._observed_at)

    def __call__(self, ticker: str, day: date) -> datetime | None:
        """Return the release of the ticker's 8-K with item 2.02 that was accepted on a New York day; the last release
        if there are several.
        """
        return self._earnings(ticker).get(day)

    def silent_around(self, ticker: str, day: date) -> bool:
        """Return whether the lake proves that the ticker's company, which files 8-Ks, filed no item 2.02 near a day.
        The proof is a later poll that read its complete list.
        """
        if day < FIRST_ITEMS:
            return False
        first, last = day - timedelta(days=DAYS_BEFORE), day + timedelta(days=DAYS_AFTER)
        ciks, eight_ks = self._releases.eight_ks(ticker)
        if not eight_ks or eight_ks[0] > last:
            return False
        filings = self._releases.of_ticker(ticker).values()
        earnings_days = {new_york_day(filing.accepted.instant) for statements in filings for filing in statements}
        if any(first <= filed <= last for filed in earnings_days):
            return False
        listed_by = released(end_of_new_york_day(last) - MICROSECOND, "8-K", None).at
        return all(self._listed(cik, first, listed_by + MOST_BETWEEN_ANSWERS) for cik in ciks)

    def _listed(self, cik: str, first: date, since: datetime) -> bool:
        """Return whether a poll since an instant read all filings of a company from a first day to the poll."""
        begin, end, lists = first.isoformat(), new_york_day(since).isoformat(), self._releases.complete_lists
        return any(
            since <= at <= self._observed_at
            and all((start is None or start <= begin) and (last is None or last >= end) for _, start, last in bounds)
            for at, bounds in (*lists.get(cik, ()), *lists.get(None, ()))
        )

    def _earnings_of(self, ticker: str) -> Mapping[date, datetime]:
        last: dict[date, datetime] = {}
        for filing in self._filings(self._releases.of_ticker(ticker)).values():
            day, at = new_york_day(filing.accepted.instant), filing.release(None).at
            if at <= self._observed_at:
                last[day] = max(at, last.get(day, at))
        return last

    def _filings(self, statements: Mapping[str, Sequence[Filing]]) -> dict[str, Filing]:
        return {number: _known_at(filings, self._observed_at) for number, filings in statements.items()}


@dataclass(frozen=True)
class KnownReleases:
    """Releases of filings that were read from a lake in advance, by CIK and accession number, without earnings.

    observed_at: the observation of the records that they date.
    """

    filings: Mapping[str, Mapping[str, Filing]]
    observed_at: datetime

    def only(self, ciks: Sequence[str]) -> "KnownReleases":
        """Return the releases of some companies only."""
        return KnownReleases({cik: self.filings[cik] for cik in ciks if cik in self.filings}, self.observed_at)

    def release(self, accession_no: str, cik: str, filing_date: date | None = None) -> Release | None:
        """Return when EDGAR released a filing of a CIK, as `ReleasesAt.release` does."""
        return _released(self.filings.get(cik, {}).get(accession_no), filing_date, self.observed_at)

    def __call__(self, ticker: str, day: date) -> datetime | None:
        """Return None, because these releases do not include earnings by ticker."""
        return None

    def silent_around(self, ticker: str, day: date) -> bool:
        """Return False, because these releases do not include earnings by ticker."""
        return False


def _released(filing: Filing | None, filing_date: date | None, observed_at: datetime) -> Release | None:
    """Return the filing's release; None if it is unknown or after the observation."""
    release = filing and filing.release(filing_date)
    return release if release is not None and release.at <= observed_at else None


def _known_at(filings: Sequence[Filing], observed_at: datetime) -> Filing:
    """Return the statement to use, among those observed up to an instant, or otherwise among the first observed.

    Statements with a filing date are preferred, then the first observed, then the latest release.
    """
    if len(filings) == 1:  # This is almost always true, and saves time for the many filings of a company.
        return filings[0]
    return min(
        filings,
        key=lambda filing: (
            max(filing.observed_at, observed_at),
            filing.filing_date is None,
            filing.observed_at,
            -micros(filing.release(None).at),
        ),
    )
