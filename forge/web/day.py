"""The content of the desk's pages: the PM's memory as of an instant, and the decisions on the tape up to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast

from forge.agent.lineage import lineage
from forge.core.clock import Simulated
from forge.core.config import Approvers
from forge.core.tape import WORK, Tape
from forge.desk import Desk, desk
from forge.evolution.in_force import InForce, in_force
from forge.evolution.propose import patch
from forge.memory import Memory, Remembered
from forge.memory.approvals import Pending, pending
from forge.memory.book import held_in, remembered_book, with_approved
from forge.memory.guardrails import BookLine, Figure, Guardrails
from forge.memory.halts import halted_spans
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
    Settlement,
    View,
    kind_of_path,
    parse,
)
from forge.tracking.alerts import Alert, alerts
from forge.tracking.bars import NotFollowable
from forge.tracking.morning import Morning, morning, records_since
from forge.tracking.risk import Risk, risk
from forge.tracking.settlement import settlements
from forge.tracking.trades import FollowedTrade, follow_held
from forge.tracking.valuation import Result, Valued, sum_results
from forge.web.decisions import Decision, DecisionStart, decision, decision_start
from pitlake import clock
from pitlake.clock import iso
from pitlake.errors import BadInput, LakeNotFound
from pitlake.lake.lake import Lake

_Kind = TypeVar("_Kind", bound=Record)
STANDING = ("draft", "active")


class Text(NamedTuple):
    """A version of a record, and when it was written."""

    at: datetime
    record: Any


@dataclass(frozen=True)
class Day:
    """The desk as of an instant. memory: the live memory. lake: the market's lake."""

    at: datetime
    desk: Desk
    memory: Memory
    tape: Tape
    lake: Lake

    @classmethod
    def of(cls, at: datetime | None, lake: Lake, root: str | None = None) -> "Day":
        """Open the memory at a root (default: the one in the environment variables), with its tape and settings.

        at: None for now, which is the end of a backtest's last day.
        """
        own = desk(root)
        memory = own.memory()
        return cls(at or memory.journal.clock.now(), own, memory, own.tape, lake)

    @cached_property
    def remembered(self) -> Remembered:
        return self.memory.hydrate(self.at)

    def texts(self, kind: str, name: str) -> list[Text]:
        """Return every version of a record as of the day, oldest first. Raises BadInput if there was none."""
        path = KINDS[kind].path(name)
        rows = self.remembered.all(path) if KINDS[kind].names(name) else []
        if not rows:
            raise BadInput(kind, f"there was no {name[:20]!r} as of {iso(self.at)}", "the desk lists all")
        return [Text(self.remembered.written_at(row), self.remembered.record(row)) for row in rows]

    def all(self, kind: str) -> list[list[Text]]:
        """Return the versions of every record of a kind, most recently written record first."""
        folder = KINDS[kind].folder
        names = [path.removeprefix(folder).removesuffix(".md") for path in self.remembered.paths(folder)]
        histories = [self.texts(kind, name) for name in names if KINDS[kind].names(name)]
        return sorted(histories, key=lambda texts: texts[-1].at, reverse=True)

    def newest(self, kind: str, cls: type[_Kind]) -> list[_Kind]:
        """Return the current records of a kind, most recently written first."""
        records = [texts[-1].record for texts in self.all(kind)]
        return [record for record in records if isinstance(record, cls)]

    def written(self) -> list[Text]:
        """Return the versions written since the last session, newest first."""
        return [Text(*text) for text in records_since(self.remembered, self.morning.overnight)]

    def waiting(self) -> list[Pending]:
        return pending(self.memory, self.guardrails, self.at)

    def risk(self, expression: Expression) -> Risk:
        """Return the risk of a trade, computed from the day's bars."""
        return risk(expression, self.remembered, self.market)

    @cached_property
    def guardrails(self) -> Guardrails:
        """The guardrails, which use the day's market."""
        return self.desk.guardrails(self.market, self.memory)

    @property
    def approvers(self) -> Approvers:
        return self.desk.config.approvers

    @property
    def market(self) -> At:
        return At(as_of=self.at, lake=self.lake.root)

    def lessons(self) -> list[Lesson]:
        return [lesson for lesson in lessons(self.remembered) if not lesson.decision]

    def proposed(self) -> list[Proposal]:
        """Return the proposed changes to skills that wait for the PM."""
        return [proposal for proposal in self.newest("proposals", Proposal) if proposal.status == "pending"]

    def patch(self, proposal: Proposal) -> str:
        """Return the patch of a pending proposal, or the file's new text for a decided one."""
        return patch(proposal, self.desk.skills) if proposal.status == "pending" else proposal.body

    def skills(self) -> list[InForce]:
        return in_force(self.memory.hydrate(clock.now()), self.at, self.desk.skills)

    def stale(self) -> list[Text]:
        """Return open Views that have not been updated for longer than the settings allow, oldest first."""
        bound = self.at - timedelta(days=self.desk.config.schedules.staleness_days)
        old_views = [texts[-1] for texts in self.all("views") if texts[-1].at < bound]
        return [text for text in reversed(old_views) if text.record.status in STANDING]

    @cached_property
    def alerts(self) -> list[Alert]:
        """The alerts of the day."""
        return alerts(self.remembered, self.market, self.desk.config, self.guardrails)

    def figures(self, expression: Expression) -> tuple[Figure, ...]:
        """Return an Expression's figure for each limit, with the book of the day."""
        return self.guardrails.figures(expression, self._portfolio, self._constraints, self.held())

    def room(self) -> tuple[Figure, ...]:
        """Return the book's own figure for each limit that depends on it."""
        return self.guardrails.book(self._portfolio, self._constraints, self.held())

    def limits(self, names: Sequence[str]) -> dict[str, float]:
        """Return these limits, including any tightening by the PM."""
        return {name: self.guardrails.limit(name, self._constraints) for name in names}

    def held(self) -> list[Expression]:
        """Return the held Expressions."""
        return list(held_in(self.remembered).values())

    def expressions_of(self, view: View) -> list[list[Text]]:
        return [texts for texts in self.all("expressions") if texts[-1].record.view_id == view.id]

    def settlements_of(self, view: View) -> list[Settlement]:
        """Return the settlements of a View, in the order of writing."""
        return [settlement for settlement in settlements(self.remembered) if settlement.view == view.id]

    def course(self, texts: Sequence[Text]) -> FollowedTrade | str:
        """Follow an Expression from its activation to the day. Return the reason if this is impossible."""
        try:
            course = follow_held(texts, self.market, halted_spans(self.remembered))
        except (NotFollowable, BadInput, LakeNotFound) as problem:
            return f"It can't be followed: {problem if not isinstance(problem, LakeNotFound) else 'there is no lake'}."
        return course or "It was never active, so there is nothing to follow."

    @cached_property
    def morning(self) -> Morning:
        """The first figures of the day."""
        return morning(self.remembered, self.market, self.desk.config)

    @property
    def account(self) -> Valued | str:
        """The account by its fills, or the reason why there is none."""
        return self.morning.account

    def result(self, expressions: Sequence[str]) -> Result | None:
        """Return the P&L of these Expressions' fills; None without an account or a fill."""
        if isinstance(self.account, str):
            return None
        account = self.account.account
        result = sum_results(expressions, account)
        return result if result.holdings else None

    def calibrations(self) -> list[Calibration]:
        """Return the measured calibration of each category."""
        return self.newest("calibration", Calibration)

    def counterfactuals(self) -> list[Counterfactual]:
        return self.newest("counterfactuals", Counterfactual)

    def outcomes(self) -> list[Outcome]:
        return self.newest("outcomes", Outcome)

    def decisions(self) -> list[DecisionStart]:
        """Return the decisions up to the day, newest first."""
        names = [name for name in self.tape.decisions() if not name.startswith(WORK)]
        starts = [decision_start(self.tape, name) for name in names]
        own = self.memory.journal.clock.name if self.desk.run else ""
        return [start for start in reversed(starts) if start.as_of <= self.at and own in ("", start.clock)]

    def decision(self, name: str) -> Decision:
        """Return a decision in full. Raises BadInput if there was none."""
        start = next((start for start in self.decisions() if start.name == name), None)
        if start is None:
            raise BadInput("decision", f"there was no such decision as of {iso(self.at)}", "the desk lists them")
        edges = lineage(self.memory_of(start), self.tape, name, self.at)
        return decision(self.tape, start, edges)

    def books(self, start: DecisionStart) -> list[BookLine]:
        """Return the book's figures before a decision, and with the Expressions that the decision proposed."""
        memory, inputs = self.memory_of(start), self.tape.inputs(start.name)
        before = remembered_book(memory.hydrate(inputs.get("remembered", start.as_of)))
        if before is None:
            return []
        session = str(inputs["session"])
        rows = {row.path: row for row in memory.written_by(session, start.name)}
        records = (parse(kind, row.content) for path, row in rows.items() if (kind := kind_of_path(path)))
        proposed = [
            record
            for record in records
            if isinstance(record, Expression) and record.status == "proposed" and not record.adjusts
        ]
        after = cast("Portfolio", with_approved(before, proposed))
        factors = sorted({*(before.factor_exposures or {}), *(after.factor_exposures or {})})
        lines = [BookLine(name, getattr(before, name), getattr(after, name)) for name in ("gross", "net", "duration")]
        return lines + [
            BookLine(name, (before.factor_exposures or {}).get(name, 0.0), (after.factor_exposures or {})[name])
            for name in factors
        ]

    def brief(self) -> Decision | None:
        """Return the newest decision that has ended."""
        ended = next((start for start in self.decisions() if start.ended), None)
        return decision(self.tape, ended, []) if ended else None

    def memory_of(self, start: DecisionStart) -> Memory:
        """Return the memory of a decision: the live one, or its own simulated one."""
        if start.live:
            return self.memory
        return self.desk.memory(Simulated(start.clock.partition(":")[2], start.as_of))

    def close(self) -> None:
        self.memory.close()

    @cached_property
    def _portfolio(self) -> Portfolio | None:
        return self.guardrails.current(remembered_book(self.remembered))

    @cached_property
    def _constraints(self) -> Constraints | None:
        row = self.remembered.newest(KINDS["constraints"].path("constraints"))
        record = self.remembered.record(row) if row else None
        return record if isinstance(record, Constraints) else None
