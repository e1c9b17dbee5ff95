"""Dataset `sec_filings`: every filing of a registrant's submissions, dated by EDGAR's release.

All functions except `collect` are pure.

For a scope of CIKs, all pages of their submissions are fetched. For a scope of days, the daily indexes list the
registrants. options: headers = earnings | none | undecided | all selects the filings whose SGML header is fetched. The
default selects filings with item 2.02 and an ambiguous time zone. forms = 8-K,10-Q limits the forms.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, cast
from urllib.parse import quote

from assets.edgar import withheld
from assets.external.sec_edgar import _headers, _indexes, _names
from assets.extraction import Parser, Place, Record, RunFacts, dated, parsed
from assets.feeds import dating, fields
from assets.feeds.acceptances import proven_by, release, with_earlier_acceptances
from assets.feeds.feed import Feed, Fetch, Scope, Unit, Whole
from assets.feeds.items import TWICE, evidence_of
from pitlake.clock import new_york_day
from pitlake.datasets import sec_filings as contract
from pitlake.datasets._shared import RELEASE_RULE, UNPROVEN, WITHHELD
from pitlake.datasets.sec_filings import DATASET
from pitlake.errors import AnswerRefused, BadInput, RecordRefused, Unparsable, Unreadable
from resources.http import edgar_answers
from resources.http.capture import Capture, Request
from resources.http.providers.sec_edgar import PROVIDER

HEADERS = ("earnings", "none", "undecided", "all")
EARNINGS = "2.02"
INDEX, PROVEN = "index ", "_proven"
_PAGE = re.compile(r"/submissions/CIK(\d{10})(?:-submissions-\d+)?\.json$", re.ASCII)
COLUMNS = {
    "accessionNumber": "accession_no",
    "acceptanceDateTime": "acceptance",
    "form": "form_type",
    "filingDate": "filing_date",
    "reportDate": "report_date",
    "items": "items",
    "act": "act",
    "fileNumber": "file_number",
    "filmNumber": "film_number",
    "size": "size",
    "isXBRL": "is_xbrl",
    "isInlineXBRL": "is_inline_xbrl",
    "primaryDocument": "primary_document",
    "primaryDocDescription": "primary_document_description",
}
PARSERS: dict[str, Parser] = {
    "form_type": fields.word,
    "filing_date": _names.optional_day,
    "report_date": _names.optional_day,
    "items": _names.items,
    "act": fields.word,
    "file_number": fields.word,
    "film_number": fields.word,
    "size": _names.whole,
    "is_xbrl": _names.flag,
    "is_inline_xbrl": _names.flag,
    "primary_document": fields.word,
    "primary_document_description": fields.word,
}


def units(scope: Scope) -> list[Unit]:
    """Return one unit per registrant, or per day if only days are given. Raises BadInput if both are missing."""
    _names.option(scope.options, "headers", HEADERS)
    if scope.ciks:
        return _names.unit_per_cik(scope)
    if scope.date_from is None or scope.date_to is None:
        raise BadInput("ciks", "neither companies nor days are named", "give CIKs, or date_from and date_to")
    days = range((scope.date_to - scope.date_from).days + 1)
    return [Unit(f"{INDEX}{scope.date_from + timedelta(days=ahead)}", scope) for ahead in days]


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch the submissions of a registrant, or of every registrant in a day's index; then fetch the requested headers.

    Missing data of a registrant does not affect other registrants. A missing page is reported at the end.
    """
    if not unit.name.startswith(INDEX):
        yield from _submissions(unit.name, unit.scope, fetch)
        return
    index = fetch(_indexes.request(date.fromisoformat(unit.name.removeprefix(INDEX))))
    yield index
    lost: AnswerRefused | None = None
    for cik in dict.fromkeys(entry.cik for entry in _entries_in_scope(index, unit.scope)):
        complete = False
        try:
            for capture in _submissions(cik, unit.scope, fetch):
                complete = True
                yield capture
        except AnswerRefused as refusal:
            if refusal.gap_type != "no_data":
                raise
            # The filing of a registrant without submissions becomes a gap of the index.
            lost = refusal if complete else lost
    if lost is not None:
        raise lost


