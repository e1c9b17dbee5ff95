"""Dataset `call_calendar`: the calls listed for a day, dated by the fetch. Pure except for `collect`."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Any

from assets.external.earningscall import _calls as calls
from assets.extraction import Place, Record, RunFacts, parsed
from assets.feeds import fields
from assets.feeds.feed import Feed, Fetch, Scope, Unit
from assets.feeds.items import UNNAMED, evidence_of
from pitlake.datasets import _answers as answers
from pitlake.datasets.call_calendar import DATASET
from pitlake.errors import BadInput, Unparsable
from resources.http.capture import Capture, Request
from resources.http.providers.earningscall import PROVIDER

KEY = ("exchange", "symbol", "year", "quarter")


def units(scope: Scope) -> Sequence[Unit]:
    """Return one unit per day. Raises BadInput."""
    if scope.date_from is None:
        raise BadInput("date_from", "is missing", "give date_from, and date_to for more than one day")
    last = scope.date_to or scope.date_from
    if last < scope.date_from:
        raise BadInput("date_to", "is before date_from", "give the later day last")
    span = range((last - scope.date_from).days + 1)
    return [Unit((scope.date_from + timedelta(days=count)).isoformat(), scope) for count in span]


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch the day's page."""
    day = date.fromisoformat(unit.name)
    yield fetch(Request("calendar", {"year": day.year, "month": day.month, "day": day.day}))


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    for capture in captures:
        calls = capture.json()
        if not isinstance(calls, list):
            raise Unparsable(capture.evidence, "the answer is not a list of calls")
        had: set[str] = set()
        for call in calls:
            if not isinstance(call, dict):
                yield {"problem": answers.OTHER_SHAPE.reason, "statement": call}, capture
                continue
            call_key = str([call.get(name) for name in KEY])
            problem = answers.REPEATED.reason if call_key in had else ""
            yield {**call, "listed_on": unit.name, "problem": problem}, capture
            had.add(call_key)


def locate(record: Record, run: RunFacts) -> Place:
    """Return when the page was fetched."""
    if record["problem"]:
        return Place(evidence_of(run, record, UNNAMED, content=record.get("statement")), reason=record["problem"])
    return calls.when_fetched(record, run, *(record.get(name) for name in KEY), record["listed_on"])


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a listed call."""
    facts = {
        "call_start": record.get("conference_date"),
        "stated_start": record.get("conference_date"),
        "company_name": record.get("company_name"),
        "transcript_ready": record.get("transcript_ready"),
        "listed_on": record["listed_on"],
    }
    return calls.call_values(record) | parsed(facts, PARSERS)


PARSERS = {
    "call_start": calls.instant,
    "stated_start": fields.word,
    "company_name": fields.word,
    "transcript_ready": fields.flag,
    "listed_on": fields.day,
}

FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(date_from=date(2025, 2, 10)),
    units=units,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
)
