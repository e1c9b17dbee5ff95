"""The releases of filings that the lake knows, which date facts, search hits and earnings.

They are read lazily from the lake's reports and sec_filings, for one company or ticker at a time. The earliest revision
counts, because every one is dated by a rule that is never early. Nothing is written here.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from assets.edgar import Release
from assets.feeds.acceptances import release
from assets.feeds.dating import OFFSET, Dated
from pitlake.clock import from_micros, new_york_day
from pitlake.datasets._shared import BY_ACCEPTANCE
from pitlake.errors import LakeNotFound
from pitlake.lake.lake import Lake
from pitlake.lake.storage.manifest import Snapshot
from pitlake.lake.tables.query import calculator, reading
from pitlake.questions.tickers import Tickers

COMPANIES_REMEMBERED = 64
# Per dataset: the acceptance, its rule, and the filing date; and what an item of earnings looks like.
FILED = {
    "reports": (f"created, '{OFFSET}', NULL::DATE", "x LIKE 'Item 2.02%'"),
    "sec_filings": ("accepted_at, acceptance_rule, filing_date", "x = '2.02'"),
}
COMPANY = {"reports": "ticker = $asked", "sec_filings": "list_contains($ciks::VARCHAR[], cik)"}
OF_CIK = "cik = $asked"
OF_CIKS = "list_contains($ciks::VARCHAR[], cik)"
OF_TICKER = "{company} AND form_type = '8-K' AND len(list_filter(items, lambda x: {earnings})) > 0"


class Filing(NamedTuple):
    """A filing in the lake: its acceptance, and further facts about its release."""

    accepted: Dated
    form_type: str | None
    filing_date: date | None
    as_accepted: bool

    def release(self, filing_date: date | None) -> Release:
        """Return the filing's release, by its own filing date, otherwise by the given one."""
        day = self.filing_date or filing_date
        return release(self.accepted, self.form_type, day, as_accepted=self.as_accepted)


class LakeReleases:
    """The releases of one lake version: the newest one at the first question."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._snapshot: Snapshot | None = None
        self._of_cik = lru_cache(COMPANIES_REMEMBERED)(lambda cik: self._filings(OF_CIK, cik))
        self._earnings = lru_cache(COMPANIES_REMEMBERED)(self._releases)

    def release(self, accession_no: str, cik: str, filing_date: date | None = None) -> Release | None:
        """Return when EDGAR released a filing of that CIK (10 digits); None if the lake does not know it.

        filing_date: the caller's, used if the lake has none.
        """
        filing = self._of_cik(cik).get(accession_no)
        return filing and filing.release(filing_date)

    def of_companies(self, ciks: Sequence[str]) -> "KnownReleases":
        """Return the releases of all filings of many companies, read at once."""
        return KnownReleases({cik: dict(filings) for cik, filings in self._of_ciks(ciks).items()})

    def __call__(self, ticker: str, day: date) -> datetime | None:
        """Return the release of the ticker's 8-K with item 2.02 accepted on that New York day; the last one if there
        are several.
        """
        return self._earnings(ticker).get(day)

    def _releases(self, ticker: str) -> Mapping[date, datetime]:
        last: dict[date, datetime] = {}
        for filing in self._filings(OF_TICKER, ticker).values():
            day, at = new_york_day(filing.accepted.instant), filing.release(None).at
            last[day] = max(at, last.get(day, at))
        return last

    def _filings(self, question: str, cik: str) -> dict[str, Filing]:
        ciks = Tickers(self._lake_version()).resolve(cik, None).ciks if question is OF_TICKER else ()
        return self._known(question, {"asked": cik, "ciks": list(ciks)}).get("", {})

    def _of_ciks(self, ciks: Sequence[str]) -> dict[str, dict[str, Filing]]:
        return self._known(OF_CIKS, {"ciks": list(ciks)}, by="cik")

    def _lake_version(self) -> Snapshot:
        if self._snapshot is None:
            try:
                self._snapshot = self._lake.snapshot()
            except LakeNotFound:
                self._snapshot = Snapshot(0)
        return self._snapshot

    def _known(self, question: str, values: Mapping[str, Any], by: str = "''") -> dict[str, dict[str, Filing]]:
        """Return filings by a column and accession number, from every dataset with acceptances: per filing the
        statement with a filing date, otherwise the earliest.
        """
        snapshot = self._lake_version()
        filings: defaultdict[str, dict[str, Filing]] = defaultdict(dict)
        for dataset, (facts, earnings) in FILED.items():
            files = snapshot.files(dataset)
            if not files:
                continue
            snapshot.fetch(files)
            accepted, rule, filing_date = facts.split(", ")
            whose = question.format(earnings=earnings, company=COMPANY[dataset])
            sql = f"""
                SELECT DISTINCT {by}, accession_no, epoch_us({accepted}), {rule}, form_type, {filing_date}, release_rule
                FROM {reading(files)} WHERE {whose}"""
            params = {name: value for name, value in values.items() if f"${name}" in sql}
            with calculator() as connection:
                for group, number, at, acceptance_rule, form_type, day, released_by in connection.sql(
                    sql, params=params
                ).fetchall():
                    accepted_at = Dated(from_micros(at), acceptance_rule)
                    filing = Filing(accepted_at, form_type, day, released_by == BY_ACCEPTANCE)
                    of_group = filings[group]
                    of_group[number] = min(filing, of_group.get(number, filing), key=_order)
        return filings


@dataclass(frozen=True)
class KnownReleases:
    """Releases of filings that were read from a lake before, by CIK and accession number; without earnings."""

    filings: Mapping[str, Mapping[str, Filing]]

    def only(self, ciks: Sequence[str]) -> "KnownReleases":
        """Return the releases of some companies only."""
        return KnownReleases({cik: self.filings[cik] for cik in ciks if cik in self.filings})

    def release(self, accession_no: str, cik: str, filing_date: date | None = None) -> Release | None:
        """Return when EDGAR released a filing of that CIK; None if it is unknown."""
        filing = self.filings.get(cik, {}).get(accession_no)
        return filing and filing.release(filing_date)

    def __call__(self, ticker: str, day: date) -> datetime | None:
        """Return None: earnings are not known by ticker here."""
        return None


def _order(filing: Filing) -> tuple[bool, datetime]:
    return filing.filing_date is None, filing.release(None).at
