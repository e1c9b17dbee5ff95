"""The formats of EDGAR's JSON about a company: submissions, their older pages, and facts. Pure.

The judge of answers and the feeds use the same functions, which raise Unreadable for another format or another company.
An answer that is read without an error may still contain unreadable values.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pitlake.errors import Unreadable

COLUMNS = (
    "accessionNumber", "acceptanceDateTime", "form", "filingDate", "reportDate", "items", "act", "fileNumber",
    "filmNumber", "size", "isXBRL", "isInlineXBRL", "primaryDocument", "primaryDocDescription",
)  # fmt: skip
"""The columns of filings that are used."""

_CIK = re.compile(r"(?:CIK)?0*([1-9]\d{0,9})", re.ASCII | re.IGNORECASE)
_ANSWER = re.compile(r"/(submissions|companyfacts|companyconcept)/CIK(\d{10})(-submissions-\d+)?\b", re.ASCII)
_WIDE = 10


def cik(value: Any) -> str:
    """Return a CIK as ten digits, from a number or a string. Raises Unreadable."""
    match = None if isinstance(value, bool) else _CIK.fullmatch(str(value).strip())
    if not match:
        raise Unreadable("no CIK")
    return match[1].zfill(_WIDE)


def check(url: str, answer: Any) -> None:
    """Check the format of the answer to a URL. Raises Unreadable. Other answers are not checked."""
    match = _ANSWER.search(url)
    if match is None:
        return
    kind, company, is_page = match.groups()
    if kind != "submissions":
        for _ in fact_units(answer, company):
            pass
        return
    filing_columns(url, answer)
    if not is_page:
        older_pages(answer, company)


def submissions(answer: Any, company: str) -> Mapping[str, Any]:
    """Return the member `filings` of a company's main answer."""
    _check_company(answer, company)
    filings = answer.get("filings")
    if not isinstance(filings, dict) or not isinstance(filings.get("recent"), dict):
        raise Unreadable("filings has an unknown format")
    return filings


def filing_columns(url: str, answer: Any) -> list[list[Any]]:
    """Return the columns of filings in an answer with submissions or an older page."""
    match = _ANSWER.search(url)
    filings = answer if match is None or match[3] else submissions(answer, match[2])["recent"]
    if not isinstance(filings, dict):
        raise Unreadable("filings has an unknown format")
    columns = [column for name in COLUMNS if isinstance(column := filings.get(name), list)]
    if len(columns) < len(COLUMNS):
        raise Unreadable("a column of the filings is gone")
    if len(set(map(len, columns))) > 1:
        raise Unreadable("its columns differ in length")
    return columns


def older_pages(answer: Any, company: str) -> list[Mapping[str, Any]]:
    """Return the descriptions of a company's older pages in its main answer."""
    pages = submissions(answer, company).get("files") or []
    if not isinstance(pages, list) or not all(isinstance(page, dict) for page in pages):
        raise Unreadable("its list of pages has an unknown format")
    names = [page.get("name") for page in pages]
    if not all(isinstance(page, str) and re.fullmatch(rf"CIK{company}-submissions-\d+\.json", page) for page in names):
        raise Unreadable("its list of pages names other files")
    return pages


def fact_units(answer: Any, company: str) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield the concept, the unit and the facts of each list in an answer about one concept or all concepts."""
    _check_company(answer, company)
    alone = "tag" in answer
    taxonomies: Any = {str(answer.get("taxonomy")): {str(answer["tag"]): answer}} if alone else answer.get("facts")
    if not isinstance(taxonomies, dict):
        raise Unreadable("facts has an unknown format")
    for taxonomy, concepts in taxonomies.items():
        if not isinstance(concepts, dict):
            raise Unreadable("a taxonomy has an unknown format")
        for name, concept in concepts.items():
            if not isinstance(concept, dict) or not isinstance(concept.get("units"), dict):
                raise Unreadable("a concept has an unknown format")
            for unit, facts in concept["units"].items():
                if not isinstance(facts, list) or not set(map(type, facts)) <= {dict, tuple}:
                    raise Unreadable("a unit is not a list of facts")
                yield f"{taxonomy}:{name}", unit, facts


def _check_company(answer: Any, company: str) -> None:
    try:
        company_named = cik(answer.get("cik"))
    except (AttributeError, Unreadable):
        raise Unreadable("it does not name a company") from None
    if company_named != company:
        raise Unreadable("it is about another company")
