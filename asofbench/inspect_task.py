"""A second way to run the benchmark: the same cases and verdicts as tasks of Inspect, which stores and shows their log.

    PYTHONPATH=. inspect eval asofbench/inspect_task.py@asofbench --model mockllm/model -T system=feast-filtered
    PYTHONPATH=. inspect eval asofbench/inspect_task.py@agents --model MODEL -T system=pandas-merge-asof-published

`asofbench` calls no model: a data layer answers. In `agents` the model answers, with the system as its tool. Needs
inspect-ai in addition to the system's packages; `agents` needs mcp, too.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageTool, ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, grouped, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import mcp_connection, mcp_server_stdio, mcp_tools

from asofbench.generate import SEED, cases
from asofbench.grading import CAUGHT, UNABLE
from asofbench.run import Plan, run
from asofbench.systems import BY_NAME
from asofbench.tape import Line, for_agents, grade, prompt
from asofbench.worker import slug

_HERE = str(Path(__file__).resolve().parents[1])


@task
def asofbench(system: str = "pitlake", seed: str = SEED, worlds: str = "") -> Task:
    """Return a task with every case that a system can be asked. system: its name in lower case with dashes. worlds: a
    selection, separated by spaces. Raises ValueError for an unknown name and for a system that does not run.
    """
    chosen = BY_NAME[_name_of(system)]
    with tempfile.TemporaryDirectory(prefix="asofbench-run-") as scratch:
        [outcome] = run([chosen], Plan(seed=seed, scratch=Path(scratch), worlds=worlds.split()))
    if outcome.problem:
        raise ValueError(f"{system} did not run: {outcome.problem}")
    case_by_id = {case.id: case for case in cases(seed)}
    samples = []
    for graded in outcome.verdicts:
        if graded.verdict != UNABLE:
            case = case_by_id[graded.case]
            metadata = {"class": case.kind, "source": case.source, "verdict": graded.verdict, "why": graded.why}
            samples.append(Sample(input=str(case.ask.as_json()), target=CAUGHT, id=case.id, metadata=metadata))
    return Task(dataset=samples, solver=answered(), scorer=verdict())


@task
def agents(system: str, seed: str = SEED, classes: str = "", pinned: bool = False) -> Task:
    """Return a task with every case for agents, in which the model has the system as its tool. classes: a selection,
    separated by spaces. pinned: the tool answers as of T, and has no argument for it. Raises ValueError for an unknown
    name.
    """
    chosen = [case for case in for_agents(cases(seed)) if not classes or case.kind in classes.split()]
    dataset = [
        Sample(input=prompt(case), target=CAUGHT, id=case.id, metadata={"class": case.kind, "source": case.source})
        for case in chosen
    ]
    return Task(dataset=dataset, solver=with_tool(_name_of(system), seed, pinned), scorer=taped(seed))


def _name_of(system: str) -> str:
    names = {slug(name): name for name in BY_NAME}
    if system not in names:
        raise ValueError(f"system must be one of {', '.join(names)}, not {system!r}")
    return names[system]


@solver
def with_tool(system: str, seed: str, pinned: bool) -> Solver:
    """Let the model call the system's tool until it answers."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        serve = ["-m", "asofbench.agents", "serve", system, "--case", str(state.sample_id), "--seed", seed]
        arguments = [*serve, *(["--pinned"] if pinned else [])]
        server = mcp_server_stdio(command=sys.executable, args=arguments, env={"PYTHONPATH": _HERE})
        source = mcp_tools(server)
        async with mcp_connection(source):
            state.tools = await source.tools()
            return await generate(state)

    return solve


def tape_of(state: TaskState) -> Iterator[Line]:
    """Yield a sample's messages as lines of a tape."""
    case = str(state.sample_id)
    for message in state.messages:
        for call in (isinstance(message, ChatMessageAssistant) and message.tool_calls) or ():
            params = {"name": call.function, "arguments": call.arguments}
            yield {"case": case, "from": "client", "message": {"id": call.id, "method": "tools/call", "params": params}}
        if isinstance(message, ChatMessageTool):
            result = {"text": message.text, "error": message.error and message.error.message}
            yield {"case": case, "from": "server", "message": {"id": message.tool_call_id, "result": result}}
    yield {"case": case, "answer": state.output.completion}


@scorer(metrics=[accuracy(), stderr(), grouped(accuracy(), "class")])
def taped(seed: str) -> Scorer:
    """Score a case as right if neither the answer nor a tool call showed what came after T, and the answer is right."""

    async def score(state: TaskState, _target: Target) -> Score:
        [graded] = grade(tape_of(state), cases(seed))
        counts = {"calls": graded.calls, "shown": graded.shown, "beyond": graded.beyond}
        right = CORRECT if graded.verdict == CAUGHT else INCORRECT
        return Score(value=right, answer=graded.verdict, explanation=graded.why, metadata=counts)

    return score


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
