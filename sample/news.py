"""News articles with their influences: earnings, analyst calls and general items, some of them edited later.

When an article changes, everything except `created` is overwritten, so the text is certainly public only since
`updated`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from random import Random

from sample.calendar import FIRST_DAY, LAST_DAY, at, market_session
from sample.companies import Company
from sample.fiscal import figures, position_of
from sample.returns import add_influences, event_returns, schedule_json
from sample.schedule import EARNINGS_ITEMS, filings
from sample.shapes import Graph, as_json, iso_new_york, rng
from sample.texts import embedding, prose

EMBEDDED = frozenset({"QACB", "QBRY", "QYRW"})
ARTICLES = 45

_FIRST_ID, _IDS_EACH = 31_000_000, 1_000
_KINDS = (
    ("{name} Announces Expansion Of Its Business", ("News",), ("Expansion",)),
    (
        "Harbor Street Maintains Neutral On {name}, Raises Price Target To ${price}",
        ("Analyst Ratings", "Price Target", "News"),
        (),
    ),
    ("Northlight Reiterates Buy On {name}", ("Analyst Ratings", "Reiteration"), ()),
    ("What's Going On With {name} Shares?", ("Markets", "Movers", "Trading Ideas"), ("Stories That Matter",)),
    ("{name} Affirms Its Outlook For The Year", ("News", "Guidance"), ("Software &amp; Apps", "Outlook")),
)
_AUTHORS = ("Benzinga Newsdesk", "Rosalind Thackeray", "Ike D'Souza")


@dataclass(frozen=True)
class Article:
    """An article. updated: None if it is missing in the graph."""

    company: Company
    id: str
    created: datetime
    title: str
    teaser: str
    body: str
    updated: datetime | None = None
    channels: tuple[str, ...] = ("News",)
    tags: tuple[str, ...] = ()
    authors: tuple[str, ...] = field(default=("Benzinga Newsdesk",))


def articles(company: Company) -> Iterator[Article]:
    """Yield the company's articles: one for every earnings release, and others spread over the whole period."""
    random = rng("news", company.seed)
    number = _FIRST_ID + company.index * _IDS_EACH
    for filing in filings(company):
        if filing.items == EARNINGS_ITEMS and filing.quarter:
            results = figures(company, position_of(company, filing.quarter.end))
            title = (
                f"{company.name} Q{filing.quarter.number} Revenue ${results.revenue / 1e6:,.0f}M, EPS ${results.eps}"
            )
            created = filing.accepted + timedelta(seconds=random.randrange(20, 900))
            yield _article(company, number, created, (title, ("Earnings", "News"), ()), random)
            number += 1
    for _ in range(ARTICLES):
        headline, channels, tags = random.choice(_KINDS)
        title = headline.format(name=company.name, price=random.randrange(20, 400))
        day = FIRST_DAY + timedelta(days=random.randrange((LAST_DAY - FIRST_DAY).days))
        created = at(day, f"{random.randrange(4, 21)}:{random.randrange(60)}:{random.randrange(60)}")
        article = _article(company, number, created, (title, channels, tags), random)
        if article.created.date() <= company.died:
            yield article
        number += 1


def _article(
    company: Company,
    number: int,
    created: datetime,
    story: tuple[str, tuple[str, ...], tuple[str, ...]],
    random: Random,
) -> Article:
    title, channels, tags = story
    return Article(
        company=company,
        id=f"bzNews_{number}",
        created=created,
        title=title,
        teaser=prose(random, 1),
        body="" if random.random() < 0.1 else f"<p>{prose(random, 5)}</p>",
        updated=_updated(created, random),
        channels=channels,
        tags=tags,
        authors=(random.choice(_AUTHORS),),
    )


def _updated(created: datetime, random: Random) -> datetime | None:
    """Return an article's update time: usually `created` or within an hour, sometimes days later, sometimes unknown."""
    kind = random.random()
    if kind < 0.02:
        return None
    if kind < 0.6:
        return created
    later = timedelta(minutes=random.randrange(1, 60)) if kind < 0.93 else timedelta(days=random.randrange(1, 9))
    return min(created + later, at(date(2025, 6, 30), "20:00"))


def add_news(graph: Graph, company: Company) -> None:
    """Add every article of the company with its influences."""
    for article in articles(company):
        add_article(graph, article)


def add_article(graph: Graph, article: Article, edge: dict[str, object] | None = None, **overrides: object) -> str:
    """Add the News node and its four influences. edge: replaces properties of the edge to the company."""
    properties: dict[str, object] = {
        "title": article.title,
        "teaser": article.teaser,
        "body": article.body,
        "url": f"https://www.benzinga.example/news/{article.id.removeprefix('bzNews_')}",
        "created": iso_new_york(article.created),
        "updated": iso_new_york(article.updated) if article.updated else "",
        "authors": as_json(article.authors),
        "channels": as_json(article.channels),
        "tags": as_json(article.tags),
        "returns_schedule": schedule_json(article.created),
        "market_session": market_session(article.created),
    }
    if article.company.ticker in EMBEDDED:
        properties["embedding"] = embedding(article.body.strip() or f"{article.title} {article.teaser}")
    graph.node("News", article.id, **(properties | overrides))
    returns = event_returns(article.company, article.id, article.created)
    created = iso_new_york(article.created)
    add_influences(graph, "News", article.id, article.company, created, returns)
    if edge:
        graph.edges["News", "INFLUENCES", "Company"][-1][2].update(edge)
    return article.id
