"""Oddities of days, bars and companies: holes, half-loaded days, split bases, early closes, missing symbols."""

from collections.abc import Iterator
from datetime import date, datetime, timezone

from sample.companies import NEVER_PRICED, ODD, by_ticker
from sample.expectations import Expectation, absent, gap, row
from sample.shapes import Graph, Properties

ODD_INDUSTRY = "ShellCompanies"
BAD_DATE = "unknown"
SUNDAY = date(2023, 10, 8)


def plant(graph: Graph) -> Iterator[Expectation]:
    """Plant the oddities and yield the expected outcomes."""
    yield from _calendar(graph)
    yield from _natural_bars()
    yield from _split_bars()
    _plant_bars(graph)
    yield from _planted_bars()
    yield from _companies()


def _calendar(graph: Graph) -> Iterator[Expectation]:
    graph.merged("Date", SUNDAY.isoformat(), date=SUNDAY, is_trading_day=True)
    graph.merged("Date", BAD_DATE, date=BAD_DATE, is_trading_day=False)
    yield row(
        3,
        "'0' is not a trading day, which is known when the day is over",
        "calendar",
        {"date": date(2024, 7, 4)},
        {"is_trading_day": False, "market_close": None, "next_trading_date": date(2024, 7, 5)},
        "2024-07-05T04:00:00Z",
        "neo4j:Date:2024-07-04",
    )
    yield row(
        19,
        "an early close is the Date's, not 16:00",
        "calendar",
        {"date": date(2023, 11, 24)},
        {"is_early_close": True, "market_close": _utc(2023, 11, 24, 18), "post_market_close": _utc(2023, 11, 24, 18)},
        "2023-11-24T18:00:00Z",
    )
    yield absent(
        22, "a hole in the dates is not a day", "calendar", {"date": date(2023, 10, 9)}, "neo4j:Date:2023-10-09"
    )
    yield row(
        23,
        "next_trading_date skips a holiday weekend",
        "calendar",
        {"date": date(2024, 3, 28)},
        {"next_trading_date": date(2024, 4, 1), "previous_trading_date": date(2024, 3, 27)},
        "2024-03-28T20:00:00Z",
    )
    yield row(
        0,
        "the day before an unscheduled closing shows the plan",
        "calendar",
        {"date": date(2025, 1, 8), "closed_through": None},
        {"is_trading_day": True, "next_trading_date": date(2025, 1, 9)},
        "2025-01-08T21:00:00Z",
    )
    yield row(
        0,
        "an unscheduled closing is a revision of the day before, public when it is over",
        "calendar",
        {"date": date(2025, 1, 8), "closed_through": date(2025, 1, 9)},
        {"is_trading_day": True, "next_trading_date": date(2025, 1, 10)},
        "2025-01-10T05:00:00Z",
    )
    yield row(
        0,
        "an unscheduled closing is a day without a session",
        "calendar",
        {"date": date(2025, 1, 9)},
        {"is_trading_day": False, "market_open": None, "next_trading_date": date(2025, 1, 10)},
        "2025-01-10T05:00:00Z",
    )
    yield gap(
        0, "a trading day without a close", "calendar", f"neo4j:Date:{SUNDAY}", "trading day without a close", None
    )
    yield gap(0, "an impossible date", "calendar", f"neo4j:Date:{BAD_DATE}", "date is unreadable", None)


def _natural_bars() -> Iterator[Expectation]:
    yield row(
        8,
        "a split-adjusted volume keeps its fraction",
        "prices",
        _bar("NVDA", date(2024, 6, 7)),
        {"volume": 15_750_382.6},
        "2024-06-07T20:00:00Z",
    )
    yield row(
        10,
        "a blank-separated stamp with -0500",
        "prices",
        _bar("AAPL", date(2024, 1, 3)),
        {"entity_kind": "company", "entity_id": "0000320193"},
        "2024-01-03T21:00:00Z",
        "neo4j:Date:2024-01-03/HAS_PRICE/Company:0000320193",
    )
    yield row(
        19,
        "on an early close the bar's later stamp decides",
        "prices",
        _bar("SPY", date(2023, 11, 24)),
        {"entity_kind": "index", "entity_id": "SPY"},
        "2023-11-24T21:00:00Z",
        "neo4j:Date:2023-11-24/HAS_PRICE/MarketIndex:SPY",
    )
    yield absent(54, "a ticker that never has prices", "prices", {"symbol": NEVER_PRICED})
    yield absent(22, "no bars on a day in the hole", "prices", {"date": date(2023, 10, 9)})
    yield row(
        27,
        "one industry carries its ETF's bars",
        "prices",
        _bar("IGV", date(2024, 5, 1)),
        {"entity_kind": "industry", "entity_id": "SoftwareApplication"},
        "2024-05-01T20:00:00Z",
    )
    yield absent(27, "its peer of the same ETF has none", "prices", {"entity_id": "SoftwareInfrastructure"})
    yield row(
        28,
        "a half-loaded day has its first half",
        "prices",
        _bar("AAPL", date(2024, 8, 19)),
        {},
        "2024-08-19T20:00:00Z",
    )
    yield absent(28, "a half-loaded day lacks the rest", "prices", _bar("XOM", date(2024, 8, 19)))
    yield absent(28, "a missing ticker is dropped for both days", "prices", _bar("FCX", date(2024, 2, 13)))
    yield absent(28, "a missing ticker is dropped for the next day too", "prices", _bar("FCX", date(2024, 2, 14)))