def _submissions(cik: str, scope: Scope, fetch: Fetch) -> Iterator[Capture]:
    main = fetch(Request(f"/submissions/CIK{cik}.json"))
    yield main
    pages = [main]
    for name in older_pages(main, cik, scope.date_from):
        pages.append(fetch(Request(f"/submissions/{name}")))
        yield pages[-1]
    # Captures from before this default can also be replayed.
    default = "headers" not in scope.options
    yield from _headers.fetched(_undecided(pages, cik, scope), fetch, if_captured=default)


def older_pages(main: Capture, cik: str, since: date | None) -> list[str]:
    """Return the older pages listed in a main answer, except pages that end before `since`. Raises Unparsable."""
    try:
        entries = edgar_answers.older_pages(main.json(), cik)
        pages = [(page["name"], dating.day(page.get("filingTo"))) for page in entries]
    except Unreadable as problem:
        raise Unparsable(main.evidence, f"its list of pages can't be read: {problem}") from None
    return [name for name, last in pages if since is None or last >= since]


def _undecided(pages: Iterable[Capture], cik: str, scope: Scope) -> Iterator[tuple[str, str]]:
    headers = _names.option(scope.options, "headers", HEADERS)
    if headers == "none":
        return
    for page in pages:
        for record in rows_of(page):
            accepted = _accepted(record)
            undecided = accepted is None or accepted.rule in UNPROVEN
            needed = headers == "all" or (undecided and (headers == "undecided" or EARNINGS in items_of(record)))
            if needed and _inside(record["filing_date"], scope):
                with suppress(Unreadable):  # `locate` turns this row into a gap.
                    yield cik, _names.accession(record["accession_no"])


def whole(unit: Unit, captures: Sequence[Capture]) -> Whole | None:
    """Return the completely read part: all filings of a company, or those since the scope's first day."""
    mains = [capture for capture in captures if capture.url.endswith(f"/submissions/CIK{unit.name}.json")]
    since = unit.scope.date_from
    if not mains:
        return None
    pages = {f"/submissions/{name}" for main in mains for name in older_pages(main, unit.name, since)}
    complete = all(any(capture.url.endswith(page) for capture in captures) for page in pages)
    return Whole(unit.name, (("filing_date", since.isoformat(), None),) if since else ()) if complete else None


def listed(unit: Unit, captures: Sequence[Capture]) -> Whole | None:
    """Return the part that members of a bulk file cover completely: the filings before the day of the newest filing.

    The time at which EDGAR created the file is unknown, but it was not before that day.
    """
    covered, loaded_on = whole(unit, captures), new_york_day(captures[0].fetched_at)
    days = set()
    for spelled in (
        set(edgar_answers.submissions(captures[0].json(), unit.name)["recent"].get("filingDate", ())) if covered else ()
    ):
        with suppress(Unreadable):
            days.add(dating.day(spelled))
    filed = [day for day in days if day <= loaded_on]
    if covered is None or not filed:
        return None
    since, last = unit.scope.date_from, max(filed) - timedelta(days=1)
    return Whole(unit.name, (("filing_date", since.isoformat() if since else None, last.isoformat()),))


def items_of(record: Record) -> list[str]:
    """Return the items of an 8-K, or [] if they can't be parsed."""
    try:
        return _names.items(record["items"])
    except Unreadable:
        return []


def _inside(filing_date: Any, scope: Scope) -> bool:
    """Return whether a filing date is in the scope's days. This only reduces work and does not date anything."""
    filed = str(filing_date)
    after = scope.date_from is None or filed >= scope.date_from.isoformat()
    return after and (scope.date_to is None or filed <= scope.date_to.isoformat())


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """Yield one record per filing and registrant; a filing that is only in the index has no acceptance."""
    headers = _headers.acceptances(captures)
    pages = [(page, owner[1]) for page in captures if (owner := _PAGE.search(page.url))]
    proven = _proven(page for page, _ in pages)
    first: dict[tuple[str, str], Record] = {}
    again = 0
    for page, cik in pages:
        for row in rows_of(page):
            number = str(row["accession_no"])
            record = {**row, "cik": cik, "header": headers.get(number)}
            if number in proven:
                record["acceptance"], record[PROVEN] = proven[number]
            if record != first.setdefault((cik, number), record):
                again += 1
                record[TWICE] = again
            yield record, page
    for capture in captures:
        if capture.url.endswith(_indexes.SUFFIX):
            for entry in _entries_in_scope(capture, unit.scope):
                if (entry.cik, entry.accession_no) not in first:
                    yield {"accession_no": entry.accession_no, "cik": entry.cik, "form_type": entry.form_type}, capture


