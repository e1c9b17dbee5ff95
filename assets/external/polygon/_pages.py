"""Shared code of Polygon's feeds: units, pages, exact figures, dates of records, and gaps."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from assets.extraction import Parser, Place, Record, RunFacts, dated
from assets.feeds import dating
from assets.feeds.feed import Feed, Fetch, Scope, Unit, Whole, in_order
from assets.feeds.items import TWICE, Came, evidence_of, mark_repeats, parsed_or_text
from assets.feeds.naming import Naming, Values, first_free
from pitlake import outside_json
from pitlake.contract import Dataset
from pitlake.datasets import _figures as figures
from pitlake.errors import BadInput, RecordRefused, Unparsable, Unreadable
from resources.http.capture import Capture, Request
from resources.http.providers.polygon import PROVIDER

Paths = Mapping[str, str]  # By version.

OLDER, NEWER = "v3", "v1"
"""The versions of the provider's lists. The older version is deprecated; the newer one states amounts as paid."""
EVERY = "every ticker"
PAGE = 1000
# A corrected day is near the first stated day, and payments of one kind are at least a week apart.
MOVED_AT_MOST = timedelta(days=6)
MORE = "_more"


def ticker_feed(
    dataset: Dataset,
    paths: Paths,
    day: str,
    id_column: str,
    *,
    key: Mapping[str, Parser],
    likeness: Callable[[Values, Values], float],
    order: Callable[[Values], Any],
    **more: Any,
) -> Feed:
    """Return the feed of one kind of record that a ticker has.

    Args: dataset: the dataset that the feed fills. paths: the provider's paths of the list, by version. day: the
    field, present in each record, by which the list is sorted and filtered. id_column: the column of the provider's
    own id. key: parsers of the fields that identify a record. likeness, order: as in `assets.feeds.naming.Naming`.
    more: the other fields of the feed.
    """

    def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
        return mark_repeats(items(unit, captures), key_of, content)

    def key_of(record: Record) -> Hashable:
        return tuple(parsed_or_text(parser, record.get(name)) for name, parser in key.items())

    return Feed(
        dataset=dataset,
        provider=PROVIDER,
        units=units,
        entity_of=lambda unit: None if unit.name == EVERY else unit.name,
        collect=lambda unit, fetch: pages(unit, fetch, paths, day),
        records=records,
        naming=Naming(
            column="ordinal", group=("ticker",), likeness=likeness, fresh=first_free, order=order, id=id_column
        ),
        whole=lambda unit, captures: whole(unit, captures, day),
        **more,
    )


def units(scope: Scope) -> list[Unit]:
    """Return one unit per ticker, or one unit for all tickers within days. Raises BadInput if neither is given.

    Tickers are requested as given, because Polygon marks preferred shares by case (BACpK).
    """
    tickers = list(dict.fromkeys(ticker.strip() for ticker in scope.tickers if ticker.strip()))
    if tickers:
        return [Unit(ticker, scope) for ticker in tickers]
    if scope.date_from is None:
        raise BadInput("tickers", "none is given", "name at least one, such as AAPL, or days with date_from")
    return [Unit(EVERY, scope)]


def pages(unit: Unit, fetch: Fetch, paths: Paths, dated_by: str) -> Iterator[Capture]:
    """Fetch every page, up to the scope's max_pages. Only pages on the provider's own host are followed.

    Raises BadInput for an unknown version.
    """
    version = unit.scope.options.get("version", OLDER)
    if version not in paths:
        raise BadInput("version", f"there is no version {version!r}", f"choose from {', '.join(paths)}")
    path = paths[version]
    order = {"sort": f"{dated_by}.asc"} if version == NEWER else {"order": "asc", "sort": dated_by}
    params: Mapping[str, Any] = {
        "ticker": None if unit.name == EVERY else unit.name,
        f"{dated_by}.gte": unit.scope.date_from,
        f"{dated_by}.lte": unit.scope.date_to,
        **order,
        "limit": PAGE,
    }
    for _ in range(unit.scope.max_pages):
        capture = fetch(Request(path, params))
        yield capture
        after = next_page(capture)
        if not after:
            return
        params = after


def next_page(capture: Capture) -> dict[str, str]:
    """Return the parameters of the next page, or {} if this is the last. Raises Unparsable."""
    address = _answer(capture).get("next_url")
    return dict(parse_qsl(urlsplit(address).query)) if isinstance(address, str) else {}


def whole(unit: Unit, captures: Sequence[Capture], dated_by: str) -> Whole | None:
    """Return the completely read part: every record of the ticker in the scope's days, if the last page was read."""
    if captures and (next_page(captures[-1]) or not in_order(captures)):
        return None
    first, last = (day.isoformat() if day else None for day in (unit.scope.date_from, unit.scope.date_to))
    return Whole(None if unit.name == EVERY else unit.name, ((dated_by, first, last),) if first or last else ())


def content(record: Record) -> object:
    """Return the content of a record, independent of its page."""
    return {name: value for name, value in record.items() if name != "number"}


def items(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    """Yield one record per result, with numbers as text, and a record MORE if pages are left. Raises Unparsable."""
    for capture in captures:
        for number, result in enumerate(_answer(capture).get("results") or ()):
            if not isinstance(result, dict):
                raise Unparsable(capture.evidence, "a result is not a record")
            yield {**result, "asked": unit.name, "number": number}, capture
    if captures and next_page(captures[-1]) and len(captures) >= unit.scope.max_pages:
        yield {MORE: True}, captures[-1]


def place(record: Record, run: RunFacts, *, named_by: str, dated_by: str, undated: str) -> Place:
    """Return the end of the day in `dated_by`; without a day, return a gap with the reason `undated`.

    named_by: the day that is part of the evidence but not of the name, because it may be corrected. A record that
    replaces a gap is therefore matched only by company.
    """
    if MORE in record:
        return Place(run.evidence, reason=figures.MORE_PAGES.reason)
    evidence = f"{evidence_of(run, record, record.get('ticker'))}&day={quote(str(record.get(named_by)))}"
    if TWICE in record:
        return Place(evidence, reason=figures.TOLD_TWICE.reason)
    if record["asked"] not in (EVERY, record.get("ticker")):
        return Place(evidence, reason=figures.OTHER_TICKER.reason)
    try:
        return dated(evidence, dating.end_of_day_text(record.get(dated_by)))
    except Unreadable:
        return Place(evidence, reason=undated)


def parse_required(parser: Callable[[Any], Any], value: Any, reason: str) -> Any:
    """Return the parsed value, which is required. Raises RecordRefused with the reason."""
    try:
        parsed_value = parser(value)
    except (Unreadable, OverflowError):
        parsed_value = None
    if parsed_value is None:
        raise RecordRefused(reason)
    return parsed_value


def _answer(capture: Capture) -> dict[str, Any]:
    try:
        answer = outside_json.loads(capture.text(), parse_float=str)
    except (ValueError, RecursionError):
        raise Unparsable(capture.evidence, "the answer is not JSON") from None
    if not isinstance(answer, dict):
        raise Unparsable(capture.evidence, "the answer is not an object")
    return answer
