"""Dataset `av_earnings_calendar`: expected reports in Alpha Vantage's calendar, dated by the fetch."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from assets.external.alpha_vantage._spelling import PATH, number, word
from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import dating
from assets.feeds.feed import Feed, Fetch, Scope, Unit, one_entity, unit_per_ticker
from assets.feeds.items import TWICE, Came, evidence_of, mark_repeats, parsed_or_text
from pitlake.datasets import _figures as figures
from pitlake.datasets import av_earnings_calendar as contract
from pitlake.datasets.av_earnings_calendar import DATASET
from pitlake.errors import BadInput, RecordRefused, Unparsable, Unreadable
from resources.http.capture import Capture, Request
from resources.http.csv_lines import cells
from resources.http.providers.alpha_vantage import PROVIDER

HORIZONS = ("3month", "6month", "12month")
EVERY = "every company"
FIELDS = ("symbol", "name", "reportDate", "fiscalDateEnding", "estimate", "currency", "timeOfTheDay")

PARSERS = {"report_date": dating.day, "estimate": number, "name": word, "time_of_day": word, "currency": word}
SPELLED = {
    "report_date": "reportDate",
    "estimate": "estimate",
    "name": "name",
    "time_of_day": "timeOfTheDay",
    "currency": "currency",
}


def units(scope: Scope) -> list[Unit]:
    """Return one unit per ticker, or one for all companies. Raises BadInput for an unknown horizon."""
    horizon = scope.options.get("horizon", HORIZONS[0])
    if horizon not in HORIZONS:
        raise BadInput("options.horizon", f"there is no horizon {horizon!r}", f"choose one of {', '.join(HORIZONS)}")
    return unit_per_ticker(scope) if scope.tickers else [Unit(EVERY, scope)]


def entity_of(unit: Unit) -> str | None:
    """Return the ticker of a unit; None for the unit of every company."""
    return None if unit.name == EVERY else one_entity(unit)


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch the calendar, which is always CSV."""
    symbol = None if unit.name == EVERY else unit.name
    horizon = unit.scope.options.get("horizon", HORIZONS[0])
    yield fetch(Request(PATH, {"function": "EARNINGS_CALENDAR", "horizon": horizon, "symbol": symbol}))


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    """Yield one record per line. A line whose length differs from the header's may be truncated and becomes a gap."""
    return mark_repeats(
        _lines(unit, captures),
        lambda line: (parsed_or_text(word, line["symbol"]), parsed_or_text(dating.day, line["fiscalDateEnding"])),
        lambda line: [line.get(name) for name in FIELDS],
    )


def _lines(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    for capture in captures:
        lines = cells(capture)
        header = next(lines, [])
        if not {"symbol", "reportDate", "fiscalDateEnding"} <= set(header):
            raise Unparsable(capture.evidence, "the lines have other columns")
        for number_of, line in enumerate(lines, start=2):
            yield {**dict(zip_longest(header, line)), "line": number_of, "asked": unit.name}, capture


def locate(record: Record, run: RunFacts) -> Place:
    """Return when the answer was fetched."""
    evidence = evidence_of(run, record, record["symbol"], record["fiscalDateEnding"])
    if run.fetched_at is None:
        raise ValueError("a calendar without the instant it was fetched at")
    reason = figures.TOLD_TWICE.reason if TWICE in record else ""
    place = dated(evidence, run.fetched_at)
    return Place(evidence, place.available_at, place.day, reason)


def values(record: Record) -> dict[str, Any]:
    if None in record or any(record.get(name) is None for name in FIELDS):
        raise RecordRefused(contract.TORN.reason)
    ticker = word(record["symbol"])
    if ticker is None:
        raise RecordRefused(contract.NO_SYMBOL.reason)
    if record["asked"] not in (EVERY, ticker):
        raise RecordRefused(figures.OTHER_TICKER.reason)
    try:
        period = dating.day(record["fiscalDateEnding"])
    except Unreadable:
        raise RecordRefused(figures.NO_PERIOD.reason) from None
    return parsed({column: record[name] for column, name in SPELLED.items()}, PARSERS) | {
        "ticker": ticker,
        "fiscal_date_ending": period,
    }


FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(tickers=("QACB",)),
    units=units,
    entity_of=entity_of,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
)
