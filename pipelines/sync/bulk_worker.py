"""The worker processes of a bulk load: they convert companies of an archive to rows and gaps.

These processes publish nothing and open no lake.
"""

import atexit
import ctypes
import gc
import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from assets.buckets import Buckets
from assets.external import feed
from assets.external.sec_edgar import _fact_table, sec_filings
from assets.extraction import Gap, RunFacts
from assets.feeds.feed import Fetch, Scope, Unit, Whole
from assets.feeds.lake_history import as_statements
from assets.feeds.releases import KnownReleases
from assets.feeds.runs import collect_unit, outcomes
from pitlake.contract import Dataset
from pitlake.datasets._external import EMPTY, UNPARSABLE
from pitlake.datasets.sec_facts import UNKNOWN_FILING
from pitlake.errors import AnswerRefused, Unparsable
from pitlake.lake.publishing.stage import StagedGap
from resources.http.archives import Archive, judged, read
from resources.http.capture import Capture

OBJECTS_A_COLLECTION = 500_000
ROWS_AT_ONCE = 100_000
M_ARENA_MAX = -8
"""The parameter of glibc's `mallopt` for the number of heaps."""
OPTIONS = {"sec_filings": {"headers": "none"}, "universe_events": {"documents": "none"}}


@dataclass(frozen=True, kw_only=True)
class Task:
    """Some companies of an archive, by CIK.

    releases: the releases that date facts. statements: the file with the lake's statements about a batch's filings.
    """

    archive: Archive
    companies: Sequence[str]
    since: date | None
    observed_at: datetime
    as_accepted: bool
    releases: KnownReleases | None = None
    statements: Path | None = None

    def facts(self) -> RunFacts:
        """Return the context of the run."""
        return RunFacts(
            observed_at=self.observed_at,
            as_accepted=self.as_accepted,
            releases=self.releases,
            statements=self.known_statements if self.statements else None,
        )

    def known_statements(self, dataset: Dataset, column: str, values: Collection[str]) -> list[dict[str, Any]]:
        """Return the statements about filings, by their accession numbers."""
        if self.statements is None:
            return []
        statements, places = _statements(self.statements)
        rows = [place for number in sorted(values) for place in places.get(number, ())]
        return as_statements(statements.take(pa.array(rows, pa.int64())))


def write_statements(statements: pa.Table, path: Path) -> None:
    """Write the statements of a batch for its tasks, because a copy in each task would take too much memory."""
    with pa.ipc.new_file(str(path), statements.schema) as writer:
        writer.write_table(statements)


@lru_cache(maxsize=1)
def _statements(path: Path) -> tuple[pa.Table, dict[str, list[int]]]:
    """Return the statements in a file, and their row numbers by filing."""
    statements = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, number in enumerate(statements["accession_no"].to_pylist()):
        places[number].append(place)
    return statements, dict(places)


@dataclass
class Made:
    """Rows and gaps of one dataset, as for a stage.

    covered: the parts of the source that were read completely. failed: companies with a member that could not be read.
    """

    dataset: str
    tables: list[pa.Table] = field(default_factory=list)
    gaps: list[StagedGap] = field(default_factory=list)
    extracted: int = 0
    covered: list[Whole] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def add(
        self, day: date | None, rows: pa.Table | None = None, gaps: Iterable[StagedGap] = (), *, extracted: int
    ) -> None:
        """Add extracted rows and gaps. The day is ignored."""
        self.tables += [rows] if rows is not None else []
        self.gaps += gaps
        self.extracted += extracted

    def packed(self) -> "Packed":
        """Return the rows and gaps compressed, and empty the tables."""
        content = None
        if self.tables:
            sink = pa.BufferOutputStream()
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            with pa.ipc.new_stream(sink, self.tables[0].schema, options=options) as writer:
                while self.tables:
                    writer.write_table(self.tables.pop(0))
            content = sink.getvalue().to_pybytes()
        return Packed(self.dataset, content, self.gaps, self.extracted, self.covered, self.failed)


