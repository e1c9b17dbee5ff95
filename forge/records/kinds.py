"""The kinds of records: their fields in the order of writing, and where they are stored.

The first seven fields are the lines after the title, so that the first eight lines of a text are its header. A record
that breaks a rule of its kind can't be created. A number that a guardrail needs may be missing; the guardrail then
reports a violation.
"""

import re
from collections.abc import Iterator
from dataclasses import field, fields, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic_core import core_schema

from forge.records.account import Cash, Fill, Halt
from forge.records.base import Category, Count, Exposures, Percent, Positive, Record, RecordFault, Share, model
from forge.records.judged import Calibration, Mark, Settlement, Settles, cases, column_of, holds_all
from forge.records.spelling import (
    PARTS,
    PERCENT,
    STORED,
    WORD,
    Bounds,
    Day,
    Instant,
    Level,
    Line,
    Names,
    Real,
    Rule,
)

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

    name: Line
    probability: Share
    when: Rule = ""
    description: Line = ""


class _Distribution:
    """Reads probabilities that were rounded, such as thirds of 0.33, as a distribution."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        def normalise(scenarios: tuple[Scenario, ...], info: Any) -> tuple[Scenario, ...]:
            total = sum(scenario.probability for scenario in scenarios)
            off, reading = abs(total - 1), info.context or STORED
            if reading.exact or not SUM_OF_PROBABILITIES < off <= ROUNDED * len(scenarios) or len(scenarios) < 3:
                return scenarios
            reading.notes.append(f"{info.field_name}: probabilities that sum to {total:g} as 1")
            return tuple(replace(scenario, probability=scenario.probability / total) for scenario in scenarios)

        return core_schema.with_info_after_validator_function(normalise, handler(source))


@model
class Invalidation:
    """A condition that invalidates a View, and the figure at which it does."""

    condition: Line
    threshold: Line = ""


@model
class Position:
    """A position in the book, as it counts in the totals. notional, factor_exposures: in percent of capital. duration:
    in years.
    """

    expression: Line
    notional: Percent
    factor_exposures: Exposures = field(default_factory=dict)
    duration: Real = 0.0


@model
class Leg:
    """A leg of a spread or an option.

    notional: percent of capital, negative if sold. stop: the level in USD at which the leg is closed. kind, strike,
    premium: of an option; strike and premium in USD per unit of the instrument, and all legs expire on one day.
    """

    instrument: Line
    notional: Percent
    kind: Annotated[Literal["linear", "call", "put"], WORD] = "linear"
    strike: Positive = 0.0
    premium: Positive = 0.0
    stop: Level = ""


@model
class View(Record):
    """A view of the future with probabilities. An active View has scenarios and the question that judges it.

    verdict: how its question was settled, written by code.
    """

    scope: Line
    category: Category
    confidence: Share
    status: Annotated[Literal["draft", "active", "invalidated", "expired"], WORD]
    horizon: Line = ""
    updated: Instant | None = None
    links: Names = ()
    scenarios: Annotated[tuple[Scenario, ...], PARTS, _Distribution()] = ()
    settles: Annotated[Settles, PARTS] | None = None
    invalidation: Annotated[tuple[Invalidation, ...], PARTS] = ()
    verdict: Annotated[Literal["", "came_true", "failed"], WORD] = ""

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
    """Return why the scenarios with conditions do not match the confidence, "" if they do. Raises ValueError."""
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

    view_id: Line
    category: Category
    instrument: Line
    status: Annotated[Literal["draft", "proposed", "active", "review_required", "rejected", "closed", "applied"], WORD]
    direction: Annotated[Literal["long", "short", "spread", "option"], WORD]
    updated: Instant | None = None
    links: Names = ()
    max_loss_pct: Annotated[float, Bounds(0, unit=PERCENT)] | None = None
    notional: Percent | None = None
    duration_impact: Real | None = None
    factor_exposures: Exposures | None = None
    entry_details: Line = ""
    target: Level = ""
    stop: Level = ""
    expires: Day | None = None
    exit_reason: Line = ""
    exit_details: Line = ""
    pnl: Percent | None = None
    rejection_reason: Line = ""
    adjusts: Line = ""
    version: Count | None = None
    answer: Line = ""
    legs: Annotated[tuple[Leg, ...], PARTS] = ()
    capped_from: Percent | None = None


@model
class Observation(Record):
    """An observation that may matter."""

    scope: Line
    category: Line = ""
    source: Line = ""
    status: Annotated[Literal["active", "retired"], WORD] = "active"
    confidence: Share | None = None
    updated: Instant | None = None
    links: Names = ()


@model
class Linkage(Record):
    """The influence of one quantity on another."""

    source: Line
    target: Line
    relation: Line
    status: Annotated[Literal["active", "retired"], WORD] = "active"
    strength: Share | None = None
    updated: Instant | None = None
    links: Names = ()


@model
class ProcessKnowledge(Record):
    """A lesson about the process. skill: the skills it concerns; stance: for or against its claim."""

    LEAST_WEIGHT: ClassVar[float] = 0.4
    """Lessons below this weight are stored but not used."""

    skill: Names
    category: Line
    weight: Share
    status: Annotated[Literal["active", "retired"], WORD] = "active"
    stance: Annotated[Literal["supports", "opposes"], WORD] = "supports"
    updated: Instant | None = None
    links: Names = ()
    claim: Line = ""


@model
class Outcome(Record):
    """The outcome of an Expression.

    status: the reason it was closed; pnl: in percent of capital. version, answer: as in the Expression.
    """

    view: Line
    expression: Line
    category: Line = ""
    status: Line = "closed"
    closed_at: Instant | None = None
    updated: Instant | None = None
    links: Names = ()
    pnl: Percent | None = None
    version: Count | None = None
    answer: Line = ""


@model
class Counterfactual(Record):
    """A decision that was not taken, tracked from its day. Only code adds its path.

    marks: the trade's return, or the value of the View's question, session by session; entry_price: USD; exit_reason:
    target, stop or time; problem: why the path can't be followed; answer: SHA-256 of the lake's answer.
    """

    decision_type: Annotated[
        Literal["rejected_expression", "expired_expression", "view_without_expression", "other"], WORD
    ]
    expression: Line = ""
    view: Line = ""
    status: Annotated[Literal["tracking", "completed"], WORD] = "tracking"
    reference_date: Instant | None = None
    updated: Instant | None = None
    links: Names = ()
    reason: Line = ""
    tracking_days: Count = 90
    entry_price: Positive | None = None
    total_return: Real | None = None
    exit_reason: Line = ""
    problem: Line = ""
    version: Count | None = None
    answer: Line = ""
    marks: Annotated[tuple[Mark, ...], PARTS] = ()


@model
class Proposal(Record):
    """A change of a skill, with its lessons in `links`. Written by code, decided by the PM.

    base, sha256: the hashes of the skill's folder before and after. tested: the result of the test, or the reason why
    there was no test. why: the reason of the change, or the reason why the model wrote no change. body: the file's new
    text.
    """

    skill: Line
    file: Line
    author: Line = ""
    status: Annotated[Literal["pending", "approved", "rejected", "applied", "failed"], WORD] = "pending"
    sha256: Line = ""
    updated: Instant | None = None
    links: Names = ()
    base: Line = ""
    tested: Line = ""
    why: Line = ""


@model
class Portfolio(Record):
    """The PM's book. gross, net and exposures are in percent of capital, duration in years."""

    gross: Positive | None = None
    net: Real | None = None
    duration: Real | None = None
    status: Annotated[Literal["current"], WORD] = "current"
    nav: Positive | None = None
    updated: Instant | None = None
    links: Names = ()
    positions: Annotated[tuple[Position, ...], PARTS] = ()
    factor_exposures: Exposures | None = None


