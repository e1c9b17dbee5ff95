"""The watch list of a lake: companies, macro series, the first day, and the sources.

It is one small file that belongs to no version. `pitlake sync` writes it atomically. The next run and Dagster's
schedules read it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from pitlake.errors import LakeFault
from pitlake.lake.storage.store import Store

KEY = "_lake/watch_list.json"


@dataclass(frozen=True, kw_only=True)
class WatchList:
    """The watch list.

    companies: tickers by CIK (ten digits), empty for a company without watched tickers. series: ids of FRED
    series. archives: paths of EDGAR's bulk files, whose companies are all loaded. since: the first New York day of
    filings, bars and facts to load. None loads all days. sources: names of providers. Without any, every configured
    provider is used.
    """

    companies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    series: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    since: date | None = None
    sources: tuple[str, ...] = ()

    @property
    def tickers(self) -> tuple[str, ...]:
        """Return every ticker once, in order."""
        return tuple(dict.fromkeys(ticker for tickers in self.companies.values() for ticker in tickers))


def keep(store: Store, watched: WatchList) -> None:
    """Write the watch list, replacing an existing one. Raises LakeError."""
    facts = {
        "companies": {cik: list(tickers) for cik, tickers in sorted(watched.companies.items())},
        "series": list(watched.series),
        "archives": list(watched.archives),
        "since": watched.since.isoformat() if watched.since else None,
        "sources": list(watched.sources),
    }
    store.put(KEY, (json.dumps(facts, indent=1) + "\n").encode())


def read(store: Store) -> WatchList:
    """Return the watch list; an empty one if the lake has none. Raises LakeFault for an invalid file."""
    try:
        facts = json.loads(store.read(KEY))
        return WatchList(
            companies={str(cik): tuple(map(str, tickers)) for cik, tickers in facts["companies"].items()},
            series=tuple(map(str, facts["series"])),
            archives=tuple(map(str, facts["archives"])),
            since=date.fromisoformat(facts["since"]) if facts["since"] else None,
            sources=tuple(map(str, facts["sources"])),
        )
    except FileNotFoundError:
        return WatchList()
    except (ValueError, TypeError, KeyError, AttributeError):
        raise LakeFault("damaged", store.path(KEY)) from None
