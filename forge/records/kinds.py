"""The kinds of records: their fields in the order of writing, and where they are stored.

The first seven fields are the lines after the title, so that the first eight lines of a text are its header. A record
that breaks a rule of its kind can't be created. A number that a guardrail needs may be missing; the guardrail then
reports a violation.
"""

import re
from collections.abc import Iterator
from dataclasses import field, fields, replace
from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, ValidationInfo

from forge.records.account import Cash, Fill, Halt
from forge.records.base import Category, Count, Exposures, Percent, Positive, Record, RecordFault, Share, model
from forge.records.judged import Calibration, Mark, Settlement, Settles, cases, column_of, holds_all
from forge.records.spelling import PERCENT, STORED, Bounds, Level, Rule, Ticker

SUM_OF_PROBABILITIES = 1e-6
ROUNDED = 0.005
"""The largest error of a probability with two decimals."""

NEW = "new"


@model
class Scenario:
    """A scenario of a View.

    probability: 0 to 1; the probabilities of a View sum to 1. when: rules over the column of the View's question,
    joined by `and`, under which this scenario comes true, such as value >= 1 and value < 2. description: in words.
    """

    name: str
    probability: Share
    when: Rule = ""
    description: str = ""


def _normalised(scenarios: tuple[Scenario, ...], info: ValidationInfo[Any]) -> tuple[Scenario, ...]:
    """Rescale scenarios with rounded probabilities, such as thirds of 0.33, so that they sum to 1."""
    total, reading = sum(scenario.probability for scenario in scenarios), info.context or STORED
    off = abs(total - 1)
    if reading.exact or len(scenarios) < 3 or not SUM_OF_PROBABILITIES < off <= ROUNDED * len(scenarios):
        return scenarios
    reading.notes.append(f"{info.field_name}: probabilities that sum to {total:g} as 1")
    return tuple(replace(scenario, probability=scenario.probability / total) for scenario in scenarios)


@model
class Invalidation:
    """A condition that invalidates a View, and the figure at which it does."""

    condition: str
    threshold: str = ""


@model
class Position:
    """A position in the book, as it counts in the totals. notional, factor_exposures: in percent of capital. duration:
    in years. loss: the most that the PM expects to lose, in percent of capital. parts: of the notional, by Expression,
    the fills of those that are not held.
    """

    expression: str
    notional: Percent
    factor_exposures: Exposures = field(default_factory=dict)
    duration: float = 0.0
    loss: Positive | None = None
    parts: Exposures = field(default_factory=dict)


@model
class Leg:
    """A leg of a spread or an option.

    notional: percent of capital, negative if sold. stop: the level in USD at which the leg is closed. kind, strike,
    premium: of an option; strike and premium in USD per unit of the instrument, and all legs expire on one day.
    """

    instrument: Ticker
    notional: Percent
    kind: Literal["linear", "call", "put"] = "linear"
    strike: Positive = 0.0
    premium: Positive = 0.0
    stop: Level = ""


@model
class View(Record):
    """A view of the future with probabilities. An active View has scenarios and the question that judges it.

    verdict: how its question was settled, written by code.
    """

    scope: str
    category: Category
    confidence: Share
    status: Literal["draft", "active", "invalidated", "expired"]
    horizon: str = ""
    updated: datetime | None = None
    links: tuple[str, ...] = ()
    scenarios: Annotated[tuple[Scenario, ...], AfterValidator(_normalised)] = ()
    settles: Settles | None = None
    invalidation: tuple[Invalidation, ...] = ()
    verdict: Literal["", "came_true", "failed"] = ""

    def contradictions(self) -> Iterator[RecordFault]:
        """Yield faults between fields that are each valid."""
        total = sum(scenario.probability for scenario in self.scenarios)
        if self.scenarios and abs(total - 1) > SUM_OF_PROBABILITIES:
            yield RecordFault(("scenarios",), f"their probabilities sum to {total:g}, not 1")
        if len({scenario.name for scenario in self.scenarios}) < len(self.scenarios):
            yield RecordFault(("scenarios",), "a name appears twice")
        if self.status == "active" and not (self.scenarios and self.settles):
            problem = "an active View needs both `scenarios` and `settles`, so that it can be judged"
            yield RecordFault(("status", "scenarios", "settles"), problem)
        if self.settles and any(scenario.when for scenario in self.scenarios):
            try:
                problem = _untied(self.scenarios, self.settles.rule, self.confidence)
            except ValueError as wrong:
                problem = f"when: {wrong}"
            if problem:
                yield RecordFault(("scenarios", "settles", "confidence"), problem)


