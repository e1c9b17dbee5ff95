"""Dataset `universe_events`: the filings that register, list, rename, delist and deregister companies.

A scope of days reads EDGAR's form indexes, which list ended companies like all others; a scope of CIKs reads their
submissions and former names. All functions except `collect` are pure. options: index = day | quarter selects the index.
headers = none | all selects whether to fetch the SGML headers, which date an index's filings exactly. documents = all |
none selects whether to fetch the exchanges' Forms 25.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

from assets.external.sec_edgar import _headers, _indexes, _names, _removals, sec_filings
from assets.extraction import Parser, Place, Record, RunFacts, dated, parsed
from assets.feeds import dating, fields
from assets.feeds.acceptances import release
from assets.feeds.feed import Feed, Fetch, Scope, Unit
from assets.feeds.items import TWICE, evidence_of, mark_repeats
from pitlake.datasets import universe_events as contract
from pitlake.datasets._shared import BY_FILING_DATE, RELEASE_RULE
from pitlake.datasets.sec_filings import TOLD_OTHERWISE
from pitlake.datasets.universe_events import DATASET
from pitlake.errors import AnswerRefused, BadInput, Unparsable, Unreadable
from resources.http.capture import Capture, Request
from resources.http.providers.sec_edgar import PROVIDER

INDEXES, HEADERS, DOCUMENTS = ("day", "quarter"), ("none", "all"), ("all", "none")
EXCHANGES_REMOVAL, CERTIFICATE = "25-NSE", "CERT"
NOTICE_OF_DELISTING = "3.01"  # This is an item of an 8-K. Indexes do not state items.

# Offerings from a shelf (424B2, 424B5, 424B7) are left out: their issuers are registered already, and banks file
# thousands.
FORMS = {
    **dict.fromkeys(("S-1", "F-1", "S-11", "SB-2"), contract.OFFERED),
    **dict.fromkeys(("10-12B", "10-12G", "8-A12G", "424B1", "424B3", "424B4"), contract.REGISTERED),
    "8-A12B": contract.LISTED,
    **dict.fromkeys(("10-K", "10-K405", "10-KSB", "10-KT", "20-F", "40-F"), contract.REPORTED),
    **dict.fromkeys(("10-Q", "10-QSB", "10-QT"), contract.REPORTED),
    **dict.fromkeys(("25", EXCHANGES_REMOVAL), contract.DELISTED),
    **dict.fromkeys(("15-12B", "15-12G", "15-15D", "15F-12B", "15F-12G", "15F-15D", "REVOKED"), contract.DEREGISTERED),
}
# 17 CFR 240.12d2-2(d)(1), 240.12g-4(a), 240.12h-6(a); a duty under section 15(d) is suspended at once.
DAYS_TO_EFFECT = {
    **dict.fromkeys(("25", EXCHANGES_REMOVAL), 10),
    **dict.fromkeys(("15-12B", "15-12G", "15F-12B", "15F-12G", "15F-15D"), 90),
    **dict.fromkeys(("15-15D", "REVOKED"), 0),
}
# The accession number of a removal or certificate begins with the CIK of the exchange that filed it. Only exchanges
# that never changed their name are listed here.
EXCHANGES = {
    "0000876661": "NEW YORK STOCK EXCHANGE LLC",
    "0001354457": "The Nasdaq Stock Market LLC",
}
CERTIFICATES = {"CERTNYS": "NEW YORK STOCK EXCHANGE LLC", "CERTNAS": "The Nasdaq Stock Market LLC"}
PARSERS: dict[str, Parser] = {"filing_date": _names.required_day}


def event_of(form: object, items: Collection[str] = ()) -> str | None:
    """Return a filing's event for its company; None if there is none. Amendments have no event."""
    if not isinstance(form, str):
        return None
    if form == "8-K" and NOTICE_OF_DELISTING in items:
        return contract.NOTIFIED
    if form.startswith(CERTIFICATE) and not form.endswith("/A"):
        return contract.LISTED
    return FORMS.get(form.strip())


