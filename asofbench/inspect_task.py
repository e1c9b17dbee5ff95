"""A second way to run the benchmark: the same cases and verdicts as an Inspect task, which stores and shows their log.

    PYTHONPATH=. inspect eval asofbench/inspect_task.py --model mockllm/model -T system=feast-filtered

No model is used; a data layer answers. Needs inspect-ai in addition to the system's packages.
"""

import tempfile
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, grouped, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from asofbench.generate import SEED, cases
from asofbench.grading import CAUGHT, UNABLE, Verdict
from asofbench.model import Case
from asofbench.run import Plan, run
from asofbench.systems import BY_NAME
from asofbench.worker import slug


@task
def asofbench(system: str = "pitlake", seed: str = SEED, worlds: str = "") -> Task:
    """Return a task with every case that a system can be asked. system: its name in lower case with dashes. worlds: a
    selection, separated by spaces. Raises ValueError for an unknown name and for a system that does not run.
    """
    systems = {slug(name): system for name, system in BY_NAME.items()}
    if system not in systems:
        raise ValueError(f"system must be one of {', '.join(systems)}, not {system!r}")
    with tempfile.TemporaryDirectory(prefix="asofbench-run-") as scratch:
        [outcome] = run([systems[system]], Plan(seed=seed, scratch=Path(scratch), worlds=worlds.split()))
    if outcome.problem:
        raise ValueError(f"{system} did not run: {outcome.problem}")
    case_by_id = {case.id: case for case in cases(seed)}
    samples = [_sample(case_by_id[verdict.case], verdict) for verdict in outcome.verdicts if verdict.verdict != UNABLE]
    return Task(dataset=samples, solver=answered(), scorer=verdict())


def _sample(case: Case, graded_verdict: Verdict) -> Sample:
    metadata = {"class": case.kind, "source": case.source, "verdict": graded_verdict.verdict, "why": graded_verdict.why}
    return Sample(input=str(case.ask.as_json()), target=CAUGHT, id=case.id, metadata=metadata)


@solver
def answered() -> Solver:
    """Return the outcome of the case in place of a model's answer."""

    async def solve(state: TaskState, _generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("none", state.metadata["verdict"])
        return state

    return solve


@scorer(metrics=[accuracy(), stderr(), grouped(accuracy(), "class")])
def verdict() -> Scorer:
    """Score a case as right if it was caught."""

    async def score(state: TaskState, target: Target) -> Score:
        completion = state.output.completion
        right = CORRECT if completion == target.text else INCORRECT
        return Score(value=right, answer=completion, explanation=state.metadata["why"])

    return score
