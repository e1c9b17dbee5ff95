"""SGML headers of filings: they state the acceptance in New York time, where EDGAR's JSON is ambiguous.

All functions are pure except `fetched`, which uses the function that it receives.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from assets.external.sec_edgar import _names
from assets.feeds import dating
from assets.feeds.feed import Fetch
from pitlake.errors import AnswerRefused, NotCaptured, Unreadable
from resources.http.capture import Capture

SUFFIX = ".hdr.sgml"
_ACCEPTANCE = re.compile(r"^<ACCEPTANCE-DATETIME>\s*(\S*)", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*([A-Z][A-Z0-9 ]*):(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Header:
    """The content of a header. acceptance: the original text, fourteen digits in New York time."""

    accession_no: str
    acceptance: str
    form_type: str | None
    filing_date: date | None
    report_date: date | None
    ciks: tuple[str, ...]
    items: tuple[str, ...]


def _lines(text: str) -> list[tuple[str, str]]:
    return [(label, value.strip(" \t")) for label, value in _LINE.findall(text)]


def parsed(text: str) -> Header:
    """Parse a header. Raises Unreadable if it contains no filing or no acceptance."""
    lines: dict[str, list[str]] = {}
    for name, value in _lines(text):
        lines.setdefault(name, []).append(value)
    acceptance = _ACCEPTANCE.search(text)
    if acceptance is None:
        raise Unreadable("no acceptance")
    dating.edgar_header(acceptance[1])
    return Header(
        accession_no=_names.accession(_first(lines, "ACCESSION NUMBER")),
        acceptance=acceptance[1],
        form_type=_first(lines, "CONFORMED SUBMISSION TYPE"),
        filing_date=_names.optional_day(_first(lines, "FILED AS OF DATE")),
        report_date=_names.optional_day(_first(lines, "CONFORMED PERIOD OF REPORT")),
        ciks=tuple(dict.fromkeys(map(_names.cik, lines.get("CENTRAL INDEX KEY", ())))),
        items=tuple(lines.get("ITEM INFORMATION", ())),
    )


def conformed_names(text: str) -> list[tuple[str, str]]:
    """Return each CIK in a header once, with its name."""
    names: dict[str, str] = {}
    name = ""
    for label, value in _lines(text):
        if label == "COMPANY CONFORMED NAME":
            name = value
        elif label == "CENTRAL INDEX KEY" and name:
            names.setdefault(_names.cik(value), name)
            name = ""
    return list(names.items())


def former_names(text: str) -> list[tuple[str, str, date]]:
    """Return the former names in a header, each with its CIK and the first day that EDGAR states."""
    names: list[tuple[str, str, date]] = []
    cik = name = ""
    for label, value in _lines(text):
        if label == "CENTRAL INDEX KEY":
            cik = _names.cik(value)
        elif label == "FORMER CONFORMED NAME":
            name = value
        elif label == "DATE OF NAME CHANGE" and cik and name:
            names.append((cik, name, dating.day(value)))
            name = ""
    return names


def _first(lines: dict[str, list[str]], name: str) -> str | None:
    return next(iter(lines.get(name, ())), None) or None


def fetched(filings: Iterable[tuple[str, str]], fetch: Fetch, *, if_captured: bool = False) -> Iterator[Capture]:
    """Fetch the headers of filings (CIK, accession number).

    Missing headers are skipped; the JSON then dates their filings. if_captured: whether to skip headers that a replay
    lacks, instead of raising NotCaptured. Raises AnswerRefused.
    """
    for cik, accession_no in filings:
        try:
            yield fetch(_names.header_request(cik, accession_no))
        except AnswerRefused as refusal:
            if refusal.gap_type != "no_data":
                raise
        except NotCaptured:
            if not if_captured:
                raise


def acceptances(captures: Iterable[Capture]) -> dict[str, tuple[str, Capture]]:
    """Return the acceptance of each header among captures, by accession number.

    Unreadable headers are left out. The JSON then dates their filings, at a later instant.
    """
    acceptances_by_number = {}
    for capture in captures:
        if is_header(capture):
            try:
                header = parsed(capture.text())
            except Unreadable:
                continue
            acceptances_by_number[header.accession_no] = (header.acceptance, capture)
    return acceptances_by_number


def is_header(capture: Capture) -> bool:
    return capture.url.endswith(SUFFIX)
