"""A study: sessions whose questions are counted, a sealed plan, and a holdout that is used once after it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from math import isfinite
from pathlib import Path
from typing import Any, Self

from pitlake import clock
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from pitlake.lake.storage.root import open_store
from pitlake.session.api import connect
from pitlake.session.result import Result
from pitlake.session.session import Session
from pitlake.studies import ledger, overfitting
from pitlake.studies.ledger import Ledger, LedgerRecord
from pitlake.times import END, MixedMidnights, read_column


class Study:
    """One study of a lake, by its name. Sessions are opened with `connect` and counted; see `study`.

    start, end: the first instant of the holdout, and the first after it.
    """

    def __init__(self, name: str, start: datetime, end: datetime, lake: "str | Path | Lake | None" = None) -> None:
        self.name, self.start, self.end = name, start, end
        self._lake = lake if isinstance(lake, Lake) else Lake(lake)
        self._lake.head()
        self._ledger = Ledger(open_store(self._lake.location), name)
        self._in_holdout = False
        holdout = [clock.iso(start), clock.iso(end)]
        if not self._ledger.add(ledger.OPENED, once=True, holdout=holdout):
            first = self._ledger.records()[0].facts["holdout"]
            if first != holdout:
                problem = f"the study {name} holds out {first[0]} to {first[1]}"
                raise BadInput("holdout", problem, "open it with that, or give another study another name")

    def connect(self, as_of: str | datetime, **options: Any) -> Session:
        """Open a session that stores a receipt of every question and counts it; options as for `pitlake.connect`.

        Raises BadInput for an instant in the holdout or later, unless the holdout is open, and for open mode.
        """
        if options.get("open_mode") or as_of is None:
            raise BadInput("open_mode", "shows the holdout", "ask as of an instant; use `holdout()` to ask the holdout")
        self._before_holdout(clock.instant(as_of))
        session = connect(as_of, lake=self._lake, **options)
        session.on_result, session.on_advance = self._count, self._before_holdout
        return session

    def seal(self, plan: str) -> None:
        """Record the plan for the holdout, once. Raises BadInput for a second plan and for an empty one."""
        if not plan.strip():
            raise BadInput("plan", "is empty", "write the question for the holdout, and what would refute the idea")
        if not self._ledger.add(ledger.SEALED, once=True, plan=plan):
            problem = f"the plan of study {self.name} is sealed already"
            raise BadInput("plan", problem, "follow it, or begin a study under another name")

    @contextmanager
    def holdout(self) -> Iterator["Study"]:
        """Open the holdout for one block, once, after the plan was sealed. Raises BadInput before that, or the second
        time.
        """
        records = self._ledger.records()
        if not any(record.kind == ledger.SEALED for record in records):
            raise BadInput("holdout", f"the plan of study {self.name} is not sealed", "seal it with study.seal(plan)")
        if not self._ledger.add(ledger.HOLDOUT, once=True):
            problem = f"the holdout of study {self.name} was used already"
            raise BadInput(
                "holdout", problem, f"`pitlake study report {self.name}` says when; start a study with a later holdout"
            )
        self._in_holdout = True
        try:
            yield self
        finally:
            self._in_holdout = False

    def log_trial(self, name: str, returns: Sequence[float]) -> None:
        """Count a trial, with its return for each period. Raises BadInput for fewer than four returns or invalid
        numbers, and outside the holdout for a series of pandas with dates in it.
        """
        values = _returns(returns)
        if not self._in_holdout and any(at > self.start for at in _instants(returns)):
            problem = f"of trial {name} reach into the holdout of study {self.name}"
            raise BadInput("returns", problem, f"end them before {clock.iso(self.start)}, or {self._way_to_holdout()}")
        if len(values) < overfitting.LEAST_PERIODS:
            problem = f"trial {name} has {len(values)}"
            raise BadInput("returns", problem, f"give {overfitting.LEAST_PERIODS} or more, one for each period")
        self._ledger.add(ledger.TRIAL, name=str(name), returns=values, holdout=self._in_holdout)

    def report(self) -> "StudyReport":
        """Return the trials and questions so far."""
        return StudyReport(self.name, tuple(self._ledger.records()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: everything is stored already."""

    def _before_holdout(self, as_of: datetime) -> None:
        if as_of >= self.start and not self._in_holdout:
            step = f"ask as of an earlier time than {clock.iso(self.start)}, or {self._way_to_holdout()}"
            raise BadInput("as_of", f"sees the holdout of study {self.name}", step)

    def _way_to_holdout(self) -> str:
        kinds = {record.kind for record in self._ledger.records()}
        if ledger.HOLDOUT in kinds:
            return "start a study with a later holdout: this one was used already"
        return "ask it with study.holdout()" if ledger.SEALED in kinds else "seal the plan with study.seal(plan) first"

    def _count(self, result: Result) -> None:
        question = result.receipt.question
        self._ledger.add(
            ledger.ASKED,
            receipt=result.keep(self._lake),
            as_of=question.as_of,
            query=question.query or question.sql,
            rows=len(result),
            holdout=self._in_holdout,
        )


