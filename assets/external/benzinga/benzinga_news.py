"""Dataset `benzinga_news`: articles by page, dated by the later of their two instants.

All functions except `collect` are pure.

There is one unit per requested day, because at most 10,000 items can be paged through. Without days, there is one unit
for everything updated since an instant.
"""

import html
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from hashlib import sha256
from typing import Any

from assets.extraction import Contest, Place, Record, RunFacts, dated, parsed
from assets.feeds import dating, fields
from assets.feeds.feed import Feed, Fetch, Scope, Unit, Whole, in_order
from assets.feeds.items import UNNAMED, evidence_of
from pitlake.clock import EPOCH, new_york_day
from pitlake.datasets import benzinga_news as contract
from pitlake.datasets.benzinga_news import DATASET
from pitlake.errors import BadInput, Unparsable, Unreadable
from resources.http.capture import Capture, Request
from resources.http.providers.benzinga import PROVIDER

PAGE_SIZE = 100
TEXTS = ("title", "teaser", "body")


def units(scope: Scope) -> Sequence[Unit]:
    """Return one unit per day, or one unit for `updated_since`. Raises BadInput for a scope without a start."""
    if scope.date_from is None:
        if scope.updated_since is None:
            raise BadInput("date_from", "is missing", "give date_from, or updated_since")
        return [Unit("updated", scope)]
    last = scope.date_to or scope.date_from
    if last < scope.date_from:
        raise BadInput("date_to", "is before date_from", "give the later day last")
    days = (scope.date_from + timedelta(days=count) for count in range((last - scope.date_from).days + 1))
    return [Unit(day.isoformat(), scope) for day in days]


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch pages up to a short page, or up to the scope's limit."""
    for page in range(unit.scope.max_pages):
        capture = fetch(_ask(unit, page))
        yield capture
        if len(_items(capture)) < PAGE_SIZE:
            return


def _ask(unit: Unit, page: int) -> Request:
    scope = unit.scope
    params: dict[str, Any] = {
        "page": page,
        "pageSize": PAGE_SIZE,
        "displayOutput": "full",
        "sort": "updated:desc",
        "tickers": ",".join(scope.tickers) or None,
        "channels": scope.options.get("channels"),
    }
    if scope.updated_since is not None:
        params["updatedSince"] = int((scope.updated_since - EPOCH).total_seconds())
    if scope.date_from is None:
        return Request("news", params)
    params |= {"dateFrom": unit.name, "dateTo": unit.name}
    return Request("news", params, settled_at=dating.end_of_day(date.fromisoformat(unit.name)))


def whole(unit: Unit, captures: Sequence[Capture]) -> Whole | None:
    """Return the completely read articles: those created and last updated on the unit's day, because the provider may
    filter by either. Without days, return those created since the day after the instant. None if a filter or a missing
    page excluded articles.
    """
    scope = unit.scope
    filtered = scope.tickers or scope.options.get("channels") or (scope.date_from and scope.updated_since)
    if filtered or not in_order(captures) or (captures and len(_items(captures[-1])) >= PAGE_SIZE):
        return None
    if scope.updated_since is None:
        return Whole(None, (("created", unit.name, unit.name), ("updated", unit.name, unit.name)))
    since = (new_york_day(scope.updated_since) + timedelta(days=1)).isoformat()
    return Whole(None, (("created", since, None),))


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """Yield one record per item, and one more if the last allowed page was full, because items may be missing."""
    full = 0
    for capture in captures:
        items = _items(capture)
        full += len(items) >= PAGE_SIZE
        for place, item in enumerate(items):
            yield {"item": item, "place": place}, capture
    if captures and full == unit.scope.max_pages:
        yield {"problem": contract.MORE_PAGES.reason}, captures[-1]


def _items(capture: Capture) -> list[Any]:
    items = capture.json()
    if not isinstance(items, list):
        raise Unparsable(capture.evidence, "the answer is not a list of items")
    return items


def locate(record: Record, run: RunFacts) -> Place:
    """Return the later of `created` and `updated`, because the provider stores only the text of the last update."""
    if "problem" in record:
        return Place(run.evidence, reason=record["problem"])
    item = record["item"]
    number = _number(item)
    if number is None:
        return Place(evidence_of(run, record, UNNAMED), reason=contract.NOT_AN_ITEM.reason)
    evidence = evidence_of(run, record, number)
    created = _instant(item.get("created"))
    if created is None:
        return Place(evidence, reason=contract.NO_CREATED.reason)
    updated = _instant(item.get("updated"))
    if updated is None and item.get("updated") not in (None, ""):
        return Place(evidence, reason=contract.BAD_UPDATED.reason)
    place = dated(evidence, max(created, updated or created))
    if not any(item.get(part) and str(item[part]).strip() for part in TEXTS):
        return Place(evidence, place.available_at, place.day, contract.NO_TEXT.reason)
    return place


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of an article."""
    item = record["item"]
    row = parsed({**item, "tickers": item.get("stocks", item.get("symbols"))}, PARSERS)
    tickers = sorted(row["tickers"])
    return row | {
        "id": _number(item),
        "ticker": tickers[0] if tickers else None,
        "tickers": tickers,
        "created": _instant(item["created"]),
        "updated": _instant(item.get("updated")),
    }


def _number(item: Any) -> str | None:
    """Return the article's id: digits, given as a number or text."""
    try:
        number = fields.whole(item.get("id")) if isinstance(item, dict) else -1
    except Unreadable:
        return None
    return str(number) if number >= 0 else None


def _instant(value: Any) -> datetime | None:
    """Parse an RFC 2822 time, as in the REST interface, or an ISO time with an offset; None for any other value."""
    for reader in (dating.rfc2822, dating.iso):
        try:
            return reader(value)
        except Unreadable:
            continue
    return None


def _headline(value: Any) -> str | None:
    headline = fields.text(value)
    return None if headline is None else html.unescape(headline)


def _labels(value: Any) -> list[str]:
    return [html.unescape(name) for name in fields.names(value)]


PARSERS = {
    "title": _headline,
    "teaser": fields.text,
    "body": fields.text,
    "url": fields.word,
    "author": fields.word,
    "tickers": fields.names,
    "channels": _labels,
    "tags": _labels,
}


LONGER_TEXT = Contest(
    group=DATASET.identity,
    contender=lambda record: sha256(repr(sorted(record["item"].items())).encode()).hexdigest(),
    rank=lambda record: (len("\n".join(str(record["item"].get(part) or "") for part in TEXTS)), len(record["item"])),
    reason=contract.SAME_STAMP.reason,
)

FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(date_from=date(2024, 2, 1)),
    units=units,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
    contest=LONGER_TEXT,
    whole=whole,
)
