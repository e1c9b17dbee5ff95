"""Dataset `call_events`: the calls listed for a company, dated by the fetch.

All functions except `collect` are pure.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from assets.external.earningscall import _calls as calls
from assets.extraction import Place, Record, RunFacts, parsed
from assets.feeds import fields
from assets.feeds.feed import Feed, Fetch, Scope, Unit
from assets.feeds.items import UNNAMED, evidence_of
from pitlake.datasets import _answers as answers
from pitlake.datasets.call_events import DATASET
from resources.http.capture import Capture
from resources.http.providers.earningscall import PROVIDER


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch the company's list."""
    yield fetch(calls.events_request(*unit.name.split(":")))


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    exchange, ticker = unit.name.split(":")
    for capture in captures:
        company, events = calls.events(capture)
        had: set[Any] = set()
        for event in events:
            if not isinstance(event, dict):
                yield {"problem": answers.OTHER_SHAPE.reason, "statement": event}, capture
                continue
            event_key = str((event.get("year"), event.get("quarter")))
            facts = {"exchange": exchange, "symbol": ticker, "company_name": company}
            yield {**event, **facts, "problem": answers.REPEATED.reason if event_key in had else ""}, capture
            had.add(event_key)


def locate(record: Record, run: RunFacts) -> Place:
    """Return when the list was fetched."""
    if record["problem"]:
        return Place(evidence_of(run, record, UNNAMED, content=record.get("statement")), reason=record["problem"])
    return calls.when_fetched(record, run, *(record.get(name) for name in ("exchange", "symbol", "year", "quarter")))


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a listed call."""
    return calls.call_values(record) | parsed(
        {
            "call_start": record.get("conference_date"),
            "stated_start": record.get("conference_date"),
            "company_name": record.get("company_name"),
        },
        PARSERS,
    )


PARSERS = {"call_start": calls.instant, "stated_start": fields.word, "company_name": fields.word}

FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(tickers=("NASDAQ:QACB",)),
    units=calls.company_units,
    entity_of=calls.company,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
)
