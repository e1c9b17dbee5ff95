"""A bulk load of all companies in EDGAR's companyfacts.zip and submissions.zip, read by several processes.

Batches have limited memory and a fixed order, so that a stopped load continues with its batch. From a newer archive,
only changed companies are loaded. After a compaction, files that only versions within the load need are removed.
"""

import multiprocessing
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import takewhile
from pathlib import Path
from uuid import uuid4

from assets.derived import names
from assets.feeds.lake_history import LakeStatements
from assets.feeds.releases import LakeReleases
from assets.order import in_order
from assets.runs import concluded
from pipelines.sync import bulk_worker
from pipelines.sync.bulk_worker import Packed, Task
from pipelines.sync.progress import Progress
from pipelines.sync.upkeep import Upkeep
from pitlake.cli import render
from pitlake.datasets import get
from pitlake.errors import AnswerRefused, BadInput, LakeError, LakeNotFound, MachineExhausted, ReceiptDamaged
from pitlake.lake.lake import Lake
from pitlake.lake.storage.bulk_loads import BulkLoad
from pitlake.lake.storage.conventions import ACCEPTANCE
from resources.http import archives
from resources.http.archives import Archive, Member
from resources.http.capture import Capture, CaptureStore

BATCH_BYTES = 48 << 20
"""The JSON of a batch in bytes, about 400,000 facts. Peak memory grows with this size."""
COMPANIES_A_TASK = 4
MOST_NEW_FILES = 64_000
BULK_DATASETS = ("sec_filings", "sec_facts")
MOST_NAMED = 5
DATASETS = ("sec_filings", "universe_events", "sec_facts", "names")
RUN = "bulk-"
"""The start of the run ids of bulk loads."""

Companies = dict[str, list[Member]]
Work = Callable[[Task], list[Packed]]


@dataclass(frozen=True)
class BatchWork:
    """A batch in progress. statements: the file with the lake's statements about the batch's filings, if any."""

    results: list[Future[list[Packed]]]
    statements: Path | None


def check(paths: Sequence[Path]) -> None:
    """Raise BadInput for files that are not EDGAR's bulk files, and for facts without the submissions to date them."""
    if "submissions" not in [archives.kind_of(path) for path in paths]:
        raise BadInput("--from", "submissions.zip is missing", "name it too: it dates the facts")


