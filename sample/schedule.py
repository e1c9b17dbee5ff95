"""The filings of each company: accession numbers, forms and EDGAR acceptance instants. Other modules create the facts
and texts. Accession numbers have a prefix that EDGAR never assigned, so no number belongs to a real filing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from random import Random

from sample.calendar import FIRST_DAY, LAST_DAY, at, on_or_after
from sample.companies import Company
from sample.fiscal import Quarter, quarters
from sample.shapes import rng

AGENT_PREFIX = 9_900_000

ITEMS = {
    "1.01": "Entry into a Material Definitive Agreement",
    "2.02": "Results of Operations and Financial Condition",
    "2.03": "Creation of a Direct Financial Obligation or an Obligation under an Off-Balance Sheet Arrangement of a "
    "Registrant",
    "5.02": "Departure of Directors or Certain Officers; Election of Directors; Appointment of Certain Officers: "
    "Compensatory Arrangements of Certain Officers",
    "5.07": "Submission of Matters to a Vote of Security Holders",
    "7.01": "Regulation FD Disclosure",
    "8.01": "Other Events",
    "9.01": "Financial Statements and Exhibits",
}
# Subject of an 8-K -> its items and exhibits.
_OCCASIONS = (
    (("5.02",), ()),
    (("7.01", "9.01"), ("EX-99.1",)),
    (("8.01",), ()),
    (("1.01", "9.01"), ("EX-10.1",)),
    (("5.07",), ()),
    (("2.03",), ()),
)
EARNINGS_ITEMS = ("2.02", "9.01")

# Acceptances that the manifest or the demo uses: (ticker, form, quarter's end) -> New York day and time.
_KNOWN = {
    ("QBRY", "8-K", date(2024, 4, 28)): (date(2024, 5, 22), "16:20:11"),
    ("QBRY", "10-Q", date(2024, 4, 28)): (date(2024, 5, 29), "16:36:33"),
    ("QAVN", "10-K", date(2024, 2, 3)): (date(2024, 3, 22), "17:41:08"),
    ("QAVN", "10-K", date(2025, 2, 1)): (date(2025, 3, 21), "16:52:40"),
    ("QADL", "10-K", date(2023, 12, 31)): (date(2024, 3, 12), "06:31:19"),
    ("QADL", "10-K/A", date(2023, 12, 31)): (date(2024, 11, 18), "07:02:19"),
    ("QACB", "10-K", date(2023, 9, 30)): (date(2023, 11, 2), "18:08:27"),
    ("QACB", "10-K", date(2024, 9, 28)): (date(2024, 11, 1), "06:01:36"),
    ("QBAR", "10-Q", date(2024, 3, 31)): (date(2024, 4, 25), "20:41:03"),
}
# This filing was lost on the way into the graph; its absence proves nothing.
LOST = frozenset({("QATW", "10-Q", date(2024, 6, 30))})
_AMENDED = {("QADL", date(2023, 12, 31)): (date(2024, 11, 18), "07:02:19")}


@dataclass(frozen=True)
class Filing:
    """A filing of a company. quarter: the period of a 10-K, a 10-Q or an earnings 8-K."""

    company: Company
    form: str
    accepted: datetime
    quarter: Quarter | None = None
    items: tuple[str, ...] = ()
    exhibits: tuple[str, ...] = ()
    accession: str = ""

    @property
    def period(self) -> date:
        """The last day of the filing's facts, or the day of the reported event."""
        return self.quarter.end if self.quarter else self.accepted.date()

    @property
    def folder(self) -> str:
        return f"https://www.sec.example/Archives/edgar/data/{self.company.bare_cik}/{self.accession.replace('-', '')}"

    @property
    def document_url(self) -> str:
        """The address of the primary document, which is the XBRL node's id."""
        return f"{self.folder}/{self.company.ticker.lower()}-{self.period:%Y%m%d}.htm"

    @property
    def has_facts(self) -> bool:
        """Whether the form is one of the four forms with XBRL."""
        return self.form.startswith("10-")


