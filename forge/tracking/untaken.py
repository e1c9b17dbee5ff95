"""Trades not taken: which there were, and what would have become of them.

A rejected Expression is one from its rejection on, one that was never decided from its last day on, and a View from
the day on that it had stood for two weeks at a confidence of 0.6 or more without any Expression. Each is followed for
90 days: an Expression by bars as it would have been held, a View by what judges it, asked as of every close.
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
from forge.tracking.bars import Untold, sessions
from forge.tracking.settlement import hydrated
from forge.tracking.trades import expressions, told_by_bars
from pitlake.clock import end_of_new_york_day, new_york_day
from pitlake.errors import BadInput
from pitlake.exchange import session
from pitlake.questions import catalogue

FOLDER = "/memory/counterfactuals/"
UNDECIDED = ("draft", "proposed", "review_required")


def untaken(memory: Memory, now: At, settings: Counterfactuals | None = None) -> tuple[list[Counterfactual], list[str]]:
    """Begin and go on with every Counterfactual; those that changed, and why others do not go on.

    now: the instant, and the lake with the version to ask. Raises LakeNotFound.
    """
    settings = settings or Counterfactuals()
    now = now.pinned()
    known = hydrated(memory, now.as_of)
    files = ForgeFS(memory, known, actor=CODE)
    for name, record in [*_expired(known, now.as_of, settings), *_unproposed(known, now.as_of, settings)]:
        if not any(
            (one.expression or one.view, one.decision_type) == (name, record.decision_type) for _, one in _all(known)
        ):
            files.write_file(f"{FOLDER}new.md", render(record), call_id=f"{name}:{record.decision_type}")
    made, gaps = list[Counterfactual](), list[str]()
    for path, record in _all(known):
        if record.status != "tracking":
            continue
        later = _followed(known, record, now)
        if later.problem:
            gaps.append(f"{record.id}: {later.problem}")
        if replace(later, version=record.version, answer=record.answer) != record:
            row = known.newest(path)
            written = files.write_file(path, render(later), call_id=f"{record.id}:{row.seq if row else 0}")
            made.append(cast("Counterfactual", known.record(written.rows[0])))
    return made, gaps


def _all(known: Remembered) -> list[tuple[str, Counterfactual]]:
    rows = [(path, known.newest(path)) for path in known.paths(FOLDER)]
    return [(path, cast("Counterfactual", known.record(row))) for path, row in rows if row]


def _expired(known: Remembered, at: datetime, settings: Counterfactuals) -> Iterator[tuple[str, Counterfactual]]:
    """Expressions whose last day went by undecided; one that was active once was decided."""
    for path, one in expressions(known):
        taken = any(cast("Expression", known.record(row)).status == "active" for row in known.all(path))
        if one.status in UNDECIDED and not taken and one.expires and end_of_new_york_day(one.expires) <= at:
            yield (
                one.id,
                Counterfactual(
                    id="new",
                    decision_type="expired_expression",
                    expression=one.id,
                    view=one.view_id,
                    reference_date=end_of_new_york_day(one.expires),
                    reason=f"nobody decided by {one.expires}",
                    tracking_days=settings.default_tracking_days,
                ),
            )


def _unproposed(known: Remembered, at: datetime, settings: Counterfactuals) -> Iterator[tuple[str, Counterfactual]]:
    """Views that stood long enough, and sure enough, without an Expression that went beyond a draft."""
    proposed: dict[str, datetime] = {}
    for path in known.paths("/memory/expressions/"):
        for row in known.all(path):
            told = cast("Expression", known.record(row))
            if told.status != "draft":
                proposed[told.view_id] = min(proposed.get(told.view_id, at), known.written_at(row))
    for path in known.paths("/memory/views/"):
        since = _stood(known, path, at, settings)
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


def _stood(known: Remembered, path: str, at: datetime, settings: Counterfactuals) -> datetime | None:
    """When a View first had been active and sure enough for long enough, without a break."""
    since, rows = None, known.all(path)
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        told = cast("View", known.record(row))
        if told.status != "active" or told.confidence < settings.min_confidence:
            since = None
            continue
        since = since or known.written_at(row)
        long = since + timedelta(days=settings.min_days)
        if long <= (known.written_at(following) if following else at):
            return long
    return None


def _followed(known: Remembered, record: Counterfactual, now: At) -> Counterfactual:
    """A Counterfactual with its path as far as the lake tells it; completed by its exit or its last day."""
    since = record.reference_date
    if since is None or not (record.expression or record.view):
        return replace(record, problem="it names no day, or neither Expression nor View")
    last = new_york_day(since) + timedelta(days=record.tracking_days)
    try:
        told = _trade(known, record, since, now) if record.expression else _question(known, record, since, now)
    except (Untold, BadInput) as problem:
        told = replace(record, problem=str(problem))
    over = bool(told.exit_reason) or last < new_york_day(now.as_of)
    return replace(told, status="completed" if over and not told.problem else "tracking")


def _trade(known: Remembered, record: Counterfactual, since: datetime, now: At) -> Counterfactual:
    row = known.newest(KINDS["expressions"].path(record.expression))
    if row is None:
        raise Untold(f"there is no {record.expression[:40]}")
    expression, until = cast("Expression", known.record(row)), new_york_day(since) + timedelta(record.tracking_days)
    if expression.expires and expression.expires > new_york_day(since):
        until = min(until, expression.expires)
    told = told_by_bars(expression, since, until, now)
    path = told.path
    return replace(
        record,
        opened=path.opened,
        made=path.made if path.marks else None,
        exit_reason=path.reason,
        marks=path.marks,
        problem=f"there is no bar of {expression.instrument} on {path.gap}" if path.gap else "",
        version=told.version,
        answer=told.answer,
    )


def _question(known: Remembered, record: Counterfactual, since: datetime, now: At) -> Counterfactual:
    """A View's own question as of every close; what was asked once stays."""
    row = known.newest(KINDS["views"].path(record.view))
    settles = cast("View", known.record(row)).settles if row else None
    if settles is None:
        raise Untold(f"{record.view[:40]} says nothing that judges it")
    marks, answer, problem = list(record.marks), record.answer, ""
    days = sessions(since, new_york_day(since) + timedelta(record.tracking_days), now.as_of)
    for day in days[len(marks) :]:
        held = session(day)
        asked = ask(catalogue.get(settles.query), settles.params, replace(now, as_of=held.close)) if held else {}
        value = next((one.get(settles.column) for one in asked.get("rows", ())), None)
        if isinstance(value, bool) or not isinstance(value, int | float):
            problem = f"{settles.column} is no number as of the close of {day}"
            break
        marks.append(Mark(day=day, value=float(value)))
        answer = digest(answer, asked["receipts"][0].result_sha256)
    return replace(record, marks=tuple(marks), problem=problem, version=now.version, answer=answer)
