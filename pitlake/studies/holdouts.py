"""A study: sessions whose questions are counted, a sealed plan, and a holdout that is used once after the plan."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakSet

from pitlake import clock
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from pitlake.lake.storage.root import open_store
from pitlake.session.api import connect
from pitlake.session.result import Result
from pitlake.session.session import Session
from pitlake.studies import ledger
from pitlake.studies.ledger import Ledger
from pitlake.studies.report import StudyReport, others
from pitlake.studies.trials import Returns

if TYPE_CHECKING:
    from purgedcv import CombinatorialPurgedCV, PurgedKFold


class Study:
    """One study of a lake, by its name. Sessions are opened with `connect` and counted; see `study`.

    start, end: the first and the last instant of the holdout.
    """

    def __init__(self, name: str, start: datetime, end: datetime, lake: "str | Path | Lake | None" = None) -> None:
        self.name, self.start, self.end = name, start, end
        self._lake = lake if isinstance(lake, Lake) else Lake(lake)
        self._lake.head()
        self._store = open_store(self._lake.location)
        self._ledger = Ledger(self._store, name)
        self._in_holdout = False
        self._inside = WeakSet[Session]()
        holdout = [clock.iso(start), clock.iso(end)]
        if not self._ledger.add(ledger.OPENED, once=True, holdout=holdout):
            first = self._ledger.records()[0].facts["holdout"]
            if first != holdout:
                problem = f"the study {name} holds out {first[0]} to {first[1]}"
                raise BadInput("holdout", problem, "open it with that range, or give a different study another name")

    def connect(self, as_of: str | datetime, **options: Any) -> Session:
        """Open a session that stores a receipt of every question and counts it; options as for `pitlake.connect`.

        Raises BadInput for an instant in the holdout, unless the holdout is open, for one after it, and for open mode.
        """
        if options.get("open_mode") or as_of is None:
            raise BadInput("open_mode", "shows the holdout", "ask as of an instant; use `holdout()` to ask the holdout")
        moment = clock.instant(as_of)
        self._refuse(moment)
        session = connect(moment, lake=self._lake, **options)
        session.on_result, session.on_advance = self._count, lambda moment: self._admit(session, moment)
        try:
            self._admit(session, moment)
        except BadInput:
            session.close()
            raise
        return session

    def seal(self, plan: str, trial: str | None = None) -> None:
        """Record the plan for the holdout, once.

        Args:
            plan: The question for the holdout, and what would refute the idea.
            trial: The name of the logged trial that the holdout will test (default: the name of the first trial that is
                logged in the holdout).

        Raises:
            BadInput: For a second plan, an empty one and an unknown trial.
        """
        if not plan.strip():
            raise BadInput("plan", "is empty", "write the question for the holdout, and what would refute the idea")
        names = dict.fromkeys(each.name for each in self.report().trials)
        if trial is not None and trial not in names:
            problem = f"the study has no trial {trial}"
            raise BadInput("trial", problem, f"it has {', '.join(names)}" if names else "log it with study.log_trial")
        if not self._ledger.add(ledger.SEALED, once=True, plan=plan, trial=trial):
            problem = f"the plan of study {self.name} is already sealed"
            raise BadInput("plan", problem, "follow it, or begin a study under another name")

    @contextmanager
    def holdout(self) -> Iterator["Study"]:
        """Open the holdout for one block, once, after the plan was sealed.

        The sessions that see the holdout are closed with the block, or with the study's own block if that ends first.
        Raises BadInput before the plan was sealed, or the second time.
        """
        records = self._ledger.records()
        if not any(record.kind == ledger.SEALED for record in records):
            raise BadInput("holdout", f"the plan of study {self.name} is not sealed", "seal it with study.seal(plan)")
        if not self._ledger.add(ledger.HOLDOUT, once=True):
            problem = f"the holdout of study {self.name} was already used"
            raise BadInput(
                "holdout", problem, f"`pitlake study report {self.name}` says when; start a study with a later holdout"
            )
        self._in_holdout = True
        try:
            yield self
        finally:
            self._leave()

    def log_trial(self, name: str, returns: Sequence[float] | Any, *, frequency: str | None = None) -> None:
        """Count a trial, with its return for each period.

        Args:
            name: The idea. A trial of the same name and returns counts once.
            returns: Numbers, a series indexed by dates, a mapping of dates, or a table of dates and returns.
            frequency: The period of one return: hour, day, week, month, quarter or year (default: derived from the
                dates). Only trials of one frequency are compared.

        Raises:
            BadInput: For fewer than four returns, gaps, and dates in the holdout unless it is open, or after it.
        """
        series = Returns.parse(returns, frequency)
        in_holdout = self._in_holdout
        if series.dates:
            in_holdout = series.dates[-1] > self.start
            if in_holdout and series.dates[-1] > self.end:
                raise BadInput("returns", f"trial {name} ends after the holdout", f"end it by {clock.iso(self.end)}")
            if in_holdout and not self._is_open():
                step = f"end it by {clock.iso(self.start)}, or {self._way_to_holdout()}"
                raise BadInput("returns", f"trial {name} reaches into the holdout of study {self.name}", step)
            if in_holdout and series.dates[0] <= self.start:
                step = "log the returns before it and those in it as two trials"
                raise BadInput("returns", f"trial {name} begins before the holdout and ends in it", step)
        dates = [clock.iso(moment) for moment in series.dates]
        self._ledger.add(
            ledger.TRIAL,
            name=str(name),
            returns=series.values,
            dates=dates,
            frequency=series.frequency,
            holdout=in_holdout,
        )

    def folds(
        self, known_at: Any, label_ends: Any, *, splits: int = 5, test_splits: int = 1, embargo: Any = None
    ) -> "PurgedKFold | CombinatorialPurgedCV":
        """Return a scikit-learn splitter for a panel, which trains on no row whose label overlaps that of a test row.

        Args:
            known_at: The instant of each row, in order; many rows may have the same one.
            label_ends: The instant at which each row's label was known.
            splits: The number of blocks that the rows are cut into.
            test_splits: The number of blocks that are tested together. With more than one, each combination of blocks
                is tested once (combinatorial purged cross-validation).
            embargo: The span after each test block without training rows, such as "5D".

        Raises:
            BadInput: For invalid arguments, and labels that reach into the holdout.
            ImportError: Without the extra `study`.
        """
        from pitlake.studies.folds import purged_folds

        return purged_folds(
            known_at, label_ends, before=self.start, splits=splits, test_splits=test_splits, embargo=embargo
        )

    def report(self) -> StudyReport:
        """Return the report of the trials and questions up to now."""
        overlapping = others(self._store, self.name, self.start, self.end)
        return StudyReport(self.name, tuple(self._ledger.records()), overlapping)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the holdout if it is still open. Everything else is stored already."""
        self._leave()

    def _leave(self) -> None:
        """Close the holdout and the sessions that see it."""
        if not self._in_holdout:
            return
        self._in_holdout = False
        for session in list(self._inside):
            session.close()
        self._inside.clear()
        self._ledger.add(ledger.LEFT, once=True)

    def _admit(self, session: Session, as_of: datetime) -> None:
        """Admit a session to an instant, and remember a session that sees the holdout."""
        self._refuse(as_of)
        if as_of >= self.start:
            self._inside.add(session)
            self._refuse(as_of)  # The block may have ended in another thread before the session was remembered.

    def _refuse(self, as_of: datetime) -> None:
        if as_of > self.end:
            step = f"ask as of {clock.iso(self.end)} or earlier, or begin a study with a later holdout"
            raise BadInput("as_of", f"is after the holdout of study {self.name}", step)
        if as_of >= self.start and not self._is_open():
            step = f"ask as of an earlier time than {clock.iso(self.start)}, or {self._way_to_holdout()}"
            raise BadInput("as_of", f"sees the holdout of study {self.name}", step)

    def _is_open(self) -> bool:
        """Return whether the holdout is open. The ledger is checked too, because copies of this study miss the end."""
        return self._in_holdout and all(record.kind != ledger.LEFT for record in self._ledger.records())

    def _way_to_holdout(self) -> str:
        kinds = {record.kind for record in self._ledger.records()}
        if ledger.HOLDOUT in kinds:
            return "start a study with a later holdout: this one was already used"
        return "ask it with study.holdout()" if ledger.SEALED in kinds else "seal the plan with study.seal(plan) first"

    def _count(self, result: Result) -> None:
        question = result.receipt.question
        self._refuse(clock.instant(str(question.as_of)))
        self._ledger.add(
            ledger.ASKED,
            receipt=result.keep(self._lake),
            as_of=question.as_of,
            query=question.query or question.sql,
            rows=len(result),
        )