def units(scope: Scope) -> list[Unit]:
    """Return one unit per registrant, or one per day or quarter if only days are given.

    Raises BadInput if both are missing.
    """
    for name, choices in (("index", INDEXES), ("headers", HEADERS), ("documents", DOCUMENTS)):
        _names.option(scope.options, name, choices)
    if scope.ciks:
        return _names.unit_per_cik(scope)
    if scope.date_from is None or scope.date_to is None:
        raise BadInput("ciks", "neither companies nor days are named", "give CIKs, or date_from and date_to")
    days = [scope.date_from + timedelta(days=ahead) for ahead in range((scope.date_to - scope.date_from).days + 1)]
    if scope.options.get("index") == "quarter":
        days = sorted({_indexes.quarter(day)[0] for day in days})
    return [Unit(f"index {day}", replace(scope, date_from=day)) for day in days]


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch a registrant's submissions, or one index; then fetch the requested headers and documents."""
    options = unit.scope.options
    captures = []
    for capture in _lists(unit, fetch):
        captures.append(capture)
        yield capture
    filings = [(record["cik"], record["accession_no"], record["form_type"]) for record, _ in _filings(unit, captures)]
    if options.get("headers") == "all":
        yield from _headers.fetched(dict.fromkeys((cik, number) for cik, number, _ in filings), fetch)
    if options.get("documents") != "none":
        removals = ((cik, number) for cik, number, form in filings if form == EXCHANGES_REMOVAL)
        yield from _documents(dict.fromkeys(removals), fetch)


