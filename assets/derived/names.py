"""Derives `names`: the names of companies over time, from EDGAR's captured answers, cover page facts and the graph's
companies.

It is a pure function of one lake version and its captures. A statement contains only proven facts. The end of a name
follows from the next statement, so no row depends on a later name.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from http import HTTPStatus
from itertools import chain
from typing import Any

import pyarrow as pa

from assets.edgar import released
from assets.external.sec_edgar import _headers
from assets.external.sec_edgar._company_names import OlderFilings, Poll, is_own, names_of, older_filings, polled
from assets.extraction import UNFORESEEN
from assets.feeds import dating
from assets.runs import RunReport, concluded
from pitlake import clock
from pitlake.clock import from_micros
from pitlake.datasets._external import UNPARSABLE
from pitlake.datasets.names import DATASET, DEI, EDGAR_NAME, EDGAR_TICKERS, GRAPH, HEADER, UNDATED_NAME
from pitlake.errors import LakeNotFound, Unparsable
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import Audit
from pitlake.lake.publishing.stage import StagedGap, staged_schema
from pitlake.lake.storage.manifest import Snapshot
from pitlake.lake.tables.query import calculator, reading
from resources.http.capture import Capture, CaptureStore
from resources.http.providers.sec_edgar import PROVIDER

READS = ("sec_filings", "universe_events", "xbrl_facts", "companies")
NameStatement = dict[str, Any]

_NO_TICKER = frozenset({"", "-", "N/A", "NA", "NONE", "NOT APPLICABLE", "NULL"})
_BETWEEN = re.compile(r"[,;]|\bAND\b", re.IGNORECASE)

COVER_PAGES = """
    SELECT cik, accession_no, concept, list(DISTINCT value ORDER BY value) AS found,
        epoch_us(min(available_at)) AS at, min(evidence) AS evidence
    FROM {rows}
    WHERE cik IS NOT NULL AND value IS NOT NULL
        AND (concept = 'dei:TradingSymbol' OR (concept = 'dei:EntityRegistrantName' AND member_count = 0))
    GROUP BY ALL ORDER BY ALL"""
SNAPSHOTS = "SELECT cik, ticker, name, epoch_us(available_at) AS at, evidence FROM {rows} ORDER BY ALL"


def derive(
    lake: Lake,
    *,
    run_id: str,
    observed_at: datetime | None = None,
    audits: Sequence[Audit] = (),
    beside: Iterable[Capture] = (),
) -> RunReport:
    """Derive the dataset from the lake's newest version and its captures, and publish it as one commit, or nothing.

    Raises LakeError, CaptureDamaged. audits: checks in addition to the lake's own audit. beside: answers to read in
    addition to the lake's captures.
    """
    try:
        snapshot = lake.snapshot()
    except LakeNotFound:
        snapshot = Snapshot(0)
    moment = observed_at or clock.now()
    captures = chain(CaptureStore.of(lake.location).every(PROVIDER.name), beside)
    rows, gaps = statements(snapshot, captures, moment)
    with lake.stage(DATASET, run_id) as stage:

        def fill() -> None:
            table = pa.Table.from_pylist(rows, staged_schema(DATASET))
            stage.add(None, table, gaps, extracted=len(rows) + len(gaps))

        return concluded(stage, lake, fill, lambda: moment, audits)


def statements(
    snapshot: Snapshot, captures: Iterable[Capture], until: datetime
) -> tuple[list[NameStatement], list[StagedGap]]:
    """Return every statement that was public by `until`, once, with the date of the first proof.

    Unreadable answers about names and names without a provable first day become gaps.
    """
    name_statements, gaps, polls = list(_cover_pages(snapshot)), [], defaultdict[str, list[Poll]](list)
    name_statements += [
        _statement(row["cik"], kind, [name], GRAPH, clock.iso(row["at"]), row["at"], row["evidence"])
        for row in _rows(snapshot, "companies", SNAPSHOTS)
        for kind, name in (("ticker", row["ticker"]), ("company_name", row["name"]))
        if name
    ]
    pages: defaultdict[str, list[OlderFilings]] = defaultdict(list)
    for capture in captures:
        try:
            if poll := polled(capture):
                polls[poll.cik].append(poll)
            if page := older_filings(capture):
                pages[page.name].append(page)
            name_statements += of_header(capture)
        except (Unparsable, *UNFORESEEN):
            gaps.append(StagedGap(UNPARSABLE.type, UNPARSABLE.reason, capture.evidence))
    for of_company in polls.values():
        of_company.sort(key=lambda poll: (poll.fetched_at, poll.location))
        next_polls: list[datetime | None] = [*(answer.fetched_at for answer in of_company[1:]), None]
        undated: dict[str, StagedGap] = {}
        for number, (answer, next_at) in enumerate(zip(of_company, next_polls, strict=True)):
            read = _pages_read(answer, pages, next_at)
            rows, unproven = of_poll(answer.reading(read), of_company[:number])
            name_statements += rows
            undated = {gap.locator.partition("&item=")[2]: gap for gap in unproven} | undated
        gaps += undated.values()
    first: dict[tuple[Any, ...], NameStatement] = {}
    for statement in sorted(name_statements, key=lambda statement: (statement["available_at"], statement["evidence"])):
        if statement["available_at"] <= until:
            first.setdefault(tuple(statement[name] for name in DATASET.identity), statement)
    return list(first.values()), gaps


def _pages_read(
    poll: Poll, pages: Mapping[str, Sequence[OlderFilings]], until: datetime | None
) -> Mapping[str, OlderFilings]:
    """Return the newest answer for each of a poll's older pages. until: the next poll's fetch; ignore later answers."""
    read = {}
    for page in poll.pages:
        answers = [answer for answer in pages.get(page.name, ()) if until is None or answer.fetched_at < until]
        if answers:
            read[page.name] = max(answers, key=lambda answer: answer.fetched_at)
    return read


def of_poll(poll: Poll, earlier: Sequence[Poll]) -> tuple[list[NameStatement], list[StagedGap]]:
    """Return the statements of a poll, given earlier polls.

    A name that an earlier poll did not contain is dated after that poll.
    """
    rows, gaps = [], []
    for borne in names_of(poll, earlier):
        if borne.shown_day is not None:
            rows.append(_borne_since(poll.cik, borne.name, borne.shown_day, poll.location, poll.fetched_at))
        is_new = borne.until is not None or not earlier or earlier[-1].name != borne.name
        if borne.shown_day is None and borne.until is None and is_new:
            evidence, statement = f"{poll.location}&item={poll.name}", f"{poll.name}/{clock.iso(poll.fetched_at)}"
            rows.append(
                _statement(poll.cik, "company_name", [poll.name], EDGAR_NAME, statement, poll.fetched_at, evidence)
            )
        if (borne.shown_day is None and is_new) or not borne.is_plain:
            gaps.append(StagedGap(UNDATED_NAME.type, UNDATED_NAME.reason, f"{poll.location}&item={borne.name}"))
    fetched = clock.iso(poll.fetched_at)
    evidence = f"{poll.location}&item=tickers"
    rows.append(_statement(poll.cik, "ticker", list(poll.tickers), EDGAR_TICKERS, fetched, poll.fetched_at, evidence))
    return rows, gaps


def of_header(capture: Capture) -> list[NameStatement]:
    """Return the names in the header of a company's own filing; an empty list for any other answer."""
    if capture.status != HTTPStatus.OK or not _headers.is_header(capture):
        return []
    text = capture.text()
    header = _headers.parsed(text)
    if not is_own(header.form_type):
        return []
    accepted = dating.edgar_header(header.acceptance).instant
    released_on = clock.new_york_day(released(accepted, header.form_type, header.filing_date).at)
    filed = max(header.filing_date or released_on, released_on)
    name_statements, accession_no = [], header.accession_no
    for cik, name in _headers.conformed_names(text):
        evidence, at = f"{capture.location}&item={cik}", dating.end_of_day(filed)
        statement = _statement(cik, "company_name", [name], HEADER, accession_no, at, evidence, accession_no)
        name_statements.append(statement)
    for cik, name, since in _headers.former_names(text):
        if since <= filed:
            name_statements.append(_borne_since(cik, name, since, capture.location, capture.fetched_at))
    return name_statements


