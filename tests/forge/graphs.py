"""Random graphs of tasks that fail, hang or are cancelled, and are retried: `python -m tests.forge.graphs --n 10000`.

Time is virtual: the loop's clock jumps to the next event, so that hanging tasks take no time.
"""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forge.agent.tasks.collect import CollectTool
from forge.agent.tasks.executor import Executor
from forge.agent.tasks.spec import Task, TaskResult
from pitlake.errors import BadInput
from tests.tally import Tally

GRAPHS, SECONDS = 250, 20.0
LONGEST = 100_000.0
"""The virtual seconds after which an unfinished graph is stuck."""
NO_SKILL = "rv-analysis"


class Jumping(asyncio.SelectorEventLoop):
    """An event loop that never waits. If nothing is ready, its clock jumps to the next event."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = 0.0

    def time(self) -> float:
        return self._shown

    def _run_once(self) -> None:
        scheduled: list[Any] = self._scheduled  # type: ignore[attr-defined]
        if not self._ready and scheduled:  # type: ignore[attr-defined]
            self._shown = max(self._shown, scheduled[0].when())
        super()._run_once()  # type: ignore[misc]


@dataclass
class Trial:
    """One random graph. By task id, `fates` holds numbers that decide outcomes, and `done` the returned summaries."""

    rng: random.Random
    made: type[Executor] = Executor
    fates: dict[str, float] = field(default_factory=dict)
    done: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    async def work(self, task: Task, used: Any) -> TaskResult:
        fate = self.fates.setdefault(task.id, self.rng.random())
        await asyncio.sleep(self.rng.random() * 4)
        if fate < 0.10:
            raise ValueError("no JSON")
        if fate < 0.20:
            await asyncio.sleep(LONGEST * 10)
        if fate < 0.25:
            raise ConnectionError
        if fate < 0.30:
            raise TimeoutError
        text = f"{task.id}<{','.join(sorted(result.summary for result in used.values()))}>"
        self.done[task.id] = text
        return TaskResult(id=task.id, status="ok", summary=text)

    async def run(self) -> int:
        executor = self.made(self.work, seconds=SECONDS, at_once=self.rng.choice((1, 3, 8)))
        display: set[str] = set()
        for number in range(self.rng.randint(1, 14)):
            existing = list(executor.tasks)
            needs = tuple(self.rng.sample(existing, min(len(existing), self.rng.randint(0, 3))))
            executor.dispatch(Task(id=f"t{number}", skill=NO_SKILL, objective="x", depends_on=needs))
            if self.rng.random() < 0.1:
                executor.cancel(self.rng.choice(list(executor.tasks)))
            if self.rng.random() < 0.3:
                await asyncio.sleep(self.rng.random() * 5)
            if self.rng.random() < 0.3:
                self.retry(executor)
            if self.rng.random() < 0.2:
                display |= await self.collected(executor, "ready")
        for _ in range(self.rng.randint(0, 4)):
            display |= await self.collected(executor, self.rng.choice(("all", "ready")))
            self.retry(executor)
        display |= await self.collected(executor, "all")
        self.judge(executor, display)
        await executor.close()
        return len(executor.tasks)

    def retry(self, executor: Executor) -> None:
        """Retry a failed task. Sometimes the retry depends on another task, which can form a cycle."""
        bad = [name for name, each in executor.results.items() if each.status != "ok" and executor.newest(name) == name]
        if not bad:
            return
        old = self.rng.choice(bad)
        inputs: dict[str, Any] = {"id": f"r{len(executor.tasks)}", "retry_of": old}
        if self.rng.random() < 0.3:
            inputs["depends_on"] = (self.rng.choice([name for name in executor.tasks if name != old] or [old]),)
        try:
            executor.dispatch(Task.of(inputs, executor.tasks[old]))
        except BadInput:
            if "depends_on" not in inputs:
                self.wrong.append("lost: a retry was refused")

    async def collected(self, executor: Executor, target: str) -> set[str]:
        answer = await asyncio.wait_for(CollectTool(executor).execute("", target=target), LONGEST)
        names = {line.split()[1] for line in answer.splitlines() if line.startswith("── ")}
        silent = [name for name in executor.collected if name not in names] if target == "all" else []
        if silent or not answer.splitlines()[-1].startswith("LEDGER: "):
            self.wrong.append(f"dropped: {silent} of {target}")
        return names

    def judge(self, executor: Executor, display: set[str]) -> None:
        for name in executor.tasks:
            result = executor.results.get(name)
            if result is None or name not in display:
                self.wrong.append(f"{'stuck' if result is None else 'dropped'}: {name}")
            elif result.status == "ok" and result.summary != self.done.get(name):
                self.wrong.append(f"lost: {name}")
            elif result.status == "ok" and not executor.outdated(name):
                due = sorted(
                    executor.results[executor.newest(need)].summary for need in executor.tasks[name].depends_on
                )
                if result.summary != f"{name}<{','.join(due)}>":
                    self.wrong.append(f"stale: {name} has {result.summary}, due {due}")
            elif result.status == "skipped" and executor.newest(name) == name:
                needs = [executor.results[executor.newest(need)] for need in executor.tasks[name].depends_on]
                if all(need.status == "ok" for need in needs):
                    self.wrong.append(f"stale: {name} is skipped though all it needs is there")


def graphs(count: int, seed: int = 0, outcome: type[Executor] = Executor) -> tuple[int, list[str]]:
    """Run `count` graphs; return the number of their tasks, and what went wrong."""
    tasks, wrong = 0, []
    for number in range(count):
        trial = Trial(random.Random(f"graphs/{seed}/{number}"), outcome)
        with asyncio.Runner(loop_factory=Jumping) as runner:
            try:
                tasks += runner.run(asyncio.wait_for(trial.run(), LONGEST * 5))
            except AssertionError as problem:
                trial.wrong.append(f"lost: {problem}")
            except TimeoutError:
                trial.wrong.append("stuck: the graph never ended")
        wrong += [f"graph {number}: {each}" for each in trial.wrong]
    return tasks, wrong


def share(seed: int, _folder: Path) -> Tally:
    """Run some graphs."""
    tasks, wrong = graphs(GRAPHS, seed)
    return Tally(GRAPHS, counts=Counter(tasks=tasks), failures=wrong)
