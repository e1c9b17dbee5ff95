"""Dataset `sec_fulltext_hits`: hits of EDGAR's full-text search.

A hit is dated only by its filing. options: forms and ciks limit the search. headers = none | all: "all" fetches the
header of every filing with a hit, which dates hits of filings that are not in the lake.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from assets.edgar import Release, withheld
from assets.external.sec_edgar import _headers, _names
from assets.extraction import Parser, Place, Record, RunFacts, dated, parsed
from assets.feeds import dating, fields
from assets.feeds.acceptances import release
from assets.feeds.feed import Feed, Fetch, Scope, Unit
from assets.feeds.items import TWICE, evidence_of
from pitlake.datasets import sec_fulltext_hits as contract
from pitlake.datasets._shared import RELEASE_RULE, WITHHELD
from pitlake.datasets.sec_fulltext_hits import DATASET
from pitlake.errors import BadInput, Unparsable, Unreadable
from resources.http.capture import Capture, Request
from resources.http.providers.sec_edgar import PROVIDER, SEARCH

HEADERS = ("none", "all")
PAGE, MOST = 100, 10_000
MORE = "_more"

PARSERS: dict[str, Parser] = {
    "accession_no": _names.accession,
    "document": fields.required_word,
    "form_type": fields.word,
    "cik": _names.optional_cik,
    "ciks": _names.ciks,
    "root_forms": fields.names,
    "file_type": fields.word,
    "file_description": fields.word,
    "sequence": _names.whole,
    "items": _names.items,
    "filing_date": _names.optional_day,
    "period_ending": _names.optional_day,
}


def units(scope: Scope) -> list[Unit]:
    """Return one unit per query. Raises BadInput if there is none."""
    _names.option(scope.options, "headers", HEADERS)
    if not scope.queries:
        raise BadInput("queries", "no query is given", 'give words, or a phrase in quotes such as "going concern"')
    return [Unit(query, scope) for query in dict.fromkeys(scope.queries)]


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch pages of a hundred hits, up to the last page or a limit, and then the requested headers."""
    scope, pages = unit.scope, []
    for start in range(0, min(MOST, scope.max_pages * PAGE), PAGE):
        pages.append(fetch(_request(unit, start)))
        yield pages[-1]
        total, hits = _hits(pages[-1])
        if len(hits) < PAGE or start + PAGE >= total:
            break
    if scope.options.get("headers") == HEADERS[1]:
        filings = [_filing(hit) for page in pages for hit in _hits(page)[1]]
        yield from _headers.fetched(dict.fromkeys(filter(None, filings)), fetch)


def _request(unit: Unit, start: int) -> Request:
    scope = unit.scope
    dates: dict[str, Any] = {}
    if scope.date_from or scope.date_to:
        dates = {"dateRange": "custom", "startdt": scope.date_from, "enddt": scope.date_to}
    params = {
        "q": unit.name,
        "forms": scope.options.get("forms"),
        "ciks": ",".join(_names.ten_digit_ciks(scope.ciks)) or None,
    }
    return Request("/LATEST/search-index", {**params, **dates, "from": start or None}, host=SEARCH)


def _filing(hit: Record) -> tuple[str, str] | None:
    try:
        return _names.cik(hit.get("cik")), _names.accession(hit.get("accession_no"))
    except Unreadable:
        return None


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """Yield one record per hit, and one record for all hits that were not fetched."""
    headers = _headers.acceptances(captures)
    first: dict[tuple[object, object], Record] = {}
    total = met = 0
    pages = [capture for capture in captures if not _headers.is_header(capture)]
    for page in pages:
        stated_total, hits = _hits(page)
        total, met = max(total, stated_total), met + len(hits)
        for hit in hits:
            header = headers.get(str(hit["accession_no"]))
            record = {**hit, "query": unit.name, "header": header[0] if header else None}
            if record != first.setdefault((str(hit["accession_no"]), hit["document"]), record):
                record[TWICE] = met
            yield record, page
    if pages and (met < total or total >= MOST):
        yield {"query": unit.name, MORE: total}, pages[-1]


def _hits(page: Capture) -> tuple[int, list[dict[str, Any]]]:
    """Return the number of hits, and the hits of the page under our column names. Raises Unparsable."""
    try:
        answer = page.json()["hits"]
        return int(answer["total"]["value"]), [_hit(hit) for hit in answer["hits"]]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise Unparsable(page.evidence, "hits has an unknown format") from None


def _hit(hit: dict[str, Any]) -> dict[str, Any]:
    source = hit["_source"]
    return {
        "accession_no": source["adsh"],
        "document": hit["_id"].partition(":")[2],
        "form_type": source["form"],
        "cik": next(iter(source["ciks"]), None),
        "ciks": source["ciks"],
        "root_forms": source["root_forms"],
        "file_type": source["file_type"],
        "file_description": source["file_description"],
        "sequence": None if source["sequence"] is None else str(source["sequence"]),
        "items": source["items"],
        "filing_date": source["file_date"],
        "period_ending": source["period_ending"],
    }


def locate(record: Record, run: RunFacts) -> Place:
    """Return the release of the hit's filing; the search's own dates are ignored."""
    if MORE in record:
        return Place(run.evidence, reason=contract.MORE_HITS.reason)
    evidence = evidence_of(run, record, record["query"], record["accession_no"], record["document"])
    if withheld(record["form_type"]):
        return Place(evidence, reason=WITHHELD.reason)
    release = _release(record, run)
    if release is None:
        return Place(evidence, reason=contract.UNKNOWN_FILING.reason)
    place = dated(evidence, release.at, (RELEASE_RULE.name, release.rule))
    return replace(place, reason=contract.TOLD_OTHERWISE.reason) if TWICE in record else place


def _release(record: Record, run: RunFacts) -> Release | None:
    try:
        filed, form = _names.optional_day(record["filing_date"]), fields.word(record["form_type"])
        if record["header"]:
            return release(dating.edgar_header(record["header"]), form, filed, as_accepted=run.as_accepted)
        accession_no, ciks = _names.accession(record["accession_no"]), _names.ciks(record["ciks"])
    except Unreadable:
        return None
    releases = [run.releases.release(accession_no, cik, filed) for cik in ciks] if run.releases is not None else []
    return min((release for release in releases if release is not None), default=None)


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a hit."""
    return parsed(record, PARSERS) | {"query": record["query"]}


FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(queries=("hedging",)),
    units=units,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
    after=("sec_filings",),
)
