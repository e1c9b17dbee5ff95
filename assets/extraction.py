"""The base of all normalisers: pure functions that make each source record a row or a gap; and the graph's extractors.

No stream, lake or Dagster here: `assets.runs` and `assets.feeds.runs` read, bucket and stage, and the factories make
the Dagster assets. A dataset's module defines one `Extractor` (assets/graph) or one `Feed` (assets/external).
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any, Protocol

from assets.edgar import Release
from pitlake.clock import new_york_day
from pitlake.contract import OBSERVED, UNREADABLE_RECORD, Dataset, GapRule
from pitlake.datasets._earnings import DEFAULT_LAG
from pitlake.errors import RecordRefused, Unreadable
from pitlake.lake.lake import Lake

Record = Mapping[str, Any]
UNFORESEEN = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError, Unreadable)
"""The errors of reading a record with an unforeseen shape. Such a record becomes a gap; if there are many, nothing is
published.
"""
Parser = Callable[[Any], Any]
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class GraphReader(Protocol):
    """The part of resources.graph.graph.Graph that extraction uses: a read-only stream of the driver's records."""

    def stream(self, cypher: str, params: Mapping[str, Any], *, fetch_size: int) -> Iterator[list[Any]]:
        """Yield every record of a read query, in lists of up to `fetch_size`. Raises GraphError, never ends short."""
        ...


class Releases(Protocol):
    """The releases of filings that the lake knows. See assets.feeds.releases."""

    def release(self, accession_no: str, cik: str, filing_date: date | None = None) -> Release | None:
        """Return when EDGAR released a filing of that CIK; None if the lake does not know it."""
        ...

    def __call__(self, ticker: str, day: date) -> datetime | None:
        """Return the release of the ticker's 8-K with item 2.02 accepted on that New York day; None if there is
        none.
        """
        ...


class Splits(Protocol):
    """The share splits on record. See assets.splits."""

    def __call__(self, ticker: str, after: date, until: date) -> float | None:
        """Return the number of shares that one share of `after` is on `until`; None if a split in between is
        uncertain.
        """
        ...


class Statements(Protocol):
    """The lake's earlier statements. See assets.feeds.naming."""

    def __call__(self, dataset: Dataset, column: str, values: Collection[str]) -> list[dict[str, Any]]:
        """Return every revision of the rows with these values in a column, oldest first: the business columns,
        available_at and observed_at.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """The facts of a run besides the record: its clock and its settings.

    publication_lag: added to a call's start to get the availability of its text. as_accepted: whether filings count
    from their acceptance instead of their release. fetched_at, evidence and location: of the record's capture, and its
    address without parts specific to this request; None and "" for the graph. releases: the lake's releases of filings,
    for outside feeds. statements: the lake's earlier statements. splits: the lake's splits. earlier: the usable
    captures of the same request that were taken before one.
    """

    observed_at: datetime
    publication_lag: timedelta = DEFAULT_LAG
    as_accepted: bool = False
    fetched_at: datetime | None = None
    evidence: str = ""
    location: str = ""
    releases: Releases | None = None
    statements: Statements | None = None
    splits: Splits | None = None
    earlier: Callable[[Any], Iterable[Any]] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a record: its evidence, its availability if provable, and its New York day.

    day None files it under "undated". reason: the contract's gap reason, if it already decides the record. columns: the
    columns that state how the availability was found.
    """

    evidence: str
    available_at: datetime | None = None
    day: date | None = None
    reason: str = ""
    columns: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A record that becomes a row: every business column by name. basis: the basis of available_at, if it is the
    observation; see pitlake.contract. `contender` and `rank` are used by the contest.
    """

    values: dict[str, Any]
    available_at: datetime
    evidence: str
    basis: str | None = None
    contender: str = ""
    rank: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Gap:
    """A record that becomes a gap, and the reason.

    available_at: when the gap itself may be shown: the record's own proven instant, or None for when it was observed.
    """

    type: str
    reason: str
    locator: str
    available_at: datetime | None
    day: date | None


@dataclass(frozen=True, kw_only=True)
class Contest:
    """How records about the same thing are settled: within `group` the contender with the highest rank keeps its rows.

    A loser's rows with the content of a winning row count as repeats; the others become gaps. labels: the columns in
    which repeats may differ, such as the ticker.
    """

    group: tuple[str, ...]
    contender: Callable[[Record], str]
    rank: Callable[[Record], tuple[int, int]]
    reason: str
    labels: tuple[str, ...] = ()


def whole_record(record: Record) -> Iterable[Record]:
    """Return the record itself: the usual case, in which one record of the stream is one source record."""
    return (record,)


@dataclass(frozen=True, kw_only=True)
class Normaliser:
    """How one dataset's source records become rows and gaps.

    batch: the number of records converted to Arrow at once. It limits memory, so it is smaller for larger records.
    """

    dataset: Dataset
    locate: Callable[[Record, RunFacts], Place]
    values: Callable[[Record], dict[str, Any]]
    split: Callable[[Record], Iterable[Record]] = whole_record
    contest: Contest | None = None
    batch: int = 5000

    @cached_property
    def gap_types(self) -> dict[str, str]:
        """Return the contract's gap reasons and their types."""
        return {UNREADABLE_RECORD: "unverifiable"} | {rule.reason: rule.type for rule in self.dataset.gap_rules}

    @cached_property
    def future(self) -> GapRule:
        """Return the contract's rule for records that are not public yet."""
        return next(rule for rule in self.dataset.gap_rules if rule.type == "pit_excluded")

    def normalise(self, record: Record, run: RunFacts) -> Row | Gap:
        """Make exactly one row or one gap of a source record. Pure."""
        return self.outcome(record, self.place(record, run), run)

    def place(self, record: Record, run: RunFacts) -> Place:
        """Return the place of a record. If `locate` does not foresee its shape, its content identifies it."""
        try:
            return self.locate(record, run)
        except UNFORESEEN:
            digest = hashlib.sha256(repr(sorted(record.items(), key=str)).encode("utf-8", "replace")).hexdigest()
            return Place(f"{self.dataset.name}:record:{digest}", reason=UNREADABLE_RECORD)

    def outcome(self, record: Record, place: Place, run: RunFacts) -> Row | Gap:
        if place.reason or place.available_at is None:
            return self._gap(place, place.reason, run)
        naive = place.available_at.tzinfo is None  # it can't be compared; the gate refuses the column by name
        if not naive and place.available_at > run.observed_at:
            return self._gap(place, self.future.reason, run)
        try:
            values = {**self.values(record), **dict(place.columns)}
            contest = (self.contest.contender(record), self.contest.rank(record)) if self.contest else None
        except RecordRefused as refusal:
            return self._gap(place, refusal.reason, run)
        except UNFORESEEN:
            return self._gap(place, UNREADABLE_RECORD, run)
        basis = OBSERVED if place.available_at == run.fetched_at else None
        if contest is None:
            return Row(values, place.available_at, place.evidence, basis)
        contender, rank = contest
        return Row(values, place.available_at, place.evidence, basis, contender, rank)

    def _gap(self, place: Place, reason: str, run: RunFacts) -> Gap:
        shown_at = place.available_at
        if shown_at is not None and shown_at.tzinfo is not None and shown_at > run.observed_at:
            shown_at = None  # a future date proves nothing, so the gap counts from its observation
        return Gap(self.gap_types[reason], reason, place.evidence, shown_at, place.day)


