"""Parsers for EDGAR's identifiers and list columns, such as CIKs and accession numbers, and addresses. Pure.

Independent of datasets.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from functools import lru_cache
from typing import Any

from assets.feeds import dating, fields
from assets.feeds.feed import Scope, Unit
from pitlake.errors import BadInput, Unreadable
from resources.http import edgar_answers
from resources.http.capture import Request
from resources.http.providers.sec_edgar import WWW

_ACCESSION = re.compile(r"\d{10}-\d{2}-\d{6}", re.ASCII)

cik = edgar_answers.cik
_day = lru_cache(maxsize=16_384)(dating.day)


def required_day(value: Any) -> date:
    """Return a day. Raises Unreadable."""
    if not isinstance(value, str):  # The cache needs a hashable value.
        raise Unreadable("no date")
    return _day(value)


def optional_day(value: Any) -> date | None:
    """Return a day, None when missing or blank. Raises Unreadable."""
    return required_day(value) if fields.word(value) else None


def optional_cik(value: Any) -> str | None:
    """Return a CIK, None when missing. Raises Unreadable."""
    return None if value is None else cik(value)


def ciks(value: Any) -> list[str]:
    """Return the CIKs of a list, sorted. Raises Unreadable."""
    return sorted({cik(member) for member in fields.objects(value)})


def accession(value: Any) -> str:
    """Return an accession number with hyphens. Raises Unreadable."""
    spelled = value.strip() if isinstance(value, str) else ""
    if not _ACCESSION.fullmatch(spelled):
        raise Unreadable("no accession number")
    return spelled


def items(value: Any) -> list[str]:
    """Return the items of an 8-K, from "2.02,9.01" or a list. Raises Unreadable."""
    if value is None or value == "":
        return []
    members = value.split(",") if isinstance(value, str) else value
    if not isinstance(members, list) or not all(isinstance(member, str) for member in members):
        raise Unreadable("no items")
    return [member.strip() for member in members if member.strip()]


def flag(value: Any) -> bool | None:
    """Return a boolean that EDGAR writes as 1 or 0. Raises Unreadable."""
    if value is None or value == "":
        return None
    if value not in (0, 1):
        raise Unreadable("no boolean")
    return bool(value)


def whole(value: Any) -> int | None:
    """Return a whole number, given as a number or text; None when missing. Raises Unreadable."""
    return None if value is None or value == "" else fields.whole(value)


def unit_per_cik(scope: Scope) -> list[Unit]:
    """Return one unit per company. Raises BadInput without CIKs, or for an invalid one."""
    if not scope.ciks:
        raise BadInput("ciks", "no company is named", "give CIKs, such as 320193")
    return [Unit(number, scope) for number in ten_digit_ciks(scope.ciks)]


def ten_digit_ciks(spellings: Iterable[str]) -> list[str]:
    """Return CIKs as ten digits, in order and without duplicates. Raises BadInput for an invalid CIK."""
    try:
        return list(dict.fromkeys(cik(spelling) for spelling in spellings))
    except Unreadable:
        raise BadInput("ciks", "one of them is not a CIK", "give CIKs as digits, such as 320193") from None


def option(options: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    """Return an option of the scope; the default is the first choice. Raises BadInput."""
    chosen = options.get(name) or choices[0]
    if chosen not in choices:
        raise BadInput(f"options.{name}", f"there is no {chosen!r}", f"choose one of {', '.join(choices)}")
    return chosen


def header_request(of_cik: str, accession_no: str) -> Request:
    """Return the request for the SGML header of a filing."""
    folder = accession_no.replace("-", "")
    return Request(f"/Archives/edgar/data/{int(of_cik)}/{folder}/{accession_no}.hdr.sgml", host=WWW)


def address(of_cik: str, accession_no: str, document: str | None) -> str:
    """Return the address of a filing's document, or of the filing's folder."""
    return f"https://www.sec.gov/Archives/edgar/data/{int(of_cik)}/{accession_no.replace('-', '')}/{document or ''}"
