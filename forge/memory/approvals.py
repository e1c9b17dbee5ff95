"""The PM's door: what waits for a decision, approving and rejecting. No tool of a model leads here.

An Expression becomes active only with clean guardrails, a review of exactly what it says, and the PM's word on just
that, all looked at in the one transaction that makes it active.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, cast

from forge.core.errors import GuardrailsBroken
from forge.memory import Memory, Row, Writing
from forge.memory.book import PORTFOLIO, held_expressions, held_in, with_approved
from forge.memory.effects import CONSTRAINTS, Writer
from forge.memory.guardrails import Guardrails, Violation
from forge.memory.lessons import SHORTEST_HASH
from forge.records import (
    KINDS,
    Approval,
    Constraints,
    Expression,
    Portfolio,
    Record,
    Review,
    View,
    content_hash,
    kind_of_path,
    parse,
)
from pitlake.clock import new_york_day
from pitlake.errors import BadInput
from pitlake.exchange import session

APPROVING = frozenset({"approve", "approve_with_notes"})
WAITING = frozenset({"proposed", "review_required"})
OPEN_VIEWS = frozenset({"draft", "active"})
SESSION = "pm"


@dataclass(frozen=True)
class Pending:
    """An Expression that waits. sha256: of what it says; review: the newest one of exactly that; problems: what stands
    between it and an approval.
    """

    expression: Expression
    sha256: str
    violations: tuple[Violation, ...]
    review: Review | None
    problems: tuple[str, ...]


def pending(memory: Memory, guardrails: Guardrails, at: datetime | None = None) -> list[Pending]:
    """What waits for the PM, as of an instant (default: now)."""
    known = memory.hydrate(at or memory.standing(memory.journal.clock.now()), session=SESSION)

    def newest(path: str) -> Row | None:
        return known.newest(path)

    rows = [row for path in known.paths(KINDS["expressions"].folder) if (row := newest(path))]
    reviews = [row for path in known.paths(KINDS["reviews"].folder) if (row := newest(path))]
    found = [(row, parse(KINDS["expressions"], row.content)) for row in rows]
    held = held_in(known)
    return [
        _judged(row, one, reviews, {path: newest(path) for path in _beside(one)}, guardrails, held)
        for row, one in found
        if isinstance(one, Expression) and one.status in WAITING
    ]


def approve(memory: Memory, name: str, sha256: str, by: str, guardrails: Guardrails) -> None:
    """Make an Expression active. sha256: of exactly what is approved, or its first characters, as `pending` has it.

    Raises BadInput saying what is missing; nothing was written then.
    """
    _decide(memory, name, sha256, by, guardrails, "")


def reject(memory: Memory, name: str, reason: str, by: str, guardrails: Guardrails) -> None:
    """Reject an Expression that waits, which is tracked as a Counterfactual from here on. Raises BadInput."""
    if not reason.strip():
        raise BadInput("reason", "is empty", "say why: it is what the Counterfactual is judged by")
    _decide(memory, name, "", by, guardrails, " ".join(reason.split()))


def _decide(memory: Memory, name: str, sha256: str, by: str, guardrails: Guardrails, reason: str) -> None:
    if not KINDS["expressions"].names(name):
        raise BadInput("id", f"{name[:40]!r} is not an Expression", "give one such as E-001")
    known = memory.hydrate(memory.standing(memory.journal.clock.now()), session=SESSION)

    def decided(writing: Writing, row: Row) -> tuple[Approval, tuple[Expression, ...]]:
        expression = cast("Expression", parse(KINDS["expressions"], row.content))
        beside = {path: writing.newest(path) for path in _beside(expression)}
        held = held_expressions(writing.all_of("expressions"), writing.all_of("approvals"))
        found = _judged(row, expression, writing.all_of("reviews"), beside, guardrails, held)
        if reason and row.path in held:
            raise BadInput("id", f"{name} is held: a position cannot be rejected", f"pitlake forge close {name}")
        if expression.status not in WAITING:
            raise BadInput("id", f"{name} is {expression.status} and waits for nothing", "see pitlake forge approvals")
        if not reason:
            _check(found, sha256)
        approval = Approval(
            id="new",
            subject=row.path,
            sha256=found.sha256,
            decision="rejected" if reason else "approved",
            decided_by=by,
            reason=reason,
        )
        if reason:
            return approval, (replace(expression, status="rejected", rejection_reason=reason),)
        if expression.adjusts:
            target = held[KINDS["expressions"].path(expression.adjusts)]
            return approval, (replace(expression, status="applied"), adjusted(target, expression, known.as_of))
        return approval, (replace(expression, status="active"),)

    call_id = f"decide:{os.urandom(10).hex()}"
    Writer(memory.journal, known, guardrails, "pm").decide(KINDS["expressions"].path(name), call_id, decided)


def change_held(memory: Memory, name: str, by: str, guardrails: Guardrails, terms: Mapping[str, object]) -> Expression:
    """Change a held position by the PM's own word; return it as it stands then.

    Args:
        terms: New `stop`, `target` and `expires`; or an `exit_reason`, which closes the position.

    Raises:
        BadInput: Nothing of that name is held, or the new terms break a guardrail.
    """
    if not KINDS["expressions"].names(name):
        raise BadInput("id", f"{name[:40]!r} is not an Expression", "give one such as E-001")
    known = memory.hydrate(memory.standing(memory.journal.clock.now()), session=SESSION)
    path, changed = KINDS["expressions"].path(name), list[Expression]()

    def decided(writing: Writing, row: Row) -> tuple[Approval, tuple[Expression, ...]]:
        held = held_expressions(writing.all_of("expressions"), writing.all_of("approvals"))
        if row.path not in held:
            raise BadInput("id", f"{name} is not held", "list what is: pitlake forge expressions status:active")
        target = held[row.path]
        expression = adjusted(target, replace(target, **cast("dict[str, Any]", dict(terms))), known.as_of)
        book = with_approved(cast("Portfolio | None", _record(writing.newest(PORTFOLIO))), held.values())
        limits = cast("Constraints | None", _record(writing.newest(CONSTRAINTS)))
        if "exit_reason" not in terms and (broken := guardrails.check(expression, book, limits)):
            raise GuardrailsBroken(broken)
        changed.append(expression)
        sha256 = content_hash(expression)
        return Approval(id="new", subject=path, sha256=sha256, decision="approved", decided_by=by), (expression,)

    Writer(memory.journal, known, guardrails, "pm").decide(path, f"decide:{os.urandom(10).hex()}", decided)
    return changed[-1]


def adjusted(target: Expression, proposal: Expression, at: datetime) -> Expression:
    """Return a held Expression with the terms of an approved proposal.

    A proposal with an exit_reason closes it at the end of the next session that ends after `at`; code writes the
    result then, as for every exit.
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
        )
    day = new_york_day(at)
    while (exchange_session := session(day)) is None or exchange_session.close <= at:
        day += timedelta(days=1)
    last_day = min(day, target.expires) if target.expires else day
    return replace(target, status="active", expires=last_day, exit_reason=proposal.exit_reason)


