"""Untaken trades, and their hypothetical returns.

A rejected Expression is followed from its rejection, an undecided one from its last day. A View is followed once it has
been active for two weeks at a confidence of 0.6 or more without an Expression. Each is followed for 90 days: an
Expression with its bars, a View with its own question as of every close.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast

from forge.core.config import Counterfactuals
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.effects import CODE
from forge.memory.journal import digest
from forge.memory.remembered import Remembered
from forge.providers.base import At, ask
from forge.records import KINDS, Counterfactual, Expression, Mark, View, render
from forge.tracking.bars import NotFollowable, sessions
from forge.tracking.settlement import whole_memory
from forge.tracking.trades import expressions, follow_trade
from pitlake.clock import end_of_new_york_day, new_york_day
from pitlake.errors import BadInput
from pitlake.exchange import session
from pitlake.questions import catalogue

FOLDER = "/memory/counterfactuals/"
UNDECIDED = ("draft", "proposed", "review_required")


def track_untaken(
    memory: Memory, now: At, settings: Counterfactuals | None = None
) -> tuple[list[Counterfactual], list[str]]:
    """Start and update all Counterfactuals. Return the changed ones, and the reasons why some can't be followed.

    now: the instant, the lake and the version to read. Raises LakeNotFound.
    """
    settings = settings or Counterfactuals()
    now = now.pinned()
    remembered = whole_memory(memory, now.as_of)
    files = ForgeFS(memory, remembered, actor=CODE)
    untaken = list[tuple[str, Counterfactual]]()
    for path, expression in expressions(remembered):
        # An Expression that was ever active is decided.
        taken = any(cast("Expression", remembered.record(row)).status == "active" for row in remembered.all(path))
        over = expression.expires and end_of_new_york_day(expression.expires) <= now.as_of
        if expression.status in UNDECIDED and not taken and expression.expires and over:
            record = Counterfactual(
                id="new",
                decision_type="expired_expression",
                expression=expression.id,
                view=expression.view_id,
                reference_date=end_of_new_york_day(expression.expires),
                reason=f"not decided by {expression.expires}",
                tracking_days=settings.default_tracking_days,
            )
            untaken.append((expression.id, record))
    for name, record in [*untaken, *_unproposed(remembered, now.as_of, settings)]:
        if not any(
            (existing.expression or existing.view, existing.decision_type) == (name, record.decision_type)
            for _, existing in _counterfactuals(remembered)
        ):
            files.write_file(f"{FOLDER}new.md", render(record), call_id=f"{name}:{record.decision_type}")
    changed, gaps = list[Counterfactual](), list[str]()
    for path, record in _counterfactuals(remembered):
        if record.status != "tracking":
            continue
        later = _update(remembered, record, now)
        if later.problem:
            gaps.append(f"{record.id}: {later.problem}")
        if replace(later, version=record.version, answer=record.answer) != record:
            row = remembered.newest(path)
            write = files.write_file(path, render(later), call_id=f"{record.id}:{row.seq if row else 0}")
            changed.append(cast("Counterfactual", remembered.record(write.rows[0])))
    return changed, gaps


def _counterfactuals(remembered: Remembered) -> list[tuple[str, Counterfactual]]:
    rows = remembered.rows("counterfactuals")
    return [(row.path, cast("Counterfactual", remembered.record(row))) for row in rows]


def _unproposed(
    remembered: Remembered, at: datetime, settings: Counterfactuals
) -> Iterator[tuple[str, Counterfactual]]:
    """Yield Views that were active long enough, with enough confidence, without an Expression beyond a draft."""
    proposed: dict[str, datetime] = {}
    for path in remembered.paths("/memory/expressions/"):
        for row in remembered.all(path):
            expression = cast("Expression", remembered.record(row))
            if expression.status != "draft":
                proposed[expression.view_id] = min(proposed.get(expression.view_id, at), remembered.written_at(row))
    for path in remembered.paths("/memory/views/"):
        # A View qualifies once it has been active and confident without a break for long enough.
        since, confident_since, rows = None, None, remembered.all(path)
        for row, following in zip(rows, [*rows[1:], None], strict=True):
            view = cast("View", remembered.record(row))
            if view.status != "active" or view.confidence < settings.min_confidence:
                confident_since = None
                continue
            confident_since = confident_since or remembered.written_at(row)
            long = confident_since + timedelta(days=settings.min_days)
            if long <= (remembered.written_at(following) if following else at):
                since = long
                break
        if since and proposed.get(name := path.rpartition("/")[2].removesuffix(".md"), since) >= since:
            yield (
                name,
                Counterfactual(
                    id="new",
                    decision_type="view_without_expression",
                    view=name,
                    reference_date=since,
                    reason=f"no Expression in {settings.min_days} days at {settings.min_confidence:g} or more",
                    tracking_days=settings.default_tracking_days,
                ),
            )


def _update(remembered: Remembered, record: Counterfactual, now: At) -> Counterfactual:
    """Update a Counterfactual's path. Its exit or its last day completes it."""
    since = record.reference_date
    if since is None or not (record.expression or record.view):
        return replace(record, problem="it lacks a reference date, or an Expression or View")
    last = new_york_day(since) + timedelta(days=record.tracking_days)
    try:
        updated = (
            _trade(remembered, record, since, now) if record.expression else _question(remembered, record, since, now)
        )
    except (NotFollowable, BadInput) as problem:
        updated = replace(record, problem=str(problem))
    over = bool(updated.exit_reason) or last < new_york_day(now.as_of)
    return replace(updated, status="completed" if over and not updated.problem else "tracking")


def _trade(remembered: Remembered, record: Counterfactual, since: datetime, now: At) -> Counterfactual:
    row = remembered.newest(KINDS["expressions"].path(record.expression))
    if row is None:
        raise NotFollowable(f"there is no {record.expression[:40]}")
    expression, until = (
        cast("Expression", remembered.record(row)),
        new_york_day(since) + timedelta(record.tracking_days),
    )
    if expression.expires and expression.expires > new_york_day(since):
        until = min(until, expression.expires)
    trade = follow_trade(expression, since, until, now)
    path = trade.path
    return replace(
        record,
        entry_price=path.entry_price,
        total_return=path.total_return if path.marks else None,
        exit_reason=path.reason,
        marks=path.marks,
        problem=trade.describe_holes(path.unfollowed) if path.unfollowed else "",
        version=trade.version,
        answer=trade.answer,
    )


def _question(remembered: Remembered, record: Counterfactual, since: datetime, now: At) -> Counterfactual:
    """Answer a View's own question as of every close, and keep earlier answers."""
    row = remembered.newest(KINDS["views"].path(record.view))
    settles = cast("View", remembered.record(row)).settles if row else None
    if settles is None:
        raise NotFollowable(f"{record.view[:40]} has no question by which it can be judged")
    marks, answer, problem = list(record.marks), record.answer, ""
    days = sessions(since, new_york_day(since) + timedelta(record.tracking_days), now.as_of)
    for day in days[len(marks) :]:
        hours = session(day)
        answer_at_close = (
            ask(catalogue.get(settles.query), settles.params, replace(now, as_of=hours.close)) if hours else {}
        )
        value = next((row.get(settles.column) for row in answer_at_close.get("rows", ())), None)
        if isinstance(value, bool) or not isinstance(value, int | float):
            problem = f"{settles.column} is not a number as of the close of {day}"
            break
        marks.append(Mark(day=day, value=float(value)))
        answer = digest(answer, answer_at_close["receipts"][0].result_sha256)
    return replace(record, marks=tuple(marks), problem=problem, version=now.version, answer=answer)