@model
class Constraints(Record):
    """The PM's limits. They can only tighten the limits of the configuration."""

    max_single_risk: Positive | None = None
    max_gross: Positive | None = None
    max_duration: Positive | None = None
    max_factor_conc: Positive | None = None
    status: Annotated[Literal["current"], WORD] = "current"
    updated: Instant | None = None
    links: Names = ()
    max_single_name: Positive | None = None
    max_total_loss: Positive | None = None
    max_net: Positive | None = None
    max_days_of_volume: Positive | None = None


@model
class SessionRecord(Record):
    """A conversation. turn: the number of turns; last_active: the instant of the last trigger."""

    user: Line
    trigger: Annotated[Literal["query", "schedule", "alert"], WORD]
    turn: Count
    status: Annotated[Literal["open", "archived"], WORD]
    last_active: Instant
    updated: Instant | None = None
    links: Names = ()
    event: Line = ""


@model
class Approval(Record):
    """The PM's decision on exactly one content; first_approved if a second person has to approve it too.

    subject: its path. sha256: its hash. claimed: the rules whose figure is the agent's claim, which the PM confirmed.
    body: the figure of each limit.
    """

    subject: Line
    sha256: Line
    decision: Annotated[Literal["approved", "rejected", "first_approved"], WORD]
    decided_by: Line
    status: Annotated[Literal["valid", "withdrawn"], WORD] = "valid"
    updated: Instant | None = None
    links: Names = ()
    reason: Line = ""
    claimed: Names = ()


@model
class Review(Record):
    """A review of exactly one content. subject: its path; sha256: its hash; reviewer: the model."""

    subject: Line
    sha256: Line
    verdict: Annotated[Literal["approve", "approve_with_notes", "revise", "escalate"], WORD]
    reviewer: Line
    status: Annotated[Literal["valid"], WORD] = "valid"
    updated: Instant | None = None
    links: Names = ()


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
        """The fields that listings can be filtered by."""
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