def _untied(scenarios: tuple[Scenario, ...], rule: str, confidence: float) -> str:
    """Return why the scenarios with conditions contradict the confidence, "" if they match. Raises ValueError."""
    conditions = [scenario.when for scenario in scenarios]
    if not all(conditions):
        return "give every scenario a `when`, or none"
    if columns := {column_of(when) for when in conditions} - {column_of(rule)}:
        return f"when: reads {columns.pop()}, but the question's rule reads {column_of(rule)}"
    inside: dict[str, set[bool]] = {scenario.name: set() for scenario in scenarios}
    for case in cases([*conditions, rule]):
        names = [scenario.name for scenario in scenarios if holds_all(scenario.when, case)]
        if len(names) != 1:
            return (
                f"when: at {case} {' and '.join(names) if names else 'no scenario'} would come true; exactly one must"
            )
        inside[names[0]].add(holds_all(rule, case))
    if split := [name for name, truths in inside.items() if len(truths) > 1]:
        return f"when: {split[0]} is partly inside the question's rule {rule!r}; split it there"
    share = sum(scenario.probability for scenario in scenarios if inside[scenario.name] == {True})
    if abs(share - confidence) > SUM_OF_PROBABILITIES:
        return f"confidence is {confidence:g}, but the scenarios in which {rule!r} holds sum to {share:g}"
    return ""


@model
class Expression(Record):
    """A trade that expresses a View. Numbers in percent of capital; duration in years.

    adjusts: the id of a held Expression that this one would change. It changes the target, stop and last day, or, with
    an exit_reason, closes the position. The change is applied once the PM approves it. version, answer: the lake's
    version and the SHA-256 of its answer, from which the result is computed. legs: of a spread or an option.
    capped_from: the notional before code cut the trade to the limits.
    """

    view_id: str
    category: Category
    instrument: Ticker
    status: Literal["draft", "proposed", "active", "review_required", "rejected", "closed", "applied"]
    direction: Literal["long", "short", "spread", "option"]
    updated: datetime | None = None
    links: tuple[str, ...] = ()
    max_loss_pct: Annotated[float, Bounds(0, unit=PERCENT)] | None = None
    notional: Percent | None = None
    duration_impact: float | None = None
    factor_exposures: Exposures | None = None
    entry_details: str = ""
    target: Level = ""
    stop: Level = ""
    expires: date | None = None
    exit_reason: str = ""
    exit_details: str = ""
    pnl: Percent | None = None
    rejection_reason: str = ""
    adjusts: str = ""
    version: Count | None = None
    answer: str = ""
    legs: tuple[Leg, ...] = ()
    capped_from: Percent | None = None


@model
class Observation(Record):
    """An observation that may matter."""

    scope: str
    category: str = ""
    source: str = ""
    status: Literal["active", "retired"] = "active"
    confidence: Share | None = None
    updated: datetime | None = None
    links: tuple[str, ...] = ()


@model
class Linkage(Record):
    """The influence of one quantity on another."""

    source: str
    target: str
    relation: str
    status: Literal["active", "retired"] = "active"
    strength: Share | None = None
    updated: datetime | None = None
    links: tuple[str, ...] = ()


@model
class ProcessKnowledge(Record):
    """A lesson about the process. skill: the skills it concerns. stance: for or against its claim."""

    LEAST_WEIGHT: ClassVar[float] = 0.4
    """Lessons below this weight are stored but not used."""

    skill: tuple[str, ...]
    category: str
    weight: Share
    status: Literal["active", "retired"] = "active"
    stance: Literal["supports", "opposes"] = "supports"
    updated: datetime | None = None
    links: tuple[str, ...] = ()
    claim: str = ""


@model
class Outcome(Record):
    """The outcome of an Expression.

    status: the reason it was closed. pnl: in percent of capital. version, answer: as in the Expression.
    """

    view: str
    expression: str
    category: str = ""
    status: str = "closed"
    closed_at: datetime | None = None
    updated: datetime | None = None
    links: tuple[str, ...] = ()
    pnl: Percent | None = None
    version: Count | None = None
    answer: str = ""


@model
class Counterfactual(Record):
    """A decision that was not taken, tracked from its day. Only code adds its path.

    marks: the trade's return, or the value of the View's question, session by session. entry_price: USD. exit_reason:
    target, stop or time. problem: why the path can't be followed. answer: SHA-256 of the lake's answer.
    """

    decision_type: Literal["rejected_expression", "expired_expression", "view_without_expression", "other"]
    expression: str = ""
    view: str = ""
    status: Literal["tracking", "completed"] = "tracking"
    reference_date: datetime | None = None
    updated: datetime | None = None
    links: tuple[str, ...] = ()
    reason: str = ""
    tracking_days: Count = 90
    entry_price: Positive | None = None
    total_return: float | None = None
    exit_reason: str = ""
    problem: str = ""
    version: Count | None = None
    answer: str = ""
    marks: tuple[Mark, ...] = ()


@model
class Proposal(Record):
    """A change to a skill, with its lessons in `links`. Written by code, decided by the PM.

    base, sha256: the hashes of the skill's folder before and after. tested: the result of the test, or the reason why
    there was no test. why: the reason of the change, or the reason why the model wrote no change. body: the file's new
    text.
    """

    skill: str
    file: str
    author: str = ""
    status: Literal["pending", "approved", "rejected", "applied", "failed"] = "pending"
    sha256: str = ""
    updated: datetime | None = None
    links: tuple[str, ...] = ()
    base: str = ""
    tested: str = ""
    why: str = ""


