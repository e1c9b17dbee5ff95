"""Dataset `news`: the graph's News nodes, dated by the later of `created` and `updated`. Cypher and pure functions."""

import re
from typing import Any

from assets.extraction import Extractor, Place, Record, RunFacts, dated, parsed
from assets.graph import texts
from pitlake.datasets import news as contract
from pitlake.datasets.news import DATASET

FIELDS = """
       n.id AS id, n.title AS title, n.teaser AS teaser, n.body AS body, n.url AS url, n.authors AS authors,
       n.channels AS channels, n.tags AS tags, n.market_session AS market_session,
       n.created AS created, n.updated AS updated, latest,
       [(n)-[:INFLUENCES]->(c:Company) | c.ticker] AS tickers
"""

LATEST = "WITH n, CASE WHEN n.updated > n.created THEN n.updated ELSE n.created END AS latest\n"

WINDOW = f"MATCH (n:News)\n{LATEST}WHERE latest >= $lo AND latest < $hi\nRETURN {FIELDS}"

UNDATED = f"""
MATCH (n:News)
WHERE NOT coalesce(n.created =~ $dated, false)
   OR (coalesce(n.updated, '') <> '' AND NOT coalesce(n.updated =~ $dated, false))
{LATEST}RETURN {FIELDS}
"""

FILING_ID = re.compile(r"(?:bzNews_)?[0-9]{10}-[0-9]{2}-[0-9]{6}")

PARSERS = {
    "title": texts.text,
    "teaser": texts.text,
    "body": texts.text,
    "url": texts.word,
    "authors": texts.strings,
    "channels": texts.keywords,
    "tags": texts.labels,
    "market_session": texts.word,
    "created": texts.instant,
    "updated": texts.instant,
}


def is_news(spelled: Any) -> bool:
    """Return whether an id may be an article's: not missing, and not the accession number of a misplaced filing."""
    name = texts.word(spelled)
    return name is not None and not FILING_ID.fullmatch(name)


def locate(record: Record, _run: RunFacts) -> Place:
    """Return the later of `created` and `updated`, because the graph stores only the text of the last update."""
    evidence = f"neo4j:News:{record['id']}"
    created = texts.readable(texts.published, record["created"])
    if created is None:
        return Place(evidence, day=texts.leading_day(record["latest"]), reason=contract.NO_CREATED.reason)
    updated = texts.readable(texts.published, record["updated"])
    if updated is None and not texts.is_absent(record["updated"]):
        return Place(evidence, day=texts.leading_day(record["latest"]), reason=contract.BAD_UPDATED.reason)
    place = dated(evidence, max(created, updated or created))
    if not is_news(record["id"]):
        return Place(evidence, place.available_at, place.day, contract.NOT_NEWS.reason)
    if not any(texts.text(record[part]) for part in ("title", "teaser", "body")):
        return Place(evidence, place.available_at, place.day, contract.NO_TEXT.reason)
    return place


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of an article."""
    tickers = sorted({ticker for ticker in map(texts.word, record["tickers"] or ()) if ticker is not None})
    facts = {"id": texts.word(record["id"]), "ticker": tickers[0] if tickers else None, "tickers": tickers}
    return facts | parsed(record, PARSERS)


EXTRACTOR = Extractor(dataset=DATASET, windows=(WINDOW,), sweeps=(UNDATED,), locate=locate, values=values)
