"""Dataset `sec_facts`: values of companyfacts or companyconcept, dated by their filing's release. Pure functions.

options: concepts, such as us-gaap/Assets,dei/EntityCommonStockSharesOutstanding, requests only these concepts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from assets.external.sec_edgar import _names
from assets.extraction import Place, Record, RunFacts, dated
from assets.feeds import fields
from assets.feeds.feed import Feed, Fetch, Scope, Unit, one_entity
from assets.feeds.items import TWICE, evidence_of, mark_repeats
from pitlake.datasets import sec_facts as contract
from pitlake.datasets._shared import ACCEPTED_AT, RELEASE_RULE
from pitlake.datasets.sec_facts import DATASET
from pitlake.errors import RecordRefused, Unparsable, Unreadable
from resources.http.capture import Capture, Request
from resources.http.edgar_answers import fact_units
from resources.http.providers.sec_edgar import PROVIDER

LATEST = "9999-12-31"
FILING_DATE_INDEX = 3


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch all facts of a company in one answer, or one answer per concept."""
    concepts = list(filter(None, unit.scope.options.get("concepts", "").split(",")))
    if not concepts:
        yield fetch(Request(f"/api/xbrl/companyfacts/CIK{unit.name}.json"))
    for concept in concepts:
        yield fetch(Request(f"/api/xbrl/companyconcept/CIK{unit.name}/{concept.strip()}.json"))


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """Yield one record per fact, only for facts filed since the scope's first day, if there is one."""
    for capture in captures:
        for shared, facts in fact_lists(capture, unit.name, unit.scope.date_from):
            for record in fact_records(facts, shared, capture):
                yield record, capture


def fact_lists(
    capture: Capture, cik: str, since: date | None, pack: Callable[[Record], Any] | None = None
) -> Iterator[tuple[dict[str, str], Sequence[Any]]]:
    """Yield the facts of each concept and unit that were filed since a day, with their shared fields.

    A fact without a filing date may have been filed since the day. pack: converts each fact to a tuple with the filing
    date at FILING_DATE_INDEX, and returns any other object unchanged. Raises Unparsable for an answer of unknown format
    or about another company.
    """
    answer = capture.parsed_json(object_hook=pack) if pack else capture.json()
    first_day = since.isoformat() if since else ""

    def is_recent(fact: Any) -> bool:
        return str((fact[FILING_DATE_INDEX] if type(fact) is tuple else fact.get("filed")) or LATEST) >= first_day

    try:
        for concept, unit, facts in fact_units(answer, cik):
            yield {"cik": cik, "concept": concept, "unit": unit}, list(filter(is_recent, facts)) if since else facts
    except Unreadable as problem:
        raise Unparsable(capture.evidence, str(problem)) from None


def fact_records(facts: Sequence[Record], shared: Mapping[str, str], capture: Capture) -> Iterator[Record]:
    """Yield the facts of one concept and unit as records. Facts that a filing states twice are marked."""
    once = (fact for fact, _ in mark_repeats(((fact, capture) for fact in facts), _identity))
    return ({**fact, **shared} for fact in (once if len(set(map(_identity, facts))) < len(facts) else facts))


def _identity(fact: Record) -> tuple[str, str, str]:
    return str(fact.get("start")), str(fact.get("end")), str(fact.get("accn"))


def locate(record: Record, run: RunFacts) -> Place:
    """Return the release of the filing that reported the fact."""
    accession_no = str(record.get("accn"))
    names = (record["cik"], record["concept"], record["unit"], record.get("start"), record.get("end"), accession_no)
    evidence = evidence_of(run, record, *names)
    try:
        filed = _names.optional_day(record.get("filed"))
    except Unreadable:
        return Place(evidence, reason="filing_date is unreadable")
    release = run.releases.release(accession_no, record["cik"], filed) if run.releases is not None else None
    if release is None:
        return Place(evidence, reason=contract.UNKNOWN_FILING.reason)
    columns = ((RELEASE_RULE.name, release.rule), (ACCEPTED_AT.name, release.accepted_at))
    place = dated(evidence, release.at, *columns)
    return replace(place, reason=contract.STATED_TWICE.reason) if TWICE in record else place


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a fact."""
    return {
        "cik": record["cik"],
        "concept": record["concept"],
        "unit": record["unit"],
        "period_type": "duration" if record.get("start") else "instant",
        "accession_no": _read("accession_no", _names.accession, record.get("accn")),
        "form_type": _read("form_type", fields.word, record.get("form")),
        "period_start": _read("period_start", _names.optional_day, record.get("start")),
        "period_end": _read("period_end", _names.required_day, record.get("end")),
        "filing_date": _read("filing_date", _names.optional_day, record.get("filed")),
        **_number(record.get("val")),
    }


def _read(column: str, reader: Any, value: Any) -> Any:
    try:
        return reader(value)
    except (Unreadable, TypeError):
        raise RecordRefused(f"{column} is unreadable") from None


def _number(value: Any) -> dict[str, Any]:
    if type(value) not in (int, float):
        raise RecordRefused("value is unreadable")
    return {"value": str(value), "value_number": _read("value", fields.number, value)}


FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(ciks=("9800021",)),
    units=_names.unit_per_cik,
    entity_of=one_entity,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
    after=("sec_filings",),
    batch=20_000,
)
