"""Oddities of news: edits, blank and repeated clock times, ghosts, empty bodies, lists in strings."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timezone

from sample.calendar import at
from sample.companies import ODD, by_ticker
from sample.expectations import Expectation, absent, gap, row
from sample.news import Article, add_article
from sample.schedule import accession
from sample.shapes import Graph
from sample.texts import EMBEDDING_DIMENSIONS

_COMPANY = by_ticker(ODD)
_FIRST_ID = 39_000_001

EDITED_LATER = "bzNews_39500001"
OVERWRITTEN = "bzNews_39500002"


def plant(graph: Graph) -> Iterator[Expectation]:
    """Plant the oddities and yield the expected outcomes."""
    yield from _clock(graph)
    yield from _edits(graph)
    yield from _blank_times(graph)
    yield from _ghosts(graph)
    yield from _texts(graph)
    yield from _vectors(graph)
    for node_id in (EDITED_LATER, OVERWRITTEN):
        add_article(graph, replace(_story(0, date(2025, 3, 10), "8:05:00"), id=node_id))


def _story(number: int, day: date, time: str, updated: datetime | None = None) -> Article:
    created = at(day, time)
    return Article(
        _COMPANY,
        f"bzNews_{_FIRST_ID + number}",
        created,
        "Quillfeather Opens A Third Shop",
        "A teaser of our own.",
        "<p>A body of our own.</p>",
        updated or created,
    )


def _planted(quirk: int, title: str, node_id: str, values: dict[str, object], available_at: str) -> Expectation:
    return row(quirk, title, "news", {"id": node_id}, values, available_at, f"neo4j:News:{node_id}")


def _clock(graph: Graph) -> Iterator[Expectation]:
    """Plant articles in the repeated hour of 2023-11-05 and with another offset, and an edge newer than its article."""
    first = _story(1, date(2023, 11, 5), "1:30:00")
    second = replace(first, id=f"bzNews_{_FIRST_ID + 2}", created=first.created.replace(fold=1))
    for article, instant in ((first, "2023-11-05T05:30:00Z"), (second, "2023-11-05T06:30:00Z")):
        add_article(graph, replace(article, updated=article.created))
        yield _planted(12, f"the repeated hour of autumn: {instant}", article.id, {"ticker": ODD}, instant)
    foreign = add_article(
        graph, _story(3, date(2024, 3, 10), "20:30:00"), created="2024-03-11T00:30:00+00:00", updated=""
    )
    yield _planted(12, "another offset gives the instant it states", foreign, {"ticker": ODD}, "2024-03-11T00:30:00Z")
    remade: dict[str, object] = {"created_at": "2024-03-12T10:00:00-04:00"}
    late = add_article(graph, _story(4, date(2024, 3, 11), "9:00:00"), edge=remade)
    yield _planted(14, "the edge was made later than its article", late, {"ticker": ODD}, "2024-03-11T13:00:00Z")


def _edits(graph: Graph) -> Iterator[Expectation]:
    edited = add_article(graph, _story(5, date(2024, 2, 5), "9:00:00", at(date(2024, 2, 7), "18:30:00")))
    yield _planted(
        15,
        "an edited text is proven public at its last update",
        edited,
        {"created": _utc(2024, 2, 5, 14), "updated": _utc(2024, 2, 7, 23, 30)},
        "2024-02-07T23:30:00Z",
    )
    earlier = add_article(graph, _story(6, date(2024, 2, 6), "9:00:00", at(date(2024, 2, 5), "9:00:00")))
    yield _planted(15, "an update before the creation changes nothing", earlier, {}, "2024-02-06T14:00:00Z")
    never = add_article(graph, _story(7, date(2024, 2, 6), "10:00:00"), updated="")
    yield _planted(15, "no update is no update", never, {"updated": None}, "2024-02-06T15:00:00Z")
    vague = add_article(graph, _story(8, date(2024, 2, 6), "11:00:00"), updated="yesterday")
    yield gap(15, "an update that is not an instant", "news", f"neo4j:News:{vague}", "updated is unreadable", None)
    old = add_article(graph, _story(9, date(2021, 6, 4), "8:00:00"))
    yield absent(21, "news from before the first partition", "news", {"id": old}, f"neo4j:News:{old}")
    revived = add_article(graph, _story(10, date(2022, 12, 29), "8:00:00", at(date(2023, 1, 4), "8:00:00")))
    yield _planted(
        21,
        "old news edited since is public at its update",
        revived,
        {"created": _utc(2022, 12, 29, 13)},
        "2023-01-04T13:00:00Z",
    )


def _blank_times(graph: Graph) -> Iterator[Expectation]:
    blank = add_article(graph, _story(11, date(2024, 4, 2), "9:00:00"), created="")
    yield gap(13, "created is an empty string", "news", f"neo4j:News:{blank}", "created is missing or unreadable", None)
    yield gap(
        13,
        "a return of an undated event",
        "event_returns",
        f"neo4j:News:{blank}/INFLUENCES/MarketIndex:SPY/daily/macro",
        "event is undated",
        None,
    )


def _ghosts(graph: Graph) -> Iterator[Expectation]:
    """Plant a filing misplaced among the news, with an empty text and a plausible return edge."""
    empty: dict[str, object] = {
        "title": "",
        "teaser": "",
        "body": "",
        "url": "",
        "authors": "[]",
        "channels": "[]",
        "tags": "[]",
    }
    story = replace(_story(0, date(2025, 5, 20), "17:02:11"), id=f"bzNews_{accession(_COMPANY, 2025, 900_001)}")
    ghost = add_article(graph, story, edge={"daily_stock": -46.52}, **empty)
    yield gap(33, "a filing among the news", "news", f"neo4j:News:{ghost}", "not a news id", "2025-05-20T21:02:11Z")
    yield gap(
        33,
        "the return of a filing among the news",
        "event_returns",
        f"neo4j:News:{ghost}/INFLUENCES/Company:{_COMPANY.cik}/daily/stock",
        "not a news id",
        None,
    )
    blank = add_article(graph, _story(12, date(2025, 5, 21), "9:00:00"), title="", teaser=" ", body="")
    yield gap(
        33,
        "an article without any text",
        "news",
        f"neo4j:News:{blank}",
        "no text",
        "2025-05-21T13:00:00Z",
        no_data=True,
    )


def _texts(graph: Graph) -> Iterator[Expectation]:
    bodiless = add_article(graph, _story(13, date(2024, 9, 3), "9:00:00"), body="")
    yield _planted(
        49,
        "an empty body is null",
        bodiless,
        {"body": None, "title": "Quillfeather Opens A Third Shop"},
        "2024-09-03T13:00:00Z",
    )
    tagged = replace(
        _story(14, date(2024, 9, 4), "9:00:00"),
        channels=("Markets", "Stock News"),
        tags=("Software &amp; Apps", "Macy's"),
        authors=("Ike D'Souza",),
    )
    add_article(graph, tagged)
    yield _planted(
        49,
        "HTML entities in tags, apostrophes as they are",
        tagged.id,
        {"tags": ["Software & Apps", "Macy's"], "authors": ["Ike D'Souza"]},
        "2024-09-04T13:00:00Z",
    )
    yield _planted(
        46,
        "channels are a list, not a text to search",
        tagged.id,
        {"channels": ["Markets", "Stock News"]},
        "2024-09-04T13:00:00Z",
    )
    broken = add_article(graph, _story(15, date(2024, 9, 5), "9:00:00"), tags='["Outlook"')
    yield row(
        46,
        "tags that are not JSON are plain text",
        "news",
        {"id": broken},
        {"tags": ['["Outlook"']},
        "2024-09-05T13:00:00Z",
    )


def _vectors(graph: Graph) -> Iterator[Expectation]:
    """Plant small embeddings; those of the real graph have 3072 numbers."""
    vector = [0.5, -0.25] * (EMBEDDING_DIMENSIONS // 2)
    good = add_article(graph, _story(16, date(2024, 9, 6), "9:00:00"), embedding=vector)
    yield row(
        0,
        "a vector is dated as its article",
        "embeddings",
        {"kind": "news", "id": good},
        {"vector": vector, "ticker": ODD},
        "2024-09-06T13:00:00Z",
        f"neo4j:News:{good}",
    )
    zero = add_article(graph, _story(17, date(2024, 9, 9), "9:00:00"), embedding=[0.0] * EMBEDDING_DIMENSIONS)
    yield gap(
        0,
        "a vector without a direction",
        "embeddings",
        f"neo4j:News:{zero}",
        "vector is unreadable",
        "2024-09-09T13:00:00Z",
    )


def _utc(year: int, month: int, day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=timezone.utc)
