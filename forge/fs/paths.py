"""Paths of Forge's files: a small alphabet, known roots, and no ambiguous spellings."""

import re

from forge.core.errors import PathRefused

ROOTS = ("/memory/", "/skills/", "/portfolio/", "/session/", "/help/")
ARCHIVE = "/memory/.archive/"
HISTORY = "/session/turn_history.md"
BY_CODE = (HISTORY, "/session/context/ctx_", "/session/results", "/session/tasks/", "/session/proposed")
"""Session files that later prompts treat as facts: the conversation, fetched data, and the work of sub-agents."""
MOST_CHARACTERS = 200
MOST_PARTS = 8
_PART = re.compile(r"\.?[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_ARCHIVED = re.compile(r"/memory/\.archive/([a-z]+)/([A-Z]+-[0-9]+)_([0-9]+)\.md")


def check_path(path: object) -> str:
    """Return a valid path. Raises PathRefused."""
    if not isinstance(path, str):
        raise PathRefused("path", f"is a {type(path).__name__}, not a text", "write for example /memory/views/V-001.md")
    quoted = repr(path[:60])
    if len(path) > MOST_CHARACTERS or path.count("/") > MOST_PARTS:
        raise PathRefused("path", f"{quoted}… is too long", f"keep it under {MOST_CHARACTERS} characters")
    if path != "/" and not any(path == root[:-1] or path.startswith(root) for root in ROOTS):
        raise PathRefused("path", f"{quoted} is outside of Forge's files", f"start with one of {', '.join(ROOTS)}")
    for part in path.strip("/").split("/") if path != "/" else ():
        if not _PART.fullmatch(part):
            raise PathRefused("path", f"{quoted} is not a plain path", "use letters, digits, _ and - between slashes")
        if part.startswith(".") and not (path + "/").startswith(ARCHIVE):
            raise PathRefused("path", f"{quoted} is hidden", f"the only readable hidden folder is {ARCHIVE}")
    if path != "/" and (path.endswith("//") or "//" in path):
        raise PathRefused("path", f"{quoted} has an empty part", "use single slashes")
    return path


def archive_path(path: str, number: int) -> str:
    """Return the archive path of a record's earlier version. number: its number; 1 is the oldest."""
    return path.replace("/memory/", ARCHIVE, 1).removesuffix(".md") + f"_{number}.md"


def parse_archive_path(path: str) -> tuple[str, int] | None:
    """Parse an archive path into the record's path and version number; None if it is not an archive path."""
    match = _ARCHIVED.fullmatch(path)
    return (f"/memory/{match[1]}/{match[2]}.md", int(match[3])) if match else None
