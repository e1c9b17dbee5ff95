"""Dataset `av_period_bars`: raw weekly and monthly bars of Alpha Vantage, dated by their period's last close."""

from calendar import monthrange
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Any

from assets.external.alpha_vantage import _bars
from assets.external.alpha_vantage._spelling import PATH
from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import dating
from assets.feeds.bars import counts_from, with_traded
from assets.feeds.feed import Feed, Fetch, Scope, Unit, Whole, one_entity
from assets.feeds.items import TWICE, Came, evidence_of, mark_repeats
from pitlake.datasets import _figures as figures
from pitlake.datasets import av_period_bars as contract
from pitlake.datasets.av_period_bars import DATASET
from pitlake.errors import BadInput, Unreadable
from pitlake.exchange import last_session_day, sessions_over
from resources.http.capture import Capture, Request
from resources.http.providers.alpha_vantage import PROVIDER

FUNCTIONS = {"week": "TIME_SERIES_WEEKLY", "month": "TIME_SERIES_MONTHLY"}
WEEKDAYS = 5


def units(scope: Scope) -> Sequence[Unit]:
    """Return one unit per ticker. Raises BadInput for a `period` other than week (the default) or month."""
    if _period(scope) not in FUNCTIONS:
        raise BadInput(
            "options.period", f"there are no bars of {_period(scope)!r}", f"choose one of {', '.join(FUNCTIONS)}"
        )
    return _bars.listed_in_new_york(scope)


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Yield the whole raw series."""
    yield fetch(Request(PATH, {"function": FUNCTIONS[_period(unit.scope)], "symbol": unit.name}))


def whole(unit: Unit, _captures: Sequence[Capture]) -> Whole:
    """Return every bar of the period."""
    period = _period(unit.scope)
    return Whole(unit.name, (("period", period, period),))


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    period = _period(unit.scope)
    traded = with_traded(lambda: _bars.bars(unit, captures))
    bars = (({**bar, "period": period}, capture) for bar, capture in traded)
    return mark_repeats(bars, _name, _bars.figures_of)


def locate(record: Record, run: RunFacts) -> Place:
    """Return when a period's bar became available, if the answer is later and the bar includes the last session."""
    evidence = evidence_of(run, record, record["ticker"], record["period"], _name(record))
    try:
        day = _day(record)
    except Unreadable:
        return Place(evidence, reason=contract.NO_DAY.reason)
    if TWICE in record:
        return Place(evidence, day=day, reason=figures.TOLD_TWICE.reason)
    if record["zone"] not in _bars.ZONES:
        return Place(evidence, day=day, reason=figures.OTHER_ZONE.reason)
    days = days_of(record["period"], day)
    last, over_at = last_session_day(days), sessions_over(days)
    if last is None or over_at is None:
        return Place(evidence, day=day, reason=contract.NO_SESSION.reason)
    at = counts_from(over_at, record, DATASET, run)
    if record["seen_at"] < at:
        return Place(evidence, day=day, reason=figures.UNFINISHED.reason)
    if day < last:
        return Place(evidence, day=day, reason=contract.ENDS_EARLY.reason)
    return dated(evidence, at)


def values(record: Record) -> dict[str, Any]:
    period, days = record["period"], days_of(record["period"], _day(record))
    dates = {"period_start": days[0], "last_session": last_session_day(days)}
    return parsed(record, _bars.PARSERS) | {"ticker": record["ticker"], "period": period} | dates


def days_of(period: str, day: date) -> list[date]:
    """Return the weekdays of a day's week, or the days of its month."""
    if period == "week":
        first, length = day - timedelta(days=day.weekday()), WEEKDAYS
    else:
        first, length = day.replace(day=1), monthrange(day.year, day.month)[1]
    return [first + timedelta(days=number) for number in range(length)]


def _period(scope: Scope) -> str:
    return scope.options.get("period", "week")


def _day(record: Record) -> date:
    """Return the day of a bar. Raises Unreadable, also for the calendar's last day, which has no end."""
    day = dating.day(record["stamp"])
    dating.end_of_day(day)
    return day


def _name(record: Record) -> str:
    """Return the first day of the bar's period, or the bar's timestamp if it is not a date."""
    try:
        return days_of(record["period"], _day(record))[0].isoformat()
    except Unreadable:
        return str(record["stamp"])


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
