"""Oddities of the returns on edges: NaN in two forms, lists, percentages, windows that end before their event."""

from collections.abc import Iterator
from datetime import date

from sample.calendar import at
from sample.companies import NEVER_PRICED, ODD, by_ticker
from sample.expectations import Expectation, Values, absent, gap, row
from sample.filings import add_report, link_filer
from sample.news import Article, add_article
from sample.quirks.documents import odd_filing
from sample.shapes import Graph

_COMPANY = by_ticker(ODD)
_NOT_A_NUMBER, _BACKWARD = "return is not a number", "window ends before its event"


def plant(graph: Graph) -> Iterator[Expectation]:
    """Plant the oddities and yield the expected outcomes."""
    yield from _on_filings(graph)
    yield from _on_news(graph)
    yield from _early_close(graph)
    yield absent(54, "events of a company without prices have no returns", "event_returns", {"ticker": NEVER_PRICED})


def _on_filings(graph: Graph) -> Iterator[Expectation]:
    filing = odd_filing(201, "8-K", at(date(2024, 5, 14), "10:00:00"), ("8.01",))
    add_report(graph, filing, xbrl_status="SKIPPED")
    link_filer(
        graph, filing, hourly_stock=[1.25, -0.5], session_stock=float("nan"), hourly_industry=[], daily_stock=5.06
    )
    edge = f"neo4j:Report:{filing.accession}/PRIMARY_FILER/Company:{_COMPANY.cik}"
    key: Values = {"event_id": filing.accession, "entity_kind": "company"}
    yield row(
        7,
        "of a list, the first element",
        "event_returns",
        key | {"horizon": "hourly", "benchmark": "stock"},
        {"percent": 1.25, "event_kind": "report"},
        "2024-05-14T15:00:00Z",
        f"{edge}/hourly/stock",
    )
    yield gap(
        7,
        "of an empty list, nothing",
        "event_returns",
        f"{edge}/hourly/industry",
        _NOT_A_NUMBER,
        "2024-05-14T15:00:00Z",
        no_data=True,
    )
    yield gap(6, "NaN", "event_returns", f"{edge}/session/stock", _NOT_A_NUMBER, "2024-05-14T20:00:00Z", no_data=True)
    yield row(
        9,
        "5.06 is 5.06 percent",
        "event_returns",
        key | {"horizon": "daily", "benchmark": "stock"},
        {"percent": 5.06, "entity_id": _COMPANY.cik, "ticker": ODD},
        "2024-05-14T20:00:00Z",
    )


def _on_news(graph: Graph) -> Iterator[Expectation]:
    node_id = _story(graph, 39_000_101, date(2024, 5, 15), "10:00:00", {"session_stock": "NaN", "daily_stock": -3.2})
    edge = f"neo4j:News:{node_id}/INFLUENCES/Company:{_COMPANY.cik}"
    yield gap(
        6,
        "NaN as a text",
        "event_returns",
        f"{edge}/session/stock",
        _NOT_A_NUMBER,
        "2024-05-15T20:00:00Z",
        no_data=True,
    )
    yield row(
        11,
        "an article's window end is New York time",
        "event_returns",
        {"event_id": node_id, "entity_kind": "company", "horizon": "daily", "benchmark": "stock"},
        {"percent": -3.2},
        "2024-05-15T20:00:00Z",
        f"{edge}/daily/stock",
    )


def _early_close(graph: Graph) -> Iterator[Expectation]:
    """Plant an article an hour after the close of 2024-07-03, when its day's windows have already ended."""
    node_id = _story(graph, 39_000_102, date(2024, 7, 3), "14:20:00", {"hourly_stock": 0.4, "daily_stock": 0.9})
    yield row(
        20,
        "after an early close the market is closed",
        "news",
        {"id": node_id},
        {"market_session": "market_closed"},
        "2024-07-03T18:20:00Z",
    )
    edge = f"neo4j:News:{node_id}/INFLUENCES/Company:{_COMPANY.cik}"
    yield gap(20, "a window that ends before its event", "event_returns", f"{edge}/daily/stock", _BACKWARD, None)
    yield row(
        20,
        "the hour after it is sound",
        "event_returns",
        {"event_id": node_id, "entity_kind": "company", "horizon": "hourly", "benchmark": "stock"},
        {"percent": 0.4},
        "2024-07-03T19:20:00Z",
    )


def _story(graph: Graph, number: int, day: date, time: str, edge: dict[str, object]) -> str:
    created = at(day, time)
    story = Article(_COMPANY, f"bzNews_{number}", created, "Quillfeather Sharpens Its Quills", "A teaser.", "", created)
    return add_article(graph, story, edge=edge)
