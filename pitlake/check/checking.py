"""The worlds that a function runs on, and the meaning of a difference between two of them.

At an instant T the result must be the same on the lake, on the lake cut at T, and on lakes with a different future. If
rows were published late, it must also be the same on that lake cut at T. A result that is a history (a table with many
dates) must have the same rows up to T on all of these, even if the function runs as of the end.
"""

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pitlake import clock
from pitlake.check import runners
from pitlake.check.compare import Difference, differences, past
from pitlake.check.findings import Finding
from pitlake.check.request import TRIALS, Check, LookAheadReport
from pitlake.check.runners import Runners
from pitlake.check.tables import Answer
from pitlake.check.tasks import Function, Task, TaskReply
from pitlake.check.worlds import Worlds
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from pitlake.lake.storage.manifest import Snapshot

LOOKS = 2
"""The number of a history's trials as of an instant between the two ends, and of trials with late rows."""
BEGINNING = (1, 5, 20, 60)
"""Positions of dates, counted from a history's first date.

The history is also cut at these dates if they are before the first instant.
"""
_CLOCK = timedelta(days=400)
_CUT, _ALTERED, _LATE = (
    "on a lake that ends at {}",
    "on a lake with different rows after {}",
    "on a lake without late rows that ends at {}",
)


def check(  # noqa: PLR0913 - all that a check is asked for
    function: Callable[..., Any] | str,
    since: str | date,
    until: str | date,
    *,
    every: str = "day",
    trials: int = TRIALS,
    lake: "str | Path | Lake | None" = None,
    version: int | None = None,
    datasets: Collection[str] | None = None,
    time: str | None = None,
    allow: Sequence[str | Path] = (),
    progress: Callable[[str], None] = lambda _text: None,
) -> LookAheadReport:
    """Run a function on many worlds of a lake and report the parts of its results that depend on unpublished rows.

    Args:
        function: `panel(session)` or `panel(session, as_of)`, at the top level of a file; or "FILE.py::NAME".
        since: The first instant; a date means its end in New York.
        until: The last instant.
        every: The interval between instants: hour, day, week or month.
        trials: The number of instants to try, spread evenly.
        lake: The lake or its root (default: $PITLAKE_LAKE, else ./.pitlake/lake).
        version: A lake version (default: the newest).
        datasets: The datasets its sessions bind (default: all).
        time: The column that dates the rows of a history, if neither its name nor an index shows it.
        allow: Files that the function may read.
        progress: Called with a line of text as the check proceeds.

    Raises:
        BadInput: For an invalid argument, and a function that fails or gives random results.
        LakeNotFound: See `pitlake.errors`.
    """
    request = Check(
        function=Function.of(function),
        since=_instant(since, "--from"),
        until=_instant(until, "--to"),
        every=every,
        trials=trials,
        datasets=None if datasets is None else tuple(datasets),
        time=time,
        allowed=tuple(Path(path).resolve() for path in allow),
    )
    if request.until > clock.now():
        raise BadInput("--to", "is in the future", "give a time up to now")
    home = lake if isinstance(lake, Lake) else Lake(lake)
    snapshot = home.snapshot(version)
    names = [name for name in snapshot.tables if "/" not in name and snapshot.files(name)]
    if request.datasets is not None:
        if unknown := sorted({*request.datasets} - {*names}):
            raise BadInput("--dataset", f"the lake has no rows of {', '.join(unknown)}", f"it has {', '.join(names)}")
        names = list(request.datasets)
    with (
        TemporaryDirectory(prefix="pitlake-check-") as folder,
        runners.started(2 if (os.cpu_count() or 1) < 8 else 4) as children,
    ):
        worlds = Worlds(snapshot, names, Path(folder))
        snapshot.fetch(file for table in snapshot.tables for file in snapshot.files(table))
        return _Checking(request, worlds, children, home.location, progress).run()