def _lists(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    if unit.scope.ciks:
        yield from sec_filings.collect(Unit(unit.name, replace(unit.scope, options={"headers": "none"})), fetch)
    else:
        yield fetch(_index_request(unit.scope))


def _index_request(scope: Scope) -> Request:
    day = _first_day(scope)
    return _indexes.quarter_request(day) if scope.options.get("index") == "quarter" else _indexes.request(day)


def _first_day(scope: Scope) -> date:
    if scope.date_from is None:
        raise BadInput("date_from", "no day is named", "give date_from and date_to")
    return scope.date_from


def _documents(removals: Mapping[tuple[str, str], None], fetch: Fetch) -> Iterator[Capture]:
    """Fetch the documents of removals. A missing document is left out, and its class is then unknown."""
    for cik, accession_no in removals:
        try:
            yield fetch(_removals.request(cik, accession_no))
        except AnswerRefused as refusal:
            if refusal.gap_type != "no_data":
                raise


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """Yield one record per filing, registrant and event."""
    removals = {
        _removals.accession_of(capture): _removals.parsed(capture.text())
        for capture in captures
        if _removals.accession_of(capture)
    }
    headers = _headers.acceptances(captures)
    for record, capture in _filings(unit, captures):
        number = str(record["accession_no"])
        yield {**record, "removal": removals.get(number), "header": headers.get(number)}, capture
    yield from _renames(unit, captures)


def _filings(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """Yield the filings of submissions or of an index that are events of their company."""
    for record, capture in sec_filings.records(unit, [capture for capture in captures if not _is_index(capture)]):
        event = event_of(record["form_type"], sec_filings.items_of(record))
        if event:
            yield {**record, "event": event, "told_by": contract.SUBMISSIONS}, capture
    for capture in filter(_is_index, captures):
        filings = ((record, capture) for record in _index_events(unit.scope, capture))
        yield from mark_repeats(filings, lambda filing: (filing["cik"], filing["accession_no"]))


def _is_index(capture: Capture) -> bool:
    return capture.url.endswith(_indexes.SUFFIX)


def _index_events(scope: Scope, index: Capture) -> Iterator[dict[str, Any]]:
    """Return the entries of an index that are events, without the filing exchanges' own entries."""
    day = _first_day(scope)
    first, last = _indexes.quarter(day) if scope.options.get("index") == "quarter" else (day, day)
    try:
        entries = [entry for entry in _indexes.entries(index.text()) if event_of(entry.form_type)]
    except Unreadable as problem:
        raise Unparsable(index.evidence, str(problem)) from None
    filers = {entry.cik: entry.company for entry in entries if _is_filer(entry)}
    exchanges = EXCHANGES | filers
    for entry in entries:
        if entry.cik not in exchanges:
            yield {
                "cik": entry.cik,
                "accession_no": entry.accession_no,
                "event": event_of(entry.form_type),
                "told_by": contract.INDEX,
                "form_type": entry.form_type,
                "company_name": entry.company,
                "exchange": exchanges.get(_filer(entry.accession_no)),
                "filing_date": entry.filed.isoformat(),
                "released_by": entry.filed if entry.filed >= first else last,
            }


def _filer(accession_no: str) -> str:
    return accession_no.partition("-")[0]


def _is_filer(entry: _indexes.IndexEntry) -> bool:
    """Return whether an entry lists the exchange that files, rather than the company of the filing."""
    by_exchange = entry.form_type == EXCHANGES_REMOVAL or entry.form_type.startswith(CERTIFICATE)
    return by_exchange and entry.cik == _filer(entry.accession_no)


def _renames(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """Yield one record per former name: the first filing that EDGAR lists after the last day of the name.

    This filing has the next name.
    """
    mains = [capture for capture in captures if capture.url.endswith(".json") and "-submissions-" not in capture.url]
    for main in mains if unit.scope.ciks else ():
        answer = main.json()
        former = answer.get("formerNames") or []
        if not isinstance(former, list):
            raise Unparsable(main.evidence, "its former names have an unknown format")
        if not former:
            continue
        distinct_filings = [filing for filing, _ in sec_filings.records(unit, captures) if TWICE not in filing]
        filings = sorted(distinct_filings, key=lambda filing: (str(filing["filing_date"]), str(filing["accession_no"])))
        names = [{"name": answer.get("name")}, *former]
        for newer, older in pairwise(names):
            rename = _rename(newer, older, main)
            first = next((filing for filing in filings if _follows(filing, *rename["between"])), None)
            yield {**(first or {"accession_no": None}), **rename, "cik": unit.name}, main


def _rename(newer: Any, older: Any, main: Capture) -> dict[str, Any]:
    try:
        since = newer.get("from")
        between = dating.day(older["to"][:10]), dating.day(since[:10]) if since else None
        new, old = fields.required_word(newer["name"]), fields.required_word(older["name"])
    except (AttributeError, KeyError, TypeError, Unreadable):
        raise Unparsable(main.evidence, "its former names have an unknown format") from None
    rename = {"event": contract.RENAMED, "told_by": contract.SUBMISSIONS, "company_name": new, "former_name": old}
    return rename | {"between": between}


def _follows(filing: Record, until: date, since: date | None) -> bool:
    """Return whether a filing has the new name: it is after the old name's last day, and not before the new name's
    first.
    """
    if since is not None and since <= until:
        return False
    filed = str(filing["filing_date"])
    return filed > until.isoformat() and (since is None or filed >= since.isoformat())


def locate(record: Record, run: RunFacts) -> Place:
    """Return the filing's own availability. The day of an index entry without a header proves no time of acceptance."""
    if record["accession_no"] is None:
        return Place(
            evidence_of(run, record, record["cik"], "renamed", record["former_name"]),
            reason=contract.UNDATED_NAME.reason,
        )
    if record["told_by"] == contract.SUBMISSIONS or record["header"]:
        return sec_filings.locate(record, run)
    filed, form = record["released_by"], record["form_type"]
    by_end_of_day = dating.Dated(dating.end_of_day(filed), dating.DATE_ONLY)
    at, *_ = release(by_end_of_day, form, filed, as_accepted=run.as_accepted)
    evidence = evidence_of(run, record, record["cik"], record["accession_no"])
    place = dated(evidence, at, (RELEASE_RULE.name, BY_FILING_DATE))
    return replace(place, reason=TOLD_OTHERWISE.reason) if TWICE in record else place


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of an event."""
    plain = parsed(record, PARSERS)
    form, renamed = record["form_type"], record["event"] == contract.RENAMED
    removal = record.get("removal") or _removals.Removal(None, None, None)
    days = None if renamed else DAYS_TO_EFFECT.get(form)
    return plain | {
        "cik": record["cik"],
        "accession_no": record["accession_no"].strip(),
        "event": record["event"],
        "told_by": record["told_by"],
        "form_type": form,
        "company_name": record.get("company_name"),
        "former_name": record.get("former_name"),
        "exchange": None if renamed else removal.exchange or _exchange(record),
        "security_class": None if renamed else removal.security_class,
        "common_equity": None if renamed else _removals.is_common_equity(removal.security_class),
        "rule_provision": None if renamed else removal.rule_provision,
        "effective_on": None if days is None else plain["filing_date"] + timedelta(days=days),
    }


def _exchange(record: Record) -> str | None:
    form = record["form_type"]
    if form != EXCHANGES_REMOVAL and not form.startswith(CERTIFICATE):
        return None
    exchange: str | None = record.get("exchange")
    return exchange or EXCHANGES.get(_filer(record["accession_no"])) or CERTIFICATES.get(form)


FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(date_from=date(2024, 4, 1), date_to=date(2024, 4, 30), options={"index": "quarter"}),
    units=units,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
)
