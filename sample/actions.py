"""Dividends and splits: given ratios and dates, and modelled regular payments.

A dividend's id omits its amount and ex-date, so if several are declared on one day, only the last one written remains.
The prices use the split ratios.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from sample.calendar import FIRST_DAY, LAST_DAY, days, on_or_after
from sample.companies import Company
from sample.shapes import Graph, rng

# Ticker -> (execution day, shares before, shares after).
SPLITS = {
    "QYRW": (date(2024, 2, 26), 1, 3),
    "QBRY": (date(2024, 6, 10), 1, 10),
    "QAMB": (date(2024, 6, 26), 1, 50),
    "QAKS": (date(2024, 7, 15), 1, 10),
    "QBTL": (date(2025, 6, 10), 1, 15),
}

# Ticker -> amounts per share by calendar year, as declared, and the months of declaration.
_QUARTERLY = (1, 4, 7, 10)
PAYERS: dict[str, tuple[tuple[float, float, float], tuple[int, ...]]] = {
    "QACB": ((0.24, 0.25, 0.26), (2, 5, 8, 11)),
    "QBAR": ((0.68, 0.75, 0.83), (3, 6, 9, 12)),
    "QBRY": ((0.04, 0.04, 0.01), (2, 5, 8, 11)),
    "QARL": ((0.0, 0.2, 0.21), _QUARTERLY),
    "QAXL": ((0.0, 0.5, 0.525), (2, 5, 9, 12)),
    "QBG": ((0.37, 0.41, 0.45), (2, 5, 8, 11)),
    "QATW": ((1.0, 1.15, 1.4), (3, 6, 9, 12)),
    "QZP": ((0.91, 0.95, 0.99), _QUARTERLY),
    "QAU": ((0.46, 0.485, 0.51), (2, 4, 7, 10)),
    "QASB": ((1.19, 1.24, 1.3), (1, 4, 7, 10)),
    "QXAN": ((1.88, 2.1, 2.21), (2, 6, 8, 11)),
    "QALH": ((1.3, 1.41, 1.51), (1, 4, 6, 10)),
    "QBEC": ((0.4675, 0.515, 0.5665), (2, 5, 7, 10)),
    "QBSH": ((0.2555, 0.2625, 0.2685), tuple(range(1, 13))),
    "QAKS": ((4.6, 5.25, 0.59), (3, 6, 9, 12)),
    "QANV": ((0.0, 0.4, 0.416), (2, 5, 8, 12)),
    "QADL": ((0.45, 0.5, 0.51), (2, 5, 8, 11)),
    "QAVN": ((0.1654, 0.1737, 0.1824), (2, 5, 8, 12)),
    "QAPT": ((0.15, 0.15, 0.15), (3, 6, 9, 12)),
}
_FREQUENCY = {4: "Quarterly", 12: "Monthly"}

# Yarrowmart declares a whole year at once: every February, four dividends under one id. (declared, amount, ex-dates)
YARROWMART_YEARS = (
    (date(2023, 2, 21), 0.57, (date(2023, 3, 16), date(2023, 5, 4), date(2023, 8, 10), date(2023, 12, 7))),
    (date(2024, 2, 20), 0.2075, (date(2024, 3, 14), date(2024, 5, 9), date(2024, 8, 15), date(2024, 12, 12))),
    (date(2025, 2, 20), 0.235, (date(2025, 3, 21), date(2025, 5, 9), date(2025, 8, 15), date(2025, 12, 12))),
)


@dataclass(frozen=True)
class Dividend:
    """A declared dividend, before it becomes a node."""

    ticker: str
    declared: date
    ex: date
    amount: float
    kind: str = "Regular"
    frequency: str = "Quarterly"
    currency: str = "USD"

    @property
    def id(self) -> str:
        """The graph's id, which is shared by all dividends declared on one day."""
        return f"{self.ticker}_{self.declared}_{self.kind}"


def dividends(company: Company) -> Iterator[Dividend]:
    """Yield the company's declared dividends, in the order in which the graph was written."""
    if company.ticker == "QYRW":
        for declared, amount, ex_dates in YARROWMART_YEARS:
            yield from (Dividend("QYRW", declared, ex, amount) for ex in ex_dates)
        return
    # Every third invented company pays one percent a quarter.
    pays = company.index >= 26 and company.index % 3 == 0 and company.died == date.max
    usual = round(company.first_price * 0.01, 4) if pays else 0.0
    amounts, months = PAYERS.get(company.ticker) or ((usual, usual, usual), _QUARTERLY)
    random = rng("dividends", company.seed)
    for year, amount in zip((2023, 2024, 2025), amounts, strict=True):
        for month in months:
            declared = on_or_after(date(year, month, random.randrange(5, 24))).day
            if amount and declared <= LAST_DAY:
                ex = on_or_after(declared + timedelta(days=random.randrange(9, 20))).day
                yield Dividend(company.ticker, declared, ex, amount, frequency=_FREQUENCY[len(months)])


def add_dividend(graph: Graph, dividend: Dividend, cik: str | None, linked: date | None) -> str:
    """Add a dividend's node and its links: to the company if `cik` is given, and to the date node `linked` if given."""
    graph.merged(
        "Dividend",
        dividend.id,
        ticker=dividend.ticker,
        declaration_date=dividend.declared,
        ex_dividend_date=dividend.ex,
        record_date=dividend.ex,
        pay_date=dividend.ex + timedelta(days=21),
        cash_amount=dividend.amount,
        dividend_type=dividend.kind,
        frequency=dividend.frequency,
        currency=dividend.currency,
    )
    if cik:
        graph.edge(("Company", "DECLARED_DIVIDEND", "Dividend"), cik, dividend.id)
    if linked in days():
        graph.edge(("Date", "HAS_DIVIDEND", "Dividend"), linked.isoformat(), dividend.id)
    return dividend.id


def add_split(graph: Graph, ticker: str, cik: str, day: date, ratio: tuple[object, object], linked: date | None) -> str:
    """Add a split's node and links. `ratio` is (shares before, shares after); an unknown side is None."""
    before, after = ratio
    node_id = f"{ticker}_{day}_{before}_{'UNKNOWN' if after is None else after}"
    graph.merged("Split", node_id, ticker=ticker, execution_date=day, split_from=before, split_to=after)
    graph.edge(("Company", "DECLARED_SPLIT", "Split"), cik, node_id)
    if linked in days():
        graph.edge(("Date", "HAS_SPLIT", "Split"), linked.isoformat(), node_id)
    return node_id


def add_actions(graph: Graph, company: Company) -> None:
    """Add the company's dividends and splits as the graph stores them, with only the last dividend under each id."""
    rows = {dividend.id: dividend for dividend in dividends(company)}
    for dividend in rows.values():
        add_dividend(graph, dividend, company.cik, dividend.declared)
    if company.ticker in SPLITS:
        day, before, after = SPLITS[company.ticker]
        add_split(graph, company.ticker, company.cik, day, (float(before), float(after)), day)


def split_factor(ticker: str, day: date) -> float:
    """Return the ratio of a day's unadjusted price to its adjusted price."""
    executed, before, after = SPLITS.get(ticker, (FIRST_DAY, 1, 1))
    return after / before if day < executed else 1.0