def _instant(text: str | date, field: str) -> datetime:
    if isinstance(text, datetime):
        return clock.instant(text, field)
    if isinstance(text, str) and len(text) > len("2024-01-01"):
        return clock.instant(text, field)
    try:
        return clock.end_of_new_york_day(text if isinstance(text, date) else date.fromisoformat(text))
    except ValueError:
        raise BadInput(field, f"{text!r} is not a date or an instant", "give a date such as 2024-03-01") from None


@dataclass(frozen=True)
class _Pair:
    """Two runs that must agree as of `at`, one with later rows and one without. rebuild: makes the world of the second
    run for a cut of only some datasets.
    """

    at: datetime
    words: str
    left: Task
    right: Task
    rebuild: Callable[[Collection[str]], Snapshot] | None = None


class _Checking:
    """One check while it runs."""

    def __init__(
        self, check: Check, worlds: Worlds, children: Runners, lake: str, progress: Callable[[str], None]
    ) -> None:
        self.check, self.worlds, self.children, self.lake = check, worlds, children, lake
        self.progress, self.runs = progress, 0
        self.paths = tuple(path or str(Path.cwd()) for path in sys.path)
        self.report = LookAheadReport(check)
        self.full = worlds.full
        self.examples: dict[str, tuple[_Pair, Difference]] = {}
        # A session of few datasets opens faster, so the first run has only those that the function's file names.
        words = set(re.findall(r"\w+", check.function.path.read_text(encoding="utf-8", errors="replace")))
        in_file = tuple(name for name in worlds.datasets if not words.isdisjoint({name, f"{name}_revisions"}))
        self.datasets = in_file or check.datasets
        self.alone: dict[datetime, TaskReply] = {}

    def run(self) -> LookAheadReport:
        end = self._task(self.full, self.check.until)
        clocked = replace(end, clock=_CLOCK)
        ((first,),) = self._run([end])
        base = self._usable(first)
        self.alone[self.check.until] = first
        self.datasets = self.check.datasets
        if first.datasets is not None:
            self.datasets = tuple(sorted(first.datasets))
            self.worlds = replace(self.worlds, datasets=[n for n in self.worlds.datasets if n in first.datasets])
        (second,), (later,) = self._run([replace(task, datasets=self.datasets) for task in (end, clocked)])
        if changed := differences(base, self._usable(second)):
            problem = f"{self.check.function} gives two answers to one question (see {', '.join(changed)})"
            raise BadInput("function", problem, "give its random numbers a seed")
        self._note_sightings(first, self.check.until)
        if later.answer is None:
            self.report.skipped[f"with a different clock: {later.error}"] = 1
        else:
            for difference in differences(base, later.answer).values():
                self._add("clock", self.check.until, difference, f"where the clock is {_CLOCK.days} days ahead")
        time = base.time_column(self.check.time)
        self.report.history_by = time
        instants = self.check.instants
        looks = instants[-1 :: -max(1, -(-len(instants) // LOOKS))]
        if time is not None:
            dates = sorted({moment for moment in base.known_from(time) if moment is not None})
            # Only instants early in a history reveal a warm-up period that was filled backwards.
            for at in [dates[count] for count in BEGINNING if count < len(dates) and dates[count] < self.check.since]:
                self._compare(list(self._pairs(at, self.check.until))[:1], time)
            for at in self.check.cuts(dates[0] if dates else self.check.since):
                self._compare(list(self._pairs(at, self.check.until)), time)
            instants = sorted(looks)
        in_history = self.report.compared
        for at in instants:
            self._compare([*self._pairs(at, at), *(self._late_pairs(at) if at in looks else ())], None)
        self._check_memory(instants)
        causes = self._causes()
        for column, (pair, difference) in self.examples.items():
            self._add("future", pair.at, difference, pair.words, causes.get(column, ()))
        if not self.report.findings:
            self._refuse_empty(base, in_history)
        return self.report

    def _refuse_empty(self, base: Answer, in_history: int) -> None:
        """Raise BadInput for a check that compared nothing about the past, because such a check proves nothing."""
        reasons = sorted(self.report.skipped, key=lambda reason: -self.report.skipped[reason])
        sizes = {reply.answer.rows for reply in self.alone.values() if reply.answer is not None}
        if self.report.history_by is None and not base.names_rows and len(sizes) > 1:
            problem = "returned rows without dates or names, so none can be compared with the past"
            raise BadInput("function", problem, "return the rows' dates in a column `date`, or name one with --time")
        if self.datasets is not None and not self.datasets:
            step = "read the lake through the session that the function is called with"
            raise BadInput("function", f"{self.check.function} never queries its session, so nothing is compared", step)
        if not (self.report.compared if self.report.history_by is None else in_history):
            reason = reasons[0] if reasons else "no row of the result is dated up to the instants tried"
            step = "choose instants that have rows of the result before them and rows of the lake after them"
            raise BadInput("function", f"{self.check.function}: nothing was compared: {reason}", step)

    def _task(self, snapshot: Snapshot, *instants: datetime) -> Task:
        return Task(
            function=self.check.function,
            snapshot=snapshot,
            instants=instants,
            datasets=self.datasets,
            paths=self.paths,
            lake=self.lake,
            folder=self.worlds.folder,
        )

    def _run(self, tasks: Sequence[Task]) -> list[list[TaskReply]]:
        """Run tasks. A task that has only some datasets is repeated with all if it fails or opens others."""
        self.runs += len(tasks)
        self.progress(f"checking {self.check.function}: {self.runs} runs, {self.report.compared} results compared")
        answers = self.children.run(tasks)
        wanting = [
            number
            for number, (task, replies) in enumerate(zip(tasks, answers, strict=True))
            if task.datasets != self.check.datasets and any(reply.error or reply.datasets is None for reply in replies)
        ]
        repeats = self.children.run([replace(tasks[number], datasets=self.check.datasets) for number in wanting])
        for number, replies in zip(wanting, repeats, strict=True):
            answers[number] = replies
        return answers

    def _usable(self, reply: TaskReply) -> Answer:
        if reply.bad_input is not None:
            raise BadInput(*reply.bad_input)
        if reply.answer is None:
            raise BadInput("function", f"{self.check.function} fails: {reply.error}", "make it run on the lake first")
        if not reply.answer.rows:
            step = "choose times or datasets with rows in the lake"
            raise BadInput("function", f"{self.check.function} returned no rows as of --to", step)
        return reply.answer

    def _pairs(self, at: datetime, as_of: datetime) -> Iterator[_Pair]:
        """Yield pairs of runs that must agree about the past up to one instant.

        The runs are as of that instant or a later one.
        """
        worlds, seed, spelled = self.worlds, int(at.timestamp()), clock.iso(at)
        full = self._task(self.full, as_of)

        def cut(datasets: Collection[str] | None = None) -> Snapshot:
            return worlds.cut(at, datasets)

        if not worlds.has_rows(at, as_of if as_of > at else None):
            self._skip(f"the lake has no later rows of {', '.join(worlds.datasets)}")
            return
        yield _Pair(at, _CUT.format(spelled), full, self._task(cut(), as_of), cut)
        yield _Pair(at, _ALTERED.format(spelled), full, self._task(worlds.altered(at, seed, as_of), as_of))

    def _late_pairs(self, at: datetime) -> Iterator[_Pair]:
        """Yield the pair of worlds in which some rows were published late, as of the instant itself.

        As of a later instant, the check itself would hide rows that are dated before their publication.
        """
        worlds, seed = self.worlds, int(at.timestamp())
        late = worlds.delayed(at, seed)

        def cut_late(datasets: Collection[str] | None = None) -> Snapshot:
            return worlds.cut(at, datasets, of=late)

        words = _LATE.format(clock.iso(at))
        yield _Pair(at, words, self._task(late, at), self._task(cut_late(), at), cut_late)

    def _skip(self, reason: str) -> None:
        self.report.skipped[reason] = self.report.skipped.get(reason, 0) + 1

    def _compare(self, pairs: Sequence[_Pair], time: str | None) -> None:
        """Compare pairs of runs and keep the smallest difference of each column."""
        tasks = {id(task): task for pair in pairs for task in (pair.left, pair.right)}
        replies = {
            name: self.alone[task.instants[0]]
            for name, task in tasks.items()
            if task.snapshot is self.full and task.instants[0] in self.alone
        }
        new = [name for name in tasks if name not in replies]
        replies |= zip(new, (reply for (reply,) in self._run([tasks[name] for name in new])), strict=True)
        self.alone |= {task.instants[0]: replies[name] for name, task in tasks.items() if task.snapshot is self.full}
        for pair in pairs:
            left, right = replies[id(pair.left)], replies[id(pair.right)]
            self._note_sightings(left, pair.left.instants[0])
            if left.answer is None or right.answer is None:
                # A failure counts as a difference only if later rows were removed.
                if time is None and left.answer is not None and pair.words.startswith(_CUT[:10]):
                    self.report.compared += 1
                    difference = Difference("answer", {}, "an answer", right.error, 1)
                    self.examples.setdefault("answer", (pair, difference))
                else:
                    self._skip(left.error or right.error)
                continue
            until = None if time is None else pair.at
            compared = past(left.answer, right.answer, time, until)
            if not any(answer.rows for answer in compared):
                self._skip("no row of the result is dated up to the instant")
                continue
            self.report.compared += 1
            for column, difference in differences(*compared, time=time).items():
                example = self.examples.get(column)
                if example is None or difference.count < example[1].count:
                    self.examples[column] = (pair, difference)

    def _note_sightings(self, reply: TaskReply, at: datetime) -> None:
        reported = {(finding.kind, finding.where.rpartition(", at ")[2]) for finding in self.report.findings}
        for sighting in reply.sightings:
            if sighting.kind == "file" and Path(sighting.subject).resolve() in self.check.allowed:
                continue
            if (sighting.kind, sighting.where.rpartition(", at ")[2]) not in reported:
                reported.add((sighting.kind, sighting.where.rpartition(", at ")[2]))
                self.report.findings.append(Finding(kind=sighting.kind, at=at, where=sighting.where))

    def _check_memory(self, moments: Sequence[datetime]) -> None:
        """Repeat the runs in one process, latest first, to reveal cached results."""
        instants = (self.check.until, *sorted(({*moments} & self.alone.keys()) - {self.check.until}, reverse=True))
        (replies,) = self._run([self._task(self.full, *instants)])
        for at, reply in zip(instants[1:], replies[1:], strict=True):
            alone = self.alone[at]
            if alone.answer is None or reply.answer is None:
                continue
            for difference in differences(reply.answer, alone.answer).values():
                self._add("cache", at, difference, "in a separate process")

    def _causes(self) -> dict[str, tuple[str, ...]]:
        """Return the datasets whose later rows alone change a column. Each dataset is cut separately."""
        causes: dict[str, tuple[str, ...]] = {}
        for column, (pair, _) in self.examples.items():
            candidates = [
                name for name in self.worlds.datasets if name in self.worlds.after(pair.at - timedelta(days=400))
            ]
            rebuild = pair.rebuild or partial(self.worlds.cut, pair.at)
            if len(candidates) == 1:
                causes[column] = tuple(candidates)
                continue
            tasks = [replace(pair.right, snapshot=rebuild([name])) for name in candidates]
            left, *rights = (reply for (reply,) in self._run([pair.left, *tasks]))
            time = self.report.history_by if pair.left.instants[0] != pair.at else None
            until = pair.at if time else None
            causes[column] = tuple(
                name
                for name, right in zip(candidates, rights, strict=True)
                if left.answer is not None
                and (
                    right.answer is None
                    or column in differences(*past(left.answer, right.answer, time, until), time=time)
                )
            )
        return causes

    def _add(self, kind: str, at: datetime, difference: Difference, world: str, datasets: tuple[str, ...] = ()) -> None:
        if any(finding.kind == kind and finding.column == difference.column for finding in self.report.findings):
            return
        self.report.findings.append(
            Finding(
                kind=kind,
                at=at,
                column=difference.column,
                row=difference.row,
                with_future=difference.left,
                without_future=difference.right,
                datasets=datasets,
                world=world,
            )
        )
