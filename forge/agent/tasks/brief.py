"""A sub-agent's prompts: its skill as the system prompt, its task and context as the first message."""

from collections.abc import Mapping

from forge.agent.tasks.spec import Task, TaskResult
from forge.agent.tools.text import excerpt, marked, one_line, quoted
from forge.core.skill_loader import LoadedSkill
from forge.fs import ReadFS
from forge.records import KINDS
from pitlake.errors import PitlakeError

RESULTS = "/session/results/"
SUFFIXES = (":summary", ":header")
REJECTED = "REJECTED by validation"


def system_prompt(skill: LoadedSkill) -> str:
    parts = [skill.prompt]
    if skill.templates:
        parts.append("\n## Output Templates")
        parts += [f"\n### {name}\n```\n{text.rstrip()}\n```" for name, text in skill.templates.items()]
    if skill.references:
        parts.append("\n## Reference Materials")
        parts += [f"\n### {name}\n{text.rstrip()}" for name, text in skill.references.items()]
    if skill.scripts:
        parts.append("\n## Available Scripts")
        parts += [f"  - {name}: {' '.join(usage.split())}" for name, usage in skill.scripts.items()]
    return "\n".join(parts)


def first_message(task: Task, used: Mapping[str, TaskResult], fs: ReadFS) -> str:
    """Return the first message of a sub-agent. used: the results of the tasks it depends on."""
    sections = [f"OBJECTIVE:\n{quoted(task.objective)}"]
    if task.context:
        refs = (f"[{one_line(ref)}]\n{marked(resolve_ref(ref, fs), ref)}" for ref in task.context)
        sections.append("CONTEXT:\n" + "\n\n".join(refs))
    if used:
        parts = []
        for need, result in used.items():
            heading = f"[From {need}]" if result.id == need else f"[From {result.id}, the retry of {need}]"
            if result.rejected and result.validation:
                heading += f"\n[{REJECTED}: {one_line(result.validation.feedback)}]"
            parts.append(f"{heading}\n{marked(result.summary, result.id)}")
        sections.append("PRIOR ANALYSIS:\n" + "\n\n".join(parts))
    if task.notes:
        sections.append(f"NOTES:\n{quoted(task.notes)}")
    return "\n\n---\n\n".join(sections)


def resolve_ref(ref: str, fs: ReadFS) -> str:
    """Return the text of a context reference, to the depth of its suffix."""
    depth = next((suffix[1:] for suffix in SUFFIXES if ref.endswith(suffix)), "full")
    base = ref.removesuffix(f":{depth}")
    try:
        return excerpt(fs.read_file(_path(base, fs)), depth)
    except PitlakeError:
        return f"(ref '{ref}' not found)"


def _path(ref: str, fs: ReadFS) -> str:
    if ref.startswith("ctx_"):
        return f"/session/context/{ref}.md"
    if ref == "integration_brief":
        return "/session/integration_brief.md"
    for kind in KINDS.values():
        if kind.prefix and kind.names(ref) and kind.folder.startswith("/memory/"):
            return kind.path(ref)
    if "/" not in ref and fs.exists(f"{RESULTS}{ref}.md"):
        return f"{RESULTS}{ref}.md"
    return ref
