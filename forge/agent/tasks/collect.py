"""The tool `collect`: the results of tasks. Every answer ends with a ledger, so that no task is silently dropped."""

import json
from collections.abc import Awaitable, Callable

from forge.agent.tasks.executor import Executor
from forge.agent.tasks.spec import TaskResult
from forge.agent.tools.base import schema
from forge.model.messages import ToolSpec
from pitlake.errors import BadInput

SPEC = ToolSpec(
    "collect",
    "Retrieve dispatched task results.\n\n"
    "  collect('task_id') — wait for a specific task\n"
    "  collect('ready')   — grab whatever's completed\n"
    "  collect('all')     — wait for everything\n\n"
    "Returns summaries. Full outputs at /session/results/<id>.md.\n"
    "Use collect('ready') between dispatches to absorb and adapt.\n\n"
    "Failed tasks show status and error. You can retry them with "
    "dispatch(retry_of='failed_id').",
    schema({"target": {"type": "string"}}, "target"),
)
RecordChoice = Callable[[str, Callable[[], str]], Awaitable[str]]
"""Records a choice that depends on which task ended first, by call id, so that a replay makes the same choice."""


class CollectTool:
    """The tool `collect` over an executor's tasks. on_collect: called with the id of each task that is shown."""

    spec = SPEC

    def __init__(
        self,
        executor: Executor,
        record: RecordChoice | None = None,
        on_collect: Callable[[str], None] = lambda _name: None,
    ) -> None:
        self._executor, self._record_choice, self._on_collect = executor, record, on_collect

    async def execute(self, call_id: str, /, target: str) -> str:
        """Return the results, the number of running tasks, and the ledger. Raises BadInput for an unknown task."""
        executor = self._executor
        if target == "all":
            await executor.wait(executor.tasks)
        elif target == "ready":
            await executor.wait_for_news()
        else:
            if target not in executor.tasks:
                dispatched = ", ".join(executor.tasks) or "none"
                raise BadInput(
                    "target", f"{target[:60]!r} was never dispatched", f"dispatched tasks: {dispatched[:200]}"
                )
            await executor.wait([target])

        def choose() -> str:
            ended = [name for name in executor.tasks if name in executor.results]
            new = [name for name in ended if name not in executor.collected]
            names = {"all": ended, "ready": new}.get(target, [target])
            running = len(executor.tasks) - len(ended)
            ledger_line = task_ledger(executor, executor.collected | set(names))
            return json.dumps({"shown": names, "running": running, "ledger": ledger_line})

        choice = json.loads(await self._record_choice(call_id, choose) if self._record_choice else choose())
        await executor.wait(choice["shown"])
        parts = [format_result(executor.results[name]) for name in choice["shown"]]
        for name in choice["shown"]:
            executor.collected.add(name)
            self._on_collect(name)
        if choice["running"]:
            parts.append(f"({choice['running']} tasks still running)")
        elif not parts:
            parts.append("No tasks completed yet.")
        return "\n\n".join([*parts, choice["ledger"]])


def format_result(result: TaskResult) -> str:
    head = f"── {result.id} ({result.status}"
    if result.validation:
        kind = "contrastive" if result.validation.contrastive else "validated"
        head += f" | {kind}: {result.validation.verdict}"
    lines = [f"{head}) ──"]
    if result.status == "ok":
        lines += [result.summary, f"[full: /session/results/{result.id}.md]"]
    else:
        lines += [f"FAILED: {result.error or result.status}", f"[retry: dispatch(retry_of='{result.id}')]"]
    if result.validation and result.validation.feedback:
        lines.append(f"[feedback: {result.validation.feedback}]")
    lines += [f"[proposed: {write}]" for write in result.proposed]
    return "\n".join(lines)


def task_ledger(executor: Executor, collected: set[str]) -> str:
    """Summarise tasks by state in one line, with the names of those that failed, were rejected or not collected."""
    states = {name: executor.state(name) for name in executor.tasks}
    bad = [name for name, state in states.items() if state not in ("ok", "queued", "running")]
    running = [name for name, state in states.items() if state in ("queued", "running")]
    lost = [name for name in states if name not in collected]
    failures = [
        f"{name}: {states[name]}" + (f", retried as {newest}" if (newest := executor.newest(name)) != name else "")
        for name in bad
    ]
    parts = [
        f"{sum(state == 'ok' for state in states.values())} ok",
        _named(len(bad), "failed", failures),
        f"{len(running)} running",
        _named(len(lost), "never collected", lost),
    ]
    rejected = [name for name in states if name in executor.results and executor.results[name].rejected]
    outdated = [name for name in states if executor.outdated(name)]
    parts += [_named(len(rejected), "rejected", rejected)] if rejected else []
    parts += [_named(len(outdated), "used a result of a task that was retried later", outdated)] if outdated else []
    return "LEDGER: " + ", ".join(parts)


def _named(count: int, what: str, names: list[str]) -> str:
    return f"{count} {what}" + (f" ({', '.join(names)})" if names else "")
