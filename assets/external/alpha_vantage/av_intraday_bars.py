"""Dataset `av_intraday_bars`: raw intraday bars of Alpha Vantage, dated by their end.

The source does not say whether a bar's time is its start or its end. Today it is the start: the bar 15:55 ends at the
official close, the bar 16:00 contains the closing auction, and the last bar of a day is 19:55, not 20:00. Answers from
2018 do not show which one was used. Time plus length is never early in either case.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from assets.external.alpha_vantage import _bars
from assets.external.alpha_vantage._spelling import PATH
from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import dating
from assets.feeds.feed import Feed, Fetch, Scope, Unit, Whole, one_entity
from assets.feeds.items import TWICE, Came, evidence_of, mark_repeats, parsed_or_text
from pitlake.clock import new_york_day
from pitlake.datasets import _figures as figures
from pitlake.datasets import av_intraday_bars as contract
from pitlake.datasets.av_intraday_bars import DATASET
from pitlake.errors import BadInput, RecordRefused, Unreadable
from pitlake.exchange import session_by
from pitlake.lake.publishing.polls import Bounds
from pitlake.times import stated
from resources.http.capture import Capture, Request
from resources.http.providers.alpha_vantage import PROVIDER

INTERVALS = {f"{minutes}min": timedelta(minutes=minutes) for minutes in (1, 5, 15, 30, 60)}
TRAILING = timedelta(days=30)
STAMP = "%Y-%m-%d %H:%M:%S"


def units(scope: Scope) -> list[Unit]:
    """Return one unit per ticker. Raises BadInput for an unknown interval, or only one end of the window."""
    interval = scope.options.get("interval", "5min")
    if interval not in INTERVALS:
        raise BadInput(
            "options.interval", f"there are no bars of {interval!r}", f"choose one of {', '.join(INTERVALS)}"
        )
    if (scope.date_from is None) != (scope.date_to is None):
        raise BadInput("date_from", "a range of months needs two days", "give date_from and date_to, or neither")
    return list(_bars.listed_in_new_york(scope))


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch the months from date_from to date_to, or the last 30 days; unadjusted, all hours."""
    scope = unit.scope
    for month in _months(scope.date_from, scope.date_to) if scope.date_from and scope.date_to else [None]:
        yield fetch(
            Request(
                PATH,
                {
                    "function": "TIME_SERIES_INTRADAY",
                    "symbol": unit.name,
                    "interval": scope.options.get("interval", "5min"),
                    "adjusted": "false",
                    "extended_hours": "true",
                    "outputsize": "full",
                    "month": month,
                },
                settled_at=None if month is None else _end_of(month),
            )
        )


def whole(unit: Unit, captures: Sequence[Capture]) -> Whole:
    """Return the completely read part: all bars of the months, or of the last 30 days except the truncated first."""
    scope, interval = unit.scope, unit.scope.options.get("interval", "5min")
    bounds: Bounds = (("interval", interval, interval),)
    if scope.date_from and scope.date_to:
        months = [month for month in _months(scope.date_from, scope.date_to) if month]
        bounds += (("bar_start", f"{months[0]}-01", f"{months[-1]}-31"),)
    elif captures:
        days = _bars.days(_bars.bars(unit, captures)) or {new_york_day(captures[0].fetched_at) - TRAILING}
        bounds += (("bar_start", (min(days) + timedelta(days=1)).isoformat(), None),)
    return Whole(unit.name, bounds)


def _months(first: date, last: date) -> list[str | None]:
    numbers = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
    return [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in numbers]


def _end_of(month: str) -> datetime:
    last = date(int(month[:4]), int(month[5:]), 1) + timedelta(days=31)
    return dating.end_of_day(last.replace(day=1) - timedelta(days=1))


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    """Return one record per bar, over all months."""
    bars = _bars.bars(unit, captures)
    return mark_repeats(bars, lambda bar: (bar["interval"], parsed_or_text(start_of, bar["stamp"])), _bars.figures_of)


def locate(record: Record, run: RunFacts) -> Place:
    """Return the bar's time plus its length, if the answer was made after it."""
    evidence = evidence_of(run, record, record["ticker"], record["interval"], record["stamp"])
    try:
        start = start_of(record["stamp"])
    except Unreadable:
        return Place(evidence, reason=contract.NO_TIME.reason)
    day = new_york_day(start)
    if TWICE in record:
        return Place(evidence, day=day, reason=figures.TOLD_TWICE.reason)
    length = INTERVALS.get(record["interval"])
    if length is None:
        return Place(evidence, day=day, reason=contract.NO_INTERVAL.reason)
    if record["zone"] not in _bars.ZONES:
        return Place(evidence, day=day, reason=figures.OTHER_ZONE.reason)
    if record["seen_at"] - length < start:
        return Place(evidence, day=day, reason=figures.UNFINISHED.reason)
    return dated(evidence, start + length)


def start_of(stamp: Any) -> datetime:
    """Return a bar's time in New York; the later instant if the time occurs twice. Raises Unreadable."""
    return dating.new_york_clock(stated(stamp, STAMP))


def values(record: Record) -> dict[str, Any]:
    start = start_of(record["stamp"])
    return parsed(record, _bars.PARSERS) | {
        "ticker": record["ticker"],
        "interval": record["interval"],
        "bar_start": start,
        "market_session": market_session(start),
    }


def market_session(start: datetime) -> str:
    """Return a bar's part of the trading day. Raises RecordRefused on days without a session."""
    hours = session_by(new_york_day(start), start)
    if hours is None:
        raise RecordRefused(figures.NO_SESSION.reason)
    if start < hours.open:
        return "pre_market"
    return "in_market" if start < hours.close else "post_market"


FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(tickers=("QACB",)),
    units=units,
    entity_of=one_entity,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
    whole=whole,
)
