"""A task for a sub-agent, and what became of it."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["queued", "running", "ok", "failed", "timeout", "skipped", "cancelled"]
Verdict = Literal["accept", "reject"]
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
TARGETS = ("all", "ready")
MOST_DEPENDENCIES = 50


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a sub-agent is asked. context: refs such as ctx_001, V-001:summary; retry_of: the task it takes the place
    of.
    """

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
    def of(cls, given: Mapping[str, Any], original: "Task | None" = None) -> "Task":
        """From the arguments of dispatch. A retry takes what is not given from the task it retries."""
        told = dict(given)
        for name in ("context", "depends_on"):
            if name in told:
                told[name] = tuple(dict.fromkeys(told[name]))
        if original is None:
            return cls(**told)
        note = f"RETRY of {original.id}. Simplified context."
        kept = {**asdict(original), "context": tuple(map(_summary, original.context))}
        told["notes"] = "\n".join(one for one in (note, told.get("notes", original.notes)) if one)
        return cls(**{**kept, **told})


@dataclass(frozen=True, kw_only=True)
class Validation:
    """What a validator said of an output. counterargument: of a contrastive one."""

    verdict: Verdict
    feedback: str = ""
    contrastive: bool = False
    counterargument: str = ""


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """How a task ended. used: the tasks whose summaries it was given; proposed: the memory writes its output implies,
    as files to confirm, or why one could not be made.
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
        """Whether a validator rejected it."""
        return self.validation is not None and self.validation.verdict == "reject"

    def dumped(self) -> str:
        """As the tape keeps it."""
        return json.dumps(asdict(self), sort_keys=True)


def loaded(text: str) -> TaskResult:
    """The result of a tape's text."""
    told = json.loads(text)
    validation = Validation(**told["validation"]) if told["validation"] else None
    lists = {name: tuple(told[name]) for name in ("used", "proposed")}
    return TaskResult(**{**told, **lists, "validation": validation})


def _summary(ref: str) -> str:
    return ref if ref.endswith((":summary", ":header")) else f"{ref}:summary"
