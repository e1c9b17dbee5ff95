"""Derives `earnings_events`: every 8-K with item 2.02 as an event, with the statements of other sources.

It is a pure function of one lake version and does not depend on the order in which sources arrived. A row depends only
on a filing and one statement, never on later rows.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from assets.derived.announcements import RELEASES, STATEMENTS, Announcement, days_around
from assets.runs import RunReport, concluded
from pitlake import clock
from pitlake.datasets._shared import UNPROVEN
from pitlake.datasets.earnings_events import DATASET, NO_EVENT
from pitlake.errors import LakeNotFound
from pitlake.exchange import planned, session_by
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import Audit
from pitlake.lake.publishing.stage import StagedGap, staged_schema
from pitlake.lake.storage.manifest import Snapshot

Releases = dict[tuple[str, date], list[Announcement]]
READS = ("names", *(source.dataset for source in (*RELEASES, *STATEMENTS)))


def derive(lake: Lake, *, run_id: str, observed_at: datetime | None = None, audits: Sequence[Audit] = ()) -> RunReport:
    """Derive the dataset from the lake's newest version and publish it as one commit, or nothing. Raises LakeError.

    audits: checks of the stage in addition to the lake's own audit. A call without a nearby release becomes a gap;
    earlier rows do not change.
    """
    try:
        snapshot = lake.snapshot()
    except LakeNotFound:
        snapshot = Snapshot(0)
    moment = observed_at or lake.now()
    rows, gaps = events(snapshot, moment)
    with lake.stage(DATASET, run_id) as stage:

        def fill() -> None:
            table = pa.Table.from_pylist(rows, staged_schema(DATASET))
            stage.add(None, table, gaps, extracted=len(rows) + len(gaps))

        return concluded(stage, lake, fill, lambda: moment, audits)


def events(snapshot: Snapshot, moment: datetime) -> tuple[list[dict[str, Any]], list[StagedGap]]:
    """Return the rows of one lake version as of an instant, and a gap for every statement without a nearby release."""
    announcements = [release for source in RELEASES for release in source.read(snapshot)]
    rows = [row for release in announcements for row in _rows(release, release, moment)]
    by_company: Releases = defaultdict(list)
    for release in announcements:
        for ticker in release.tickers:
            by_company[ticker, release.day].append(release)
    gaps = []
    for source in STATEMENTS:
        for statement in source.read(snapshot):
            # The first known statement about each filing of the company near the statement's day. All filings near the
            # day are included, so that a later filing can't take a statement from an earlier one.
            first: dict[str, Announcement] = {}
            for day in days_around(statement.day, source):
                for ticker in statement.tickers:
                    for release in by_company.get((ticker, day), ()):
                        earliest = first.setdefault(release.statement, release)
                        if release.order < earliest.order:
                            first[release.statement] = release
            candidates = [first[accession_no] for accession_no in sorted(first)]
            rows += [row for release in candidates for row in _rows(release, statement, moment)]
            if not candidates:
                gaps.append(StagedGap(NO_EVENT.type, NO_EVENT.reason, statement.evidence))
    # The last row of a statement for each instant, in order, unless it repeats the previous row.
    last = {(*_identity(row), row["available_at"]): row for row in rows}
    seen_contents: dict[tuple[Any, ...], dict[str, Any]] = {}
    changed_rows = []
    for row in sorted(last.values(), key=lambda row: (row["available_at"], *_identity(row))):
        content = {name: row[name] for name in DATASET.content_columns}
        if seen_contents.get(_identity(row)) != content:
            seen_contents[_identity(row)] = content
            changed_rows.append(row)
    return changed_rows, gaps


def when(event_at: datetime, known_at: datetime) -> str:
    """Return the position of an instant relative to its New York day's session, as known at another instant.

    One of before_open, during, after_close and no_session.
    """
    session = session_by(clock.new_york_day(event_at), known_at)
    if session is None:
        return "no_session"
    if event_at < session.open:
        return "before_open"
    return "during" if event_at < session.close else "after_close"


def _rows(release: Announcement, statement: Announcement, moment: datetime) -> Iterator[dict[str, Any]]:
    """Yield a statement of a release, and a second row if the exchange then did not open as planned."""
    later = max(release, statement, key=lambda announcement: announcement.available_at)
    event_at = release.fields["event_at"]
    row = {
        **dict.fromkeys(DATASET.business_columns),
        **release.fields,
        "session": None if release.fields["acceptance_rule"] in UNPROVEN else when(event_at, later.available_at),
        **statement.fields,
        "source": statement.source,
        "statement": statement.statement,
        "available_at": later.available_at,
        "available_at_source": later.available_at_source,
        "evidence": statement.evidence,
    }
    yield row
    plan = planned(clock.new_york_day(row["event_at"]))
    if plan is not None and row["session"] is not None and row["available_at"] < plan.open <= moment:
        timing = when(row["event_at"], plan.open)
        if timing != row["session"]:
            yield row | {"session": timing, "available_at": plan.open}


def _identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in DATASET.identity)