def study(name: str, *, holdout: tuple[str | date, str | date], lake: "str | Path | Lake | None" = None) -> Study:
    """Open a study, a new one or the one of that name, as a context manager.

    Args:
        name: Letters, digits, - and _.
        holdout: The first and the last day of the holdout, or two instants.
        lake: The lake or its root (default: $PITLAKE_LAKE, else ./.pitlake/lake). It keeps the study.

    Raises:
        BadInput: For an invalid name or holdout, or a holdout that differs from the study's.
        LakeNotFound, LakeFault: See `pitlake.errors`.
    """
    try:
        first, last = holdout
        start, end = _bound(first, last=False), _bound(last, last=True)
    except (TypeError, ValueError):
        raise BadInput(
            "holdout", "is not two dates", 'give the first and the last, ("2024-01-01", "2024-12-31")'
        ) from None
    if start >= end:
        raise BadInput("holdout", "ends before it begins", "name the earlier date first")
    return Study(name, start, end, lake)


def report(name: str, lake: "str | Path | Lake | None" = None) -> StudyReport:
    """Return the report of a lake's study. Raises BadInput for an unknown name, LakeNotFound."""
    home = lake if isinstance(lake, Lake) else Lake(lake)
    home.head()
    store = open_store(home.location)
    records = Ledger(store, name).records()
    if not records:
        names = ledger.names(store)
        problem = f"the lake has no study {name}"
        raise BadInput(
            "name", problem, f"it has {', '.join(names)}" if names else "start a study with pitlake.study(name, …)"
        )
    start, end = map(clock.instant, records[0].facts["holdout"])
    return StudyReport(name, tuple(records), others(store, name, start, end))


def _bound(moment: str | date, *, last: bool) -> datetime:
    if isinstance(moment, datetime) and moment.tzinfo is None and moment.time() == time():
        moment = moment.date()  # pandas' Timestamp of a day
    if isinstance(moment, datetime) or (isinstance(moment, str) and len(moment) > len("2024-01-01")):
        return clock.instant(moment, "holdout")
    day = moment if isinstance(moment, date) else date.fromisoformat(moment)
    return clock.end_of_new_york_day(day) if last else clock.start_of_new_york_day(day)
