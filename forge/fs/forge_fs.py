"""ForgeFS: the reads and writes of a turn, by path. Each root has its backend.

Reads see the turn's memory. Writes go through the journal and are visible immediately.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from forge.core.errors import NotThere, PathRefused
from forge.fs import paths
from forge.fs.backends import MemoryBackend, SessionBackend, SkillsBackend
from forge.fs.entries import DirEntry
from forge.memory.chain import Row
from forge.memory.effects import Followed, Writer
from forge.memory.guardrails import Guardrails
from forge.memory.memory import Memory
from forge.memory.remembered import Remembered


class Backend(Protocol):
    """Handles the paths under a root."""

    def read(self, path: str) -> str | None:
        """Return the text at a path, or None."""

    def entries(self, path: str, query: str) -> list[DirEntry]:
        """Return the entries of a folder."""

    def is_dir(self, path: str) -> bool:
        """Return whether a path is a folder."""


class Written(NamedTuple):
    """The result of a write.

    path: the path with the assigned id. rows: the rows of the write and its effects. notes: the values that needed
    interpretation.
    """

    path: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()


class ReadFS:
    """The files of one turn, read-only. skills: the PM's folder of skills. help_pages: the files of /help.

    Every method raises PathRefused for an invalid path.
    """

    def __init__(self, remembered: Remembered, skills: Path | None = None, help_pages: Backend | None = None) -> None:
        self.remembered = remembered
        memory = MemoryBackend(remembered)
        self._backends: dict[str, Backend] = {
            "/memory/": memory,
            "/portfolio/": memory,
            "/skills/": SkillsBackend(skills),
            "/session/": SessionBackend(remembered),
        }
        if help_pages:
            self._backends["/help/"] = help_pages

    def read_file(self, path: str) -> str:
        """Return the text at a path. Raises NotThere."""
        text = self._backend(path).read(path)
        if text is None:
            raise NotThere(path)
        return text

    def read_lines(self, path: str, start: int, end: int) -> str:
        """Return lines `start` to `end`, inclusive; the first line is 1. Raises NotThere."""
        return "\n".join(self.read_file(path).split("\n")[start - 1 : end])

    def list_dir(self, path: str, query: str | None = None) -> list[DirEntry]:
        """Return the entries of a folder, by name. query: see `forge.fs.query`. Raises NotThere, BadInput."""
        if paths.check_path(path) == "/":
            return [DirEntry(root.strip("/") + "/", "") for root in paths.ROOTS if root in self._backends]
        folder = path.rstrip("/") + "/"
        if not self._backend(folder).is_dir(folder):
            raise NotThere(path)
        return self._backend(folder).entries(folder, query or "")

    def exists(self, path: str) -> bool:
        """Return whether a text or a folder is at a path."""
        return self.is_dir(path) or self._backend(path).read(path) is not None

    def is_dir(self, path: str) -> bool:
        """Return whether a path is a folder. /memory/views/V-001 is not a folder."""
        return paths.check_path(path) == "/" or self._backend(path).is_dir(path.rstrip("/") + "/")

    def _backend(self, path: str) -> Backend:
        path = paths.check_path(path)
        for root, backend in self._backends.items():
            if f"{path}/".startswith(root):
                return backend
        raise PathRefused("path", f"{path!r} is not a file", f"read one of {', '.join(self._backends)}")


class ForgeFS(ReadFS):
    """The files of one turn, readable and writable. actor: agent, pm or code; determines the permitted writes.

    skills, help_pages: as in ReadFS. followed: checks an Expression's instrument and a View's question.
    """

    def __init__(
        self,
        memory: Memory,
        remembered: Remembered,
        guardrails: Guardrails | None = None,
        skills: Path | None = None,
        actor: str = "agent",
        help_pages: Backend | None = None,
        followed: Followed | None = None,
    ) -> None:
        super().__init__(remembered, skills, help_pages)
        self._writer = Writer(memory.journal, remembered, guardrails or Guardrails(), actor, followed)

    def write_file(self, path: str, content: str, *, call_id: str) -> Written:
        """Write a record with its effects, or a session's file. call_id: an id that is unique in the session.

        Raises PathRefused, RecordUnreadable, ContentRefused, GuardrailsBroken, Stale or CallDiffers. In these cases,
        nothing is written.
        """
        rows, notes = self._writer.write(paths.check_path(path), content, call_id)
        return Written(rows[0].path if not path.startswith("/session/") else path, rows, notes)
