"""Shared code of bars of all lengths: parses both forms of an answer, JSON and CSV, into one record per bar.

This module does not decide dates.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from itertools import zip_longest
from typing import Any

from assets.external.alpha_vantage._spelling import answer_about, required_number
from assets.extraction import Record
from assets.feeds import dating, fields
from assets.feeds.feed import Scope, Unit, unit_per_ticker
from assets.feeds.items import Came, parsed_or_text
from pitlake.errors import BadInput, Unparsable, Unreadable
from resources.http.capture import Capture
from resources.http.csv_lines import cells

ZONES = {"US/Eastern", "America/New_York"}
# "VOD.LON" is a London listing, "BRK.B" a share class.
EXCHANGE_LETTERS = 2
FIGURES = ("open", "high", "low", "close", "volume")
PARSERS = dict.fromkeys(FIGURES[:-1], required_number) | {"volume": fields.whole}


def listed_in_new_york(scope: Scope) -> Sequence[Unit]:
    """Return one unit per ticker. Raises BadInput for listings elsewhere, which may close later than New York."""
    units = unit_per_ticker(scope)
    for unit in units:
        if len(unit.name.rpartition(".")[2]) >= EXCHANGE_LETTERS and "." in unit.name:
            raise BadInput("tickers", f"{unit.name} is not listed in New York", "leave it out: its close is not known")
    return units


def figures_of(record: Record) -> object:
    """Return the figures of a bar from either form of answer."""
    return [record.get(name) for name in FIGURES]


def bars(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    """Yield one record per bar: ticker, stamp, interval, zone, seen_at, and the figures as text."""
    for capture in captures:
        shared = {
            "ticker": unit.name,
            "interval": dict(capture.params).get("interval", ""),
            "zone": "US/Eastern",
            "seen_at": seen_at(capture),
        }
        as_object = capture.text().lstrip().startswith("{")
        for bar in _of_object(unit, capture) if as_object else _of_lines(capture):
            yield {**shared, **bar}, capture


def days(bars: Iterable[Came]) -> set[date]:
    read = (parsed_or_text(dating.day, str(record["stamp"])[:10]) for record, _ in bars)
    return {day for day in read if isinstance(day, date)}


def seen_at(capture: Capture) -> datetime:
    """Return when the answer was made, by our clock or the provider's, whichever is earlier.

    A bar is finished only if it had ended by both clocks.
    """
    try:
        return min(capture.fetched_at, dating.rfc2822(capture.headers.get("date")))
    except Unreadable:
        return capture.fetched_at


def _of_object(unit: Unit, capture: Capture) -> Iterator[dict[str, Any]]:
    answer = capture.json()
    about = answer.get("Meta Data")
    about = {_plain(name): str(value) for name, value in about.items()} if isinstance(about, dict) else {}
    answer_about(unit.name, about.get("Symbol"), capture.evidence)
    facts = {"zone": about.get("Time Zone"), "interval": about.get("Interval")}
    for name, series in answer.items():
        if "Time Series" in name and isinstance(series, dict):
            for stamp, figures in series.items():
                plain = {_plain(key): value for key, value in figures.items()} if isinstance(figures, dict) else {}
                yield {key: value for key, value in facts.items() if value} | plain | {"stamp": stamp}


def _of_lines(capture: Capture) -> Iterator[dict[str, Any]]:
    lines = cells(capture)
    header = next(lines, [])
    if "timestamp" not in header:
        raise Unparsable(capture.evidence, "the lines have no timestamp")
    for line in lines:
        # Extra cells can't be assigned to columns. A missing figure only turns its own bar into a gap.
        if len(line) > len(header):
            raise Unparsable(capture.evidence, "a line has more cells than its header")
        bar = dict(zip_longest(header, line))
        yield {name: bar.get(name) for name in FIGURES} | {"stamp": bar["timestamp"]}


def _plain(name: str) -> str:
    """Return a field's name without its number: "1. open" is "open"."""
    return name.split(". ", 1)[-1]
