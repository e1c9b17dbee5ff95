"""Dataset `web_results`: pages found by a search, dated by the days that the provider claims. Pure.

This feed reads only the search results of a chat answer; web_syntheses reads the prose.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from assets.external.perplexity import _asking as asking
from assets.external.web._sources import WESTMOST
from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import claimed, dating, fields
from assets.feeds.feed import Feed, Scope, Unit
from assets.feeds.items import UNNAMED, evidence_of
from pitlake.clock import NEW_YORK, new_york_day
from pitlake.datasets import _answers as answers
from pitlake.datasets import web_results as contract
from pitlake.datasets.web_results import DATASET
from pitlake.errors import Unparsable, Unreadable
from resources.http.capture import Capture
from resources.http.providers.perplexity import PROVIDER

MICROSECOND = timedelta(microseconds=1)


def records(_unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    for capture in captures:
        operation, query = asking.question_of(capture)
        locator = asking.is_locator(capture)
        results = _results(capture)
        best: dict[Any, int] = {}
        for place, result in enumerate(results):
            best[_url(result)] = max(
                place, best.get(_url(result), place), key=lambda other: _rank(results[other], other)
            )
        for place, result in enumerate(results):
            repeat = _url(result) is not None and best[_url(result)] != place
            facts = {"place": place, "operation": operation, "query": query, "locator": locator}
            yield {"result": result, "repeat": repeat, **facts}, capture


def _results(capture: Capture) -> list[Any]:
    """Return `results` of a search, `search_results` of a chat answer (which may be null), or a bare list of either.
    Several questions have one list each. Raises Unparsable.
    """
    body = capture.json()
    chat = not capture.url.endswith("/search")
    results = body.get("search_results" if chat else "results") if isinstance(body, dict) else body
    if results is None and chat and isinstance(body, dict) and "choices" in body:
        return []
    if not isinstance(results, list):
        raise Unparsable(capture.evidence, "the answer has no list of results")
    return [result for part in results for result in (part if isinstance(part, list) else [part])]


def _rank(result: Any, place: int) -> tuple[bool, int, int]:
    """Rank results with the same address: dated before undated, then by longer passage, then by position."""
    try:
        is_dated = _claimed(result.get("date")) is not None
    except (Unreadable, AttributeError):
        return False, 0, -place
    return is_dated, len(str(result.get("snippet") or "")), -place


def _claimed(value: Any) -> datetime | None:
    """Return the latest possible instant of a claim; None when null or blank. Raises Unreadable.

    A day ends in New York. A time without an offset is read in the last time zone on Earth.
    """
    claim = fields.word(value)
    if claim is None:
        return None
    return dating.believed(claimed.latest(claim, WESTMOST if ":" in claim else NEW_YORK))


def _claimed_day(value: Any) -> date | None:
    """Return the New York day of a claim; None when null or blank. Raises Unreadable."""
    at = _claimed(value)
    ended = at is not None and ":" not in str(value)
    return at and new_york_day(at - MICROSECOND if ended else at)


def _url(result: Any) -> str | None:
    try:
        return fields.word(result.get("url")) if isinstance(result, dict) else None
    except Unreadable:
        return None


def locate(record: Record, run: RunFacts) -> Place:
    """Return the later of the two claims, or the first capture of the text if that is later."""
    result = record["result"]
    evidence = evidence_of(run, record, record["operation"], record["query"], UNNAMED)
    if not isinstance(result, dict):
        return Place(evidence, reason=answers.OTHER_SHAPE.reason)
    url = _url(result)
    if url is None:
        return Place(evidence, reason=contract.NO_URL.reason)
    evidence = evidence_of(run, record, record["operation"], record["query"], url)
    if record["repeat"]:
        return Place(evidence, reason=answers.REPEATED.reason)
    if record["locator"]:
        return Place(evidence, reason=contract.LOCATOR.reason)
    try:
        published, updated = _claimed(result.get("date")), _claimed(result.get("last_updated"))
        if published is None:
            return Place(evidence, reason=contract.UNDATED.reason)
        return dated(evidence, max(published, updated or published))
    except Unreadable:
        return Place(evidence, reason=contract.BAD_DATE.reason)


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a result."""
    result = record["result"]
    url = _url(result) or ""
    return parsed(result, {"title": fields.text, "snippet": fields.text}) | {
        "url": url,
        "host": fields.host(url),
        "published_on": _claimed_day(result["date"]),
        "updated_on": _claimed_day(result.get("last_updated")),
        "operation": record["operation"],
        "query": record["query"],
    }


FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(queries=("phones results",)),
    units=asking.units,
    collect=asking.collect,
    records=records,
    locate=locate,
    values=values,
    as_fetched=True,
)
CLAIMED = replace(FEED, as_fetched=False)
"""The feed with the provider's own dates, which prove nothing. It is used only for answers outside of the lake."""
