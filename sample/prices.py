"""Daily bars as HAS_PRICE edges, and the closes for event returns. Price paths use plain arithmetic on seeded uniform
numbers, so they are the same on every machine. Bars are stored on the split basis of their load: a series changes its
basis at a split, and some days were loaded late.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from sample.actions import split_factor
from sample.calendar import FIRST_DAY, LAST_DAY, before, priced_days, sessions
from sample.companies import INDEX, INDUSTRIES, LIVING, NEVER_PRICED, SECTOR_ETFS, Company, squashed
from sample.shapes import Graph, Properties, blank_new_york, new_york, rng

# Loaded after the split of 2024-06-10, and therefore on the new basis, unlike the surrounding days.
LOADED_LATE = {"QBRY": (date(2024, 6, 3), date(2024, 6, 6))}
# On this day, the loader stopped halfway through the symbols and never loaded the rest.
HALF_LOADED_DAY = date(2024, 8, 19)
# A ticker that is missing on one of two consecutive days is dropped for both.
DROPPED = {"QAPT": frozenset({date(2024, 2, 13), date(2024, 2, 14)})}

_PERSISTENCE = 0.97
_SWING = 0.055


@dataclass(frozen=True)
class Bar:
    """The prices of one day, adjusted for all splits of the world."""

    open: float
    high: float
    low: float
    close: float
    vwap: float
    volume: float
    transactions: float


@lru_cache(maxsize=256)
def bars(seed: str, first: float, last: float, turnover: float) -> Mapping[date, Bar]:
    """Return a path from about `first` to about `last` over all sessions of the world. turnover: shares per day."""
    random = rng("bars", seed)
    path: dict[date, Bar] = {}
    trading = [day for day in sorted(sessions()) if FIRST_DAY <= day <= LAST_DAY]
    swing, close = 0.0, first
    for step, day in enumerate(trading):
        swing = _PERSISTENCE * swing + _SWING * (random.random() + random.random() - 1)
        share = step / (len(trading) - 1)
        start, close = close, (first + (last - first) * share) * (1 + swing * min(1.0, 20 * share))
        opening = start + (close - start) * random.random() * 0.4
        high = max(opening, close) * (1 + 0.012 * random.random())
        low = min(opening, close) * (1 - 0.012 * random.random())
        volume = float(int(turnover * (0.6 + 0.8 * random.random())))
        path[day] = Bar(
            open=round(opening, 4),
            high=round(high, 4),
            low=round(low, 4),
            close=round(close, 4),
            vwap=round((high + low + close) / 3, 4),
            volume=volume,
            transactions=float(int(volume / 90) + 1),
        )
    return path


@lru_cache(maxsize=256)
def company_bars(company: Company) -> Mapping[date, Bar]:
    """Return the company's path until its end. It is empty for the company that never had prices."""
    if company.ticker == NEVER_PRICED:
        return {}
    path = bars(company.seed, company.first_price, company.last_price, company.shares * 0.006)
    return {day: bar for day, bar in path.items() if day <= company.died}


def etf_bars(symbol: str) -> Mapping[date, Bar]:
    """Return the path of an ETF or of the index."""
    if symbol == INDEX:
        return bars(symbol, 380.82, 617.85, 60_000_000)
    first = 20 + 140 * rng("etf", symbol).random()
    return bars(symbol, first, first * 1.3, 4_000_000)


def change(path: Mapping[date, Bar], start: date, end: date) -> float | None:
    """Return the change from close to close in percent with two decimals; None without bars."""
    if start not in path or end not in path:
        return None
    return round((path[end].close / path[start].close - 1) * 100, 2)


def add_company_prices(graph: Graph, company: Company) -> None:
    """Add one HAS_PRICE edge per day with a price."""
    _add(graph, "Company", company.cik, company.ticker, company_bars(company), company.seed)


def add_benchmark_prices(graph: Graph) -> None:
    """Add bars of the index, of the sectors, and of the first industry of each industry ETF."""
    _add(graph, "MarketIndex", INDEX, INDEX, etf_bars(INDEX))
    for sector, etf in SECTOR_ETFS.items():
        _add(graph, "Sector", squashed(sector), etf, etf_bars(etf))
    carriers = {etf: industry for industry, (_, etf) in reversed(INDUSTRIES.items())}
    for etf, industry in carriers.items():
        _add(graph, "Industry", squashed(industry), etf, etf_bars(etf))


def _add(graph: Graph, label: str, node_id: str, symbol: str, path: Mapping[date, Bar], seed: str = "") -> None:
    random = rng("stored bars", seed or symbol)
    for day in priced_days():
        if (
            day not in path
            or day in DROPPED.get(symbol, ())
            or (day == HALF_LOADED_DAY and symbol not in _first_half())
        ):
            continue
        bar = stored(symbol, day, path, fractional=random.random() < 0.05)
        graph.edge(("Date", "HAS_PRICE", label), day.isoformat(), node_id, **bar)


def stored(symbol: str, day: date, path: Mapping[date, Bar], fractional: bool = False) -> Properties:
    """Return a bar as stored on the edge: on the split basis of its load, at 16:00 even on days with an early close."""
    first, last = LOADED_LATE.get(symbol, (date.max, date.min))
    bar, factor = path[day], 1.0 if first <= day <= last else split_factor(symbol, day)
    previous = before(day).day
    volume = bar.volume / factor + (0.4375 if fractional else 0.0)
    return {
        "open": round(bar.open * factor, 4),
        "high": round(bar.high * factor, 4),
        "low": round(bar.low * factor, 4),
        "close": round(bar.close * factor, 4),
        "vwap": round(bar.vwap * factor, 4),
        "volume": round(volume, 4),
        "transactions": bar.transactions,
        "daily_return": change(path, previous, day) if previous in path else 0.0,
        "timestamp": blank_new_york(new_york(day, 16)),
    }


@lru_cache(maxsize=1)
def _first_half() -> frozenset[str]:
    etfs = {etf for _, etf in INDUSTRIES.values()} | set(SECTOR_ETFS.values()) | {INDEX}
    symbols = sorted(etfs | {company.ticker for company in LIVING})
    return frozenset(symbols[: len(symbols) // 2])