def _split_bars() -> Iterator[Expectation]:
    """Yield the outcomes of bars around a split. The graph loaded some of them after the split and their neighbours
    before it; all become rows with prices as traded.
    """
    for quirk, day, close, case in (
        (29, date(2024, 6, 6), 1111.981, "a bar loaded after the split is converted back to traded prices"),
        (29, date(2024, 6, 7), 1121.099, "the next bar, loaded before it, is as traded"),
        (30, date(2024, 6, 10), 110.2682, "the bar of the split day is on its basis, its daily_return unread"),
    ):
        at = f"{day}T20:00:00Z"
        yield row(quirk, case, "prices", _bar("NVDA", day), {"close": close}, at)
    yield gap(
        29,
        "before a split too small to be visible in prices, nothing is proven",
        "prices",
        f"neo4j:Date:2023-01-30/HAS_PRICE/Company:{by_ticker(ODD).cik}",
        "split basis is not proven",
        None,
    )
    yield row(
        29, "from the day of such a split on, bars are as traded", "prices", _bar(ODD, date(2023, 2, 1)), {},
        "2023-02-01T21:00:00Z",
    )  # fmt: skip


def _plant_bars(graph: Graph) -> None:
    """Plant one oddity per day in the bars of an invented industry: a closed day, bad, stray and missing timestamps,
    NaNs.
    """
    graph.merged("Industry", ODD_INDUSTRY, sector_id="FinancialServices", etf="QODD", name=ODD_INDUSTRY)
    graph.merged("Industry", "Unclassified", sector_id="FinancialServices", name="Unclassified")
    nan = float("nan")
    whole: Properties = {
        "open": 10.0,
        "high": 10.5,
        "low": 9.5,
        "close": 10.25,
        "vwap": 10.1,
        "volume": 1000.5,
        "transactions": 40.0,
        "daily_return": 0.5,
    }
    no_price: Properties = dict.fromkeys(("open", "high", "low", "close"), nan)
    changed: dict[str, Properties] = {
        "2024-03-29": {"timestamp": "2024-03-29 16:00:00-0400"},
        "2024-04-01": {"timestamp": "after the close"},
        "2024-04-02": {"timestamp": "2024-04-03 16:00:00-0400"},
        "2024-04-03": {"timestamp": "2024-04-03 16:00:00-0400"} | no_price,
        "2024-04-04": {"timestamp": "2024-04-04 16:00:00-0400", "vwap": nan},
        "2024-07-03": {},
    }
    for day, changes in changed.items():
        graph.edge(("Date", "HAS_PRICE", "Industry"), day, ODD_INDUSTRY, **(whole | changes))
    graph.edge(
        ("Date", "HAS_PRICE", "Industry"), "2024-04-01", "Unclassified", **whole, timestamp="2024-04-01 16:00:00-0400"
    )


def _planted_bars() -> Iterator[Expectation]:
    def bar(day: str, node: str = ODD_INDUSTRY) -> str:
        return f"neo4j:Date:{day}/HAS_PRICE/Industry:{node}"

    yield gap(0, "a bar on a closed day", "prices", bar("2024-03-29"), "no market close on that day", None)
    yield gap(0, "a stamp that is not an instant", "prices", bar("2024-04-01"), "bar stamp is unreadable", None)
    yield gap(0, "a stamp of another day", "prices", bar("2024-04-02"), "bar stamp is on another day", None)
    yield gap(0, "a bar of NaNs", "prices", bar("2024-04-03"), "no price", "2024-04-03T20:00:00Z", no_data=True)
    yield gap(
        0,
        "an entity without ticker or ETF",
        "prices",
        bar("2024-04-01", "Unclassified"),
        "no symbol",
        "2024-04-01T20:00:00Z",
    )
    yield row(
        6,
        "a NaN among good prices is null",
        "prices",
        _bar("QODD", date(2024, 4, 4)),
        {"vwap": None, "close": 10.25},
        "2024-04-04T20:00:00Z",
    )
    yield row(
        19,
        "without a stamp the early close decides",
        "prices",
        _bar("QODD", date(2024, 7, 3)),
        {"close": 10.25},
        "2024-07-03T17:00:00Z",
    )


def _companies() -> Iterator[Expectation]:
    yield row(
        1,
        "market value with separators",
        "companies",
        {"ticker": "NOG"},
        {"mkt_cap": 2_778_300_000.0, "shares_out": 98_000_000.0, "cik": "0001104485"},
        None,
    )
    yield row(4, "a missing number is the word null", "companies", {"ticker": ODD}, {"employees": None}, None)
    yield row(
        49, "an apostrophe in a name", "companies", {"ticker": "ORLY"}, {"name": "O'Reilly Automotive, Inc."}, None
    )
    yield row(
        51,
        "the company's sector has its words apart, the sector's id has not",
        "companies",
        {"ticker": "WMT"},
        {"sector": "Consumer Defensive", "industry_normalized": "DiscountStores"},
        None,
    )
    yield row(
        53,
        "a snapshot is available when observed",
        "companies",
        {"cik": by_ticker("AAPL").cik},
        {"ticker": "AAPL", "employees": 164_000.0, "fiscal_year_end_month": 9},
        None,
    )


def _bar(symbol: str, day: date) -> dict[str, object]:
    return {"symbol": symbol, "date": day}


def _utc(year: int, month: int, day: int, hour: int) -> datetime:
    return datetime(year, month, day, hour, tzinfo=timezone.utc)
