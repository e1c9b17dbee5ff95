"""What a lake is to be kept up to date with: companies, macro series, since when, and from which sources.

One small file of the lake that no version shows, written whole or not at all. `pitlake sync` writes it; its next run
and the schedules of Dagster read it.
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
    """What is watched.

    companies: tickers by CIK (ten digits), none for a company that is watched by its CIK alone. series: of FRED.
    archives: paths of EDGAR's bulk files, whose companies are all loaded.
    since: the first New York day whose filings, bars and facts are wanted; None for all there are. sources: names of
    providers; none means every one that is configured.
    """

    companies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    series: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    since: date | None = None
    sources: tuple[str, ...] = ()

    @property
    def tickers(self) -> tuple[str, ...]:
        """Every ticker, in order and once."""
        return tuple(dict.fromkeys(ticker for tickers in self.companies.values() for ticker in tickers))


def keep(store: Store, watched: WatchList) -> None:
    """Write the watch list in place of the one that may be there. Raises LakeError."""
    facts = {
        "companies": {cik: list(tickers) for cik, tickers in sorted(watched.companies.items())},
        "series": list(watched.series),
        "archives": list(watched.archives),
        "since": watched.since.isoformat() if watched.since else None,
        "sources": list(watched.sources),
    }
    store.put(KEY, (json.dumps(facts, indent=1) + "\n").encode())


def read(store: Store) -> WatchList:
    """Return the watch list; an empty one where the lake has none. Raises LakeFault for a file that is not one."""
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