def _check(found: Pending, sha256: str) -> None:
    if len(sha256) < SHORTEST_HASH or not found.sha256.startswith(sha256):
        raise BadInput("hash", f"{found.expression.id} has changed", "look at it again: pitlake forge approvals")
    if found.problems:
        raise BadInput("id", f"{found.expression.id} can't be approved: {'; '.join(found.problems)}", "mend that first")


def _beside(expression: Expression) -> tuple[str, ...]:
    return (KINDS["views"].path(expression.view_id), PORTFOLIO, CONSTRAINTS)


def _judged(
    row: Row,
    expression: Expression,
    reviews: Iterable[Row],
    beside: dict[str, Row | None],
    guardrails: Guardrails,
    held: Mapping[str, Expression],
) -> Pending:
    view_path, book, limits = _beside(expression)
    portfolio = with_approved(cast("Portfolio | None", _record(beside[book])), held.values())
    constraints = _record(beside[limits])
    active = replace(expression, status="active")
    violations = guardrails.check(active, portfolio, cast("Constraints | None", constraints))
    sha256 = content_hash(expression)
    # What was sent back to review needs one that came after that, though its text is the same.
    after = row.seq if expression.status == "review_required" else 0
    told = [(one.seq, cast("Review", _record(one))) for one in reviews if one.seq > after]
    fitting = [(seq, one) for seq, one in told if (one.subject, one.sha256) == (row.path, sha256)]
    review = max(fitting, key=lambda pair: pair[0])[1] if fitting else None
    problems = [f"guardrail {violation}" for violation in violations]
    if review is None:
        problems.append("no review of exactly this content")
    elif review.verdict not in APPROVING:
        problems.append(f"the review says {review.verdict}")
    if expression.adjusts and KINDS["expressions"].path(expression.adjusts) not in held:
        problems.append(f"{expression.adjusts} is not held any more")
    view = _record(beside[view_path])
    if not isinstance(view, View) or view.status not in OPEN_VIEWS:
        problems.append(f"{expression.view_id} is {getattr(view, 'status', 'missing')}")
    return Pending(expression, sha256, violations, review, tuple(problems))


def _record(row: Row | None) -> Record | None:
    kind = kind_of_path(row.path) if row else None
    return parse(kind, row.content) if row and kind else None
