"""Dataset `macro_panels`: FRED-MD's monthly files, each a vintage of the panel. Pure except for `collect`."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any

from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import dating, fields
from assets.feeds.feed import Feed, Fetch, Scope, Unit, Whole
from assets.feeds.items import evidence_of
from pitlake.clock import start_of_new_york_day
from pitlake.datasets import _answers as answers
from pitlake.datasets import macro_panels as contract
from pitlake.datasets.macro_panels import DATASET
from pitlake.errors import BadInput, RecordRefused, Unparsable, Unreadable
from resources.http.capture import Capture, Request
from resources.http.csv_lines import cells
from resources.http.providers.fred_md import PROVIDER

_VINTAGE = re.compile(r"([1-9]\d{3}-(?:0[1-9]|1[0-2]))(?:-md)?\.csv", re.ASCII)
# Formats of months in a file's first column. The first format that fits the most lines is used.
_SPELLINGS = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        r"(?P<month>\d{1,2})/0?1/(?P<year>\d{4})(?: 0?0:00(?::00)?)?",
        r"0?1[./-](?P<month>\d{1,2})[./-](?P<year>\d{4})",
        r"(?P<month>\d{1,2})/\d{1,2}/(?P<year>\d{4})",
        r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})(?:[-/.]\d{1,2})?(?:[T ]00:00(?::00)?)?",
        r"(?P<year>\d{4})(?P<month>\d{2})(?:\d{2})?",
        r"(?P<year>\d{4})[:mM](?P<month>\d{1,2})",
        r"(?P<month>\d{1,2})[/-](?P<year>\d{4})",
        r"(?:\d{1,2}[- ])?(?P<month>[A-Za-z]{3})[A-Za-z]*[- ](?:\d{1,2}, )?(?P<year>\d{4})",
    )
)
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
CODES = ("transform:", "transform")
MONTH_COLUMN = "sasdate"


def units(scope: Scope) -> Sequence[Unit]:
    """Return one unit per file: the months in `series`, such as 2023-12. Raises BadInput when none is named."""
    if not scope.series:
        raise BadInput("series", "no vintage is named", "name months such as 2023-12")
    return [Unit(month, scope) for month in scope.series]


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch the month's file."""
    yield fetch(Request(f"{unit.name}-md.csv"))


def records(_unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """Yield one record per month and series with a value.

    Raises Unparsable if the header or all lines of cells are missing, or if no line names a month.
    """
    for capture in captures:
        lines = cells(capture)
        header = next(lines, [])
        if not header or header[0] != MONTH_COLUMN or len(set(header)) != len(header):
            raise Unparsable(capture.evidence, "the panel has another header")
        match = _VINTAGE.search(capture.url)
        facts = {"vintage": match[1] if match else None, "modified": capture.headers.get("last-modified")}
        filled = [line for line in lines if any(cell.strip() for cell in line)]
        panel = [line for line in filled if line[0].strip().lower() not in CODES]
        codes = next((dict(zip(header, line, strict=False)) for line in filled if line not in panel), {})
        # The months are parsed with whichever date format fits the most rows.
        months = max(
            ([_first_of_month(spelling, line[0]) for line in panel] for spelling in _SPELLINGS),
            key=lambda column: len(set(column) - {None}),
        )
        if panel and not any(months):
            raise Unparsable(capture.evidence, "the panel has no months")
        for line, month in zip(panel, months, strict=True):
            # A line with another length than the header, or without a month, becomes a gap.
            if len(line) != len(header) or month is None:
                reason = "observation_date is unreadable" if month is None else answers.OTHER_SHAPE.reason
                yield {**facts, "problem": reason, "month": line[0], "cells": line}, capture
                continue
            for name, cell in zip(header[1:], line[1:], strict=True):
                if cell.strip():
                    yield {**facts, "series": name, "month": month, "value": cell, "code": codes.get(name)}, capture


def _first_of_month(spelling: re.Pattern[str], spelled: str) -> date | None:
    match = spelling.fullmatch(spelled.strip())
    if not match:
        return None
    name = match["month"].lower()[:3]
    try:
        return date(int(match["year"]), _NAMES.index(name) + 1 if name.isalpha() else int(name), 1)
    except ValueError:
        return None


def locate(record: Record, run: RunFacts) -> Place:
    """Return when the provider last wrote the file, or the fetch time if that is before the vintage's month."""
    evidence = evidence_of(run, record, record.get("vintage"), record["month"], record.get("series", ""))
    if "problem" in record:
        return Place(evidence, reason=record["problem"])
    if record["vintage"] is None:
        return Place(evidence, reason=contract.NO_NAME.reason)
    return dated(evidence, _last_modified(record["modified"], record["vintage"]) or run.fetched_at or run.observed_at)


def _last_modified(header: str | None, vintage: str) -> datetime | None:
    first = start_of_new_york_day(date.fromisoformat(f"{vintage}-01"))
    try:
        return dating.rfc2822(header, max(first, dating.ONLINE))
    except Unreadable:
        return None


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of one cell."""
    row = parsed({"value": record["value"]}, {"value": fields.number})
    if row["value"] is None:
        raise RecordRefused("value is unreadable")
    try:
        code = int(fields.number(record["code"]) or 0) or None
    except Unreadable:
        code = None
    named_by = {"series": record["series"], "observation_date": record["month"]}
    return row | named_by | {"vintage": record["vintage"], "transformation": code}


FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(series=("2023-12",)),
    units=units,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
    whole=lambda unit, _: Whole(None, (("vintage", unit.name, unit.name),)),
)
