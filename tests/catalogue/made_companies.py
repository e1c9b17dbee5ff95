"""Invented companies in the format of EDGAR's company facts, with different calendars, restatements, proxies and
changes of concepts.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from random import Random
from typing import Any

WEEKS = {"weeks": (13, 13, 13, 13), "last is long": (12, 12, 12, 16), "first is long": (16, 12, 12, 12)}
CALENDARS = (*WEEKS, "months", "half-years")
INCOME = ("Revenues", "CostOfRevenue", "NetIncomeLoss")
NOTED = "ShareBasedCompensation"
CASH = ("NetCashProvidedByUsedInOperatingActivities", "PaymentsToAcquirePropertyPlantAndEquipment", NOTED)
OF_THE_NOTES = "AllocatedShareBasedCompensationExpense"
BALANCES = {
    "Assets": 500, "StockholdersEquity": 500, "LongTermDebtNoncurrent": 500, "LongTermDebt": 500, "DebtCurrent": 500,
    "LongTermDebtCurrent": 3, "ShortTermBorrowings": 3, "RedeemableNoncontrollingInterestEquityCarryingAmount": 20,
}  # fmt: skip
SHARES = "WeightedAverageNumberOfDilutedSharesOutstanding"
LATER_REVENUE = "RevenueFromContractWithCustomerExcludingAssessedTax"
YEARS = 4
GROWTHS = (0.0, 0.02, 0.05, 0.13)


class Made:
    """An invented company with the statements of its filings."""

    def __init__(self, seed: int) -> None:
        self.random, self.seed = Random(seed), seed
        self.calendar = CALENDARS[seed % len(CALENDARS)]
        self.ends = self._ends()
        self.figures = {
            name: [[self.random.randrange(100, 1000) for _ in range(4)] for _ in range(YEARS)]
            for name in (*INCOME, *CASH)
        }
        self.split_year, self.concept_year = self.random.randrange(1, YEARS), self.random.randrange(1, YEARS + 1)
        self.facts: dict[tuple[Any, ...], dict[str, Any]] = {}
        for year in range(YEARS):
            for quarter in range(4):
                for number, (form, filed) in enumerate(self._filings(year, quarter)):
                    self._file(year, quarter, form, filed, f"{seed:010d}-{filed:%y}-{year}{quarter}{number:03d}")

    def _ends(self) -> list[list[date]]:
        """Return the last days of each year's quarters, preceded by the day before the year begins."""
        if self.calendar not in WEEKS:
            first = self.random.choice([1, 4, 7, 10]) - 1
            months = [first + 3 * place for place in range(4 * YEARS + 1)]
            ends = [date(2015 + month // 12, month % 12 + 1, 1) - timedelta(days=1) for month in months]
        else:
            ends, long_year = (
                [date(2014, 12, 27) + timedelta(days=self.random.randrange(30))],
                self.random.randrange(YEARS),
            )
            for place in range(4 * YEARS):
                extra = place == 4 * long_year + 3
                ends.append(ends[-1] + timedelta(weeks=WEEKS[self.calendar][place % 4] + extra))
        return [ends[4 * year : 4 * year + 5] for year in range(YEARS)]

    def _filings(self, year: int, quarter: int) -> Iterator[tuple[str, date]]:
        """Yield the form and day of each filing about a quarter. Some quarters have no filing on record."""
        random = self.random
        if (self.calendar == "half-years" and quarter % 2 == 0) or random.random() < 0.06:
            return
        form = "10-K" if quarter == 3 else "10-Q"
        filed = self.ends[year][quarter + 1] + timedelta(days=random.randrange(20, 60))
        yield form, filed
        if random.random() < 0.15:
            self.figures[random.choice(INCOME)][year][random.randrange(quarter + 1)] += random.randrange(-90, 90)
            yield f"{form}/A", filed + timedelta(days=random.randrange(1, 200))
        if random.random() < 0.3:
            yield "DEF 14A", filed + timedelta(days=random.randrange(-30, 60))
        if random.random() < 0.2:
            yield "8-K", filed - timedelta(days=random.randrange(1, 30))

    def _file(self, year: int, quarter: int, form: str, filed: date, accession: str) -> None:
        filing = {"accn": accession, "form": form, "filed": filed.isoformat()}
        factor = 1000 if form == "DEF 14A" else 1
        for before in range(min(2 if quarter == 3 else 1, year) + 1):
            for first in self._beginnings(quarter):
                ends, about = self.ends[year - before], slice(first, quarter + 1)
                span = {"start": (ends[first] + timedelta(days=1)).isoformat(), "end": ends[quarter + 1].isoformat()}
                sums = {name: sum(by_year[year - before][about]) for name, by_year in self.figures.items()}
                shares = self._shares(year, [4 * (year - before) + place for place in range(first, quarter + 1)])
                statement = sums if first == 0 else {name: sums[name] for name in INCOME}
                self._state(filing | span, year, shares, factor, statement)
                if first == quarter:
                    self._add(OF_THE_NOTES, "USD", filing | span, factor * (sums[NOTED] + 7))
                if first > 0 and self.random.random() < 0.2:
                    self._add("RevenuesNetOfInterestExpense", "USD", filing | span, factor)
        for end in (self.ends[year][quarter + 1], self.ends[year][0]):
            for name, most in BALANCES.items():
                if self.random.random() < 0.6:
                    self._add(name, "USD", filing | {"end": end.isoformat()}, factor * self.random.randrange(most))

    def _beginnings(self, quarter: int) -> list[int]:
        """Return the first quarters of a filing's periods: the year's first and, if stated, the filing's own."""
        alone = quarter > 0 and self.calendar != "half-years" and (quarter < 3 or self.random.random() < 0.1)
        return [0, quarter] if alone else [0]

    def _shares(self, year: int, places: list[int]) -> int:
        """Return the weighted shares of quarters, as stated in a filing of `year`."""
        growth = GROWTHS[self.seed % len(GROWTHS)]
        weighted = sum((1 + growth) ** place for place in places) / len(places)
        return round(1000 * (4 if year >= self.split_year else 1) * weighted)

    def _state(self, fact: dict[str, Any], year: int, shares: int, factor: int, sums: dict[str, int]) -> None:
        for name, figure in sums.items():
            renamed = LATER_REVENUE if name == "Revenues" and year >= self.concept_year else name
            self._add(renamed, "USD", fact, factor * figure)
        self._add("EarningsPerShareDiluted", "USD/shares", fact, round(sums["NetIncomeLoss"] / shares, 2))
        if self.seed % 3 and self.random.random() < 0.95:
            self._add(SHARES, "shares", fact, shares)
        if self.seed in (1, 3):
            self._add("NoninterestIncome", "USD", fact, factor * sums["Revenues"] // 3)
            self._add("InterestIncomeExpenseNet", "USD", fact, factor * (sums["Revenues"] * 3 // 4 + 100))
        if self.random.random() < 0.1:
            self._add("Revenues", "EUR", fact, 7 * factor * sums["Revenues"])

    def _add(self, name: str, unit: str, fact: dict[str, Any], value: float) -> None:
        self.facts.setdefault((name, unit, fact.get("start"), fact["end"], fact["accn"]), fact | {"val": value})


def company(seed: int) -> dict[str, Any]:
    """Return the response of companyfacts for an invented company."""
    units: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for (name, unit, *_), fact in Made(seed).facts.items():
        units[name][unit].append(fact)
    concepts = {name: {"units": dict(by_unit)} for name, by_unit in units.items()}
    return {"cik": seed + 1, "entityName": f"Made {seed}", "facts": {"us-gaap": concepts}}
