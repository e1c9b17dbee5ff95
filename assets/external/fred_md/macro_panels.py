"""Dataset `macro_panels`: FRED-MD's monthly files, each one vintage of the panel. Pure but for `collect`."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any

from assets.external import dating, fields
from assets.external.feed import Feed, Fetch, Scope, Unit
from assets.external.items import named
from assets.extraction import Place, Record, RunFacts, dated, parsed
from pitlake.clock import start_of_new_york_day
from pitlake.datasets import _answers as answers
from pitlake.datasets import macro_panels as contract
from pitlake.datasets.macro_panels import DATASET
from pitlake.errors import BadInput, RecordRefused, Unparsable, Unreadable
from resources.http.capture import Capture, Request
from resources.http.lines import cells
from resources.http.providers.fred_md import PROVIDER

_VINTAGE = re.compile(r"([1-9]\d{3}-(?:0[1-9]|1[0-2]))(?:-md)?\.csv", re.ASCII)
_MONTH = re.compile(r"(\d{1,2})/1/(\d{4})", re.ASCII)
CODES = ("transform:", "transform")
MONTH_COLUMN = "sasdate"


def units(scope: Scope) -> Sequence[Unit]:
    """One unit a file: the months in `series`, such as 2023-12. Raises BadInput when none is named."""
    if not scope.series:
        raise BadInput("series", "no vintage is named", "name months such as 2023-12")
    return [Unit(month, scope) for month in scope.series]


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """The month's file."""
    yield fetch(Request(f"{unit.name}-md.csv"))


def records(_unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """A record per month and series that has a value. Raises Unparsable without a header, or for no lines of cells."""
    for capture in captures:
        lines = cells(capture)
        header = next(lines, [])
        if not header or header[0] != MONTH_COLUMN or len(set(header)) != len(header):
            raise Unparsable(capture.evidence, "the panel has another header")
        facts = {"vintage": _vintage(capture.url), "modified": capture.headers.get("last-modified")}
        codes: dict[str, str] = {}
        for line in lines:
            if line and line[0].strip().lower() in CODES:
                codes = dict(zip(header, line, strict=False))
            elif any(cell.strip() for cell in line):
                yield from ((record, capture) for record in _month(header, line, codes, facts))


def _month(header: list[str], line: list[str], codes: dict[str, str], facts: dict[str, Any]) -> Iterator[Record]:
    """The values of one month; a line of another length is one record that becomes a gap. Blank cells say nothing."""
    if len(line) != len(header):
        yield {"problem": answers.OTHER_SHAPE.reason, "month": line[0]}
        return
    for name, cell in zip(header[1:], line[1:], strict=True):
        if cell.strip():
            yield {**facts, "series": name, "month": line[0], "value": cell, "code": codes.get(name)}


def _vintage(url: str) -> str | None:
    found = _VINTAGE.search(url)
    return found[1] if found else None


def locate(record: Record, run: RunFacts) -> Place:
    """When the provider last wrote the file, if not before the vintage's month; else when it was fetched."""
    evidence = named(run, record, record["month"], record.get("series", ""))
    if "problem" in record:
        return Place(evidence, reason=record["problem"])
    if record["vintage"] is None:
        return Place(evidence, reason=contract.NO_NAME.reason)
    return dated(evidence, _written(record["modified"], record["vintage"]) or run.fetched_at or run.observed_at)


def _written(stated: str | None, vintage: str) -> datetime | None:
    first = start_of_new_york_day(date.fromisoformat(f"{vintage}-01"))
    try:
        return dating.rfc2822(stated, max(first, dating.ONLINE))
    except Unreadable:
        return None


def values(record: Record) -> dict[str, Any]:
    """The business columns of one cell."""
    found = parsed({"value": record["value"], "observation_date": record["month"]}, PARSERS)
    if found["value"] is None:
        raise RecordRefused("value is unreadable")
    try:
        code = int(fields.number(record["code"]) or 0) or None
    except Unreadable:
        code = None
    return found | {"series": record["series"], "vintage": record["vintage"], "transformation": code}


def _first_of_month(spelled: Any) -> date:
    found = _MONTH.fullmatch(str(spelled).strip())
    if not found:
        raise Unreadable("no month")
    try:
        return date(int(found[2]), int(found[1]), 1)
    except ValueError:
        raise Unreadable("no month") from None


PARSERS = {"value": fields.number, "observation_date": _first_of_month}

FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    units=units,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
)