@dataclass(frozen=True)
class Packed:
    """Compressed rows and gaps of one dataset. Compression is needed, because two batches are in memory at a time."""

    dataset: str
    content: bytes | None
    gaps: list[StagedGap]
    extracted: int
    covered: list[Whole]
    failed: list[str]

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows in tables of limited size."""
        if self.content is None:
            return
        batches: list[pa.RecordBatch] = []
        with pa.ipc.open_stream(self.content) as reader:
            for batch in reader:
                batches.append(batch)
                if sum(part.num_rows for part in batches) >= ROWS_AT_ONCE:
                    yield pa.Table.from_batches(batches)
                    batches = []
        if batches:
            yield pa.Table.from_batches(batches)


def filings(task: Task) -> list[Packed]:
    """Return the filings and events of companies, from their submissions."""
    results = {name: Made(name) for name in OPTIONS}
    run = task.facts()
    buckets = {name: Buckets(feed(name), result) for name, result in results.items()}
    for cik in task.companies:
        fetch, is_readable = _fetch_from(task.archive), True
        listing: Sequence[Capture] = ()
        for name, bucket in buckets.items():
            unit = Unit(cik, Scope(ciks=(cik,), date_from=task.since, options=OPTIONS[name]))
            captures, refusal = collect_unit(feed(name), unit, fetch)
            results[name].failed += [cik] if refusal else []
            is_readable &= not refusal
            listing = captures if name == "sec_filings" else listing
            for outcome, _ in outcomes(feed(name), unit, captures, refusal, run):
                bucket.add(None, outcome)
                is_readable &= not (isinstance(outcome, Gap) and outcome.reason == UNPARSABLE.reason)
        if (
            is_readable
            and listing
            and (listing_whole := sec_filings.listed(Unit(cik, Scope(date_from=task.since)), listing))
        ):
            results["sec_filings"].covered.append(listing_whole)
    for bucket in buckets.values():
        bucket.close_all()
    return [result.packed() for result in results.values()]


def _fetch_from(archive: Archive) -> Fetch:
    """Return a function that answers the requests of a feed from an archive and reads each member once."""
    member = cache(partial(judged, archive))
    return lambda request: member(request.path.rpartition("/")[2])


def facts(task: Task) -> list[Packed]:
    """Return the facts of companies, from their company facts."""
    result = Made("sec_facts")
    for cik in task.companies:
        try:
            gap = _add_facts(task, cik, result)
        except AnswerRefused as refusal:
            gap = StagedGap(refusal.gap_type, refusal.reason, refusal.evidence)
            result.failed.append(cik)
        except Unparsable as problem:
            gap = StagedGap(UNPARSABLE.type, UNPARSABLE.reason, problem.evidence)
            result.failed.append(cik)
        if gap:
            result.add(None, gaps=[gap], extracted=1)
    return [result.packed()]


def _add_facts(task: Task, cik: str, result: Made) -> StagedGap | None:
    """Add the facts of a company. Return a gap for the whole company if there are no facts, or if the lake has none of
    its filings. Raises AnswerRefused, and Unparsable also if every fact is unreadable.
    """
    if task.releases is None:
        raise ValueError("facts are dated by releases")
    capture, source = read(task.archive, f"CIK{cik}.json"), feed("sec_facts")
    table, irregular = _fact_table.fact_table(capture, cik, task.since, task.releases, task.observed_at)
    if not table.num_rows and not irregular:
        return StagedGap(EMPTY.type, EMPTY.reason, capture.evidence)
    if cik not in task.releases.filings:
        return StagedGap(UNKNOWN_FILING.type, UNKNOWN_FILING.reason, capture.evidence)
    run = replace(task.facts(), fetched_at=capture.fetched_at, location=source.provider.location(capture))
    buckets, others = Buckets(source, result), [source.normalise(record, run) for record in irregular]
    if not table.num_rows and all(isinstance(of, Gap) and of.reason.endswith("unreadable") for of in others):
        raise Unparsable(capture.evidence, "every fact is unreadable")
    result.add(None, table, extracted=table.num_rows)
    for outcome in others:
        buckets.add(None, outcome)
    buckets.close_all()
    return None


def use_one_heap() -> None:
    """Let Arrow and all threads of this process share a heap, so that they reuse each other's freed memory. A bulk load
    then takes a quarter less memory. C libraries other than glibc have no such setting.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def prepare_process(parent: int) -> None:
    """Make this process end with its parent, which may be killed, and leave Ctrl-C to the parent. Collect garbage
    rarely, because the JSON of a company is a hundred thousand objects without a cycle.

    The process ends without the interpreter's clean-up, during which native libraries report leaks on stderr.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    use_one_heap()
    threading.Thread(target=watch, daemon=True).start()
    gc.set_threshold(OBJECTS_A_COLLECTION)
    atexit.register(os._exit, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
