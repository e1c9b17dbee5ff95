"""The PM's decisions: pending items, approvals and rejections. No tool of a model can call this module.

An Expression becomes active only without guardrail violations, with a review of exactly its content, and with the PM's
approval of that content. The transaction that activates it checks all three.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, cast

from forge.core.config import Approvers
from forge.core.errors import GuardrailsBroken
from forge.memory import Memory, Row, Writing
from forge.memory.book import PORTFOLIO, held_expressions, held_in, with_approved
from forge.memory.effects import CONSTRAINTS, Writer
from forge.memory.guardrails import BookLine, Figure, Guardrails
from forge.memory.halts import HALT
from forge.memory.lessons import SHORTEST_HASH
from forge.memory.plausible import wrong_terms
from forge.records import (
    KINDS,
    Approval,
    Constraints,
    Expression,
    Halt,
    Portfolio,
    Record,
    Review,
    View,
    content_hash,
    kind_of_path,
    parse,
)
from forge.records.base import read_reason
from pitlake.clock import new_york_day
from pitlake.errors import BadInput
from pitlake.exchange import session

APPROVING = frozenset({"approve", "approve_with_notes"})
WAITING = frozenset({"proposed", "review_required"})
OPEN_VIEWS = frozenset({"draft", "active"})
SESSION = "pm"
ANYONE = Approvers()


@dataclass(frozen=True)
class Pending:
    """A pending Expression.

    sha256: the hash of its content. figures: the figure for each limit. review: the newest review of exactly that
    content. problems: the reasons that prevent an approval. approved_by: the people who approved it, if a second person
    must approve it too. book: the book's totals before and after the approval.
    """

    expression: Expression
    sha256: str
    figures: tuple[Figure, ...]
    review: Review | None
    problems: tuple[str, ...]
    approved_by: tuple[str, ...] = ()
    book: tuple[BookLine, ...] = ()

    @property
    def claims(self) -> tuple[Figure, ...]:
        """The figures that code can't compute and the PM has to confirm; none for the closing of a position."""
        return () if self.expression.exit_reason else tuple(each for each in self.figures if each.basis == "claimed")


def pending(memory: Memory, guardrails: Guardrails, at: datetime | None = None) -> list[Pending]:
    """Return the Expressions that wait for the PM's decision, as of an instant (default: now)."""
    remembered = memory.hydrate(at or memory.read_instant(memory.journal.clock.now()), session=SESSION)

    judgements = remembered.rows("reviews") + remembered.rows("approvals")
    expressions = [(row, parse(KINDS["expressions"], row.content)) for row in remembered.rows("expressions")]
    positions = held_in(remembered)
    return [
        _pending(row, expression, judgements, remembered.newest, guardrails, positions)
        for row, expression in expressions
        if isinstance(expression, Expression) and expression.status in WAITING
    ]


def approve(
    memory: Memory,
    name: str,
    sha256: str,
    by: str,
    guardrails: Guardrails,
    *,
    confirmed: bool = False,
    approvers: Approvers = ANYONE,
) -> bool:
    """Approve an Expression and record its figures. Return False if a second person still has to approve it.

    Args:
        memory: The PM's memory.
        name: Its id.
        sha256: The hash of exactly the approved content, or its first characters, as in `pending`.
        by: The name of the approver.
        guardrails: The limits, which use the market to compute figures.
        confirmed: Whether the PM confirms the figures that the Expression claims and code can't compute.
        approvers: The people who may approve, and the size above which two must.

    Raises:
        BadInput: A requirement is missing. Nothing is written then.
    """
    return _decide(memory, name, by, guardrails, approvers, sha256=sha256, confirmed=confirmed)


def reject(
    memory: Memory, name: str, reason: str, by: str, guardrails: Guardrails, approvers: Approvers = ANYONE
) -> None:
    """Reject a pending Expression, which is then tracked as a Counterfactual. Raises BadInput."""
    _decide(memory, name, by, guardrails, approvers, reason=read_reason(reason))


