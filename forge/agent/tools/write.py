"""The tool `write`: writes records of memory and session files, by path. Errors are returned, never raised."""

import re
from typing import Any, ClassVar

from forge.core.errors import GuardrailsBroken
from forge.fs import ForgeFS
from forge.fs.paths import BY_CODE
from forge.records import kind_of_path
from forge.records.examples import EXAMPLES
from pitlake.errors import BadInput, PitlakeError, for_agents

WRITTEN = "Written: "
_CAPPED = re.compile(r"^notional: (\S+)$.*^capped_from: (\S+)$", re.MULTILINE | re.DOTALL)


class WriteTool:
    """The tool `write` of a turn."""

    TOOL_DEF: ClassVar[dict[str, Any]] = {
        "name": "write",
        "description": (
            "Write to memory or session.\n"
            "  /memory/views/V-NNN.md       — create/update View\n"
            "  /memory/expressions/E-NNN.md — create/update Expression\n"
            "  /memory/observations/new.md  — create Observation\n"
            "  /memory/pk/new.md            — create ProcessKnowledge\n"
            "  /memory/counterfactuals/new.md — record untaken decision\n"
            "  /session/tasks.md            — task log\n"
            "  /session/context/gaps.md     — Negative Space assessment\n"
            "  /session/integration_brief.md — editorial guidance\n"
            "Use 'new.md' for auto-assigned IDs."
        ),
        "input_schema": {
            "type": "object",
            "required": ["path", "content"],
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        },
    }

    def __init__(self, fs: ForgeFS) -> None:
        self._fs = fs

    def execute(self, path: Any, content: Any, *, call_id: str) -> str:
        """Write content, once per call_id, and return the path or the error."""
        try:
            if not isinstance(content, str):
                raise BadInput("content", f"is a {type(content).__name__}, not a text", "give the whole text")
            if isinstance(path, str) and path.casefold().startswith(BY_CODE):
                raise BadInput("path", f"{path[:60]!r} is written by code alone", "write your notes to another path")
            write = self._fs.write_file(path, content, call_id=call_id)
            cut = _CAPPED.search(write.rows[0].content) if path.startswith("/memory/expressions/") else None
            lines = [f"Cut to the limits: notional {cut[1]}, was {cut[2]}"] if cut else []
            return "\n".join(
                [f"{WRITTEN}{write.path}", *lines, *([f"Read: {'; '.join(write.notes)}"] if write.notes else [])]
            )
        except GuardrailsBroken as broken:
            return "\n".join(["GUARDRAIL VIOLATIONS:", *(f"  {line}" for line in broken.lines)])
        except PitlakeError as refused:
            kind = kind_of_path(path) if isinstance(path, str) and isinstance(refused, BadInput) else None
            page = f"\nHow to write one: read('/help/{kind.name}.md')" if kind and kind.name in EXAMPLES else ""
            return f"Not written. {for_agents(refused)}{page}"
