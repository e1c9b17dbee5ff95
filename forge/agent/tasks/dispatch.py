"""The tool `dispatch`: start a sub-agent and continue immediately."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from forge.agent.tasks.executor import Executor
from forge.agent.tasks.spec import Task
from forge.agent.tools.base import Files, schema
from forge.model.messages import ToolSpec
from pitlake.errors import BadInput

TASKS = "/session/tasks/"
SPEC = ToolSpec(
    "dispatch",
    "Start a sub-agent in the background. Returns immediately.\n\n"
    "Dispatch tasks as soon as you identify them. Independent "
    "tasks run in parallel. Use depends_on for tasks that need "
    "prior results — the executor handles sequencing.\n\n"
    "Don't batch. Don't over-plan. Dispatch → think → adapt.\n\n"
    "If a task fails, retry with retry_of to re-dispatch "
    "with simplified context.\n\n"
    "Use collect() to retrieve results when needed.",
    schema(
        {
            "id": {"type": "string"},
            "skill": {"type": "string"},
            "objective": {"type": "string"},
            "context": {
                "type": "array",
                "items": {"type": "string"},
                "description": (
                    "Context refs: ctx_NNN, V-NNN, task_id, etc. Append :summary or :header for less detail."
                ),
            },
            "notes": {"type": "string"},
            "depends_on": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Task IDs this depends on. Executor auto-waits and injects their summaries.",
            },
            "validate": {"type": "boolean"},
            "validate_contrastive": {"type": "boolean"},
            "retry_of": {"type": "string", "description": "Task ID to retry (inherits spec, simplified context)"},
        },
        "id",
        "skill",
        "objective",
    ),
)


class DispatchTool:
    """The tool `dispatch` over an executor.

    skill: returns a skill's name or raises BadInput. on_dispatch: called with each task.
    """

    spec = SPEC

    def __init__(
        self, executor: Executor, fs: Files, skill: Callable[[str], str], on_dispatch: Callable[[Task], None]
    ) -> None:
        self._executor, self._fs, self._skill, self._on_dispatch = executor, fs, skill, on_dispatch

    async def execute(self, call_id: str, /, **arguments: Any) -> str:
        """Start the task and say which tasks it waits for. Raises BadInput for invalid arguments."""
        task = self.task(arguments)
        self._executor.check(task)
        if self._fs.exists(f"{TASKS}{task.id}.md"):
            raise BadInput("id", f"{task.id} was dispatched in an earlier turn", "choose another id")
        self._fs.write_file(f"{TASKS}{task.id}.md", describe_task(task), call_id=call_id)
        self._on_dispatch(task)
        self._executor.dispatch(task)
        waits = f" | waits for: {', '.join(task.depends_on)}" if task.depends_on else ""
        return (
            f"Dispatched: {task.id} | skill: {task.skill}{waits}\n"
            f"Use collect('{task.id}') or collect('all') for results."
        )

    def task(self, arguments: dict[str, Any]) -> Task:
        """Build the task from the arguments. Raises BadInput for an unknown skill or a retry of an unknown task."""
        retried = arguments.get("retry_of")
        original = self._executor.tasks.get(retried) if retried else None
        if retried and original is None:
            raise BadInput("retry_of", f"{retried[:60]!r} was never dispatched", "give the id of a dispatched task")
        fields = {name: value for name, value in arguments.items() if value or name not in ("id", "skill", "objective")}
        if original and "id" not in fields:
            tries = (f"{original.id[:36]}-r{number}" for number in range(2, len(self._executor.tasks) + 3))
            fields["id"] = next(name for name in tries if name not in self._executor.tasks)
        if missing := [name for name in ("id", "skill", "objective") if name not in fields and original is None]:
            raise BadInput(missing[0], "is empty", "give a value")
        task = Task.of(fields, original)
        return replace(task, skill=self._skill(task.skill))


def describe_task(task: Task) -> str:
    """Format a task as a file of the session."""
    waits = ", ".join(task.depends_on)
    lines = [f"# {task.id}", f"skill: {task.skill}", f"depends_on: {waits}", f"retry_of: {task.retry_of}"]
    return "\n".join([*(line.rstrip() for line in lines), "---", "", task.objective, "", task.notes]).rstrip() + "\n"
