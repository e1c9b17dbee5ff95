"""Builds `earnings_snapshots`: the named query earnings_snapshot, run as of instants around each release.

The as-of session decides what a snapshot may contain; this module filters nothing. Every row cites its answer by a hash
that does not change with later publishes. The stored receipt of that answer allows a replay of the whole bundle.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

import pyarrow as pa

from assets.runs import RunReport, concluded
from pitlake import clock
from pitlake.answers import receipts
from pitlake.datasets.earnings_snapshots import DATASET, NOTHING_KNOWN, SECTIONS
from pitlake.errors import BadInput
from pitlake.exchange import session as exchange_session
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import Audit
from pitlake.lake.publishing.stage import StagedGap, staged_schema
from pitlake.lake.storage.parallel import each, workers
from pitlake.questions import catalogue
from pitlake.session import Result, connect, walk

QUERY = "earnings_snapshot"
ANSWERED = ("section", "name", "value", "text", "unit", "form_type", "stated_in", "evidence_ids")
ANCHORS = ("before_release", "at_release", "next_open")
EVENTS = """
SELECT e.event_at, e.ticker, e.accession_no, min(r.available_at), e.release_rule
FROM earnings_events e JOIN earnings_events_revisions r USING (accession_no)
WHERE e.ticker IS NOT NULL GROUP BY ALL
"""
MICROSECOND = timedelta(microseconds=1)
MOST_DAYS_SHUT = 14
_MINUTES = re.compile(r"[+-][0-9]{1,5}")


@dataclass(frozen=True, order=True)
class Event:
    """One release.

    key: its partition, made of the instant to the second, so that names sort by time, and the ticker. released_at: when
    EDGAR showed the release. release_rule: the rule behind this instant.
    """

    event_at: datetime
    ticker: str
    accession_no: str
    released_at: datetime | None = None
    release_rule: str | None = None

    @property
    def key(self) -> str:
        return f"{clock.iso(self.event_at.replace(microsecond=0))}|{self.ticker}"

    @property
    def public_at(self) -> datetime:
        """Return the instant from which the release could be read."""
        return self.released_at or self.event_at


@dataclass(frozen=True)
class Bundle:
    """One snapshot: its event, its instant, and the session's answer."""

    event: Event
    anchor: str
    as_of: datetime
    answer: Result


def events(lake: Lake) -> list[Event]:
    """Return every release in the lake of a company with a ticker, oldest first. Raises LakeNotFound."""
    with connect(lake=lake, open_mode=True, datasets=["earnings_events"], isolation="in_process") as session:
        return sorted(Event(*row) for row in session.sql(EVENTS).rows())


def as_of(released_at: datetime, anchor: str) -> datetime:
    """Return the instant of a release's anchor. Raises BadInput for an unknown anchor."""
    if anchor == "before_release":
        return released_at - MICROSECOND
    if anchor == "at_release":
        return released_at
    if anchor == "next_open":
        day = clock.new_york_day(released_at)
        for offset in range(MOST_DAYS_SHUT):
            session = exchange_session(day + timedelta(days=offset))
            if session is not None and session.open > released_at:
                return session.open
    if _MINUTES.fullmatch(anchor):
        return released_at + timedelta(minutes=int(anchor))
    raise BadInput("anchor", f"{anchor!r} is unknown", f"give {', '.join(ANCHORS)}, or minutes such as -60 or +30")


