"""Builds the memory writes that an output implies. An agent confirms them by writing them."""

from dataclasses import replace
from typing import NamedTuple, cast

from forge.agent.contracts import ExpressionImplication, Output, ViewUpdate
from forge.fs import ReadFS
from forge.records import KINDS, Expression, View, parse, render
from forge.records.kinds import NEW

SLACK = 0.005
"""The allowed difference between a stated prior and the value in memory; outputs have two decimals."""


class ProposedWrite(NamedTuple):
    """A write to confirm: its path and whole text, or the problem that prevents it."""

    path: str
    text: str = ""
    problem: str = ""


def proposals(fs: ReadFS, output: Output) -> list[ProposedWrite]:
    """Return the writes that an output implies, or the reason if one is impossible."""
    views = [_view(fs, update) for update in output.view_updates]
    expressions = (_expression(fs, implied) for implied in output.expression_implications)
    return [*views, *(write for write in expressions if write)]


def _view(fs: ReadFS, update: ViewUpdate) -> ProposedWrite:
    path = KINDS["views"].path(update.view_id)
    if not fs.exists(path):
        return ProposedWrite(path, problem=f"there is no View {update.view_id}")
    view = cast("View", parse(KINDS["views"], fs.read_file(path)))
    if abs(view.confidence - update.prior_confidence) > SLACK:
        return ProposedWrite(
            path, problem=f"prior_confidence is {update.prior_confidence:g}, memory has {view.confidence:g}"
        )
    before = {scenario.name: scenario for scenario in view.scenarios}
    for change in update.scenario_changes:
        scenario = before.get(change.scenario)
        if scenario is None or abs(scenario.probability - change.prior_probability) > SLACK:
            return ProposedWrite(
                path, problem=f"scenario {change.scenario[:60]!r} is not in memory with that probability"
            )
    after = {change.scenario: change.updated_probability for change in update.scenario_changes}
    try:
        updated = replace(
            view,
            confidence=update.updated_confidence,
            status="invalidated" if update.direction == "invalidated" else view.status,
            scenarios=tuple(
                replace(scenario, probability=after.get(name, scenario.probability))
                for name, scenario in before.items()
            ),
            body=f"{view.body}\n\n{' '.join(update.key_evidence.split())}".strip("\n"),
        )
    except ValueError as problem:
        return ProposedWrite(path, problem=str(problem))
    return ProposedWrite(path, render(updated))


def _expression(fs: ReadFS, implied: ExpressionImplication) -> ProposedWrite | None:
    path = KINDS["expressions"].path(implied.expression_id)
    if implied.action == "hold":
        return None
    if not fs.exists(path):
        return ProposedWrite(path, problem=f"there is no Expression {implied.expression_id}")
    if implied.action == "adjust":
        return ProposedWrite(
            path, problem=f"to be adjusted by you: {implied.adjustment[:200] or 'no adjustment was stated'}"
        )
    expression = cast("Expression", parse(KINDS["expressions"], fs.read_file(path)))
    if implied.action == "close":
        closing = replace(
            expression, id=NEW, adjusts=expression.id, status="proposed", exit_reason="synthesis", updated=None
        )
        return ProposedWrite(KINDS["expressions"].path(NEW), render(closing))
    return ProposedWrite(path, render(replace(expression, status="review_required")))
