"""Oddities of dividends and splits: rounding, colliding ids, orphans, holidays, failed parses."""

from collections.abc import Iterator
from datetime import date

from pitlake.clock import end_of_new_york_day, iso
from sample.actions import Dividend, add_dividend, add_split
from sample.companies import NEVER_PRICED, ODD, by_ticker
from sample.expectations import Expectation, absent, gap, row
from sample.shapes import Graph

OVERWRITTEN = Dividend(ODD, date(2025, 5, 5), date(2025, 5, 19), 0.31)

_NO_AMOUNT = "amount is missing or zero"


def plant(graph: Graph) -> Iterator[Expectation]:
    """Plant the oddities and yield the expected outcomes."""
    yield from _amounts(graph)
    yield from _collisions(graph)
    yield from _orphans(graph)
    yield from _splits(graph)


def _declared(
    graph: Graph, day: date, amount: float, kind: str = "Regular", linked: date | None = None, ticker: str = ODD
) -> str:
    dividend = Dividend(ticker, day, date(day.year, day.month, 28), amount, kind)
    return f"neo4j:Dividend:{add_dividend(graph, dividend, by_ticker(ODD).cik, linked or day)}"


def _ended(day: date) -> str:
    return iso(end_of_new_york_day(day))


def _amounts(graph: Graph) -> Iterator[Expectation]:
    for day, amount, rounded in ((date(2024, 5, 6), 0.2475, 0.247), (date(2024, 5, 7), 0.7075, 0.708)):
        locator = _declared(graph, day, amount)
        yield row(
            2,
            f"{amount} is kept as {rounded}",
            "dividends",
            {"ticker": ODD, "declaration_date": day},
            {"cash_amount": rounded, "dividend_type": "Regular"},
            _ended(day),
            locator,
        )
    day = date(2024, 5, 8)
    yield gap(2, "an amount rounded to nothing", "dividends", _declared(graph, day, 0.0004), _NO_AMOUNT, _ended(day))
    day = date(2024, 5, 9)
    yield gap(
        26,
        "an amount of 0.0 is a failed parse",
        "dividends",
        _declared(graph, day, 0.0),
        _NO_AMOUNT,
        _ended(day),
    )


def _collisions(graph: Graph) -> Iterator[Expectation]:
    add_dividend(graph, OVERWRITTEN, by_ticker(ODD).cik, OVERWRITTEN.declared)
    walmart = {"ticker": "WMT", "declaration_date": date(2024, 2, 20)}
    name = f"{by_ticker('WMT').cik}_2024-02-20_Regular"
    yield row(
        24,
        "four dividends under one id: the last written, dated by the split after it",
        "dividends",
        walmart,
        {"ex_dividend_date": date(2024, 12, 12), "cash_amount": 0.207, "dividend_id": name},
        "2024-02-26T21:00:00Z",
        "neo4j:Dividend:WMT_2024-02-20_Regular",
    )
    yield absent(24, "the first three are gone", "dividends", walmart | {"ex_dividend_date": date(2024, 3, 14)})
    yield row(
        10,
        "a declaration date becomes that day's end",
        "dividends",
        {"ticker": ODD, "declaration_date": OVERWRITTEN.declared},
        {"cash_amount": 0.31, "ex_dividend_date": date(2025, 5, 19)},
        "2025-05-06T04:00:00Z",
    )


def _orphans(graph: Graph) -> Iterator[Expectation]:
    unlinked = Dividend(ODD, date(2024, 4, 10), date(2024, 4, 28), 0.3)
    add_dividend(graph, unlinked, by_ticker(ODD).cik, None)
    yield gap(25, "no date node", "dividends", f"neo4j:Dividend:{unlinked.id}", "no date node", None)
    yield gap(
        22, "declared on a day in the hole", "dividends", "neo4j:Dividend:NEE_2023-10-09_Regular", "no date node", None
    )
    yield gap(
        25,
        "declared on a holiday",
        "dividends",
        _declared(graph, date(2024, 7, 4), 0.3),
        "no market close on that day",
        None,
    )
    alone = Dividend(ODD, date(2024, 4, 11), date(2024, 4, 28), 0.33)
    add_dividend(graph, alone, None, alone.declared)
    yield row(
        25,
        "without a company, but with a ticker",
        "dividends",
        {"ticker": ODD, "declaration_date": alone.declared},
        {"cash_amount": 0.33},
        "2024-04-12T04:00:00Z",
        f"neo4j:Dividend:{alone.id}",
    )
    moved = _declared(graph, date(2024, 4, 15), 0.3, "Special", linked=date(2024, 4, 16))
    yield gap(
        0, "linked to another day's date", "dividends", moved, "declaration date differs from its date node", None
    )
    nameless = _declared(graph, date(2024, 4, 17), 0.3, ticker="")
    yield gap(0, "a blank ticker", "dividends", nameless, "no ticker", None)
    yield row(
        50,
        "the type is dividend_type, UNKNOWN where there was none",
        "dividends",
        {"dividend_id": f"{by_ticker(ODD).cik}_2024-04-18_UNKNOWN"},
        _untyped(graph, date(2024, 4, 18)),
        "2024-04-19T04:00:00Z",
    )


def _untyped(graph: Graph, day: date) -> dict[str, object]:
    node_id = _declared(graph, day, 0.3, "UNKNOWN").rpartition("neo4j:Dividend:")[2]
    graph.nodes["Dividend"][node_id]["dividend_type"] = "null"
    return {"dividend_type": "UNKNOWN", "cash_amount": 0.3}


def _splits(graph: Graph) -> Iterator[Expectation]:
    cik = by_ticker(NEVER_PRICED).cik

    def split(day: date, before: object, after: object, linked: date | None = None) -> str:
        return f"neo4j:Split:{add_split(graph, NEVER_PRICED, cik, day, (before, after), linked or day)}"

    add_split(graph, ODD, by_ticker(ODD).cik, date(2023, 2, 1), (1000, 1047), date(2023, 2, 1))
    shut = split(date(2024, 3, 9), 1.0, 2.0)
    yield row(
        25,
        "a split of a Saturday is public at its end",
        "splits",
        {"ticker": NEVER_PRICED, "execution_date": date(2024, 3, 9)},
        {"split_to": 2.0},
        "2024-03-10T05:00:00Z",
        shut,
    )

    reverse = split(date(2024, 3, 4), 1500, 1)
    yield row(
        1,
        "a ratio with a separator",
        "splits",
        {"ticker": NEVER_PRICED, "execution_date": date(2024, 3, 4)},
        {"split_from": 1500.0, "split_to": 1.0},
        "2024-03-04T21:00:00Z",
        reverse,
    )
    yield row(
        10,
        "an execution date becomes that day's close",
        "splits",
        {"ticker": "NVDA"},
        {"execution_date": date(2024, 6, 10), "split_from": 1.0, "split_to": 10.0},
        "2024-06-10T20:00:00Z",
    )
    yield gap(
        26,
        "an unknown ratio",
        "splits",
        split(date(2024, 3, 5), 1.0, None),
        "ratio is missing or unknown",
        "2024-03-05T21:00:00Z",
    )
    yield gap(
        0,
        "linked to another day's date",
        "splits",
        split(date(2024, 3, 6), 1.0, 2.0, date(2024, 3, 7)),
        "execution date differs from its date node",
        None,
    )
    ahead = add_split(graph, NEVER_PRICED, cik, date(2025, 6, 27), (1.0, 2.0), None)
    yield gap(
        25,
        "an execution that was ahead of the load has no date node",
        "splits",
        f"neo4j:Split:{ahead}",
        "no date node",
        None,
    )