class BulkSync:
    """Loads EDGAR's bulk files into one lake."""

    _scratch: Path

    def __init__(self, lake: Lake, progress: Progress, since: date | None) -> None:
        self._lake, self._progress, self._since = lake, progress, since
        self._store = CaptureStore.of(lake.location)

    def run(self, paths: Sequence[Path]) -> None:
        """Load the data of the files at these paths that the lake lacks.

        `check` refuses paths that can't be loaded. A company with an unreadable member is skipped and reported.
        """
        bulk_worker.use_one_heap()
        archives_by_kind = {archive.kind: archive for archive in (archives.keep(self._store, path) for path in paths)}
        submissions, facts = archives_by_kind["submissions"], archives_by_kind.get("companyfacts")
        ciks = {member.cik for member in facts.members()} if facts else None
        with tempfile.TemporaryDirectory() as scratch, _processes() as pool:
            self._scratch = Path(scratch)
            self._again = {cik for load in self._stored_loads() for cik in (*load.again, *load.failed)}
            used = (submissions,) if facts is None else (submissions, facts)
            parts = {"sec_filings": partial(self._load, pool, "sec_filings", used, bulk_worker.filings, ciks)}
            if facts is not None:
                parts["sec_facts"] = partial(self._load, pool, "sec_facts", used[::-1], bulk_worker.facts, None)
            loads = {dataset: parts[dataset]() for dataset in in_order(parts)}
        done = {dataset: load for dataset, load in loads.items() if load is not None}
        if done:
            self._progress.say("names: deriving the names of companies")
            answers = _submissions(submissions, ciks)
            self._progress.add(names.derive(self._lake, run_id=_run_id(), beside=answers))
        if Upkeep(self._lake, DATASETS).compact_where_due(at_end=True) and done:
            self._remove_intermediate(min(load.first for load in done.values()))
        for dataset, load in done.items():
            self._lake.keep_bulk_load(dataset, load)
        self._report_failed()

    def _stored_loads(self) -> list[BulkLoad]:
        return [load for dataset in BULK_DATASETS if (load := self._lake.bulk_load(dataset)) is not None]

    def _undated(self) -> set[str]:
        """Return the companies whose facts are left to a later load, because some of their filings are missing. If
        these facts became gaps now, they would be dated too late once their filings arrive.
        """
        load = self._lake.bulk_load("sec_filings")
        return set(load.failed) if load else set()

    def _report_failed(self) -> None:
        """Report the companies with unreadable members, including those of earlier loads."""
        failed = sorted({cik for load in self._stored_loads() for cik in load.failed})
        if failed:
            some = ", ".join(failed[:MOST_NAMED]) + (", …" if len(failed) > MOST_NAMED else "")
            companies = render.count(len(failed), "company", "companies")
            self._progress.failures.append(
                f"bulk files: the members of {companies} can't be read ({some}); download them again"
            )

    def _load(
        self, pool: ProcessPoolExecutor, dataset: str, used: tuple[Archive, ...], work: Work, ciks: set[str] | None
    ) -> BulkLoad | None:
        """Load the first of some archives; the others select its companies or date its rows. Return the progress to
        store once the lake is compacted, or None if there was nothing to do.
        """
        digests = tuple(archive.sha256 for archive in used)
        load = self._state(dataset, digests)
        if load.done is None:
            self._progress.say(f"{used[0].kind}.zip: unchanged")
            return None
        changed = self._changed(used, load.before, load.again)
        companies = _companies(used[0], ciks if changed is None else changed if ciks is None else ciks & changed)
        batches = list(_batches(companies))
        if load.done == len(batches):
            self._progress.say(f"{used[0].kind}.zip: unchanged")
            return replace(load, done=None)
        companies_text = render.count(len(companies), "company", "companies")
        self._progress.say(f"{used[0].kind}.zip: {companies_text} in {render.count(len(batches), 'batch', 'batches')}")
        upkeep = Upkeep(self._lake, DATASETS, most_new_files=MOST_NEW_FILES)
        waiting = self._begin(pool, used[0], batches[load.done], work)
        for number in range(load.done, len(batches)):
            current = waiting
            if number + 1 < len(batches):
                waiting = self._begin(pool, used[0], batches[number + 1], work)
            failed = self._publish(current, batches[number])
            if failed is None:
                return replace(load, done=number)
            load = replace(load, failed=(*load.failed, *sorted(failed)), done=number + 1)
            self._lake.keep_bulk_load(dataset, load)
            self._progress.line(f"{used[0].kind}.zip: batch {number + 1} of {len(batches)} is in the lake")
            if upkeep.compact_where_due():
                self._remove_intermediate(load.first)
        return replace(load, done=None)

    def _remove_intermediate(self, first: int) -> None:
        """Remove the files that are needed only by versions within this load, which started after version `first`."""
        versions = takewhile(lambda entry: entry.version > first, self._lake.versions())
        ours = [
            entry.version
            for entry in versions
            if entry.dataset in DATASETS and (entry.operation == "compact" or entry.run_id.startswith(RUN))
        ]
        with suppress(LakeError, ReceiptDamaged):  # The load is complete without this. A vacuum reports the problem.
            self._lake.vacuum_versions(ours)

    def _state(self, dataset: str, digests: tuple[str, ...]) -> BulkLoad:
        """Return the progress of the load of these archives, or its beginning."""
        last, first = self._lake.bulk_load(dataset), 0
        with suppress(LakeNotFound):  # The first load may create the lake.
            first = self._lake.head()
        if last is None or last.since != self._since:
            return BulkLoad(archives=digests, since=self._since, first=first)
        if last.archives == digests:
            return last
        before = last.archives if last.done is None else last.before
        again = tuple(sorted(self._again))
        return BulkLoad(archives=digests, before=before, since=self._since, first=first, again=again)

    def _changed(self, used: Sequence[Archive], before: Sequence[str], again: Sequence[str]) -> set[str] | None:
        """Return the companies to load again and those whose members in any archive have changed; None for all."""
        if len(before) != len(used):
            return None
        changed = set(again)
        for archive, digest in zip(used, before, strict=True):
            try:
                previous = set(archives.found(self._store, archive.kind, digest).members())
            except FileNotFoundError:
                return None
            changed |= {member.cik for member in archive.members() if member not in previous}
        return changed

    def _begin(self, pool: ProcessPoolExecutor, archive: Archive, batch: Companies, work: Work) -> BatchWork:
        ciks, observed_at = list(batch), self._lake.now()
        facts = archive.kind == "companyfacts"
        dated = [cik for cik in ciks if cik not in self._undated()]
        releases = LakeReleases(self._lake).at(observed_at).of_companies(dated) if facts else None
        statements = None if facts else self._statements_file(ciks)
        tasks = []
        for start in range(0, len(ciks), COMPANIES_A_TASK):
            some = ciks[start : start + COMPANIES_A_TASK]
            tasks.append(
                Task(
                    archive=archive,
                    companies=some,
                    since=self._since,
                    observed_at=observed_at,
                    as_accepted=self._lake.filings_count_from == ACCEPTANCE,
                    releases=releases and releases.only(some),
                    statements=statements,
                )
            )
        return BatchWork([pool.submit(work, task) for task in tasks], statements)

    def _statements_file(self, ciks: list[str]) -> Path | None:
        """Write the lake's statements about the filings of these companies to a file; None if there are none."""
        statements = LakeStatements(self._lake).table(get("sec_filings"), "cik", ciks)
        if not statements:
            return None
        path = self._scratch / f"{uuid4().hex}.arrow"
        bulk_worker.write_statements(statements, path)
        return path

    def _publish(self, batch_work: BatchWork, batch: Companies) -> set[str] | None:
        """Publish the results of a batch, one dataset at a time. Return the companies with unreadable members, or None
        if a dataset was refused.
        """
        parts: defaultdict[str, list[Packed]] = defaultdict(list)
        for future in batch_work.results:
            try:
                made_of_task = future.result()
            except BrokenProcessPool:
                problem = "a process of the load was killed"
                raise MachineExhausted("memory", "the bulk load", self._lake.location, problem) from None
            for part in made_of_task:
                parts[part.dataset].append(part)
        if batch_work.statements is not None:
            batch_work.statements.unlink()
        failed = {cik for some in parts.values() for part in some for cik in part.failed}
        read = sorted(batch.keys() - failed - self._undated())
        published = all(self._publish_one(dataset, parts[dataset], read) for dataset in in_order(parts))
        return failed if published else None

    def _publish_one(self, dataset: str, parts: Sequence[Packed], read: Sequence[str]) -> bool:
        """Publish the results of one dataset. read: the polled companies, whose members were read."""
        with self._lake.stage(get(dataset), _run_id()) as stage:
            stage.poll(entities=read)

            def fill() -> None:
                for part in parts:
                    stage.add(None, None, part.gaps, extracted=part.extracted)
                    for covered in part.covered:
                        stage.cover(*covered)
                    for table in part.tables():
                        stage.add(None, table, extracted=0)

            return self._progress.add(concluded(stage, self._lake, fill, self._lake.now))