@dataclass(frozen=True, kw_only=True)
class Extractor(Normaliser):
    """One dataset's extraction from the graph.

    windows: Cypher with $lo and $hi, day texts that bound the record's timestamp text (lo <= text < hi). They only
    reduce work; `locate` decides. sweeps: Cypher with $dated, a regular expression, for records that no window can
    match (no readable date, no parent), so that nothing is lost silently.
    prepared: returns the extractor with the facts of the graph and the lake that it needs; called once per run, with
    the requested days.
    after: datasets of the lake that it needs.
    margin: days by which windows are widened on each side, because a text's day depends on its offset; 0 where the
    text is a New York day itself. trail: days that a record's own day may follow its text's day, offsets aside;
    trail_of: the same for the records of one day, where it is less.
    """

    windows: tuple[str, ...]
    sweeps: tuple[str, ...] = ()
    prepared: "Callable[[GraphReader, Lake, RunFacts, Sequence[date]], Extractor] | None" = None
    after: tuple[str, ...] = ()
    margin: int = 1
    trail: int = 0
    trail_of: Callable[[date], int] | None = None

    def texts_of(self, days: Iterable[date]) -> date:
        """Return the first day that the text of a record of these days can have, ignoring offsets."""
        return min(day - timedelta(days=self.trail_of(day) if self.trail_of else self.trail) for day in days)


def dated(evidence: str, moment: datetime, *columns: tuple[str, Any]) -> Place:
    """Return the place of a record with a proven availability, and the columns that state how it was found."""
    return Place(evidence, moment, day_of(moment), columns=columns)


@lru_cache(maxsize=16_384)
def iso_day(spelled: str) -> date:
    """Parse a day spelled `2024-01-04`, no other spelling. Raises Unreadable."""
    if not _ISO_DAY.fullmatch(spelled):
        raise Unreadable("no day")
    try:
        return date.fromisoformat(spelled)
    except ValueError:
        raise Unreadable("no such day") from None


day_of = lru_cache(maxsize=16_384)(new_york_day)  # the facts of a filing and the bars of a day share their instant


def parsed(record: Record, parsers: Mapping[str, Parser]) -> dict[str, Any]:
    """Parse one value per parser, by column name. Raises RecordRefused("<column> is unreadable")."""
    values = {}
    for column, parser in parsers.items():
        try:
            values[column] = parser(record.get(column))
        except Unreadable:
            raise RecordRefused(f"{column} is unreadable") from None
    return values
