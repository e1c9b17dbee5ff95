"""Questions that read several sources: the catalogue's queries, the views, and pages of the time machine.

A question is about one company, or about pairs of a company and an instant, which one statement answers.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from random import Random
from typing import Any

from pitlake.clock import iso
from pitlake.errors import PitlakeError
from pitlake.questions import catalogue
from pitlake.questions.catalogue import Query
from pitlake.session import Session
from pitlake.web import questions as pages
from tests.wall.unions.sources import CONCEPTS, DATASETS, DERIVED, FAMILIES, Row, cik, ticker

PAIRED = 8  # instants per question about pairs
EVENTS = "earnings_events"
WHOSE = {
    "articles": "list_contains(tickers, $ticker)",
    "bars": "symbol = $ticker",
    "calls": "ticker = $ticker",
    "facts": "cik = $cik",
    "filings": "cik = $cik",
}
"""The filter for a company, for each view over several datasets."""

SEARCHED = {"news_full_text": "title 7 24", "transcript_search_qa": "said 7 24"}


@dataclass(frozen=True)
class Question:
    """A question about companies with its bound values. at: the instants of its pairs."""

    name: str
    reads: frozenset[str]
    sql: str | Query
    values: dict[str, Any]
    companies: tuple[int, ...]
    by_cik: bool
    at: tuple[datetime, ...] = ()

    @property
    def size(self) -> int:
        """Return the number of pairs of a company and an instant."""
        return len(self.companies) * max(1, len(self.at))

    def ask(self, session: Session) -> list[Row]:
        """Return the rows of the answer; an error is returned as one row."""
        try:
            return session.ask(self.sql, self.values).arrow().to_pylist()
        except PitlakeError as error:
            return [{"error": f"{type(error).__name__}: {error}"}]

    def __str__(self) -> str:
        """Return the question as one line."""
        return f"{self.name} {self.values}"


@cache
def union_queries() -> dict[str, Query]:
    """Return the catalogue's queries that read two sources of one family, without vector searches."""
    queries = catalogue.all_queries().items()
    return {name: query for name, query in queries if _is_of_several(query.reads) and not query.one_of}


@cache
def union_pages() -> dict[str, pages.PageQuestion]:
    """Return the pages that read two sources of one family."""
    return {name: page for name, page in pages.all_questions().items() if _is_of_several(page.reads)}


def _is_of_several(reads: tuple[str, ...]) -> bool:
    return any(len(writers.keys() & set(reads)) > 1 for writers, _ in FAMILIES.values())


def read() -> list[str]:
    """Return every dataset that any of these questions reads."""
    more = (each.reads for each in (*union_queries().values(), *union_pages().values()))
    return sorted({*DATASETS, *(name for reads in more for name in reads)})


def names() -> list[str]:
    """Return the names of all questions."""
    return [*sorted(union_queries()), *(f"page {name}" for name in sorted(union_pages())), *map(_view, WHOSE), EVENTS]


def _view(name: str) -> str:
    return f"FROM {name}"


def is_of_pairs(name: str) -> bool:
    """Return whether a question is about pairs of a company and an instant."""
    query = union_queries().get(name)
    return query is not None and any(parameter.name == "pairs" for parameter in query.parameters)


def question(name: str, companies: tuple[int, ...], as_of: datetime, rng: Random) -> Question:
    """Return a question by name. Only questions about pairs take several companies."""
    by_cik = rng.random() < 0.8
    company = companies[0]
    spelled = _spelled(company, by_cik)
    if name == EVENTS:
        sql = f"FROM {DERIVED} WHERE cik = $cik ORDER BY accession_no"
        return Question(name, frozenset({DERIVED}), sql, {"cik": cik(company)}, companies, True)
    if name.startswith("FROM "):
        union = catalogue.unions()[name.removeprefix("FROM ")]
        values = {"ticker": ticker(company), "cik": cik(company)}
        expected = {each: value for each, value in values.items() if f"${each}" in WHOSE[union.name]}
        sql = f"{name} WHERE {WHOSE[union.name]} ORDER BY ALL"
        return Question(name, frozenset(union.reads), sql, expected, companies, True)
    if name.startswith("page "):
        page = union_pages()[name.removeprefix("page ")]
        values = {catalogue.COMPANY: spelled} if catalogue.COMPANY in catalogue.placeholders(page.sql) else {}
        return Question(name, frozenset(page.reads), page.sql, values, companies, by_cik)
    query = union_queries()[name]
    at: tuple[datetime, ...] = ()
    if is_of_pairs(name):
        at = tuple(sorted({as_of, *(as_of - timedelta(hours=rng.randrange(1500)) for _ in range(PAIRED - 1))}))
    pairs = [(company, moment) for company in companies for moment in at]
    pool: dict[str, Any] = {
        "ticker": ticker(company),
        "start_date": "2024-01-01",
        "channel": "news",
        "concept_qname": CONCEPTS[0],
        "query": SEARCHED.get(name, "Assets"),
        "concepts": list(CONCEPTS),
        "pairs": [(ticker(each), moment) for each, moment in pairs],
        "limit": rng.choice((1, 50)) if name not in SEARCHED else 50,
        "member_qnames": ["us-gaap:OtherMember"],
        "spans": ["quarter", "year", "ttm", "balance"],
    }
    bound = query.bind(
        {parameter.name: pool[parameter.name] for parameter in query.parameters if parameter.name in pool}
    )
    if catalogue.COMPANY in bound:
        del bound["ticker"]
        bound[catalogue.COMPANY] = spelled
    if pairs:
        listing = [
            {"ticker": ticker(each), "at": iso(moment), "company": _spelled(each, by_cik)} for each, moment in pairs
        ]
        bound["pairs"] = json.dumps(listing)
    return Question(name, frozenset(query.reads) & set(DATASETS), query, bound, companies, by_cik, at)


def _spelled(company: int, by_cik: bool) -> str:
    return f"{cik(company)} {ticker(company)}" if by_cik else ticker(company)


def asked(as_of: datetime, companies: tuple[int, ...], count: int, rng: Random) -> Iterator[Question]:
    """Yield `count` different questions about each company, and all questions about pairs with all companies."""
    of_one = [name for name in names() if not is_of_pairs(name)]
    for company in companies if count else ():
        for name in rng.sample(of_one, min(count, len(of_one))):
            yield question(name, (company,), as_of, rng)
    for name in filter(is_of_pairs, names() if count else ()):
        yield question(name, companies, as_of, rng)
