"""Feeds: the requests of a run to a provider, and the conversion of answers to source records.

All functions are pure except `collect`, which uses the function that it receives. `assets.feeds.runs` runs a feed. A
dataset's module (assets/external/<source>/<dataset>.py) defines one `FEED`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import pairwise
from typing import Any, NamedTuple

from assets.extraction import Normaliser, Record, RunFacts
from assets.feeds.naming import Naming, Outcome
from pitlake import clock
from pitlake.contract import Dataset
from pitlake.errors import BadInput
from pitlake.lake.publishing.polls import Bounds
from resources.http.capture import Capture, Request
from resources.http.provider import Provider

Fetch = Callable[[Request], Capture]


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The requested scope of a run. Every field is optional. A feed refuses a scope without the fields that it needs.

    date_from, date_to: New York days, both included. updated_since: an instant. options: specific to one feed.
    """

    tickers: tuple[str, ...] = ()
    ciks: tuple[str, ...] = ()
    series: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    date_from: date | None = None
    date_to: date | None = None
    updated_since: datetime | None = None
    max_pages: int = 10
    options: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {name: _plain(value) for name, value in vars(self).items()}

    def as_config(self, mode: str) -> dict[str, Any]:
        """Return the scope as the run config of a feed's asset: its non-empty fields, and the mode."""
        facts = {name: list(value) if isinstance(value, tuple) else value for name, value in self.as_json().items()}
        return {name: value for name, value in facts.items() if value} | {"mode": mode}

    @classmethod
    def of_json(cls, facts: Mapping[str, Any]) -> "Scope":
        """Return the scope that was stored by `as_json`."""
        typed: dict[str, Any] = dict(facts)
        for name in ("tickers", "ciks", "series", "queries"):
            typed[name] = tuple(facts[name])
        for name in ("date_from", "date_to"):
            typed[name] = date.fromisoformat(facts[name]) if facts[name] else None
        typed["updated_since"] = clock.instant(facts["updated_since"]) if facts["updated_since"] else None
        return cls(**typed)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return clock.iso(value)
    if isinstance(value, date):
        return value.isoformat()
    return dict(value) if isinstance(value, Mapping) else value


class Unit(NamedTuple):
    """One independent part of a run, such as one company. A failure ends only this part."""

    name: str
    scope: Scope


def unit_per_ticker(scope: Scope) -> list[Unit]:
    """Return one unit per ticker, each once. Raises BadInput when the scope names none."""
    tickers = list(dict.fromkeys(ticker.strip().upper() for ticker in scope.tickers if ticker.strip()))
    if not tickers:
        raise BadInput("tickers", "none is given", "name at least one, such as AAPL")
    return [Unit(ticker, scope) for ticker in tickers]


def one_entity(unit: Unit) -> str:
    """Return the entity of a unit, which is the unit's name."""
    return unit.name


class Whole(NamedTuple):
    """The part of a source that an answer covers completely: an entity (None: all entities) within bounds of columns.

    A bound is a column with its first and last value, both included; None means no bound, and a date or an instant is
    given as its New York day.
    """

    entity: str | None
    bounds: Bounds = ()


def in_order(captures: Sequence[Capture]) -> bool:
    """Return whether pages were answered in order; otherwise, records between two series of requests may be missing."""
    return all(capture.fetched_at <= other.fetched_at for capture, other in pairwise(captures))


@dataclass(frozen=True, kw_only=True)
class Feed(Normaliser):
    """The loading of one dataset from a provider.

    units: splits a scope into units; raises BadInput if the scope lacks a required field. collect: requests the
    captures of a unit, page by page; AnswerRefused ends the unit and keeps earlier captures. records: turns all
    captures of a unit into source records, each with its capture; Unparsable ends the unit. `locate` and `values` turn
    each record into one row or one gap, as in all extractions. after: datasets of the lake that date these records.
    entity_of: the entity that a unit covers completely; None for other units, such as a day. naming: the rule for
    naming records without a lasting identifier in their source; `values` omits that column. as_fetched: whether content
    is available no earlier than its first capture, because only the capture proves it. example: a scope that the
    bundled answers (sample/external) cover. whole: the part of the source that a unit's answers cover completely, or
    None if unknown. Without captures, the provider has stated that it has no records. A record that was missing from a
    complete answer is dated after that answer, unless the source's own clock proves its publication. Without `whole`,
    no answer proves that a record was missing. among: a function that adjusts a unit's outcomes to the lake's earlier
    statements.
    """

    provider: Provider
    example: Scope
    units: Callable[[Scope], Sequence[Unit]]
    collect: Callable[[Unit, Fetch], Iterator[Capture]]
    records: Callable[[Unit, Sequence[Capture]], Iterable[tuple[Record, Capture]]]
    after: tuple[str, ...] = ()
    entity_of: Callable[[Unit], str | None] = lambda _: None
    naming: Naming | None = None
    as_fetched: bool = False
    whole: Callable[[Unit, Sequence[Capture]], Whole | None] | None = None
    among: Callable[[Dataset, Iterable[Outcome], RunFacts], Iterable[Outcome]] | None = None
