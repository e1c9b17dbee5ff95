"""ForgeFS: what a turn reads and writes, by path. Memory, skills, the book and the session's files, each a backend.

Reads answer from what the turn remembers; writes go through the journal and are remembered at once.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from forge.core.errors import NotThere, PathRefused
from forge.fs import paths
from forge.fs.backends import MemoryBackend, SessionBackend, SkillsBackend
from forge.fs.entries import DirEntry
from forge.memory.chain import Row
from forge.memory.effects import Writer
from forge.memory.guardrails import Guardrails
from forge.memory.memory import Memory
from forge.memory.remembered import Remembered


class Backend(Protocol):
    """What answers for the paths under a root."""

    def read(self, path: str) -> str | None:
        """The text at a path."""

    def entries(self, path: str, query: str) -> list[DirEntry]:
        """What is in a folder."""

    def is_dir(self, path: str) -> bool:
        """Whether a path is a folder."""


class Written(NamedTuple):
    """What a write made. path: where, with the id it was given; rows: of it and of its effects."""

    path: str
    rows: Sequence[Row]


class ReadFS:
    """The files of one turn, to be read alone: it holds nothing that can write. skills: the PM's folder of skills.

    Paths are checked by `paths`; every method raises PathRefused for anything else.
    """

    def __init__(self, remembered: Remembered, skills: Path | None = None) -> None:
        self.remembered = remembered
        known = MemoryBackend(remembered)
        self._backends: dict[str, Backend] = {
            "/memory/": known,
            "/portfolio/": known,
            "/skills/": SkillsBackend(skills),
            "/session/": SessionBackend(remembered),
        }

    def read_file(self, path: str) -> str:
        """The text at a path. Raises NotThere."""
        text = self._of(path).read(path)
        if text is None:
            raise NotThere(path)
        return text

    def read_lines(self, path: str, start: int, end: int) -> str:
        """Lines `start` to `end`, counted from 1, both included. Raises NotThere."""
        return "\n".join(self.read_file(path).split("\n")[start - 1 : end])

    def list_dir(self, path: str, query: str | None = None) -> list[DirEntry]:
        """What is in a folder, by name. query: see `forge.fs.query`. Raises NotThere, BadInput."""
        if paths.checked(path) == "/":
            return [DirEntry(root.strip("/") + "/", "") for root in paths.ROOTS]
        folder = path.rstrip("/") + "/"
        if not self._of(folder).is_dir(folder):
            raise NotThere(path)
        return self._of(folder).entries(folder, query or "")

    def exists(self, path: str) -> bool:
        """Whether something is at a path: a text or a folder."""
        return self.is_dir(path) or self._of(path).read(path) is not None

    def is_dir(self, path: str) -> bool:
        """Whether a path is a folder. /memory/views/V-001 is not."""
        return paths.checked(path) == "/" or self._of(path).is_dir(path.rstrip("/") + "/")

    def _of(self, path: str) -> Backend:
        path = paths.checked(path)
        for root, backend in self._backends.items():
            if f"{path}/".startswith(root):
                return backend
        raise PathRefused("path", f"{path!r} is not a file", f"look into one of {', '.join(paths.ROOTS)}")


class ForgeFS(ReadFS):
    """The files of one turn, to be read and written. actor: agent, pm or code, which says what may be written."""

    def __init__(
        self,
        memory: Memory,
        remembered: Remembered,
        guardrails: Guardrails | None = None,
        skills: Path | None = None,
        actor: str = "agent",
    ) -> None:
        super().__init__(remembered, skills)
        self._writer = Writer(memory.journal, remembered, guardrails or Guardrails(), actor)

    def write_file(self, path: str, content: str, *, call_id: str) -> Written:
        """Write a text: a record with its effects, or a session's file. call_id: of the call, unique in the session.

        Raises BadInput of forge.core.errors: PathRefused, RecordUnreadable, ContentRefused, GuardrailsBroken, Stale,
        CallDiffers; nothing was written then.
        """
        rows = self._writer.write(paths.checked(path), content, call_id)
        return Written(rows[0].path if not path.startswith("/session/") else path, rows)
