"""What the desk's pages show: the PM's live memory as of an instant, and the decisions on the tape by then."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from forge.agent.lineage import lineage
from forge.core.clock import Simulated
from forge.core.tape import Tape
from forge.desk import Desk, desk
from forge.evolution.in_force import InForce, in_force
from forge.evolution.propose import patch
from forge.memory import Memory, Remembered
from forge.memory.approvals import Pending, pending
from forge.memory.book import remembered_book
from forge.memory.guardrails import Measure
from forge.memory.lessons import Lesson, lessons
from forge.providers.base import At
from forge.records import (
    KINDS,
    Calibration,
    Constraints,
    Counterfactual,
    Expression,
    Outcome,
    Portfolio,
    Proposal,
    Record,
    View,
    kind_of_path,
)
from forge.tracking.bars import NotFollowable
from forge.tracking.trades import FollowedTrade, follow_held
from forge.web.decided import Begun, Decision, begun, decision
from pitlake import clock
from pitlake.clock import iso
from pitlake.errors import BadInput, LakeNotFound
from pitlake.lake.lake import Lake

_Kind = TypeVar("_Kind", bound=Record)
STANDING = ("draft", "active")


class Text(NamedTuple):
    """One writing of a record: when, and what it held."""

    at: datetime
    record: Any


class LimitUse(NamedTuple):
    """What the book comes to beside a limit; None where the book does not say."""

    rule: str
    actual: float | None
    limit: float


@dataclass(frozen=True)
class Day:
    """The desk as of an instant. memory: the live one; lake: the market's."""

    at: datetime
    desk: Desk
    memory: Memory
    tape: Tape
    lake: Lake

    @classmethod
    def of(cls, at: datetime, lake: Lake) -> "Day":
        """With the memory, tape and settings that this machine's variables name."""
        own = desk()
        return cls(at, own, own.memory(), own.tape, lake)

    @cached_property
    def known(self) -> Remembered:
        """Memory as of the day."""
        return self.memory.hydrate(self.at)

    def texts(self, kind: str, name: str) -> list[Text]:
        """Every writing of a record by the day, oldest first. Raises BadInput where there was none."""
        path = KINDS[kind].path(name)
        rows = self.known.all(path) if KINDS[kind].names(name) else []
        if not rows:
            raise BadInput(kind, f"there was no {name[:20]!r} as of {iso(self.at)}", "the desk lists those there were")
        return [Text(self.known.written_at(row), self.known.record(row)) for row in rows]

    def all(self, kind: str) -> list[list[Text]]:
        """The writings of every record of a kind, those that were written last first."""
        folder = KINDS[kind].folder
        names = [path.removeprefix(folder).removesuffix(".md") for path in self.known.paths(folder)]
        found = [self.texts(kind, name) for name in names if KINDS[kind].names(name)]
        return sorted(found, key=lambda texts: texts[-1].at, reverse=True)

    def newest(self, kind: str, cls: type[_Kind]) -> list[_Kind]:
        """The records of a kind as they stand, those that were written last first."""
        found = [texts[-1].record for texts in self.all(kind)]
        return [one for one in found if isinstance(one, cls)]

    def written(self, since: timedelta) -> list[Text]:
        """What was written of records in the time before the day, newest first."""
        rows = (row for path in self.known.paths() for row in self.known.all(path) if kind_of_path(path))
        found = [Text(self.known.written_at(row), self.known.record(row)) for row in rows]
        return sorted((one for one in found if one.at > self.at - since), key=lambda one: one.at, reverse=True)

    def waiting(self) -> list[Pending]:
        """The Expressions that wait for the PM."""
        return pending(self.memory, self.desk.guardrails, self.at)

    def lessons(self) -> list[Lesson]:
        """The lessons that wait for the PM."""
        return [lesson for lesson in lessons(self.known) if not lesson.decision]

    def proposed(self) -> list[Proposal]:
        """The changes of skills that wait for the PM."""
        return [one for one in self.newest("proposals", Proposal) if one.status == "pending"]

    def patch(self, proposal: Proposal) -> str:
        """What a proposal that waits would change; of one that was decided, the file's new text."""
        return patch(proposal, self.desk.skills) if proposal.status == "pending" else proposal.body

    def skills(self) -> list[InForce]:
        """The skills in force on the day."""
        return in_force(self.memory.hydrate(clock.now()), self.at, self.desk.skills)

    def stale(self) -> list[Text]:
        """Views that stand and were not written for longer than the settings allow, the oldest first."""
        bound = self.at - timedelta(days=self.desk.config.schedules.staleness_days)
        found = [texts[-1] for texts in self.all("views") if texts[-1].at < bound]
        return [one for one in reversed(found) if one.record.status in STANDING]

    def due(self) -> list[View]:
        """Views that stand though the day they settle by is over."""
        views = (one for one in self.newest("views", View) if one.status == "active")
        return [one for one in views if one.settles and one.settles.by < self.at.date()]

    def measures(self, expression: Expression) -> tuple[Measure, ...]:
        """An Expression beside each limit, in the book of the day."""
        return self.desk.guardrails.measure(expression, self._portfolio, self._constraints)

    def room(self) -> list[LimitUse]:
        """The book beside each limit that it alone can come to."""
        book = self._portfolio
        shares = book.factor_exposures if book else None
        told = {
            "max_gross": book.gross if book else None,
            "max_duration": abs(book.duration) if book and book.duration is not None else None,
            "max_factor_conc": None if shares is None else max((abs(one) for one in shares.values()), default=0.0),
        }
        return [
            LimitUse(name, value, self.desk.guardrails.limit(name, self._constraints)) for name, value in told.items()
        ]

    def expressions_of(self, view: View) -> list[list[Text]]:
        """The Expressions of a View."""
        return [texts for texts in self.all("expressions") if texts[-1].record.view_id == view.id]

    def course(self, texts: Sequence[Text]) -> FollowedTrade | str:
        """What became of an Expression by the day since it was active first; else the reason why that can't be told."""
        try:
            course = follow_held(texts, At(as_of=self.at, lake=self.lake.root))
        except (NotFollowable, BadInput, LakeNotFound) as problem:
            return f"It can't be followed: {problem if not isinstance(problem, LakeNotFound) else 'there is no lake'}."
        return course or "It was never active, so there is nothing to follow."

    def calibrations(self) -> list[Calibration]:
        """How forecasts came out, by category, where that was measured."""
        return self.newest("calibration", Calibration)

    def counterfactuals(self) -> list[Counterfactual]:
        """What was not done."""
        return self.newest("counterfactuals", Counterfactual)

    def outcomes(self) -> list[Outcome]:
        """What became of what was done."""
        return self.newest("outcomes", Outcome)

    def decisions(self) -> list[Begun]:
        """The decisions by the day, the newest first: live ones as of when they were made."""
        found = [begun(self.tape, name) for name in self.tape.decisions()]
        return [one for one in reversed(found) if one.as_of <= self.at]

    def decision(self, name: str) -> Decision:
        """One of them. Raises BadInput where there was none."""
        found = next((one for one in self.decisions() if one.name == name), None)
        if found is None:
            raise BadInput("decision", f"there was no such decision as of {iso(self.at)}", "the desk lists them")
        edges = lineage(self.memory_of(found), self.tape, name, self.at)
        return decision(self.tape, found, edges)

    def brief(self) -> Decision | None:
        """The newest decision that has ended."""
        ended = next((one for one in self.decisions() if one.ended), None)
        return decision(self.tape, ended, []) if ended else None

    def memory_of(self, begun: Begun) -> Memory:
        """The memory a decision was made on: the live one, or a simulated one of its own."""
        if begun.live:
            return self.memory
        return self.desk.memory(Simulated(begun.clock.partition(":")[2], begun.as_of))

    def close(self) -> None:
        """Let its connections go."""
        self.memory.close()

    @cached_property
    def _portfolio(self) -> Portfolio | None:
        return remembered_book(self.known)

    @cached_property
    def _constraints(self) -> Constraints | None:
        return self._one("constraints", Constraints, "constraints")

    def _one(self, kind: str, cls: type[_Kind], name: str) -> _Kind | None:
        row = self.known.newest(KINDS[kind].path(name))
        record = self.known.record(row) if row else None
        return record if isinstance(record, cls) else None
