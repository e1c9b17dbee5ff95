"""Dataset `reports`: one row per SEC filing, dated by its release on EDGAR. Cypher and pure functions."""

import re
from typing import Any

from assets.edgar import MOST_DAYS_UNRELEASED, days_unreleased
from assets.extraction import Extractor, Place, Record, RunFacts, parsed
from assets.graph import _filings, texts
from pitlake.datasets.reports import DATASET
from pitlake.errors import Unreadable

FIELDS = f"""
RETURN r.periodOfReport AS period_of_report, r.isAmendment AS is_amendment, r.items AS items, r.entities AS entities,
       r.description AS description, r.market_session AS market_session, r.linkToHtml AS link_html,
       r.linkToTxt AS link_txt, r.primaryDocumentUrl AS primary_document_url, r.exhibits AS exhibits,
{_filings.FILING_FIELDS}"""

ITEM = re.compile(r"(?:Item )?[0-9]{1,2}\.[0-9]{2}\b.*", re.DOTALL | re.ASCII)


def items(value: Any) -> list[str] | None:
    """Return the items of a filing. Raises Unreadable for plain text that is not an item, such as a damaged array."""
    members = texts.strings(value)
    if members == [str(value).strip()] and not ITEM.fullmatch(members[0]):
        raise Unreadable("no list of items")
    return members


PARSERS = {
    "period_of_report": texts.day,
    "is_amendment": texts.flag,
    "items": items,
    "entities": texts.json_or_text,
    "description": texts.text,
    "market_session": texts.word,
    "link_html": texts.word,
    "link_txt": texts.word,
    "primary_document_url": texts.word,
    "exhibits": texts.json_or_text,
    "created": texts.instant,
}


def locate(record: Record, run: RunFacts) -> Place:
    """Return the filing's release."""
    return _filings.place_filing(record, run, texts.node("Report", record["accession_no"]))


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a filing, with all linked companies."""
    filers = _filings.linked_companies(record["filers"])
    referenced = _filings.linked_companies(record["referenced"])
    role = "primary_filer" if filers else "referenced" if referenced else "none"
    tickers = sorted({ticker for _, ticker in [*filers, *referenced] if ticker is not None})
    return {**_filings.filing_values(record), "role": role, "tickers": tickers, **parsed(record, PARSERS)}


EXTRACTOR = Extractor(
    dataset=DATASET,
    windows=(_filings.FILING_WINDOW + _filings.COMPANIES + FIELDS,),
    sweeps=(_filings.UNDATED_FILING + _filings.COMPANIES + FIELDS,),
    locate=locate,
    values=values,
    trail=MOST_DAYS_UNRELEASED,
    trail_of=days_unreleased,
)