@model
class Portfolio(Record):
    """The PM's book. gross, net and exposures are in percent of capital, duration in years."""

    gross: Positive | None = None
    net: float | None = None
    duration: float | None = None
    status: Literal["current"] = "current"
    nav: Positive | None = None
    updated: datetime | None = None
    links: tuple[str, ...] = ()
    positions: tuple[Position, ...] = ()
    factor_exposures: Exposures | None = None


@model
class Constraints(Record):
    """The PM's limits. They can only tighten the limits of the configuration."""

    max_single_risk: Positive | None = None
    max_gross: Positive | None = None
    max_duration: Positive | None = None
    max_factor_conc: Positive | None = None
    status: Literal["current"] = "current"
    updated: datetime | None = None
    links: tuple[str, ...] = ()
    max_single_name: Positive | None = None
    max_total_loss: Positive | None = None
    max_net: Positive | None = None
    max_days_of_volume: Positive | None = None
    max_margin: Positive | None = None


@model
class SessionRecord(Record):
    """A conversation. turn: the number of turns. last_active: the instant of the last trigger."""

    user: str
    trigger: Literal["query", "schedule", "alert"]
    turn: Count
    status: Literal["open", "archived"]
    last_active: datetime
    updated: datetime | None = None
    links: tuple[str, ...] = ()
    event: str = ""


@model
class Approval(Record):
    """The PM's decision on exactly one content; first_approved if a second person has to approve it too.

    subject: its path. sha256: its hash. claimed: the rules whose figure is the agent's claim, which the PM confirmed.
    body: the figure of each limit.
    """

    subject: str
    sha256: str
    decision: Literal["approved", "rejected", "first_approved"]
    decided_by: str
    status: Literal["valid", "withdrawn"] = "valid"
    updated: datetime | None = None
    links: tuple[str, ...] = ()
    reason: str = ""
    claimed: tuple[str, ...] = ()


@model
class Review(Record):
    """A review of exactly one content. subject: its path. sha256: its hash. reviewer: the model."""

    subject: str
    sha256: str
    verdict: Literal["approve", "approve_with_notes", "revise", "escalate"]
    reviewer: str
    status: Literal["valid"] = "valid"
    updated: datetime | None = None
    links: tuple[str, ...] = ()


class Kind(NamedTuple):
    """A kind of record.

    folder: the folder in which it is stored. prefix: the prefix of its ids, "" if ids are names. agents: whether agents
    may write it. archived: whether `/memory/.archive/` shows its earlier texts.
    """

    name: str
    cls: type[Record]
    folder: str
    prefix: str = ""
    agents: bool = False
    archived: bool = False
    ids: str = ""

    @property
    def queryable(self) -> tuple[str, ...]:
        """The fields by which listings can be filtered."""
        return ("id", *(spec.name for spec in fields(self.cls) if spec.name not in ("id", "body")))

    def path(self, name: str) -> str:
        return f"{self.folder}{name}.md"

    def names(self, name: str) -> bool:
        return bool(re.fullmatch(self.ids or rf"{self.prefix}-(?!0+$)([0-9]{{3}}|[1-9][0-9]{{3,8}})", name))


_CATEGORY = "[a-z][a-z0-9_]{0,39}"
KINDS = {
    kind.name: kind
    for kind in (
        Kind("views", View, "/memory/views/", "V", agents=True, archived=True),
        Kind("expressions", Expression, "/memory/expressions/", "E", agents=True, archived=True),
        Kind("observations", Observation, "/memory/observations/", "O", agents=True),
        Kind("linkages", Linkage, "/memory/linkages/", "L", agents=True),
        Kind("pk", ProcessKnowledge, "/memory/pk/", "PK", agents=True),
        Kind("outcomes", Outcome, "/memory/outcomes/", "OUT"),
        Kind("counterfactuals", Counterfactual, "/memory/counterfactuals/", "CF", agents=True),
        Kind("settlements", Settlement, "/memory/settlements/", "S"),
        Kind("calibration", Calibration, "/memory/calibration/", ids=_CATEGORY),
        Kind("proposals", Proposal, "/memory/proposals/", "SEP"),
        Kind("portfolio", Portfolio, "/portfolio/", ids="state"),
        Kind("constraints", Constraints, "/portfolio/", ids="constraints"),
        Kind("fills", Fill, "/portfolio/fills/", "F"),
        Kind("cash", Cash, "/portfolio/cash/", "C"),
        Kind("halts", Halt, "/portfolio/", ids="halt"),
        Kind("sessions", SessionRecord, "/sessions/", ids="sess_[0-9A-Za-z]{1,64}"),
        Kind("approvals", Approval, "/approvals/", "A"),
        Kind("reviews", Review, "/reviews/", "R"),
    )
}


def kind_of_path(path: str) -> Kind | None:
    """Return the kind of record at a path, including `new.md`, or None."""
    folder, _, name = path.rpartition("/")
    name = name.removesuffix(".md")
    for kind in KINDS.values():
        if kind.folder == f"{folder}/" and (kind.names(name) or (name == NEW and bool(kind.prefix))):
            return kind
    return None
