"""The base of normalisers, pure functions that turn each source record into a row or a gap, and of the graph's
extractors. `assets.runs` and `assets.feeds.runs` read records, collect them by day and stage them. The factories make
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
from pitlake.lake.storage.conventions import ACCEPTANCE, CLOSE

Record = Mapping[str, Any]
UNFORESEEN = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError, Unreadable)
"""The errors raised for a record of unexpected shape.

Such a record becomes a gap; if there are many, nothing is published.
"""
Parser = Callable[[Any], Any]
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class GraphReader(Protocol):
    """The part of resources.graph.graph.Graph that extraction uses: a read-only stream of the driver's records."""

    def stream(self, cypher: str, params: Mapping[str, Any], *, fetch_size: int) -> Iterator[list[Any]]:
        """Yield every record of a read query, in lists of up to `fetch_size`.

        Raises GraphError; it never ends early without an error.
        """
        ...


class Releases(Protocol):
    """The releases of filings in the lake. See assets.feeds.releases."""

    def release(self, accession_no: str, cik: str, filing_date: date | None = None) -> Release | None:
        """Return when EDGAR released a filing of a CIK; None if the lake lacks the filing."""
        ...

    def __call__(self, ticker: str, day: date) -> datetime | None:
        """Return the release of the ticker's 8-K with item 2.02 that was accepted on a New York day, or None."""
        ...

    def silent_around(self, ticker: str, day: date) -> bool:
        """Return whether the lake proves that the ticker's company filed no results near a day."""
        ...


class Splits(Protocol):
    """The share splits on record. See assets.splits."""

    def __call__(self, ticker: str, after: date, until: date) -> float | None:
        """Return the number of shares on `until` that one share of `after` has become; None if it is not proven."""
        ...


class Statements(Protocol):
    """The lake's earlier statements. See assets.feeds.naming."""

    def __call__(self, dataset: Dataset, column: str, values: Collection[str]) -> list[dict[str, Any]]:
        """Return every revision of rows with these values in a column, oldest first, with columns and both instants."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """The context of a run: its clock, its settings and the lake's earlier facts.

    publication_lag: the time between a call's start and the availability of its text. as_accepted: whether filings are
    available from their acceptance instead of their release. bars_count_from: the lake's rule for dating outside bars.
    fetched_at, evidence: time and evidence of the record's capture. location: its address without parts that are
    specific to this request. For the graph, these are None and "". releases: the lake's releases of filings, for
    outside feeds. statements: the lake's earlier statements. splits: the lake's splits. earlier: returns the usable
    captures of the same request that were taken before a capture.
    """

    observed_at: datetime
    publication_lag: timedelta = DEFAULT_LAG
    as_accepted: bool = False
    bars_count_from: str = CLOSE
    fetched_at: datetime | None = None
    evidence: str = ""
    location: str = ""
    releases: Releases | None = None
    statements: Statements | None = None
    splits: Splits | None = None
    earlier: Callable[[Any], Iterable[Any]] | None = None

    @classmethod
    def of_lake(cls, lake: Lake, **facts: Any) -> "RunFacts":
        """Return the facts of a run with the settings of its lake."""
        as_accepted = lake.filings_count_from == ACCEPTANCE
        return cls(as_accepted=as_accepted, bars_count_from=lake.bars_count_from, **facts)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a record: its evidence, its availability if provable, and its New York day.

    If `day` is None, the record is filed under "undated". reason: the contract's gap reason, if the record is already
    known to be a gap. columns: the columns that say how the availability was determined.
    """

    evidence: str
    available_at: datetime | None = None
    day: date | None = None
    reason: str = ""
    columns: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A record that becomes a row, with every business column by name.

    basis: the basis of available_at, if the row is dated by its observation; see pitlake.contract. `contender` and
    `rank` are used by the contest.
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

    available_at: the instant from which the gap may be shown: the record's own proven instant, or None for the
    observation.
    """

    type: str
    reason: str
    locator: str
    available_at: datetime | None
    day: date | None


@dataclass(frozen=True, kw_only=True)
class Contest:
    """The rule for several records about the same thing: within `group`, the contender with the highest rank keeps its
    rows. A loser's rows with the content of a winning row are repeats, and its other rows become gaps. labels: the
    columns in which repeats may differ, such as the ticker.
    """

    group: tuple[str, ...]
    contender: Callable[[Record], str]
    rank: Callable[[Record], tuple[int, int]]
    reason: str
    labels: tuple[str, ...] = ()


def whole_record(record: Record) -> Iterable[Record]:
    """Return the record itself, for the usual case that one record of the stream is one source record."""
    return (record,)


@dataclass(frozen=True, kw_only=True)
class Normaliser:
    """The conversion of one dataset's source records to rows and gaps.

    batch: the number of records converted to Arrow together. It limits memory, so larger records have a smaller batch.
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
        """Turn a source record into exactly one row or one gap. Pure."""
        return self.outcome(record, self.place(record, run), run)

    def place(self, record: Record, run: RunFacts) -> Place:
        """Return the place of a record. A record whose shape `locate` can't handle is identified by its content."""
        try:
            return self.locate(record, run)
        except UNFORESEEN:
            digest = hashlib.sha256(repr(sorted(record.items(), key=str)).encode("utf-8", "replace")).hexdigest()
            return Place(f"{self.dataset.name}:record:{digest}", reason=UNREADABLE_RECORD)

    def outcome(self, record: Record, place: Place, run: RunFacts) -> Row | Gap:
        if place.reason or place.available_at is None:
            return self._gap(place, place.reason, run)
        naive = place.available_at.tzinfo is None  # It can't be compared; the gate refuses the column by name.
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
            shown_at = None  # A future date proves nothing, so the gap is dated by its observation.
        return Gap(self.gap_types[reason], reason, place.evidence, shown_at, place.day)


