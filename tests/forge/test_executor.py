"""The executor on random graphs. The campaign must catch executors that lose work. Ids: T4, T5, X1, X3."""

import asyncio

import pytest

from forge.agent.tasks.collect import CollectTool
from forge.agent.tasks.executor import Executor
from forge.agent.tasks.spec import Task, TaskResult, load_result
from pitlake.errors import BadInput
from tests.forge.graphs import Jumping, graphs


def test_random_task_graphs_lose_no_task_and_end():
    sample = 150
    tasks, wrong = graphs(sample, seed=1)
    assert wrong == []
    assert tasks > 5 * sample


class NoCallback(Executor):
    """A mutant that leaves a task queued if it is cancelled before its first step."""

    def _end(self, task, result):
        if result.status != "cancelled" or task.id in self._running:
            super()._end(task, result)


class Forgets(Executor):
    """A mutant that removes failed tasks from the ledger."""

    def _end(self, task, result):
        super()._end(task, result)
        if result.status == "failed":
            self.tasks.pop(task.id)
            self.results.pop(task.id)


MUTANTS = {
    "NoCallback": NoCallback,
    "NoRequeue": type("NoRequeue", (Executor,), {"_requeue_skipped": lambda self, retry: None}),
    # Dependent tasks keep the result of the first attempt.
    "FirstTry": type("FirstTry", (Executor,), {"_is_outdated": lambda self, used: False}),
    "Circles": type("Circles", (Executor,), {"_dependencies": lambda self, name: set()}),
    "Forgets": Forgets,
}


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_the_campaign_catches_a_mutated_executor(mutant):
    result = []
    for seed in range(8):
        try:
            result += graphs(40, seed, mutant)[1]
        except (KeyError, RuntimeError, BadInput) as problem:
            result.append(repr(problem))
        if result:
            return
    raise AssertionError(f"{mutant.__name__} goes unseen")


def run(script):
    with asyncio.Runner(loop_factory=Jumping) as runner:
        return runner.run(asyncio.wait_for(script(), 10_000))


def task(name, *needs, **more):
    return Task(id=name, skill="rv-analysis", objective="x", depends_on=needs, **more)


async def fine(item, used):
    await asyncio.sleep(1)
    return TaskResult(id=item.id, status="ok", summary=f"{item.id}({','.join(r.summary for r in used.values())})")


def test_x1_sibling_tasks_are_isolated_and_each_state_is_reported():
    async def work(item, used):
        if item.id == "bad":
            raise ValueError("a secret")
        if item.id == "slow":
            await asyncio.sleep(1_000)
        return await fine(item, used)

    async def script():
        executor = Executor(work, seconds=20)
        for each in (task("bad"), task("slow"), task("good"), task("after", "bad"), task("gone")):
            executor.dispatch(each)
        assert executor.state("good") == "queued"
        executor.cancel("gone")
        await asyncio.sleep(0.5)
        assert executor.state("good") == "running"
        answer = await CollectTool(executor).execute("", target="all")
        return {name: executor.state(name) for name in executor.tasks}, answer

    states, answer = run(script)
    assert states == {"bad": "failed", "slow": "timeout", "good": "ok", "after": "skipped", "gone": "cancelled"}
    assert "a secret" not in answer
    assert "── good (ok) ──\ngood()\n[full: /session/results/good.md]" in answer
    assert "── bad (failed) ──\nFAILED: ValueError\n[retry: dispatch(retry_of='bad')]" in answer
    assert answer.splitlines()[-1] == (
        "LEDGER: 1 ok, 4 failed (bad: failed, slow: timeout, after: skipped, gone: cancelled), 0 running, "
        "0 never collected"
    )


def test_t5_collect_ready_waits_for_the_next_result_and_shows_each_result_once():
    async def script():
        executor = Executor(fine)
        tool = CollectTool(executor)
        executor.dispatch(task("a"))
        reply = [await tool.execute("", target="ready")]
        reply.append(await tool.execute("", target="a"))
        executor.dispatch(task("b"))
        reply += [await tool.execute("", target="ready"), await tool.execute("", target="all")]
        with pytest.raises(BadInput, match="never dispatched"):
            await tool.execute("", target="c")
        return reply

    first, second, third, last = run(script)
    assert first.startswith("── a (ok) ──")
    assert second.startswith("── a (ok) ──")
    assert third.startswith("── b (ok) ──")
    assert "── a" not in third
    assert [line for line in last.splitlines() if line.startswith("──")] == ["── a (ok) ──", "── b (ok) ──"]
    assert run(lambda: CollectTool(Executor(fine)).execute("", target="all")).startswith("No tasks completed yet.")


def test_t4_dependents_follow_the_newest_retry():
    tried = []

    async def work(item, used):
        tried.append(item.id)
        if item.id == "a":
            raise ConnectionError
        return await fine(item, used)

    async def script():
        executor = Executor(work)
        executor.dispatch(task("a"))
        executor.dispatch(task("b", "a"))
        await executor.wait(["b"])
        assert executor.state("b") == "skipped"
        executor.dispatch(Task.of({"id": "a2", "retry_of": "a"}, executor.tasks["a"]))
        await executor.wait(executor.tasks)
        return executor.results["b"]

    result = run(script)
    assert (result.summary, result.used, tried) == ("b(a2())", ("a2",), ["a", "a2", "b"])


def test_t4_a_duplicate_circular_or_invalid_task_is_refused():
    async def work(each, used):
        raise ConnectionError

    async def script():
        executor = Executor(work)
        executor.dispatch(task("a"))
        executor.dispatch(task("b", "a"))
        await executor.wait(["b"])
        refused = [
            task("a"), task("c", "c"), task("c", "nothing"), task("all"), task("Ä"), task("c", retry_of="nothing"),
            task("c", "b", retry_of="a"),
        ]  # fmt: skip
        for item in refused:
            with pytest.raises(BadInput):
                executor.dispatch(item)
        return set(executor.tasks)

    assert run(script) == {"a", "b"}


def test_t4_a_retry_inherits_unset_fields_from_the_failed_task():
    old = task("a", "z", context=("ctx_001", "V-001:header"), notes="n", validate=True)
    new = Task.of({"id": "b", "retry_of": "a"}, old)
    assert new.context == ("ctx_001:summary", "V-001:header")
    assert new.notes == "RETRY of a. Simplified context.\nn"
    assert (new.depends_on, new.validate, new.objective) == (("z",), True, "x")
    inputs = Task.of({"id": "b", "retry_of": "a", "objective": "y", "depends_on": [], "context": ["ctx_002"]}, new)
    assert (inputs.objective, inputs.depends_on, inputs.context) == ("y", (), ("ctx_002",))


def test_a_task_result_round_trips_through_json():
    item = TaskResult(id="a", status="ok", summary="s", used=("b",), proposed=("p",))
    assert load_result(item.to_json()) == item


def test_the_ledger_counts_tasks_that_used_a_since_retried_result():
    async def script():
        executor = Executor(fine)
        executor.dispatch(task("a"))
        executor.dispatch(task("b", "a"))
        await executor.wait(["b"])
        executor.dispatch(task("a2", retry_of="a"))
        return await CollectTool(executor).execute("", target="all")

    assert run(script).endswith(", 1 used a result of a task that was retried later (b)")
