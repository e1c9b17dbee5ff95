"""The sources of a sync, their configuration, and their requests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from assets.external import feed
from assets.feeds.feed import Scope
from assets.order import in_order
from pitlake import clock
from pitlake.clock import new_york_day
from pitlake.errors import BadInput, choice
from pitlake.lake.storage.watch_list import WatchList
from resources.http.provider import Provider
from resources.http.secrets import setting

EDGAR = "sec_edgar"
FIRST_DAY = date(2009, 1, 1)
"""The first day of news and calls if none is given."""
FIRST_PANEL = date(2015, 1, 1)
"""The first month for which FRED-MD has a file."""
DAY = timedelta(hours=20)
MOST_PAGES = 100


@dataclass(frozen=True, kw_only=True)
class Step:
    """One dataset of a source. Steps are in the order of `assets.order`.

    scope: returns the scope for a watch list on a New York day. every: how long an answer stays current; None requests
    only scopes that were never answered, and repeats a window that had not ended when it was requested. of_companies:
    whether it covers the watched tickers. without_premium: the options to use if the source refuses those of the scope
    because the key has no subscription.
    """

    dataset: str
    scope: Callable[[WatchList, date], Scope]
    every: timedelta | None = DAY
    of_companies: bool = True
    without_premium: Mapping[str, str] = field(default_factory=dict)

    @property
    def provider(self) -> Provider:
        return feed(self.dataset).provider

    @property
    def mode(self) -> str:
        return "live" if self.every is None else "refresh"


def _since_first_day(watched: WatchList, _today: date) -> Scope:
    return Scope(tickers=watched.tickers, date_from=watched.since or FIRST_DAY, max_pages=MOST_PAGES)


def _calls(watched: WatchList, today: date) -> Scope:
    months = _months(watched.since or FIRST_DAY, today)
    quarters = dict.fromkeys(f"{month[:4]}Q{(int(month[5:]) + 2) // 3}" for month in months)
    return Scope(tickers=watched.tickers, options={"quarters": ",".join(quarters)})


STEPS = (
    Step(dataset="macro_observations", scope=lambda watched, _: Scope(series=watched.series), of_companies=False),
    Step(
        dataset="av_daily_bars",
        scope=lambda watched, _: Scope(tickers=watched.tickers, options={"outputsize": "full"}),
        without_premium={"outputsize": "compact"},
    ),
    Step(dataset="av_earnings", scope=lambda watched, _today: Scope(tickers=watched.tickers)),
    Step(dataset="polygon_dividends", scope=_since_first_day),
    Step(dataset="polygon_splits", scope=_since_first_day),
    Step(
        dataset="benzinga_news",
        scope=lambda watched, today: replace(_since_first_day(watched, today), date_to=today),
        every=None,
    ),
    Step(dataset="call_transcripts", scope=_calls, every=None),
    Step(
        dataset="macro_panels",
        scope=lambda watched, today: Scope(
            series=tuple(_months(max(watched.since or FIRST_PANEL, FIRST_PANEL), today))
        ),
        every=None,
        of_companies=False,
    ),
)
BY_NAME_ALONE = frozenset({"fred_md"})
"""Sources without a key that are used only if named, because they send much data that few users need."""
DEFAULT_SERIES = ("GDP", "CPIAUCSL", "UNRATE", "PAYEMS", "FEDFUNDS", "DGS10")
"""The series to watch if FRED's key is set and no series are named."""


def names() -> tuple[str, ...]:
    return (EDGAR, *dict.fromkeys(step.provider.name for step in STEPS))


def checked(sources: tuple[str, ...]) -> tuple[str, ...]:
    """Return the named sources. Raises BadInput for an unknown one."""
    for source in sources:
        if source not in names():
            raise BadInput("--sources", f"there is no source {source!r}", choice(source, names()))
    return sources


def skipped(watched: WatchList) -> dict[str, str]:
    """Return the skipped sources, each with a hint on how to enable it."""
    reasons = {}
    for step in STEPS:
        provider = step.provider
        variables = [names[0] for names in provider.secrets.values() if setting(names) is None]
        if watched.sources and provider.name not in watched.sources:
            reasons[provider.name] = "not among --sources"
        elif variables:
            reasons[provider.name] = f"set {' and '.join(variables)} to use it"
        elif provider.name in BY_NAME_ALONE and provider.name not in watched.sources:
            reasons[provider.name] = f"needs no key; name it in --sources {EDGAR},{provider.name}"
    return reasons


def steps(watched: WatchList) -> list[Step]:
    """Return the steps of the configured sources, except EDGAR, in the order of loading."""
    left_out = skipped(watched)
    due = {step.dataset: step for step in STEPS if step.provider.name not in left_out}
    return [due[name] for name in in_order(due) if not due[name].of_companies or watched.tickers]


def uses(watched: WatchList, source: str) -> bool:
    return not watched.sources or source in watched.sources


def today() -> date:
    """Return today's New York day."""
    return new_york_day(clock.now())


def _months(first: date, last: date) -> list[str]:
    """Return the months from one day to another."""
    months = [f"{year}-{month:02d}" for year in range(first.year, last.year + 1) for month in range(1, 13)]
    return [month for month in months if f"{first:%Y-%m}" <= month <= f"{last:%Y-%m}"]
