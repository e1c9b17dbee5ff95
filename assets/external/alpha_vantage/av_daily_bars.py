"""Dataset `av_daily_bars`: raw daily bars of Alpha Vantage, dated by the exchange's close."""

from collections.abc import Iterator, Sequence
from typing import Any

from assets.external.alpha_vantage import _bars
from assets.external.alpha_vantage._spelling import PATH
from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import dating
from assets.feeds.bars import counts_from, with_traded
from assets.feeds.feed import Feed, Fetch, Scope, Unit, Whole, one_entity
from assets.feeds.items import TWICE, Came, evidence_of, mark_repeats, parsed_or_text
from pitlake.datasets import _figures as figures
from pitlake.datasets import av_daily_bars as contract
from pitlake.datasets.av_daily_bars import DATASET
from pitlake.errors import Unreadable
from pitlake.exchange import session
from resources.http.capture import Capture, Request
from resources.http.providers.alpha_vantage import PROVIDER

COMPACT = 100


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch the raw series. Option `outputsize` is compact (100 days, the default) or full."""
    size = unit.scope.options.get("outputsize", "compact")
    yield fetch(Request(PATH, {"function": "TIME_SERIES_DAILY", "symbol": unit.name, "outputsize": size}))


def whole(unit: Unit, captures: Sequence[Capture]) -> Whole:
    """Return the completely read part: all days, or the days since the first one of a full compact answer."""
    days = sorted(_bars.days(_bars.bars(unit, captures)))
    cut = unit.scope.options.get("outputsize") != "full" and len(days) >= COMPACT
    return Whole(unit.name, (("date", days[0].isoformat(), None),) if cut else ())


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    bars = with_traded(lambda: _bars.bars(unit, captures))
    return mark_repeats(bars, lambda bar: parsed_or_text(dating.day, bar["stamp"]), _bars.figures_of)


def locate(record: Record, run: RunFacts) -> Place:
    """Return when the bar of a day became available, if the answer was made after that."""
    evidence = evidence_of(run, record, record["ticker"], record["stamp"])
    try:
        day = dating.day(record["stamp"])
        dating.end_of_day(day)  # The calendar's last day has no following day.
    except Unreadable:
        return Place(evidence, reason=contract.NO_DAY.reason)
    if TWICE in record:
        return Place(evidence, day=day, reason=figures.TOLD_TWICE.reason)
    if record["zone"] not in _bars.ZONES:
        return Place(evidence, day=day, reason=figures.OTHER_ZONE.reason)
    hours = session(day)
    if hours is None:
        return Place(evidence, day=day, reason=figures.NO_SESSION.reason)
    at = counts_from(hours.close, record, DATASET, run)
    if record["seen_at"] < at:
        return Place(evidence, day=day, reason=figures.UNFINISHED.reason)
    return dated(evidence, at)


def values(record: Record) -> dict[str, Any]:
    return parsed(record, _bars.PARSERS) | {"ticker": record["ticker"], "date": dating.day(record["stamp"])}


FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(tickers=("QACB",)),
    units=_bars.listed_in_new_york,
    entity_of=one_entity,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
    whole=whole,
)
