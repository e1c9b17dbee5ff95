"""Reads the graph for some days: streams windows, stores every record under its own day, and passes days to the
stage. The extractor turns records into rows or gaps, and `assets.runs` decides what is published.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from assets.buckets import Buckets, Stage
from assets.extraction import Extractor, GraphReader, Place, Record, RunFacts

DATED = "[0-9]{4}-[0-9]{2}-[0-9]{2}.*"
EXAMPLES = 5
FIRST_LENGTH, SPAN_BATCHES = 7, 10


class Span(NamedTuple):
    """Contiguous days, both ends included."""

    first: date
    last: date

    def days(self) -> list[date]:
        return [self.first + timedelta(days=offset) for offset in range((self.last - self.first).days + 1)]

    def widened(self, before: int, after: int) -> "Span":
        """Return the span with days added on both sides."""
        return Span(self.first - timedelta(days=before), self.last + timedelta(days=after))

    def __contains__(self, day: object) -> bool:
        return isinstance(day, date) and self.first <= day <= self.last


@dataclass
class Strays:
    """The records that the source returned outside of the requested range."""

    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, place: Place) -> None:
        """Count one record and store its evidence as an example."""
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(place.evidence)


class Spans:
    """Contiguous spans of days in order. The length of a span depends on the number of records in the last span, which
    `met` reports.

    With few records, spans are long and few queries are needed; with many records, a span is short to fit into memory.
    """

    def __init__(self, days: Iterable[date], batch: int) -> None:
        self._days = sorted(set(days))
        self._most = SPAN_BATCHES * batch
        self._length = FIRST_LENGTH

    def __iter__(self) -> Iterator[Span]:
        while self._days:
            first, ahead = self._days[0], 1
            while ahead < min(self._length, len(self._days)) and (self._days[ahead] - first).days == ahead:
                ahead += 1
            span = Span(first, self._days[ahead - 1])
            del self._days[:ahead]
            yield span

    def met(self, records: int) -> None:
        """Set the length of the next span by the records of the last one."""
        if records > self._most:
            self._length = max(1, self._length // 2)
        elif records <= self._most // 2:
            self._length *= 2


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause Python's cycle collector, which would repeatedly scan the records although they contain no cycles."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def extract(
    extractor: Extractor,
    days: Sequence[date],
    graph: GraphReader,
    stage: Stage,
    run: RunFacts,
    clock: Callable[[], datetime],
) -> Strays:
    """Stage every record of the days, and every record without a day, once each. Raises GraphError.

    `clock` dates the snapshots of datasets without partitions, once they are read.
    """
    reading = _Reading(extractor, graph, stage, run, frozenset(days))
    with collector_paused():
        reading.sweep()
    if not extractor.dataset.partitioned:
        reading.snapshot(clock)
    else:
        spans = Spans(days, extractor.batch)
        for span in spans:
            with collector_paused():
                spans.met(reading.window(span))
    reading.finish()
    return reading.strays


class _Reading:
    """One run's pass over the graph."""

    def __init__(
        self, extractor: Extractor, graph: GraphReader, stage: Stage, run: RunFacts, days: frozenset[date]
    ) -> None:
        self._extractor, self._graph, self._run, self._wanted = extractor, graph, run, days
        self._buckets = Buckets(extractor, stage)
        self._met: set[str] = set()
        self.strays = Strays()

    def sweep(self) -> None:
        """Read the records that no window can match, before the windows.

        If a window nevertheless matches such a record, the match is a repeat.
        """
        for cypher in self._extractor.sweeps:
            for record in self._records(cypher, {"dated": DATED}):
                place = self._extractor.place(record, self._run)
                self._met.add(place.evidence)
                if place.day is None or place.day in self._wanted:
                    self._file(record, place, place.day)

    def snapshot(self, clock: Callable[[], datetime]) -> None:
        """Read all records and then date them, because no record is available before it was observed."""
        records = [record for cypher in self._extractor.windows for record in self._records(cypher, {})]
        self._run = replace(self._run, observed_at=clock())
        for record in records:
            self._file(record, self._extractor.place(record, self._run), None)

    def window(self, span: Span) -> int:
        """Read the records of one span of days, then pass them to the stage. Returns their number."""
        margin, trail = self._extractor.margin, self._extractor.trail
        bounds_of_texts = Span(self._extractor.texts_of(span.days()), span.last).widened(margin, margin)
        answered = span.widened(2 * margin + trail, 2 * margin + trail)
        bounds = {"lo": bounds_of_texts.first.isoformat(), "hi": (bounds_of_texts.last + timedelta(days=1)).isoformat()}
        came = 0
        for cypher in self._extractor.windows:
            for record in self._records(cypher, bounds):
                came += 1
                place = self._extractor.place(record, self._run)
                if place.day in span:
                    if place.evidence not in self._met:
                        self._file(record, place, place.day)
                elif place.day is None:
                    if place.evidence not in self._met:
                        self._met.add(place.evidence)
                        self._file(record, place, None)
                elif place.day not in answered:
                    self.strays.add(place)
        self._buckets.close(span.days())
        return came

    def finish(self) -> None:
        self._buckets.close([None])

    def _file(self, record: Record, place: Place, day: date | None) -> None:
        self._buckets.add(day, self._extractor.outcome(record, place, self._run))

    def _records(self, cypher: str, params: dict[str, str]) -> Iterator[Record]:
        extractor = self._extractor
        for batch in self._graph.stream(cypher, params, fetch_size=extractor.batch):
            for record in as_dicts(batch):
                yield from extractor.split(record)
            self._buckets.spill()


def as_dicts(batch: Sequence[Any]) -> Iterator[Record]:
    """Yield the driver's records as dicts. The tuple's iterator is used, because a Record's own one is slower."""
    keys = batch[0].keys()
    return (dict(zip(keys, tuple.__iter__(record), strict=True)) for record in batch)