@lru_cache(maxsize=512)
def filings(company: Company) -> tuple[Filing, ...]:
    """Return the company's filings within the world's period, oldest first, numbered in that order."""
    drafts = list(_periodic(company))
    # Four other 8-Ks per year, some after 17:30, when EDGAR dates filings to the next business day.
    random = rng("occasions", company.seed)
    for year in (2023, 2024, 2025):
        for _ in range(4):
            items, exhibits = random.choice(_OCCASIONS)
            day = on_or_after(date(year, 1, 1) + timedelta(days=random.randrange(3, 360))).day
            drafts.append(Filing(company, "8-K", at(day, _clock(random, "6:1", "21:4")), None, items, exhibits))
    last = min(LAST_DAY, company.died)
    drafts = [f for f in drafts if FIRST_DAY <= f.accepted.date() <= last and _key(f) not in LOST]
    drafts.sort(key=lambda filing: (filing.accepted, filing.form))
    random, numbers, numbered = rng("accessions", company.seed), dict[int, int](), []
    for filing in drafts:
        year = filing.accepted.year
        numbers[year] = numbers.get(year, 10) + random.randrange(1, 4)
        numbered.append(replace(filing, accession=accession(company, year, numbers[year])))
    return tuple(numbered)


def accession(company: Company, year: int, number: int) -> str:
    """Return an accession number with the company's prefix, which EDGAR never assigned."""
    return f"{AGENT_PREFIX + company.index:010d}-{year % 100:02d}-{number:06d}"


def find(company: Company, form: str, end: date) -> Filing:
    """Return the company's filing of a form for the quarter that ended on a day."""
    return next(f for f in filings(company) if _key(f) == (company.ticker, form, end))


def _key(filing: Filing) -> tuple[str, str, date] | None:
    return (filing.company.ticker, filing.form, filing.quarter.end) if filing.quarter else None


def _periodic(company: Company) -> Iterator[Filing]:
    random = rng("filing lags", company.seed)
    release_lag = random.randrange(19, 34)
    for quarter in quarters(company):
        form = "10-K" if quarter.number == 4 else "10-Q"
        lag = random.randrange(8, 25) if form == "10-K" else random.randrange(0, 6)
        released = on_or_after(min(quarter.end + timedelta(days=release_lag), LAST_DAY)).day
        filed = on_or_after(min(released + timedelta(days=lag), LAST_DAY)).day
        release_time = _clock(random, "16:0", "16:3") if company.reports_after_close else _clock(random, "6:3", "8:4")
        filing_time = _clock(random, "16:3", "18:5") if company.reports_after_close else _clock(random, "8:5", "17:5")
        if quarter.end + timedelta(days=release_lag) <= LAST_DAY:
            yield Filing(
                company,
                "8-K",
                _known_acceptance(company, "8-K", quarter, at(released, release_time)),
                quarter,
                EARNINGS_ITEMS,
                ("EX-99.1",),
            )
        if quarter.end + timedelta(days=release_lag + lag) <= LAST_DAY:
            yield Filing(company, form, _known_acceptance(company, form, quarter, at(filed, filing_time)), quarter)
        if (company.ticker, quarter.end) in _AMENDED:
            yield Filing(company, f"{form}/A", at(*_AMENDED[company.ticker, quarter.end]), quarter)


def _known_acceptance(company: Company, form: str, quarter: Quarter, modelled: datetime) -> datetime:
    exception = _KNOWN.get((company.ticker, form, quarter.end))
    return at(*exception) if exception else modelled


def _clock(random: Random, first: str, last: str) -> str:
    """Return a random time between two times that are given to ten minutes (`16:0` is 16:00)."""
    low, high = (int(hour) * 60 + int(tens) * 10 for hour, tens in (text.split(":") for text in (first, last)))
    minute = random.randrange(low, high + 1)
    return f"{minute // 60}:{minute % 60:02d}:{random.randrange(60):02d}"
