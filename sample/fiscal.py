"""Fiscal calendars and figures: the end of each quarter, and the results that the company states for the quarter.

The revenue of six companies is given; all other figures are modelled. STATED lists figures that later filings restate,
by the day on which each value was first filed.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from sample.companies import Company
from sample.shapes import rng

_QUARTER = timedelta(days=91)
_FIRST_YEAR, _LAST_YEAR = 2021, 2026
_KNOWN_FROM = date(2022, 12, 20)

NET_INCOME = "us-gaap:NetIncomeLoss"
OPERATING_INCOME = "us-gaap:OperatingIncomeLoss"

# (ticker, concept, period start, period end, member) -> (filed from, value in USD), oldest first.
STATED: dict[tuple[str, str, date, date, str], tuple[tuple[date, int], ...]] = {
    ("QAVN", NET_INCOME, date(2023, 1, 29), date(2024, 2, 3), ""): (
        (date.min, 105_000_000),
        (date(2025, 3, 21), 45_000_000),
    ),
    ("QADL", OPERATING_INCOME, date(2023, 1, 1), date(2023, 12, 31), "qadl:NutritionMember"): (
        (date.min, 427_000_000),
        (date(2024, 11, 18), 387_000_000),
    ),
}


@dataclass(frozen=True)
class Quarter:
    """A fiscal quarter, first and last day inclusive. year_start: the first day of its fiscal year."""

    fiscal_year: int
    number: int
    start: date
    end: date
    year_start: date


@dataclass(frozen=True)
class Figures:
    """The figures of a quarter's statements, in USD; per-share figures have two decimals."""

    revenue: int
    cost: int
    operating_income: int
    net_income: int
    eps: float
    cash_flow: int
    assets: int
    liabilities: int
    cash: int
    shares: int


@lru_cache(maxsize=4096)
def quarters(company: Company) -> tuple[Quarter, ...]:
    """Return every quarter of the fiscal years that end in 2021 to 2026, oldest first."""
    month, rule = company.year_end
    fiscal_quarters: list[Quarter] = []
    for year in range(_FIRST_YEAR, _LAST_YEAR + 1):
        start = _year_end(year - 1, month, rule) + timedelta(days=1)
        last = _year_end(year, month, rule)
        quarter_start = start
        for number, end in enumerate(_quarter_ends(start, last, rule, month), start=1):
            fiscal_quarters.append(Quarter(year, number, quarter_start, end, start))
            quarter_start = end + timedelta(days=1)
    return tuple(fiscal_quarters)


def _quarter_ends(start: date, last: date, rule: str, month: int) -> list[date]:
    if rule == "month":
        return [_month_end(last.year - (month - back <= 0), (month - back - 1) % 12 + 1) for back in (9, 6, 3)] + [last]
    if rule == "nearest":  # A 53rd week is in the last quarter.
        return [start + _QUARTER * n - timedelta(days=1) for n in (1, 2, 3)] + [last]
    return [last - _QUARTER * n for n in (3, 2, 1)] + [last]


def _month_end(year: int, month: int) -> date:
    return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


def _year_end(year: int, month: int, rule: str) -> date:
    end = _month_end(year, month)
    if rule == "saturday":
        return end - timedelta(days=(end.weekday() - 5) % 7)
    if rule == "sunday":
        return end - timedelta(days=(end.weekday() - 6) % 7)
    if rule == "nearest":
        return end + timedelta(days=(5 - end.weekday() + 3) % 7 - 3)
    return end


@lru_cache(maxsize=8192)
def figures(company: Company, position: int) -> Figures:
    """Return the figures of `quarters(company)[position]`."""
    quarter = quarters(company)[position]
    random = rng("figures", company.seed, quarter.end)
    revenue = _revenue(company, position, random.uniform(0.97, 1.03)) * 1_000_000
    margin = company.margin * random.uniform(0.85, 1.15)
    net = _millions(revenue * margin)
    assets = _millions(revenue * 6.2 * (1 + 0.01 * position))
    return Figures(
        revenue=revenue,
        cost=_millions(revenue * (0.82 - margin)),
        operating_income=_millions(revenue * margin * 1.22),
        net_income=net,
        eps=round(net / company.shares, 2),
        cash_flow=_millions(revenue * margin * 1.3),
        assets=assets,
        liabilities=_millions(assets * 0.61),
        cash=_millions(assets * random.uniform(0.05, 0.12)),
        shares=company.shares - 1_000 * position,
    )


def _millions(amount: float) -> int:
    return int(amount / 1_000_000) * 1_000_000


def _revenue(company: Company, position: int, noise: float) -> int:
    """Return the revenue in USD million: the given one, or the same season's revenue reduced by the growth."""
    known_from = next(n for n, quarter in enumerate(quarters(company)) if quarter.end >= _KNOWN_FROM)
    ahead = position - known_from
    if company.known_revenue:
        if 0 <= ahead < len(company.known_revenue):
            return company.known_revenue[ahead]
        return int(company.known_revenue[ahead % 4] * (1 + company.growth * 4 * (ahead // 4)))
    return max(1, int(company.revenue * (1 + company.growth * ahead) * noise))


def position_of(company: Company, end: date) -> int:
    """Return the index in `quarters(company)` of the quarter that ended on that day."""
    return next(n for n, quarter in enumerate(quarters(company)) if quarter.end == end)


def stated_value(
    company: Company, concept: str, period: tuple[date, date], member: str, filed: date, value: int
) -> int:
    """Return the value that a filing of a day states: the modelled value, unless the figure was restated."""
    history = STATED.get((company.ticker, concept, *period, member))
    return value if history is None else [amount for since, amount in history if since <= filed][-1]