@contextmanager
def _processes() -> Iterator[ProcessPoolExecutor]:
    """Run worker processes that end immediately when the load is stopped."""
    context = multiprocessing.get_context("spawn")
    count = max(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 2)
    pool = ProcessPoolExecutor(count, context, initializer=bulk_worker.prepare_process, initargs=(os.getpid(),))
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _companies(archive: Archive, ciks: set[str] | None) -> Companies:
    """Return the members of each company. ciks: None for all companies."""
    companies: Companies = defaultdict(list)
    for member in archive.members():
        if ciks is None or member.cik in ciks:
            companies[member.cik].append(member)
    return dict(companies)


def _batches(companies: Companies) -> Iterator[Companies]:
    batch: Companies = {}
    size = 0
    for cik, members in companies.items():
        batch[cik] = members
        size += sum(member.size for member in members)
        if size >= BATCH_BYTES:
            yield batch
            batch, size = {}, 0
    if batch:
        yield batch


def _submissions(archive: Archive, ciks: set[str] | None) -> Iterator[Capture]:
    """Yield the readable members of companies."""
    for member in archive.members():
        if ciks is None or member.cik in ciks:
            with suppress(AnswerRefused):
                yield archives.judged(archive, member.name)


def _run_id() -> str:
    return f"{RUN}{uuid4().hex}"
