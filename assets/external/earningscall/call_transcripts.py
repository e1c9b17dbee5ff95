"""Dataset `call_transcripts`: the texts of calls, dated by publication or by start plus a lag.

All functions except `collect` are pure. There is one unit per company and fiscal quarter, so that a refusal affects
only that call.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assets.external.earningscall import _calls as calls
from assets.extraction import Place, Record, RunFacts
from assets.feeds import fields
from assets.feeds.feed import Feed, Fetch, Scope, Unit
from pitlake.datasets import call_transcripts as contract
from pitlake.datasets.call_transcripts import DATASET
from pitlake.errors import RecordRefused, Unparsable, Unreadable
from resources.http.capture import Capture
from resources.http.providers.earningscall import PROVIDER

TRANSCRIPT = "transcript"
WITH_SPEAKERS = 2


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch the transcript with its speakers, and the company's list of calls."""
    return calls.collect_with_events(unit, fetch, TRANSCRIPT, level=WITH_SPEAKERS)


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """Yield the transcript as one record, with the start that the company's list states."""
    call = calls.named_call(unit)
    for capture in captures:
        if not calls.is_answer(capture, TRANSCRIPT):
            continue
        body = capture.json()
        if not isinstance(body, dict):
            raise Unparsable(capture.evidence, "the answer is not a transcript")
        raw_event = body.get("event")
        event: Mapping[str, Any] = raw_event if isinstance(raw_event, dict) else {}
        try:
            conference_at = calls.instant(event.get("conference_date"))
        except Unreadable:
            conference_at = None
        record = {
            **call,
            "start": event.get("conference_date"),
            "listed": calls.listed_starts(captures, call),
            "published": [place[name] for place in (body, event) for name in calls.PUBLISHED if place.get(name)],
            "modified": calls.modified(capture),
            "written": calls.written_by(capture),
            "lag": calls.lag(unit.scope) if conference_at else calls.listed_lag(unit.scope),
            "body": body,
        }
        yield record, capture


def locate(record: Record, run: RunFacts) -> Place:
    """Return the place according to `_calls.when_published`."""
    return calls.when_published(record, run)


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a transcript."""
    try:
        turns = _turns(record["body"])
        text: str | None = "\n\n".join(turn["text"] for turn in turns)
        if not text:  # An answer without turns has a single text, or remarks and questions.
            body = record["body"]
            parts = [fields.text(body.get(name)) for name in ("prepared_remarks", "questions_and_answers")]
            text = fields.text(body.get("text")) or "\n\n".join(filter(None, parts)) or None
    except Unreadable:
        raise RecordRefused("turns is unreadable") from None
    if not text:
        raise RecordRefused(contract.NO_TEXT.reason)
    return calls.call_values(record) | {
        "call_start": calls.later(record["start"], *record["listed"]),
        "stated_start": record["start"] or calls.latest(record["listed"]),
        "listed_start": calls.later(*record["listed"]),
        "published": calls.publication(record["published"]),
        "file_modified": record["modified"],
        "text": text,
        "turns": json.dumps(turns, ensure_ascii=False, separators=(",", ":")) if turns else None,
        "turn_count": len(turns),
    }


def _turns(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the speakers' turns with their facts, without blank turns. Raises Unreadable."""
    names = body.get("speaker_name_map_v2") or {}
    if not isinstance(names, dict):
        raise Unreadable("no names of speakers")
    turns = []
    for turn in fields.objects(body.get("speakers") or []):
        if not isinstance(turn, dict):
            raise Unreadable("no turn")
        words = [fields.word(word) for word in fields.objects(turn.get("words") or [])]  # Some turns list words.
        text = fields.text(turn.get("text")) or " ".join(filter(None, words)) or None
        speaker = fields.word(turn.get("speaker"))
        name = (names.get(speaker) if speaker else None) or turn.get("speaker_info")
        facts = name if isinstance(name, dict) else {}
        if text is not None:
            turns.append(
                {
                    "speaker": speaker,
                    "name": fields.word(facts.get("name")),
                    "title": fields.word(facts.get("title")),
                    "text": text,
                }
            )
    return turns


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
