"""Paths of Forge's files: a small alphabet, known roots, nothing that could be read in two ways."""

import re

from forge.core.errors import PathRefused

ROOTS = ("/memory/", "/skills/", "/portfolio/", "/session/")
ARCHIVE = "/memory/.archive/"
MOST_CHARACTERS = 200
MOST_PARTS = 8
_PART = re.compile(r"\.?[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_ARCHIVED = re.compile(r"/memory/\.archive/([a-z]+)/([A-Z]+-[0-9]+)_([0-9]+)\.md")


def checked(path: object) -> str:
    """The path, if it is one. Raises PathRefused."""
    if not isinstance(path, str):
        raise PathRefused("path", f"is a {type(path).__name__}, not a text", "give one such as /memory/views/V-001.md")
    shown = repr(path[:60])
    if len(path) > MOST_CHARACTERS or path.count("/") > MOST_PARTS:
        raise PathRefused("path", f"{shown}… is too long", f"keep it under {MOST_CHARACTERS} characters")
    if path != "/" and not any(path == root[:-1] or path.startswith(root) for root in ROOTS):
        raise PathRefused("path", f"{shown} is outside of Forge's files", f"begin with one of {', '.join(ROOTS)}")
    for part in path.strip("/").split("/") if path != "/" else ():
        if not _PART.fullmatch(part):
            raise PathRefused("path", f"{shown} is not a plain path", "use letters, digits, _ and - between slashes")
        if part.startswith(".") and not (path + "/").startswith(ARCHIVE):
            raise PathRefused("path", f"{shown} names something hidden", f"only {ARCHIVE} can be read")
    if path != "/" and (path.endswith("//") or "//" in path):
        raise PathRefused("path", f"{shown} has an empty part", "use single slashes")
    return path


def archive_path(path: str, number: int) -> str:
    """Where the text of a record with this number, from 1 for the oldest, is found."""
    return path.replace("/memory/", ARCHIVE, 1).removesuffix(".md") + f"_{number}.md"


def archived(path: str) -> tuple[str, int] | None:
    """The record's own path, and the number of its text that an archive path means."""
    found = _ARCHIVED.fullmatch(path)
    return (f"/memory/{found[1]}/{found[2]}.md", int(found[3])) if found else None