@dataclass(frozen=True)
class StudyReport:
    """The trials and questions of a study, oldest first."""

    name: str
    records: tuple[LedgerRecord, ...]

    @property
    def trials(self) -> dict[str, list[float]]:
        """Return the returns of the trials outside the holdout, by number and name; repeated trials count again."""
        chosen = [record for record in self.records if record.kind == ledger.TRIAL and not record.facts["holdout"]]
        return {f"{place}. {record.facts['name']}": record.facts["returns"] for place, record in enumerate(chosen, 1)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; figures that need more trials are null, and `note` says why."""
        trials = list(self.trials.values())
        alike = len({len(returns) for returns in trials}) <= 1
        ratios = {name: overfitting.sharpe_ratio(returns) for name, returns in self.trials.items()}
        note = "" if alike else "the trials have different numbers of returns, so they can't be cross-validated"
        if len(trials) < 2:
            note = "two trials or more are needed for the probability of overfitting"
        moments = {record.kind: clock.iso(record.at) for record in self.records}
        plans = [record.facts["plan"] for record in self.records if record.kind == ledger.SEALED]
        return {
            "study": self.name,
            "holdout": self.records[0].facts["holdout"],
            "trials": len(trials),
            "questions": sum(record.kind == ledger.ASKED for record in self.records),
            "best_trial": max(ratios, key=lambda name: ratios[name]) if ratios else None,
            "best_sharpe_ratio": max(ratios.values()) if ratios else None,
            "deflated_sharpe_ratio": overfitting.deflated(trials) if trials else None,
            "probability_of_overfitting": (
                overfitting.probability_of_overfitting(trials) if alike and len(trials) > 1 else None
            ),
            "note": note,
            "plan": plans[0] if plans else None,
            "sealed_at": moments.get(ledger.SEALED),
            "holdout_asked_at": moments.get(ledger.HOLDOUT),
            "ledger": [
                {"at": clock.iso(record.at), "kind": record.kind}
                | {name: value for name, value in record.facts.items() if name not in ("returns", "plan")}
                for record in self.records
            ],
        }


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
    return StudyReport(name, tuple(records))


def _bound(moment: str | date, *, last: bool) -> datetime:
    if isinstance(moment, datetime) and moment.tzinfo is None and moment.time() == time():
        moment = moment.date()  # pandas' Timestamp of a day
    if isinstance(moment, datetime) or (isinstance(moment, str) and len(moment) > len("2024-01-01")):
        return clock.instant(moment, "holdout")
    day = moment if isinstance(moment, date) else date.fromisoformat(moment)
    return clock.end_of_new_york_day(day) if last else clock.start_of_new_york_day(day)


def _instants(returns: Any) -> list[datetime]:
    """Return the instants at which the periods of a series ended, if its index dates them."""
    index = getattr(returns, "index", None)
    dates = [] if index is None or callable(index) else [value for value in index if not isinstance(value, int | str)]
    try:
        instants = read_column(dates, zone=clock.NEW_YORK)
    except MixedMidnights:
        instants = read_column(dates, zone=clock.NEW_YORK, midnights=END)
    return [at for at in instants if at is not None]


def _returns(returns: Any) -> list[float]:
    try:
        values = [float(value) for value in returns]
    except (TypeError, ValueError):
        raise BadInput("returns", "are not numbers", "give a list or a series of one return for each period") from None
    if not all(map(isfinite, values)):
        raise BadInput("returns", "have gaps or infinite values", "drop those periods first")
    return values