def _decide(
    memory: Memory,
    name: str,
    by: str,
    guardrails: Guardrails,
    approvers: Approvers,
    *,
    sha256: str = "",
    reason: str = "",
    confirmed: bool = False,
) -> bool:
    """Write a decision. Return whether the Expression needs no other decision."""
    approvers.check(by)
    if not KINDS["expressions"].names(name):
        raise BadInput("id", f"{name[:40]!r} is not an Expression", "give an id such as E-001")
    remembered = memory.hydrate_now()
    decisions = list[str]()

    def decided(writing: Writing, row: Row) -> tuple[Approval, tuple[Expression, ...]]:
        expression = cast("Expression", parse(KINDS["expressions"], row.content))
        positions = held_expressions(writing.all_of("expressions"), writing.all_of("approvals"))
        judgements = [*writing.all_of("reviews"), *writing.all_of("approvals")]
        candidate = _pending(row, expression, judgements, writing.newest, guardrails, positions)
        if reason and row.path in positions:
            raise BadInput("id", f"{name} is held: a position cannot be rejected", f"pitlake forge close {name}")
        if expression.status not in WAITING:
            raise BadInput("id", f"{name} is {expression.status}, not pending", "see pitlake forge approvals")
        if not reason:
            _check(candidate, sha256, confirmed)
        size = max(abs(expression.notional or 0.0), sum(abs(leg.notional) for leg in expression.legs))
        needs_two = approvers.second_above is not None and size > approvers.second_above and not expression.exit_reason
        if not reason and needs_two and by in candidate.approved_by:
            raise BadInput("by", f"{by} has approved {expression.id} already", "a second person has to approve it")
        is_first = needs_two and not candidate.approved_by
        approval = Approval(
            id="new",
            subject=row.path,
            sha256=candidate.sha256,
            decision="rejected" if reason else "first_approved" if is_first else "approved",
            decided_by=by,
            reason=reason,
            claimed=() if reason else tuple(figure.rule for figure in candidate.claims),
            body="" if reason else "\n".join(map(str, candidate.figures)),
        )
        decisions.append(approval.decision)
        if reason:
            return approval, (replace(expression, status="rejected", rejection_reason=reason),)
        if approval.decision == "first_approved":
            return approval, ()
        if expression.adjusts:
            target = positions[KINDS["expressions"].path(expression.adjusts)]
            return approval, (replace(expression, status="applied"), adjusted(target, expression, remembered.as_of))
        return approval, (replace(expression, status="active"),)

    call_id = f"decide:{os.urandom(10).hex()}"
    Writer(memory.journal, remembered, guardrails, "pm").decide(KINDS["expressions"].path(name), call_id, decided)
    return decisions[-1] != "first_approved"


def change_held(
    memory: Memory,
    name: str,
    by: str,
    guardrails: Guardrails,
    terms: Mapping[str, object],
    approvers: Approvers = ANYONE,
) -> Expression:
    """Change a held position on the PM's behalf and return the new record.

    Args:
        terms: New `stop`, `target` and `expires`; or an `exit_reason`, which closes the position.

    Raises:
        BadInput: `by` may not decide, no position of that name is held, code can't follow the new terms, or the terms
            break a guardrail.
    """
    approvers.check(by)
    if not KINDS["expressions"].names(name):
        raise BadInput("id", f"{name[:40]!r} is not an Expression", "give an id such as E-001")
    before = memory.hydrate_now()
    path, changed = KINDS["expressions"].path(name), list[Expression]()
    if "exit_reason" in terms:
        terms = {**terms, "exit_reason": read_reason(str(terms["exit_reason"]))}

    def decided(writing: Writing, row: Row) -> tuple[Approval, tuple[Expression, ...]]:
        positions = held_expressions(writing.all_of("expressions"), writing.all_of("approvals"))
        if row.path not in positions:
            raise BadInput("id", f"{name} is not held", "list the held ones: pitlake forge expressions status:active")
        target = positions[row.path]
        if fault := next(wrong_terms(target, terms, before.as_of), None):
            raise BadInput(fault.fields[0], fault.problem, fault.next_step)
        expression = adjusted(target, replace(target, **cast("dict[str, Any]", dict(terms))), before.as_of)
        stored = cast("Portfolio | None", _record(writing.newest(PORTFOLIO)))
        book = with_approved(guardrails.current(stored), positions.values())
        limits = cast("Constraints | None", _record(writing.newest(CONSTRAINTS)))
        if "exit_reason" not in terms and (broken := guardrails.check(expression, book, limits, positions.values())):
            raise GuardrailsBroken(broken, guardrails.reasons(expression, book, positions.values()))
        changed.append(expression)
        sha256 = content_hash(expression)
        return Approval(id="new", subject=path, sha256=sha256, decision="approved", decided_by=by), (expression,)

    Writer(memory.journal, before, guardrails, "pm").decide(path, f"decide:{os.urandom(10).hex()}", decided)
    return changed[-1]


