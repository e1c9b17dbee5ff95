"""Dataset `xbrl_facts`: reported values, one record per Fact node, regardless of its number of contexts."""

from datetime import date, timedelta
from functools import lru_cache
from typing import Any

from assets.edgar import MOST_DAYS_UNRELEASED, days_unreleased
from assets.extraction import Contest, Extractor, Place, Record, RunFacts, parsed
from assets.graph import _filings, texts
from pitlake.contract import GapRule
from pitlake.datasets import xbrl_facts as contract
from pitlake.datasets.xbrl_facts import DATASET
from pitlake.errors import RecordRefused, Unreadable

FACTS = f"""
MATCH (r)-[:HAS_XBRL]->(:XBRLNode)<-[:REPORTS]-(f:Fact)
RETURN coalesce(f.u_id, f.id) AS node, f.qname AS concept, f.value AS value, f.decimals AS decimals,
       f.is_numeric AS is_numeric, f.is_nil AS is_nil, f.fact_id AS fact_id, r.xbrl_status AS xbrl_status,
       [(f)-[:HAS_CONCEPT]->(k:Concept) | [k.label, k.balance]] AS concepts,
       [(f)-[:HAS_PERIOD]->(p:Period) | [p.period_type, p.start_date, p.end_date]] AS periods,
       [(f)-[:HAS_UNIT]->(u:Unit) | u.name] AS units,
       [(f)-[:IN_CONTEXT]->(c:Context) | coalesce(c.dimension_u_ids, [])] AS contexts,
       [(f)-[:FACT_MEMBER]->(m:Member) | m.qname] AS members,
{_filings.FILING_FIELDS}"""

FACTLESS = f"""
MATCH (r:Report)
WHERE r.created >= $lo AND r.created < $hi AND r.formType IN ['10-K', '10-K/A', '10-Q', '10-Q/A']
  AND NOT EXISTS {{ (r)-[:HAS_XBRL]->(:XBRLNode)<-[:REPORTS]-(:Fact) }}
{_filings.COMPANIES}
RETURN r.xbrl_status AS xbrl_status, {_filings.FILING_FIELDS}"""

ORPHANS = """
MATCH (f:Fact)
WHERE NOT EXISTS { (f)-[:REPORTS]->(:XBRLNode)<-[:HAS_XBRL]-(:Report) }
RETURN coalesce(f.u_id, f.id) AS node
"""

PARSERS = {
    "concept": texts.word,
    "decimals": texts.word,
    "is_numeric": texts.flag,
    "is_nil": texts.flag,
    "fact_id": texts.word,
}

END_IS_EXCLUSIVE = timedelta(days=1)
INFINITE_DECIMALS, NO_DECIMALS = 10**6, -(10**6)


def locate(record: Record, run: RunFacts) -> Place:
    """Return the filing's release. This function refuses facts that are unusable regardless of their value."""
    if "node" not in record:
        place = _filings.place_filing(record, run, texts.node("Report", record["accession_no"]))
        return _refused(place, contract.NO_FACTS if _complete(record) else contract.INCOMPLETE)
    place = _filings.place_filing(record, run, texts.node("Fact", record["node"]))
    if place.reason:
        return place
    if not texts.is_absent(record["xbrl_status"]) and not _complete(record):
        return _refused(place, contract.INCOMPLETE)
    if not _filings.linked_companies(record["filers"]):
        return _refused(place, contract.NO_COMPANY)
    for related, rule in (("concepts", contract.NO_CONCEPT), ("periods", contract.NO_PERIOD)):
        if not record[related]:
            return _refused(place, rule)
    return place if record["contexts"] else _refused(place, contract.NO_CONTEXT)


def _refused(place: Place, rule: GapRule) -> Place:
    return Place(place.evidence, place.available_at, place.day, place.reason or rule.reason)


