"""A sub-agent's task and its result."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["queued", "running", "ok", "failed", "timeout", "skipped", "cancelled"]
ValidationVerdict = Literal["accept", "reject"]
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
TARGETS = ("all", "ready")
MOST_DEPENDENCIES = 50


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task. context: references such as ctx_001, V-001:summary. retry_of: the task it replaces."""

    id: str
    skill: str
    objective: str
    context: tuple[str, ...] = ()
    notes: str = ""
    depends_on: tuple[str, ...] = ()
    validate: bool = False
    validate_contrastive: bool = False
    retry_of: str = ""

    @classmethod
    def of(cls, arguments: Mapping[str, Any], original: "Task | None" = None) -> "Task":
        """Build a task from the arguments of dispatch. A retry inherits missing arguments from the original task."""
        values = dict(arguments)
        for name in ("context", "depends_on"):
            if name in values:
                values[name] = tuple(dict.fromkeys(values[name]))
        if original is None:
            return cls(**values)
        note = f"RETRY of {original.id}. Simplified context."
        context = tuple(ref if ref.endswith((":summary", ":header")) else f"{ref}:summary" for ref in original.context)
        inherited = {**asdict(original), "context": context}
        values["notes"] = "\n".join(text for text in (note, values.get("notes", original.notes)) if text)
        return cls(**{**inherited, **values})


@dataclass(frozen=True, kw_only=True)
class Validation:
    """A validator's judgement of an output. counterargument: stated only by a contrastive validator."""

    verdict: ValidationVerdict
    feedback: str = ""
    contrastive: bool = False
    counterargument: str = ""


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """The result of a task.

    used: the tasks whose summaries it received. proposed: the memory writes that its output implies, as files to
    confirm, or the reason why a write is impossible.
    """

    id: str
    status: State
    summary: str = ""
    error: str = ""
    validation: Validation | None = None
    tokens: int = 0
    used: tuple[str, ...] = ()
    proposed: tuple[str, ...] = ()

    @property
    def rejected(self) -> bool:
        return self.validation is not None and self.validation.verdict == "reject"

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def load_result(text: str) -> TaskResult:
    fields = json.loads(text)
    validation = Validation(**fields["validation"]) if fields["validation"] else None
    lists = {name: tuple(fields[name]) for name in ("used", "proposed")}
    return TaskResult(**{**fields, **lists, "validation": validation})
