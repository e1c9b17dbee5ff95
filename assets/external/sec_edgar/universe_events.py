"""Dataset `universe_events`: the filings that register, list, rename, delist and deregister companies.

For a scope of days, EDGAR's form indexes are read, which also list companies that no longer exist. For a scope of CIKs,
their submissions and former names are read. All functions except `collect` are pure. options: index = day | quarter
selects the index. headers = none | all selects whether to fetch the SGML headers, which date an index's filings
exactly. documents = all | none selects whether to fetch the exchanges' Forms 25.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from operator import itemgetter
from typing import Any

from assets.external.sec_edgar import _company_names, _headers, _indexes, _names, _removals, sec_filings
from assets.extraction import UNFORESEEN, Parser, Place, Record, RunFacts, dated, parsed
from assets.feeds import dating
from assets.feeds.acceptances import release
from assets.feeds.feed import Feed, Fetch, Scope, Unit
from assets.feeds.items import TWICE, evidence_of, mark_repeats
from pitlake.datasets import universe_events as contract
from pitlake.datasets._shared import BY_FILING_DATE, RELEASE_RULE
from pitlake.datasets.sec_filings import TOLD_OTHERWISE
from pitlake.datasets.universe_events import DATASET
from pitlake.errors import AnswerRefused, BadInput, NotCaptured, Unparsable, Unreadable
from resources.http.capture import Capture, Request
from resources.http.providers.sec_edgar import PROVIDER

INDEXES, HEADERS, DOCUMENTS = ("day", "quarter"), ("none", "all"), ("all", "none")
EXCHANGES_REMOVAL, CERTIFICATE = "25-NSE", "CERT"
NOTICE_OF_DELISTING = "3.01"  # This is an item of an 8-K. Indexes do not state items.

# Shelf offerings (424B2, 424B5, 424B7) are left out, because their issuers are already registered and banks file
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
# 17 CFR 240.12d2-2(d)(1), 240.12g-4(a), 240.12h-6(a). A duty under section 15(d) is suspended immediately.
DAYS_TO_EFFECT = {
    **dict.fromkeys(("25", EXCHANGES_REMOVAL), 10),
    **dict.fromkeys(("15-12B", "15-12G", "15F-12B", "15F-12G", "15F-15D"), 90),
    **dict.fromkeys(("15-15D", "REVOKED"), 0),
}
# The accession number of a removal or certificate begins with the CIK of the exchange that filed it. Only exchanges
# that never changed their name are listed here.
EXCHANGES = {"0000876661": "NEW YORK STOCK EXCHANGE LLC", "0001354457": "The Nasdaq Stock Market LLC"}
CERTIFICATES = {"CERTNYS": "NEW YORK STOCK EXCHANGE LLC", "CERTNAS": "The Nasdaq Stock Market LLC"}
PARSERS: dict[str, Parser] = {"filing_date": _names.required_day}
RENAME_ALONE = dict.fromkeys(("exchange", "security_class", "common_equity", "rule_provision", "effective_on"))
"""The columns that are null for a change of name."""


def event_of(form: object, items: Collection[str] = ()) -> str | None:
    """Return a filing's event for its company, or None. Amendments have no event."""
    if not isinstance(form, str):
        return None
    if form == "8-K" and NOTICE_OF_DELISTING in items:
        return contract.NOTIFIED
    if form.startswith(CERTIFICATE) and not form.endswith("/A"):
        return contract.LISTED
    return FORMS.get(form.strip())


def units(scope: Scope) -> list[Unit]:
    """Return one unit per registrant, or per day or quarter if only days are given.

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
        for cik, accession_no in dict.fromkeys(removals):
            try:
                yield fetch(_removals.request(cik, accession_no))
            except AnswerRefused as refusal:
                if refusal.gap_type != "no_data":  # The class is unknown without the document.
                    raise


def _lists(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    if not unit.scope.ciks:
        day, of_quarter = _first_day(unit.scope), unit.scope.options.get("index") == "quarter"
        yield fetch(_indexes.quarter_request(day) if of_quarter else _indexes.request(day))
        return
    captures = []
    for capture in sec_filings.collect(Unit(unit.name, replace(unit.scope, options={"headers": "none"})), fetch):
        captures.append(capture)
        yield capture
    fetched = {capture.url.rpartition("/")[2] for capture in captures}
    for page in _company_names.pages_of_renames(captures[0]):
        if page not in fetched:
            with suppress(NotCaptured):  # Captures from before renames needed this page are replayed too.
                yield fetch(Request(f"/submissions/{page}"))


def _first_day(scope: Scope) -> date:
    if scope.date_from is None:
        raise BadInput("date_from", "is missing", "give date_from and date_to")
    return scope.date_from


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
    """Yield the filings in submissions or in an index that are events of their company."""
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
    """Yield the entries of an index that are events, except entries of the filing exchanges themselves."""
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
    """Return whether an entry lists the filing exchange instead of the company."""
    by_exchange = entry.form_type == EXCHANGES_REMOVAL or entry.form_type.startswith(CERTIFICATE)
    return by_exchange and entry.cik == _filer(entry.accession_no)


def _renames(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """Yield one record per change of name in EDGAR's list of former names; `locate` finds the filing that proves it."""
    mains = [capture for capture in captures if capture.url.endswith(".json") and "-submissions-" not in capture.url]
    for main in mains if unit.scope.ciks else ():
        if not main.json().get("formerNames"):
            continue
        try:
            poll = _company_names.polled(main)
            pages = [page for capture in captures if (page := _company_names.older_filings(capture))]
        except UNFORESEEN:
            raise Unparsable(main.evidence, "its names or days have an unknown format") from None
        if poll is None:
            continue
        filings = [filing for filing, _ in sec_filings.records(unit, captures) if TWICE not in filing]
        proof = {
            "event": contract.RENAMED,
            "told_by": contract.SUBMISSIONS,
            "cik": unit.name,
            "main": main,
            "poll": poll.reading({page.name: page for page in pages}),
            "filings": [filing for filing in filings if _company_names.is_own(filing["form_type"])],
        }
        for place, borne in reversed([*enumerate(_company_names.names_of(poll, ()))]):
            if borne.former is not None:
                yield {**proof, "place": place, "company_name": borne.name, "former_name": borne.former}, main


