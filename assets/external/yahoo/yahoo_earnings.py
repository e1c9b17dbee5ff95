"""Dataset `yahoo_earnings`: reported earnings from Yahoo, dated by the end of the event's day."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Any
from urllib.parse import quote

from assets.external.yahoo import _answers, _dates
from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import fields
from assets.feeds.feed import Feed, Fetch, Scope, Unit, Whole, one_entity, unit_per_ticker
from assets.feeds.items import TWICE, Came, evidence_of, mark_repeats, parsed_or_text
from assets.feeds.naming import first_dated
from assets.splits import EVIDENCE, per_share_since
from pitlake.datasets import _figures as figures
from pitlake.datasets import yahoo_earnings as contract
from pitlake.datasets.yahoo_earnings import DATASET
from pitlake.errors import Unparsable, Unreadable
from resources.http.capture import Capture, Request
from resources.http.providers.yahoo import PROVIDER

MOST = 100
NAMES = {
    "Symbol": "ticker",
    "Event Start Date": "startdatetime",
    "Timezone short name": "timeZoneShortName",
    "EPS Estimate": "epsestimate",
    "Reported EPS": "epsactual",
    "Surprise (%)": "epssurprisepct",
}
FIELDS = tuple(NAMES.values())
REPORTED = "2"
# Reports of a company are months apart, much further than different days stated for one report.
MOVED_AT_MOST = timedelta(days=21)

PARSERS = {
    "reported_eps": _answers.required_number,
    "estimated_eps": _answers.number,
    "surprise_stated": _answers.number,
    "event_text": fields.required_word,
    "time_zone": fields.word,
}
SPELLED = {
    "reported_eps": "epsactual",
    "estimated_eps": "epsestimate",
    "surprise_stated": "epssurprisepct",
    "event_text": "startdatetime",
    "time_zone": "timeZoneShortName",
}


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch the newest 100 events of a company, the source's maximum."""
    requests = [
        {"operator": "eq", "operands": [name, value]}
        for name, value in (("ticker", unit.name), ("eventtype", REPORTED))
    ]
    yield fetch(
        Request(
            "/v1/finance/visualization",
            {"lang": "en-US", "region": "US"},
            method="POST",
            json={
                "size": MOST,
                "query": {"operator": "and", "operands": requests},
                "sortField": "startdatetime",
                "sortType": "DESC",
                "entityIdType": "earnings",
                "includeFields": list(FIELDS),
            },
        )
    )


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    """Yield one record per event, with the answer's own column names."""
    events = (
        ({**event, "asked": unit.name}, capture)
        for capture in captures
        for table in _tables(capture)
        for event in _events(table, capture)
    )
    return mark_repeats(
        events, lambda event: parsed_or_text(lambda text: _dates.of_text(text).day, event["startdatetime"])
    )


def whole(unit: Unit, captures: Sequence[Capture]) -> Whole:
    """Return the completely read part: every event.

    An answer of full length may be truncated, so it covers only the events after the day of its last event.
    """
    events = [event for capture in captures for table in _tables(capture) for event in _events(table, capture)]
    read = (parsed_or_text(lambda text: _dates.of_text(text).day, event["startdatetime"]) for event in events)
    days = [day for day in read if isinstance(day, date)]
    cut = len(events) >= MOST and days
    return Whole(unit.name, (("event_date", (min(days) + timedelta(days=1)).isoformat(), None),) if cut else ())


def _tables(capture: Capture) -> Iterator[Any]:
    for result in _answers.results(capture, "finance"):
        tables = result.get("documents") if isinstance(result, dict) else None
        if not isinstance(tables, list):
            raise Unparsable(capture.evidence, "the result has no documents")
        yield from tables


def _events(table: Any, capture: Capture) -> Iterator[Record]:
    try:
        columns = [NAMES.get(column.get("label"), column.get("id")) for column in table["columns"]]
        rows = [dict(zip(columns, row, strict=True)) for row in table["rows"]]
    except (TypeError, KeyError, ValueError, AttributeError):
        raise Unparsable(capture.evidence, "the table has an unknown format") from None
    if rows and not {"startdatetime", "epsactual", "epsestimate"} <= rows[0].keys():
        raise Unparsable(capture.evidence, "the table has other columns")
    yield from rows


def locate(record: Record, run: RunFacts) -> Place:
    """Return the end of the event's day, or the fetch time if a split followed."""
    # The day may be corrected, so a record that replaces a gap is matched only by company.
    evidence = f"{evidence_of(run, record, record['asked'])}&start={quote(str(record['startdatetime']), safe=':')}"
    try:
        start = _dates.of_text(record["startdatetime"])
    except Unreadable:
        return Place(evidence, reason=contract.NO_DATE.reason)
    if record.get("ticker", record["asked"]) != record["asked"]:
        return Place(evidence, day=start.day, reason=figures.OTHER_TICKER.reason)
    if TWICE in record:
        return Place(evidence, day=start.day, reason=figures.TOLD_TWICE.reason)
    place = dated(evidence, per_share_since(record["asked"], start.available_at, run))
    if _answers.is_absent(record["epsactual"]) and start.available_at <= run.observed_at:
        return Place(evidence, place.available_at, place.day, contract.NOT_REPORTED.reason)
    if run.releases is not None and run.releases.silent_around(record["asked"], start.day):
        return Place(evidence, day=start.day, reason=figures.NO_RESULTS.reason)
    return place


def values(record: Record) -> dict[str, Any]:
    return parsed({column: record.get(name) for column, name in SPELLED.items()}, PARSERS) | {
        "ticker": record["asked"],
        "event_date": _dates.of_text(record["startdatetime"]).day,
    }


NAMING = first_dated(("ticker",), "event_date", moved_at_most=MOVED_AT_MOST, step=timedelta(days=1))

FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(tickers=("QACB",)),
    units=unit_per_ticker,
    entity_of=one_entity,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
    naming=NAMING,
    whole=whole,
    after=("sec_filings", *EVIDENCE),
)
