"""A fake EDGAR for the tests of `pitlake sync`: companies with filings and facts, as JSON in EDGAR's format."""

import json
from dataclasses import dataclass, field

COLUMNS = (
    "accessionNumber", "filingDate", "reportDate", "acceptanceDateTime", "act", "form", "fileNumber", "filmNumber",
    "items", "core_type", "size", "isXBRL", "isInlineXBRL", "primaryDocument", "primaryDocDescription",
)  # fmt: skip


@dataclass
class Company:
    """A company that files a 10-Q with facts every quarter. older: the number of filings on a second page."""

    cik: int
    tickers: tuple[str, ...]
    name: str
    filings: list[dict] = field(default_factory=list)
    facts: dict[str, list[dict]] = field(default_factory=dict)
    older: int = 0

    @property
    def padded(self) -> str:
        return f"{self.cik:010d}"

    def accession(self, year: int, quarter: int) -> str:
        return f"{self.padded}-{year % 100:02d}-{quarter:06d}"

    def reports(self, year: int, quarter: int, concepts: int = 3, filed: str = "") -> str:
        """File the 10-Q of a quarter, and return its accession number."""
        month = quarter * 3
        filed = filed or f"{year + month // 12}-{month % 12 + 1:02d}-10"
        accession = self.accession(year, quarter)
        ended = f"{year}-{month:02d}-28"
        self.filings.insert(
            0,
            {
                "accessionNumber": accession,
                "filingDate": filed,
                "reportDate": ended,
                "acceptanceDateTime": f"{filed}T16:05:00.000Z",
                "act": "34",
                "form": "10-Q",
                "fileNumber": "001-00001",
                "filmNumber": "1",
                "items": "",
                "core_type": "10-Q",
                "size": 1000,
                "isXBRL": 1,
                "isInlineXBRL": 1,
                "primaryDocument": "q.htm",
                "primaryDocDescription": "10-Q",
            },
        )
        for number in range(concepts):
            fact = {"end": ended, "val": 1000 * year + 10 * quarter + number, "accn": accession, "fy": year}
            self.facts.setdefault(f"Concept{number}", []).append(
                fact | {"fp": f"Q{quarter}", "form": "10-Q", "filed": filed}
            )
        return accession

    def submissions(self) -> dict[str, dict]:
        """Return the main response and the page of older filings, by file name."""
        recent, old = self.filings[: len(self.filings) - self.older], self.filings[len(self.filings) - self.older :]
        page = f"CIK{self.padded}-submissions-001.json"
        listing = {
            "name": page,
            "filingCount": len(old),
            "filingFrom": min((each["filingDate"] for each in old), default=""),
            "filingTo": max((each["filingDate"] for each in old), default=""),
        }
        main = {
            "cik": self.padded, "name": self.name, "tickers": list(self.tickers), "exchanges": ["Nasdaq"],
            "formerNames": [], "filings": {"recent": columns(recent), "files": [listing] if old else []},
        }  # fmt: skip
        return {f"CIK{self.padded}.json": main} | ({page: columns(old)} if old else {})

    def company_facts(self) -> dict:
        """Return all facts in the format of companyfacts."""
        concepts = {
            name: {"label": name, "description": name, "units": {"USD": listing}}
            for name, listing in self.facts.items()
        }
        return {"cik": self.cik, "entityName": self.name, "facts": {"us-gaap": concepts}}


def columns(filings: list[dict]) -> dict[str, list]:
    return {name: [filing[name] for filing in filings] for name in COLUMNS}


def ticker_list(companies: list[Company]) -> dict:
    listing = [(company, ticker) for company in companies for ticker in company.tickers]
    return {
        str(number): {"cik_str": company.cik, "ticker": ticker, "title": company.name}
        for number, (company, ticker) in enumerate(listing)
    }


def answers(companies: list[Company]) -> dict[str, bytes]:
    """Return all responses of this EDGAR, by path."""
    result = {"/files/company_tickers.json": ticker_list(companies)}
    for company in companies:
        result |= {f"/submissions/{name}": page for name, page in company.submissions().items()}
        result[f"/api/xbrl/companyfacts/CIK{company.padded}.json"] = company.company_facts()
    return {path: json.dumps(answer).encode() for path, answer in result.items()}


def made(count: int, years: range = range(2016, 2018), older: int = 2) -> list[Company]:
    """Return companies TKA, TKB, … that file four quarters a year. The last one has the tickers BRK-B and BRK-A."""
    companies = [
        Company(1000 + number, (f"TK{chr(65 + number % 26)}{'' if number < 26 else number}",), f"Company {number}")
        for number in range(count)
    ]
    companies[-1].tickers = ("BRK-B", "BRK-A")
    for company in companies:
        company.older = older
        for year in years:
            for quarter in range(1, 5):
                company.reports(year, quarter)
    return companies