def adjusted(target: Expression, proposal: Expression, at: datetime) -> Expression:
    """Return a held Expression with the terms of an approved proposal.

    A proposal with an exit_reason closes the position at the end of the first session that ends after `at`. As for
    every exit, code writes the result.
    """
    if not proposal.exit_reason:
        return replace(
            target,
            status="active",
            target=proposal.target,
            stop=proposal.stop,
            expires=proposal.expires,
            max_loss_pct=proposal.max_loss_pct,
            duration_impact=proposal.duration_impact,
            factor_exposures=proposal.factor_exposures,
            legs=proposal.legs,
        )
    day = new_york_day(at)
    while (exchange_session := session(day)) is None or exchange_session.close <= at:
        day += timedelta(days=1)
    last_day = min(day, target.expires) if target.expires else day
    return replace(target, status="active", expires=last_day, exit_reason=proposal.exit_reason)


def _check(candidate: Pending, sha256: str, confirmed: bool) -> None:
    if len(sha256) < SHORTEST_HASH or not candidate.sha256.startswith(sha256):
        raise BadInput("hash", f"{candidate.expression.id} has changed", "read it again: pitlake forge approvals")
    if candidate.problems:
        raise BadInput(
            "id", f"{candidate.expression.id} can't be approved: {'; '.join(candidate.problems)}", "fix that first"
        )
    if candidate.claims and not confirmed:
        claims = "; ".join(str(figure) for figure in candidate.claims)
        raise BadInput("id", f"code can't compute {claims}", "check it yourself and confirm it: --confirm")


def _pending(
    row: Row,
    expression: Expression,
    judgements: Iterable[Row],
    newest: Callable[[str], Row | None],
    guardrails: Guardrails,
    positions: Mapping[str, Expression],
) -> Pending:
    stored = cast("Portfolio | None", _record(newest(PORTFOLIO)))
    portfolio = with_approved(guardrails.current(stored), positions.values())
    constraints, trades = cast("Constraints | None", _record(newest(CONSTRAINTS))), positions.values()
    violations = guardrails.check(replace(expression, status="active"), portfolio, constraints, trades)
    sha256 = content_hash(expression)
    # A record that was sent back for review needs a later review, even if its text is unchanged.
    after = row.seq if expression.status == "review_required" else 0
    newer = [(judgement.seq, _record(judgement)) for judgement in judgements if judgement.seq > after]
    fitting = [
        (seq, record)
        for seq, record in newer
        if isinstance(record, Review | Approval) and (record.subject, record.sha256) == (row.path, sha256)
    ]
    reviews = [(seq, record) for seq, record in fitting if isinstance(record, Review)]
    review = max(reviews, key=lambda pair: pair[0])[1] if reviews else None
    firsts = (record for _, record in fitting if isinstance(record, Approval) and record.decision == "first_approved")
    problems = [f"guardrail {violation}" for violation in violations]
    problems += guardrails.reasons(expression, portfolio, trades) if violations else []
    if review is None:
        problems.append("no review of exactly this content")
    elif review.verdict not in APPROVING:
        problems.append(f"the review says {review.verdict}")
    if expression.adjusts and KINDS["expressions"].path(expression.adjusts) not in positions:
        problems.append(f"{expression.adjusts} is not held any more")
    halt = _record(newest(HALT))
    if isinstance(halt, Halt) and halt.status == "halted":
        problems.append(f"trading is halted: {halt.reason}")
    view = _record(newest(KINDS["views"].path(expression.view_id)))
    if not isinstance(view, View) or view.status not in OPEN_VIEWS:
        problems.append(f"{expression.view_id} is {getattr(view, 'status', 'missing')}")
    figures = guardrails.figures(expression, portfolio, constraints, trades)
    approved_by = tuple(record.decided_by for record in firsts)
    changes = guardrails.what_if(expression, portfolio, trades)
    return Pending(expression, sha256, figures, review, tuple(problems), approved_by, changes)


def _record(row: Row | None) -> Record | None:
    kind = kind_of_path(row.path) if row else None
    return parse(kind, row.content) if row and kind else None
