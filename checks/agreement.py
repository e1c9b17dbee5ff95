"""Disagreements between sources about earnings releases. They are listed and not resolved.

They are found in the revisions of `earnings_events`, and the warning `sources_agree` counts them.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from pitlake.clock import new_york_day
from pitlake.lake.publishing.audit import CheckResult

NAME = "sources_agree"
FILINGS = ("reports", "sec_filings")
MOST_EXAMPLES = 5
MOST_DISAGREEING = 0.01
"""The share of events about which sources usually disagree."""
Said = Mapping[str, Any]
SAME_INSTANT = timedelta(minutes=1)
SAME_CALL = timedelta(minutes=30)
EXPECTED = {"pre-market": {"before_open"}, "post-market": {"after_close", "no_session"}}
READ = (
    "available_at", "accession_no", "ticker", "event_at", "event_day", "session", "reported_date", "report_time",
    "yahoo_date", "call_start", "source", "evidence",
)  # fmt: skip


@dataclass(frozen=True, order=True)
class Disagreement:
    """A disagreement of two sources about one release. available_at: the instant from which both were available."""

    accession_no: str
    about: str
    source: str
    says: str
    other: str
    other_says: str
    ticker: str
    available_at: datetime
    evidence: str


def disagreements(rows: pa.Table) -> list[Disagreement]:
    """Return all disagreements between statements about each release, in order. rows: revisions of earnings_events.

    about: acceptance (two instants for one filing), day (another day than the event's), session (a stated session other
    than the calendar's), call (two starts, more than half an hour apart), call_before_release.
    """
    by_event: dict[str, list[Said]] = {}
    for row in rows.select(READ).to_pylist():
        by_event.setdefault(row["accession_no"], []).append(row)
    disagreeing: set[Disagreement] = set()
    for statements in by_event.values():
        statements.sort(key=lambda row: (row["available_at"], row["source"], row["evidence"]))
        event = min(statements, key=lambda row: (row["source"] not in FILINGS, row["session"] is None))
        day = event["event_day"]
        for row in statements:
            if abs(row["event_at"] - event["event_at"]) > SAME_INSTANT:
                disagreeing.add(_between(row, "acceptance", row["event_at"], event, event["event_at"]))
            for name in ("reported_date", "yahoo_date"):
                if row[name] is not None and row[name] != day:
                    disagreeing.add(_between(row, "day", row[name], event, day))
            expected = EXPECTED.get(row["report_time"] or "")
            if expected and row["reported_date"] == day and event["session"] not in {None, *expected}:
                disagreeing.add(_between(row, "session", row["report_time"], event, event["session"]))
            start = row["call_start"]
            if start is not None and start < event["event_at"] and new_york_day(start) <= day:
                disagreeing.add(_between(row, "call_before_release", start, event, event["event_at"]))
        calls = [row for row in statements if row["call_start"]]
        disagreeing.update(
            _between(row, "call", row["call_start"], calls[0], calls[0]["call_start"])
            for row in calls[1:]
            if abs(row["call_start"] - calls[0]["call_start"]) > SAME_CALL
        )
    return sorted(disagreeing)


def sources_agree(rows: pa.Table) -> CheckResult:
    """Count the disagreements by subject. Examples cite the differing statement."""
    disagreeing = disagreements(rows)
    facts: dict[str, int | str] = {"events": len(rows["accession_no"].unique()), "disagreements": len(disagreeing)}
    facts |= sorted(Counter(item.about for item in disagreeing).items())
    examples = tuple(f"{item.about}: {item.accession_no} and {item.evidence}" for item in disagreeing[:MOST_EXAMPLES])
    passed = len(disagreeing) <= MOST_DISAGREEING * int(facts["events"])
    return CheckResult(name=NAME, passed=passed, severity="warning", facts=facts, examples=examples)


def _between(row: Said, about: str, says: object, other: Mapping[str, Any], theirs: object) -> Disagreement:
    return Disagreement(
        accession_no=row["accession_no"],
        about=about,
        source=row["source"],
        says=str(says),
        other=other["source"],
        other_says=str(theirs),
        ticker=row["ticker"] or other["ticker"] or "",
        available_at=max(row["available_at"], other["available_at"]),
        evidence=row["evidence"],
    )
