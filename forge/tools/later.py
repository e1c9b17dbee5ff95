"""dispatch, collect and review: told to the model with their schemas, answered with that nobody is there to do them."""

from typing import Any

from forge.model.messages import ToolSpec
from forge.tools.base import FAILED, Tool, schema

DISPATCH = ToolSpec(
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
            "retry_of": {
                "type": "string",
                "description": "Task ID to retry (inherits spec, simplified context)",
            },
        },
        "id",
        "skill",
        "objective",
    ),
)
COLLECT = ToolSpec(
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
REVIEW = ToolSpec(
    "review",
    "Request adversarial review of a proposed output.\n"
    "Use for Expressions (mandatory) and when you want a "
    "fresh perspective to challenge your reasoning.\n\n"
    "The reviewer independently accesses memory and data.\n"
    "Returns verdict + reasoning.",
    schema({"output": {"type": "string"}, "focus": {"type": "string"}}, "output", "focus"),
)


class Absent:
    """A tool without an executor."""

    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec

    async def execute(self, call_id: str, /, **arguments: Any) -> str:
        """That it is not there, and what to do instead."""
        return f"[{self.spec.name}{FAILED}this installation has no executor of sub-agents; do the analysis yourself"


ABSENT: tuple[Tool, ...] = tuple(Absent(spec) for spec in (DISPATCH, COLLECT, REVIEW))
