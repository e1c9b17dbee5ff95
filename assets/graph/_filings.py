"""Shared code of filings and their content: the Cypher for a Report, its company, and the place of its release.

Independent of datasets.
"""

from functools import lru_cache
from typing import Any

from assets.edgar import MOST_DAYS_UNRELEASED, days_unreleased, released, withheld
from assets.extraction import Extractor, Place, Record, RunFacts, dated, parsed
from assets.graph import texts
from pitlake.contract import Dataset
from pitlake.datasets import _shared as shared
from pitlake.errors import RecordRefused

FILING_WINDOW = """
MATCH (r:Report)
WHERE r.created >= $lo AND r.created < $hi
"""

UNDATED_FILING = """
MATCH (r:Report)
WHERE NOT coalesce(r.created =~ $dated, false)
"""

COMPANIES = """
WITH r,
     [(r)-[:PRIMARY_FILER]->(c:Company) | [c.cik, c.ticker]] AS filers,
     [(r)-[:REFERENCED_IN]->(c:Company) | [c.cik, c.ticker]] AS referenced
"""

TEXTS_A_PULL = 250

FILING_FIELDS = """
       r.created AS created, coalesce(r.accessionNo, r.id) AS accession_no, r.formType AS form_type,
       r.cik AS report_cik, filers, referenced
"""


def place_filing(record: Record, run: RunFacts, evidence: str) -> Place:
    """Return the place of a filing or its content: EDGAR's release, which follows from form and acceptance."""
    if texts.word(record.get("accession_no")) is None:
        return Place(evidence, reason=shared.NO_FILING.reason)
    accepted = texts.readable(texts.published, record["created"])
    if accepted is None:
        return Place(evidence, day=texts.leading_day(record["created"]), reason=shared.UNDATED_FILING.reason)
    if withheld(record.get("form_type")):
        return Place(evidence, day=texts.leading_day(record["created"]), reason=shared.WITHHELD.reason)
    release = released(accepted, texts.word(record.get("form_type")), None, as_accepted=run.as_accepted)
    return dated(evidence, release.at, (shared.RELEASE_RULE.name, release.rule))


def filing_values(record: Record) -> dict[str, Any]:
    """Return the first columns of every filing dataset."""
    cik, ticker = company(record)
    return {
        "accession_no": texts.word(record["accession_no"]),
        "form_type": texts.word(record["form_type"]),
        "cik": cik,
        "ticker": ticker,
    }


def company(record: Record) -> tuple[str | None, str | None]:
    """Return CIK and ticker of the primary filer or of the first referenced company, or the report's own CIK.

    Of several primary filers, the one with the report's own CIK is used, otherwise the one with the lowest CIK.
    """
    own = texts.readable(texts.cik, record.get("report_cik"))
    linked = linked_companies(record.get("filers")) or linked_companies(record.get("referenced"))
    if not linked:
        return own, None
    return min(linked, key=lambda pair: (pair[0] != own, pair))


def linked_companies(pairs: Any) -> list[tuple[str, str | None]]:
    """Return the (CIK, ticker) pairs of a pattern comprehension, sorted, without pairs that have no readable CIK."""
    return _linked(tuple(map(tuple, pairs or ())))


@lru_cache(maxsize=texts.TEXTS_REMEMBERED)  # Every fact of a filing names the same companies.
def _linked(pairs: tuple[tuple[Any, Any], ...]) -> list[tuple[str, str | None]]:
    linked = ((texts.readable(texts.cik, cik), texts.word(ticker)) for cik, ticker in pairs)
    return sorted(
        {(cik, ticker) for cik, ticker in linked if cik is not None}, key=lambda pair: (pair[0], pair[1] or "")
    )


def required(values: dict[str, Any], *columns: str) -> dict[str, Any]:
    """Return the values if none of these columns is null. Otherwise raises RecordRefused("<column> is unreadable")."""
    for column in columns:
        if values[column] is None:
            raise RecordRefused(f"{column} is unreadable")
    return values


def content_extractor(
    dataset: Dataset, *, relation: str, label: str, fields: str, parsers: dict[str, Any], name: str = ""
) -> Extractor:
    """Return the extractor of a label that is linked to a Report by `relation`.

    fields: the label's properties, aliased by column.

    name: the column that distinguishes the contents of one filing.
    """
    tail = f"MATCH (r)-[:{relation}]->(s:{label})\nRETURN s.id AS node, {fields},{FILING_FIELDS}"
    orphans = f"MATCH (s:{label})\nWHERE NOT EXISTS {{ (s)<-[:{relation}]-(:Report) }}\nRETURN s.id AS node"

    def locate(record: Record, run: RunFacts) -> Place:
        return place_filing(record, run, texts.node(label, record["node"]))

    def values(record: Record) -> dict[str, Any]:
        row = filing_values(record) | parsed(record, parsers)
        return required(row, name) if name else row

    return Extractor(
        dataset=dataset,
        windows=(FILING_WINDOW + COMPANIES + tail,),
        sweeps=(UNDATED_FILING + COMPANIES + tail, orphans),
        locate=locate,
        values=values,
        batch=TEXTS_A_PULL,
        trail=MOST_DAYS_UNRELEASED,
        trail_of=days_unreleased,
    )