@dataclass(frozen=True, kw_only=True)
class Extractor(Normaliser):
    """The extraction of one dataset from the graph.

    windows: Cypher with $lo and $hi, day strings that bound the record's timestamp (lo <= timestamp < hi). They only
    reduce work; `locate` decides. sweeps: Cypher with $dated, a regular expression, for records that no window can
    match (no readable date, no parent), so that nothing is lost silently. prepared: a function that adds the required
    facts of the graph and the lake. It is called once per run, with the requested days. after: the required datasets of
    the lake. margin: days by which windows are widened on each side, because the day of a timestamp depends on its
    offset. It is 0 if timestamps are New York days. trail: the number of days by which a record's own day may follow
    its timestamp's day, apart from offsets. trail_of: the same for the records of a certain day, if smaller. others:
    the queries of all datasets of the graph.
    """

    windows: tuple[str, ...]
    sweeps: tuple[str, ...] = ()
    prepared: "Callable[[GraphReader, Lake, RunFacts, Sequence[date]], Extractor] | None" = None
    after: tuple[str, ...] = ()
    margin: int = 1
    trail: int = 0
    trail_of: Callable[[date], int] | None = None
    others: tuple[str, ...] = ()

    @property
    def queries(self) -> tuple[str, ...]:
        """Return every query for records."""
        return (*self.windows, *self.sweeps)

    def texts_of(self, days: Iterable[date]) -> date:
        """Return the first possible timestamp day of the records of these days, ignoring offsets."""
        return min(day - timedelta(days=self.trail_of(day) if self.trail_of else self.trail) for day in days)


def dated(evidence: str, moment: datetime, *columns: tuple[str, Any]) -> Place:
    """Return the place of a record with a proven availability, and the columns that describe the proof."""
    return Place(evidence, moment, day_of(moment), columns=columns)


@lru_cache(maxsize=16_384)
def iso_day(spelled: str) -> date:
    """Parse a day in the format `2024-01-04` and in no other format. Raises Unreadable."""
    if not _ISO_DAY.fullmatch(spelled):
        raise Unreadable("no day")
    try:
        return date.fromisoformat(spelled)
    except ValueError:
        raise Unreadable("no such day") from None


day_of = lru_cache(maxsize=16_384)(new_york_day)  # All facts of a filing and all bars of a day share one instant.


def parsed(record: Record, parsers: Mapping[str, Parser]) -> dict[str, Any]:
    """Parse the columns of a record, each with its own parser. Raises RecordRefused("<column> is unreadable")."""
    values = {}
    for column, parser in parsers.items():
        try:
            values[column] = parser(record.get(column))
        except Unreadable:
            raise RecordRefused(f"{column} is unreadable") from None
    return values