def _complete(record: Record) -> bool:
    return bool(record["xbrl_status"] == "COMPLETED")


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a fact."""
    row = parsed(record, PARSERS)
    label, balance = min(record["concepts"], key=str)
    units = sorted(unit for unit in map(texts.word, record["units"] or ()) if unit is not None)
    facts = {
        "accepted_at": texts.instant(record["created"]),
        "label": texts.word(label),
        "balance": texts.word(balance),
        "unit": units[0] if units else None,
    }
    return _filings.filing_values(record) | row | facts | period(record) | qualifiers(record) | amount(record, row)


def period(record: Record) -> dict[str, Any]:
    """Return the period with its last day included. The graph stores ends and instants one day late."""
    stored = {tuple(period_pair) for period_pair in record["periods"]}
    if len(stored) > 1:
        raise RecordRefused(contract.TWO_PERIODS.reason)
    kind, first, last = _days(*stored.pop())
    return {"period_type": kind, "period_start": first, "period_end": last}


@lru_cache(maxsize=texts.TEXTS_REMEMBERED)
def _days(kind: Any, start: Any, end: Any) -> tuple[str, date | None, date | None]:
    if kind == "instant":
        return kind, None, _last_day(start)
    if kind == "forever":
        return kind, None, None
    first, last = texts.readable(texts.day, start), _last_day(end)
    if kind != "duration" or first is None or last < first:
        raise RecordRefused(contract.BAD_PERIOD.reason)
    return kind, first, last


def _last_day(stored: Any) -> date:
    following: date | None = texts.readable(texts.day, stored)
    if following is None or following == date.min:
        raise RecordRefused(contract.BAD_PERIOD.reason)
    return following - END_IS_EXCLUSIVE


def qualifiers(record: Record) -> dict[str, Any]:
    """Return axes and members. An axis without a member is a typed dimension, whose value the graph does not store."""
    members = sorted({member for member in map(texts.word, record["members"] or ()) if member is not None})
    axes = {tuple(sorted(map(qualified_name, axes))) for axes in record["contexts"]}
    if len(axes) > 1:
        raise RecordRefused(contract.TWO_CONTEXTS.reason)
    axis = next(iter(axes))
    if len(axis) > len(members):
        raise RecordRefused(contract.TYPED_DIMENSION.reason)
    return {"dimensions": "|".join(axis), "members": "|".join(members), "member_count": len(members)}


def qualified_name(node: str) -> str:
    """Return the qname at the end of a `cik:namespace:qname` id."""
    return ":".join(str(node).rsplit(":", 2)[-2:])


def amount(record: Record, row: dict[str, Any]) -> dict[str, Any]:
    """Return the value as text without separators and, if the fact is numeric, as a number."""
    if row["is_nil"]:
        return {"value": None, "value_number": None}
    if not row["is_numeric"]:
        return {
            "value": None if texts.is_absent(record["value"]) else texts.text(record["value"]),
            "value_number": None,
        }
    try:
        digits, number = texts.plain_number(record["value"]), texts.number(record["value"])
    except Unreadable:
        raise RecordRefused(contract.NO_NUMBER.reason) from None
    if digits is None:
        raise RecordRefused(contract.NO_NUMBER.reason)
    return {"value": digits, "value_number": number}


def precision(record: Record) -> tuple[int, int]:
    """Rank statements of one fact in one filing, by decimals and then by significant digits."""
    mantissa = str(record["value"]).partition("e")[0].replace(",", "").replace(".", "")
    return _decimals(texts.word(record["decimals"])), len(mantissa.strip("-+0"))


@lru_cache(maxsize=texts.TEXTS_REMEMBERED)
def _decimals(text: str | None) -> int:
    number = texts.readable(texts.whole, text)
    return INFINITE_DECIMALS if text == "INF" else NO_DECIMALS if number is None else number


EXTRACTOR = Extractor(
    dataset=DATASET,
    windows=(_filings.FILING_WINDOW + _filings.COMPANIES + FACTS, FACTLESS),
    sweeps=(_filings.UNDATED_FILING + _filings.COMPANIES + FACTS, ORPHANS),
    locate=locate,
    values=values,
    trail=MOST_DAYS_UNRELEASED,
    trail_of=days_unreleased,
    contest=Contest(
        group=DATASET.identity,
        contender=lambda record: str(record["node"]),
        rank=precision,
        reason=contract.LESS_PRECISE.reason,
    ),
)
