"""Dataset `call_slides`: facts and hashes of slide decks; captures keep the PDFs. Pure except for `collect`."""

from collections.abc import Iterator, Sequence
from typing import Any

from assets.external.earningscall import _calls as calls
from assets.extraction import Place, Record, RunFacts
from assets.feeds.feed import Feed, Fetch, Scope, Unit
from pitlake.datasets import call_slides as contract
from pitlake.datasets.call_slides import DATASET
from pitlake.errors import RecordRefused
from resources.http.capture import Capture
from resources.http.providers.earningscall import PDF, PROVIDER

SLIDES = "slides"


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch the deck, and the company's list of calls, which dates it."""
    return calls.collect_with_events(unit, fetch, SLIDES)


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    call = calls.named_call(unit)
    for capture in captures:
        if calls.is_answer(capture, SLIDES):
            record = {
                **call,
                "listed": calls.listed_starts(captures, call),
                "lag": calls.listed_lag(unit.scope),
                "modified": calls.modified(capture),
                "written": calls.written_by(capture),
                "sha256": capture.sha256,
                "size": len(capture.body),
                "is_pdf": capture.body.startswith(PDF),
            }
            yield record, capture


def locate(record: Record, run: RunFacts) -> Place:
    """Return the place according to `_calls.when_published`."""
    return calls.when_published(record, run)


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a deck."""
    if not record["is_pdf"]:
        raise RecordRefused(contract.NOT_A_PDF.reason)
    return calls.call_values(record) | {
        "call_start": calls.later(*record["listed"]),
        "file_modified": record["modified"],
        "sha256": record["sha256"],
        "size": record["size"],
    }


FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(tickers=("NASDAQ:QACB",), options={"quarters": "2024Q1"}),
    units=calls.quarter_units,
    entity_of=calls.company,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
    whole=calls.whole_call,
    after=("reports", "sec_filings"),
)
