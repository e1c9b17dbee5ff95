"""EDGAR's index files: the filings of a day or quarter. They only locate filings and do not date them.

Form, company and master indexes are parsed alike, with any column widths and date format. sec_filings uses them to find
filings.
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from assets.external.sec_edgar import _names
from assets.feeds import dating
from pitlake.errors import Unreadable
from resources.http.capture import Request
from resources.http.providers.sec_edgar import WWW

SUFFIX = ".idx"
MONTHS_A_QUARTER = 3
_RULE = re.compile(r"-{20,}")
_FIXED = re.compile(r"(\S.*?)\s+(\d{1,10})\s+(\d{8}|\d{4}-\d{2}-\d{2})\s+(edgar/\S+)", re.ASCII)
_TWO_COLUMNS = re.compile(r"(\S+(?: \S+)*?)\s{2,}(\S.*)")
_FILE = re.compile(r"(\d{10}-\d{2}-\d{6})\.txt$", re.ASCII)


class IndexEntry(NamedTuple):
    """One line of an index. `filed` is EDGAR's filing date, not a publication date."""

    form_type: str
    company: str
    cik: str
    filed: date
    path: str
    accession_no: str


def request(day: date) -> Request:
    """Return the request for the form index of a day. EDGAR answers 403 for future days and days without filings."""
    return Request(
        f"/Archives/edgar/daily-index/{day.year}/QTR{_quarter_number(day)}/form.{day:%Y%m%d}.idx",
        host=WWW,
        settled_at=dating.end_of_day(day),
    )


def quarter_request(day: date) -> Request:
    """Return the request for the form index of a day's quarter. The current quarter's index grows daily."""
    first, last = quarter(day)
    return Request(
        f"/Archives/edgar/full-index/{first.year}/QTR{_quarter_number(first)}/form.idx",
        host=WWW,
        settled_at=dating.end_of_day(last),
    )


def quarter(day: date) -> tuple[date, date]:
    """Return the first and the last day of a day's quarter."""
    first = date(day.year, (_quarter_number(day) - 1) * MONTHS_A_QUARTER + 1, 1)
    beyond = first + timedelta(days=31 * MONTHS_A_QUARTER)
    return first, beyond.replace(day=1) - timedelta(days=1)


def _quarter_number(day: date) -> int:
    return (day.month - 1) // MONTHS_A_QUARTER + 1


def entries(text: str) -> Iterator[IndexEntry]:
    """Yield the entries below the header's rule, if any. Raises Unreadable for a line that is not an entry."""
    head, rule, body = text.partition("\n---")
    if not rule and not _RULE.search(text):
        raise Unreadable("no index")
    by_company = head.rstrip().rpartition("\n")[2].lstrip().startswith("Company")
    for line in body.splitlines()[1:]:
        if line.strip():
            yield _piped(line) if line.count("|") >= 4 else _fixed(line, by_company=by_company)


def _fixed(line: str, *, by_company: bool) -> IndexEntry:
    match = _FIXED.fullmatch(line.strip())
    names = _TWO_COLUMNS.fullmatch(match[1]) if match else None
    if not match or not names:
        raise Unreadable("no index line")
    left, right = names[1], names[2]
    if by_company:
        left, _, right = (part.strip() for part in match[1].rpartition("  "))
    form, company = (right, left) if by_company else (left, right)
    return _entry(form, company, match[2], match[3], match[4])


def _piped(line: str) -> IndexEntry:
    parts = line.strip().rsplit("|", 3)
    cik, _, company = parts[0].partition("|")
    return _entry(parts[1], company, cik, parts[2], parts[3])


def _entry(form: str, company: str, cik: str, filed: str, path: str) -> IndexEntry:
    name = _FILE.search(path)
    if not name:
        raise Unreadable("no index line")
    return IndexEntry(form.strip(), company.strip(), _names.cik(cik), dating.day(filed), path, name[1])