def _renamed(record: Record, run: RunFacts) -> Place:
    """Return the place of a change of name: the end of its day in `names`, proven by the first filing under it."""
    proof = _first_under(record, ())
    if proof is not None and not _is_stated(record, str(proof[1]["accession_no"]), run):
        proof = _first_under(record, _earlier_polls(record["main"], run))
    names = {name: record[name] for name in ("company_name", "former_name")}
    if proof is None:
        evidence = evidence_of(run, names, record["cik"], "renamed", record["former_name"])
        return Place(evidence, reason=contract.UNDATED_NAME.reason)
    shown_day, filing = proof
    place = sec_filings.locate({**filing, **names, "event": contract.RENAMED, "told_by": record["told_by"]}, run)
    if place.reason or place.available_at is None:
        return place
    columns = {"accession_no": str(filing["accession_no"]).strip(), "form_type": filing["form_type"]}
    columns["filing_date"] = _names.required_day(filing["filing_date"])
    return dated(place.evidence, dating.end_of_day(shown_day), *place.columns, *names.items(), *columns.items())


def _first_under(record: Record, earlier: Sequence[_company_names.Poll]) -> tuple[date, Record] | None:
    """Return the day on which a name was first shown, and the first filing under it; None if either is uncertain."""
    borne = list(_company_names.names_of(record["poll"], earlier))[record["place"]]
    proofs = [
        (_company_names.shown_on(day, filing["form_type"], filing["acceptance"]), str(filing["accession_no"]), filing)
        for filing in record["filings"]
        if (day := _names.required_day(filing["filing_date"])) >= borne.begins
        and (borne.until is None or day <= borne.until)
    ]
    if borne.shown_day is None or not proofs:
        return None
    shown_day, _, filing = min(proofs, key=itemgetter(0, 1))
    return max(shown_day, borne.shown_day), filing


def _is_stated(record: Record, accession_no: str, run: RunFacts) -> bool:
    """Return whether the lake already has this change of name with this filing. Earlier polls are then irrelevant."""
    statements = run.statements(DATASET, "cik", {record["cik"]}) if run.statements else ()
    wanted_name = (contract.RENAMED, accession_no, record["company_name"], record["former_name"])
    names = ("event", "accession_no", "company_name", "former_name")
    return any(tuple(map(statement.__getitem__, names)) == wanted_name for statement in statements)


def _earlier_polls(main: Capture, run: RunFacts) -> list[_company_names.Poll]:
    """Return the readable polls of a company before this one, in order."""
    polls = []
    for capture in run.earlier(main) if run.earlier else ():
        with suppress(Unparsable, *UNFORESEEN):
            polls.append(_company_names.polled(capture))
    return [poll for poll in reversed(polls) if poll is not None]


def locate(record: Record, run: RunFacts) -> Place:
    """Return the filing's own availability. An index entry without a header does not prove the time of acceptance."""
    if record["event"] == contract.RENAMED:
        return _renamed(record, run)
    if record["told_by"] == contract.SUBMISSIONS or record["header"]:
        return sec_filings.locate(record, run)
    filed, form = record["released_by"], record["form_type"]
    by_end_of_day = dating.Dated(dating.end_of_day(filed), dating.DATE_ONLY)
    at, *_ = release(by_end_of_day, form, filed, as_accepted=run.as_accepted)
    evidence = evidence_of(run, record, record["cik"], record["accession_no"])
    place = dated(evidence, at, (RELEASE_RULE.name, BY_FILING_DATE))
    return replace(place, reason=TOLD_OTHERWISE.reason) if TWICE in record else place


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of an event. For a new name, `locate` adds the columns of the filing."""
    if record["event"] == contract.RENAMED:
        return {"cik": record["cik"], "event": record["event"], "told_by": record["told_by"]} | RENAME_ALONE
    plain = parsed(record, PARSERS)
    form = record["form_type"]
    removal = record.get("removal") or _removals.Removal(None, None, None)
    days = DAYS_TO_EFFECT.get(form)
    return plain | {
        "cik": record["cik"],
        "accession_no": record["accession_no"].strip(),
        "event": record["event"],
        "told_by": record["told_by"],
        "form_type": form,
        "company_name": record.get("company_name"),
        "former_name": None,
        "exchange": removal.exchange or _exchange(record),
        "security_class": removal.security_class,
        "common_equity": _removals.is_common_equity(removal.security_class),
        "rule_provision": removal.rule_provision,
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
