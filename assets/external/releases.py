"""When filings were accepted, as the lake knows it: what dates facts, search hits and earnings through their filing.

Read lazily from the lake's reports and sec_filings, one company or ticker at a time. The earliest revision counts:
every one of them is dated by a rule that is never early. Called by `assets.external.runs`; nothing is written here.
"""

from datetime import date, datetime
from functools import lru_cache

from pitlake.clock import from_micros, new_york_day
from pitlake.errors import LakeNotFound
from pitlake.lake.lake import Lake
from pitlake.lake.manifest import Snapshot
from pitlake.lake.query import calculator, reading
from pitlake.tickers import Tickers

COMPANIES_REMEMBERED = 64
ACCEPTED = {"reports": "available_at", "sec_filings": "accepted_at"}
EARNINGS = {"reports": "x LIKE 'Item 2.02%'", "sec_filings": "x = '2.02'"}
COMPANY = {"reports": "ticker = $asked", "sec_filings": "list_contains($ciks::VARCHAR[], cik)"}

OF_CIK = "SELECT accession_no, min(epoch_us({at})) FROM {rows} WHERE cik = $asked GROUP BY ALL"
OF_TICKER = """
SELECT accession_no, min(epoch_us({at})) FROM {rows}
WHERE {company} AND form_type = '8-K' AND len(list_filter(items, lambda x: {earnings})) > 0
GROUP BY ALL
"""


class LakeReleases:
    """The acceptances of one lake version: the newest one when the first question is asked."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._snapshot: Snapshot | None = None
        self._acceptances = lru_cache(COMPANIES_REMEMBERED)(lambda cik: self._earliest(OF_CIK, cik))
        self._earnings = lru_cache(COMPANIES_REMEMBERED)(self._releases)

    def acceptance(self, accession_no: str, cik: str) -> datetime | None:
        """The earliest proven acceptance of a filing of that CIK (10 digits); None when the lake does not know it."""
        return self._acceptances(cik).get(accession_no)

    def __call__(self, ticker: str, day: date) -> datetime | None:
        """The acceptance of the ticker's 8-K with item 2.02 on that New York day, the last one of several."""
        return self._earnings(ticker).get(day)

    def _releases(self, ticker: str) -> dict[date, datetime]:
        last: dict[date, datetime] = {}
        for at in self._earliest(OF_TICKER, ticker).values():
            day = new_york_day(at)
            last[day] = max(at, last.get(day, at))
        return last

    def _earliest(self, question: str, asked: str) -> dict[str, datetime]:
        """The earliest instant by accession number, over every dataset that knows acceptances."""
        if self._snapshot is None:
            try:
                self._snapshot = self._lake.snapshot()
            except LakeNotFound:
                self._snapshot = Snapshot(0)
        earliest: dict[str, int] = {}
        ciks = Tickers(self._snapshot).resolve(asked, None).ciks if question is OF_TICKER else ()
        for dataset, column in ACCEPTED.items():
            files = self._snapshot.files(dataset)
            if not files:
                continue
            self._snapshot.fetch(files)
            of_company = COMPANY[dataset]
            sql = question.format(at=column, rows=reading(files), earnings=EARNINGS[dataset], company=of_company)
            given = {name: value for name, value in (("asked", asked), ("ciks", list(ciks))) if f"${name}" in sql}
            with calculator() as connection:
                for accession_no, at in connection.sql(sql, params=given).fetchall():
                    earliest[accession_no] = min(at, earliest.get(accession_no, at))
        return {accession_no: from_micros(at) for accession_no, at in earliest.items()}
