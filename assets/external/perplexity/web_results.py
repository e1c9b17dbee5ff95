"""Dataset `web_results`: pages a search found, dated by days the provider claims. Pure.

Of a chat answer only its search results are read here; its prose is web_syntheses'.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from assets.external import dating, fields
from assets.external.feed import Feed, Unit
from assets.external.items import named
from assets.external.perplexity import _asking as asking
from assets.extraction import Contest, Place, Record, RunFacts, dated, parsed
from pitlake.datasets import _answers as answers
from pitlake.datasets import web_results as contract
from pitlake.datasets.web_results import DATASET
from pitlake.errors import Unparsable, Unreadable
from resources.http.capture import Capture
from resources.http.providers.perplexity import PROVIDER


def records(_unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """A record per result."""
    for capture in captures:
        operation, query = asking.asked(capture)
        locator = asking.is_locator(capture)
        for place, result in enumerate(_results(capture)):
            record = {"result": result, "place": place, "operation": operation, "query": query, "locator": locator}
            yield record, capture


def _results(capture: Capture) -> list[Any]:
    """`results` of a search, `search_results` of a chat answer, which may be null. Raises Unparsable."""
    body = capture.json()
    chat = not capture.url.endswith("/search")
    listed = body.get("search_results" if chat else "results") if isinstance(body, dict) else None
    if listed is None and chat and isinstance(body, dict) and "choices" in body:
        return []
    if not isinstance(listed, list):
        raise Unparsable(capture.evidence, "the answer has no list of results")
    return listed


def _url(result: Any) -> str | None:
    try:
        return fields.word(result.get("url")) if isinstance(result, dict) else None
    except Unreadable:
        return None


def locate(record: Record, run: RunFacts) -> Place:
    """The END of the later of the two days: a text read today is proven public only at its last update."""
    result = record["result"]
    evidence = named(run, record, record["place"])
    if not isinstance(result, dict):
        return Place(evidence, reason=answers.OTHER_SHAPE.reason)
    url = _url(result)
    if url is None:
        return Place(evidence, reason=contract.NO_URL.reason)
    evidence = named(run, record, record["place"], url)
    if record["locator"]:
        return Place(evidence, reason=contract.LOCATOR.reason)
    try:
        published, updated = fields.day(result.get("date")), fields.day(result.get("last_updated"))
        if published is None:
            return Place(evidence, reason=contract.UNDATED.reason)
        return dated(evidence, dating.believed(dating.end_of_day(max(published, updated or published))))
    except Unreadable:
        return Place(evidence, reason=contract.BAD_DATE.reason)


def values(record: Record) -> dict[str, Any]:
    """The business columns of a result."""
    result = record["result"]
    url = _url(result) or ""
    return parsed(result, {"title": fields.text, "snippet": fields.text}) | {
        "url": url,
        "host": fields.host(url),
        "published_on": fields.day(result["date"]),
        "updated_on": fields.day(result.get("last_updated")),
        "operation": record["operation"],
        "query": record["query"],
    }


LONGER_PASSAGE = Contest(
    group=DATASET.identity,
    contender=lambda record: f"{record['operation']}:{record['query']}:{record['place']}",
    rank=lambda record: (len(str(record["result"].get("snippet") or "")), -record["place"]),
    reason=answers.REPEATED.reason,
)

FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    units=asking.units,
    collect=asking.collect,
    records=records,
    locate=locate,
    values=values,
    never_back=True,
    contest=LONGER_PASSAGE,
)