def build(
    lake: Lake,
    events: Sequence[Event],
    *,
    run_id: str,
    anchors: Sequence[str] = ANCHORS,
    observed_at: datetime | None = None,
    audits: Sequence[Audit] = (),
) -> RunReport:
    """Build the snapshots of some events and publish them as one commit. Raises BadInput, LakeError, SessionError.

    Snapshots as of a future instant and empty sections become gaps.
    """
    observed = observed_at or lake.now()
    moments = [(event, anchor, as_of(event.public_at, anchor)) for event in events for anchor in anchors]
    past = [moment for moment in moments if moment[2] <= observed]
    cited, before = _cited(lake, events), defaultdict[tuple[str, str], set[tuple[str, str]]](set)
    for accession_no, anchor, section, name in _stored(lake, events, "accession_no, anchor, section, name"):
        before[accession_no, anchor].add((section, name))
    version, existing_receipts = lake.head(), receipts.ids(lake.location)
    # Each worker moves one session through a part of the moments.
    places = sorted(range(len(past)), key=lambda place: past[place][2])
    share = max(1, -(-len(places) // workers()))
    shares = [places[start : start + share] for start in range(0, len(places), share)]
    answers = each(lambda part: _walk(lake, version, [past[place] for place in part]), shares)
    by_place = dict(zip(places, chain.from_iterable(answers), strict=True))
    bundles = [by_place[place] for place in range(len(past))]
    receipt_ids = [bundle.answer.keep(lake) for bundle in bundles]

    def fill() -> None:
        for bundle in bundles:
            answer = bundle.answer.arrow()
            rows = [
                _row(bundle)
                | {name: row[name] for name in ANSWERED}
                | {"known_at": row["available_at"], "withdrawn": False}
                for row in answer.to_pylist()
            ]
            names = set(zip(answer["section"].to_pylist(), answer["name"].to_pylist(), strict=True))
            withdrawn_names = sorted(before.get((bundle.event.accession_no, bundle.anchor), set()) - names)
            rows += [
                _row(bundle) | {"section": section, "name": name, "withdrawn": True}
                for section, name in withdrawn_names
            ]
            filled_sections, place = {row["section"] for row in rows}, _locator(bundle.event, bundle.anchor)
            gaps = [
                StagedGap(NOTHING_KNOWN.type, NOTHING_KNOWN.reason, f"{place}/{section}", _available_at(bundle))
                for section in SECTIONS
                if section not in filled_sections
            ]
            stage.add(None, pa.Table.from_pylist(rows, staged_schema(DATASET)), gaps, extracted=len(rows) + len(gaps))
        later = [
            StagedGap("pit_excluded", "not public yet", _locator(*moment[:2]))
            for moment in moments
            if moment[2] > observed
        ]
        stage.add(None, gaps=later, extracted=len(later))

    with lake.stage(DATASET, run_id) as stage:
        report = concluded(stage, lake, fill, lambda: observed, audits)
    ours = {name: bundle for name, bundle in zip(receipt_ids, bundles, strict=True) if name not in existing_receipts}
    _keep_cited(lake, ours, _cited(lake, events) - cited)
    return report


def _cited(lake: Lake, events: Sequence[Event]) -> set[str]:
    return {evidence for (evidence,) in _stored(lake, events, "evidence")}


def _keep_cited(lake: Lake, ours: Mapping[str, Bundle], newly: set[str]) -> None:
    """Store our receipts of newly cited answers, and remove our other receipts.

    Answers that were cited before already have a receipt. If two runs build the same release concurrently, both store
    the same receipt and one of them publishes.
    """
    there = receipts.ids(lake.location)
    for name, bundle in ours.items():
        if _evidence(bundle) not in newly:
            with suppress(BadInput):  # already removed
                receipts.forget(name, lake.location)
        elif name not in there:
            bundle.answer.keep(lake)


def _stored(lake: Lake, events: Sequence[Event], columns: str) -> list[tuple[Any, ...]]:
    question = (
        f"SELECT DISTINCT {columns} FROM earnings_snapshots_revisions "
        "WHERE list_contains($accessions::VARCHAR[], accession_no)"
    )
    accessions = sorted({event.accession_no for event in events})
    with connect(lake=lake, open_mode=True, datasets=[DATASET.name], isolation="in_process") as session:
        return session.sql(question, {"accessions": accessions}).rows()


def _walk(lake: Lake, version: int, moments: Sequence[tuple[Event, str, datetime]]) -> list[Bundle]:
    query = catalogue.get(QUERY)
    sessions = walk([instant for *_, instant in moments], lake=lake, version=version, datasets=query.reads)
    return [
        Bundle(event, anchor, instant, session.ask(query, query.bind({"ticker": event.ticker})))
        for (event, anchor, instant), session in zip(moments, sessions, strict=True)
    ]


def _row(bundle: Bundle) -> dict[str, Any]:
    event = bundle.event
    return {
        "accession_no": event.accession_no,
        "ticker": event.ticker,
        "event_at": event.event_at,
        "release_rule": event.release_rule,
        "anchor": bundle.anchor,
        "as_of": bundle.as_of,
        "available_at": _available_at(bundle),
        "available_at_source": DATASET.source_tag,
        "evidence": _evidence(bundle),
    }


def _evidence(bundle: Bundle) -> str:
    return f"receipt:{bundle.answer.receipt.result_sha256}"


def _available_at(bundle: Bundle) -> datetime:
    """Return the availability of a row or gap. It is never before the release, because rows name the release."""
    return max(bundle.as_of, bundle.event.public_at)


def _locator(event: Event, anchor: str) -> str:
    return f"earnings:{event.accession_no}/{anchor}"