def _proven(pages: Iterable[Capture]) -> dict[str, tuple[str, dating.Dated]]:
    """Return the acceptances that two pages prove together, by stating an acceptance in two time zones."""
    served: defaultdict[str, set[str]] = defaultdict(set)
    for page in pages:
        columns = dict(zip(COLUMNS.values(), _columns_of(page), strict=True))
        for number, acceptance in zip(columns["accession_no"], columns["acceptance"], strict=True):
            if isinstance(acceptance, str):
                served[str(number)].add(acceptance)
    acceptances = {number: proven_by(texts) for number, texts in served.items() if len(texts) > 1}
    return {number: acceptance for number, acceptance in acceptances.items() if acceptance is not None}


def _entries_in_scope(index: Capture, scope: Scope) -> list[_indexes.IndexEntry]:
    """Return the entries of an index within the scope. Raises Unparsable."""
    forms = frozenset(filter(None, scope.options.get("forms", "").split(",")))
    try:
        return [entry for entry in _indexes.entries(index.text()) if not forms or entry.form_type in forms]
    except Unreadable as problem:
        raise Unparsable(index.evidence, str(problem)) from None


def rows_of(page: Capture) -> Iterator[dict[str, Any]]:
    """Return the filings of a page as records. Raises Unparsable like `_columns_of`."""
    names = tuple(COLUMNS.values())
    return (dict(zip(names, row, strict=True)) for row in zip(*_columns_of(page), strict=True))


def _columns_of(page: Capture) -> list[list[Any]]:
    """Return the columns of a page's filings. Raises Unparsable if one is missing or shorter than another."""
    try:
        return edgar_answers.filing_columns(page.url, page.json())
    except Unreadable as problem:
        raise Unparsable(page.evidence, str(problem)) from None


@lru_cache(maxsize=16_384)
def _decided(acceptance: Any, form_type: Any, header: str | None) -> dating.Dated | None:
    try:
        return dating.edgar(acceptance, form_type) if header is None else dating.edgar_header(header)
    except Unreadable:
        return None


def _accepted(record: Record) -> dating.Dated | None:
    """Return the acceptance from the header if there is one, otherwise from the JSON; None if undated."""
    if PROVEN in record and not record["header"]:
        return cast("dating.Dated", record[PROVEN])
    acceptance, form_type, header = record.get("acceptance"), record.get("form_type"), record.get("header")
    if not isinstance(acceptance, str | None) or not isinstance(form_type, str | None):
        return None
    return _decided(acceptance, form_type, header[0] if header else None)


def locate(record: Record, run: RunFacts) -> Place:
    """Return the filing's release."""
    evidence = evidence_of(run, record, record["cik"], record["accession_no"])
    if record.get("header"):
        evidence += f"&header={quote(record['header'][0])}"
    accepted = _accepted(record)
    try:
        _names.accession(record["accession_no"])
    except Unreadable:
        return Place(evidence, accepted and accepted.instant, reason=contract.NO_ACCESSION.reason)
    if accepted is None:
        return Place(evidence, reason=contract.NO_ACCEPTANCE.reason)
    if withheld(record.get("form_type")):
        return Place(evidence, reason=WITHHELD.reason)
    try:
        form, filing_date = fields.word(record.get("form_type")), _names.optional_day(record.get("filing_date"))
    except Unreadable:  # `values` names the unreadable field.
        return dated(evidence, run.observed_at)
    at, rule, _ = release(accepted, form, filing_date, as_accepted=run.as_accepted)
    place = dated(evidence, at, (RELEASE_RULE.name, rule))
    return replace(place, reason=contract.TOLD_OTHERWISE.reason) if TWICE in record else place


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a filing."""
    accepted = _accepted(record)
    if accepted is None:
        raise RecordRefused(contract.NO_ACCEPTANCE.reason)
    plain = parsed(record, PARSERS)
    return plain | {
        "accession_no": record["accession_no"].strip(),
        "cik": record["cik"],
        "accepted_at": accepted.instant,
        "acceptance_rule": accepted.rule,
        "acceptance_raw": record["header"][0] if record["header"] else record["acceptance"],
        "url": _names.address(record["cik"], record["accession_no"].strip(), plain["primary_document"]),
    }


FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(ciks=("9800021",)),
    units=units,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
    whole=whole,
    among=with_earlier_acceptances,
)