def _borne_since(cik: str, name: str, since: date, location: str, fetched_at: datetime) -> NameStatement:
    """Return a name that EDGAR dates from a day. It is public at the end of that day, or at an earlier fetch."""
    at, evidence = min(dating.end_of_day(since), fetched_at), f"{location}&item={name}"
    statement = _statement(cik, "company_name", [name], EDGAR_NAME, f"{name}/{since}", at, evidence)
    return statement | {"since": since, "available_at_source": DATASET.source_tag}


def _cover_pages(snapshot: Snapshot) -> Iterator[NameStatement]:
    for row in _rows(snapshot, "xbrl_facts", COVER_PAGES):
        ticker = row["concept"] == "dei:TradingSymbol"
        names = row["found"]
        if ticker:  # The text may contain several tickers with their exchanges, or a word for no ticker.
            parts = (part.rpartition(":")[2].strip().upper() for text in names for part in _BETWEEN.split(text))
            names = sorted({part for part in parts if part not in _NO_TICKER})
        kind, accession_no = "ticker" if ticker else "company_name", row["accession_no"]
        if names:
            statement = _statement(row["cik"], kind, names, DEI, accession_no, row["at"], row["evidence"], accession_no)
            yield statement


def _rows(snapshot: Snapshot, dataset: str, question: str) -> list[NameStatement]:
    files = snapshot.files(dataset)
    if not files:
        return []
    snapshot.fetch(files)
    with calculator() as connection:
        rows: list[NameStatement] = connection.sql(question.format(rows=reading(files))).to_arrow_table().to_pylist()
    return [row | {"at": from_micros(row["at"])} for row in rows]


def _statement(
    cik: str,
    kind: str,
    names: list[str],
    source: str,
    statement: str,
    available_at: datetime,
    evidence: str,
    accession_no: str | None = None,
) -> NameStatement:
    proven = accession_no is not None
    return {
        "cik": cik,
        "kind": kind,
        "name": names[0] if names else None,
        "all_names": names,
        "since": None,
        "accession_no": accession_no,
        "source": source,
        "statement": statement,
        "available_at": available_at,
        "available_at_source": DATASET.source_tag if proven else DATASET.other_tags[0],
        "evidence": evidence,
    }
