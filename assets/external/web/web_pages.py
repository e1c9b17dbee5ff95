"""Dataset `web_pages`: pages of the allowed hosts, dated by the claims that `_claims` proves.

Only https addresses of listed hosts are requested. All functions except `collect` are pure.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import parse_qsl, urldefrag, urlsplit

from assets.external.web import _claims as claims
from assets.external.web._markup import read
from assets.external.web._sources import ALLOWED, source_of
from assets.extraction import Place, Record, RunFacts, dated
from assets.feeds import fields
from assets.feeds.feed import Feed, Fetch, Scope, Unit
from assets.feeds.items import evidence_of
from pitlake import clock
from pitlake.datasets import _answers as answers
from pitlake.datasets import web_pages as contract
from pitlake.datasets.web_pages import DATASET
from pitlake.errors import BadInput
from resources.http.capture import Capture, Request
from resources.http.providers.web import PROVIDER


def units(scope: Scope) -> Sequence[Unit]:
    """Return one unit per address in `queries`. Raises BadInput without an address, or for hosts not on the list."""
    if not scope.queries:
        raise BadInput("queries", "no address is named", "name pages such as https://www.sec.gov/newsroom")
    for url in scope.queries:
        if source_of(url) is None:
            raise BadInput(
                "queries", f"{url} is not on the allow-list", f"only https pages of {', '.join(ALLOWED)} are allowed"
            )
    return [Unit(url, scope) for url in dict.fromkeys(urldefrag(url).url for url in scope.queries)]


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    parts = urlsplit(unit.name)
    query: dict[str, list[str]] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        query.setdefault(name, []).append(value)
    yield fetch(Request(parts.path, query, host=(parts.hostname or "").lower()))


def locate(record: Record, run: RunFacts) -> Place:
    """Return the instant of the latest proven claim; for a page without claims, when it was fetched."""
    candidate: claims.Candidate = record["candidate"]
    claimed = [(claim.kind, claim.text) for claim in candidate.claims if claim.kind != "served"]
    evidence = evidence_of(run, record, candidate.url, content=[candidate.title, candidate.text, claimed])
    if record["repeat"]:
        return Place(evidence, reason=answers.REPEATED.reason)
    if record["source"] is None:
        return Place(evidence, reason=contract.NOT_ALLOWED.reason)
    dating: claims.Dating | None = record["dating"]
    if dating is None:
        return Place(evidence, reason=contract.NO_CLAIM.reason)
    if not claims.plausible(dating.proven, record["fetched_at"]):
        return Place(evidence, reason=contract.IMPLAUSIBLE.reason)
    place = dated(evidence, dating.available_at)
    if candidate.title is None and candidate.text is None:
        return Place(evidence, place.available_at, place.day, contract.NO_TEXT.reason)
    return place


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a page."""
    candidate: claims.Candidate = record["candidate"]
    dating: claims.Dating = record["dating"]
    served = dating.claim.kind == "served"
    return {
        "url": candidate.url,
        "host": fields.host(candidate.url),
        "title": candidate.title,
        "text": candidate.text,
        "published": dating.published,
        "dated_at": dating.dated_at,
        "claim_method": dating.claim.method,
        "claim_quote": "date" if served else dating.claim.quote,  # The time of a download is not content.
        "claims": json.dumps(
            [
                {"kind": each.claim.kind, "method": each.claim.method}
                | (
                    {}
                    if each.claim.kind == "served"
                    else {"stated": each.claim.text, "instant": clock.iso(each.instant)}
                )
                for each in dating.proven
            ],
            ensure_ascii=False,
            separators=(",", ":"),
        ),
    }


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """Yield one record per candidate, with its dating."""
    had: set[str] = set()
    for capture in captures:
        for candidate in read(capture, unit.name):
            source = source_of(candidate.url)
            yield (
                {
                    "candidate": candidate,
                    "source": source,
                    "dating": claims.decide(candidate, capture, source) if source else None,
                    "fetched_at": capture.fetched_at,
                    "repeat": candidate.url in had,
                },
                capture,
            )
            had.add(candidate.url)


FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(queries=("https://newswire.example/releases/one",)),
    units=units,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
    as_fetched=True,
)
