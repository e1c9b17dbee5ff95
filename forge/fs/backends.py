"""The backends of ForgeFS: records of memory and the book, a session's own files, and the folder of skills."""

from functools import cached_property
from pathlib import Path

from forge.core.errors import PathRefused
from forge.core.skill_loader import SkillLoader
from forge.fs import paths
from forge.fs.entries import DirEntry, meta
from forge.fs.query import Item, parsed
from forge.memory.chain import Row
from forge.memory.remembered import Remembered
from forge.records import KINDS, kind_of_path
from pitlake.errors import BadInput

_FOLDERS = {kind.folder for kind in KINDS.values()}
_KEPT = {f"{paths.ARCHIVE}{kind.name}/" for kind in KINDS.values() if kind.kept}


class MemoryBackend:
    """/memory and /portfolio: records, and under /memory/.archive the earlier texts of Views and Expressions."""

    def __init__(self, remembered: Remembered) -> None:
        self._known = remembered

    def read(self, path: str) -> str | None:
        """The text at a path."""
        if at := paths.archived(path):
            kind = kind_of_path(at[0])
            earlier = self._known.all(at[0])[:-1] if kind and kind.kept else []
            return next((row.content for number, row in enumerate(earlier, 1) if number == at[1]), None)
        row = self._known.newest(path)
        return row.content if row else None

    def is_dir(self, path: str) -> bool:
        """Whether a path is a folder."""
        return path in {"/memory/", "/portfolio/", paths.ARCHIVE} | _FOLDERS | _KEPT

    def entries(self, path: str, query: str) -> list[DirEntry]:
        """What is in a folder; records may be asked for by their fields."""
        if path == "/memory/":
            return [DirEntry(f"{name}/", "") for name in _under("/memory/")]
        if path == paths.ARCHIVE:
            return [DirEntry(f"{one.removeprefix(path)}", "") for one in sorted(_KEPT)]
        if path.startswith(paths.ARCHIVE):
            return self._archive(path)
        kinds = [kind for kind in KINDS.values() if kind.folder == path]
        keys = list(dict.fromkeys(name for kind in kinds for name in kind.queryable))
        tests = parsed(query, keys)
        rows = (self._known.newest(one) for one in self._known.paths(path))
        return [
            DirEntry(row.path.rpartition("/")[2], meta(self._known.record(row)))
            for row in rows
            if row is not None and all(test(self._item(row)) for test in tests)
        ]

    def _item(self, row: Row) -> Item:
        record = self._known.record(row)
        return Item({**vars(record)}, row.content, self._known.written_at(row))

    def _archive(self, path: str) -> list[DirEntry]:
        folder = path.replace(paths.ARCHIVE, "/memory/", 1)
        return [
            DirEntry(paths.archive_path(row.path, number).rpartition("/")[2], meta(self._known.record(row)))
            for one in self._known.paths(folder)
            for number, row in enumerate(self._known.all(one)[:-1], 1)
        ]


class SessionBackend:
    """/session: this conversation's own files, whatever folders they are in."""

    def __init__(self, remembered: Remembered) -> None:
        self._known = remembered

    def read(self, path: str) -> str | None:
        """The text at a path."""
        row = self._known.newest(own(path, self._known.session))
        return row.content if row else None

    def is_dir(self, path: str) -> bool:
        """Whether a path is a folder."""
        fixed = path in ("/session/", "/session/context/", "/session/results/")
        return fixed or next(self._known.paths(own(path, self._known.session)), None) is not None

    def entries(self, path: str, query: str) -> list[DirEntry]:
        """The files and folders in a folder; a query's words are looked for in the files."""
        tests, folder = parsed(query, ()), own(path, self._known.session)
        found: dict[str, str] = {}
        for one in self._known.paths(folder):
            row = self._known.newest(one)
            name, slash, _ = one.removeprefix(folder).partition("/")
            if row and all(test(Item({}, row.content, self._known.written_at(row))) for test in tests):
                found[name + slash] = "" if slash else f"{len(row.content):,} characters"
        return [DirEntry(name, told) for name, told in sorted(found.items())]


class SkillsBackend:
    """/skills: the folders of the skills in force, read as they stand. Nothing outside of them, by whatever links."""

    def __init__(self, own: Path | None) -> None:
        self._own = own

    @cached_property
    def _skills(self) -> SkillLoader:
        return SkillLoader(self._own)

    def read(self, path: str) -> str | None:
        """The text at a path."""
        found = self._at(path)
        if found is None or not found.is_file():
            return None
        try:
            return found.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise PathRefused("path", f"{path!r} is not text", "read another file") from None

    def is_dir(self, path: str) -> bool:
        """Whether a path is a folder."""
        found = self._at(path)
        return path == "/skills/" or (found is not None and found.is_dir())

    def entries(self, path: str, query: str) -> list[DirEntry]:
        """The files and folders in a folder; beside a skill, what it is for."""
        if query:
            raise BadInput("query", "skills are listed whole", "leave it out")
        if path == "/skills/":
            return [DirEntry(f"{one.name}/", one.short) for one in self._skills.index.values()]
        found = self._at(path)
        inside = sorted(found.iterdir()) if found else []
        return [DirEntry(one.name + ("/" if one.is_dir() else ""), "") for one in inside if one.name[0] not in "._"]

    def _at(self, path: str) -> Path | None:
        name, *parts = path.removeprefix("/skills/").strip("/").split("/")
        meta = self._skills.index.get(self._skills.named(name))
        if meta is None:
            return None
        at = top = meta.path.resolve()
        for part in parts:
            if not at.is_dir() or part not in {one.name for one in at.iterdir()}:
                return None  # also where the file system would take another case for the same
            at = (at / part).resolve()
            if not at.is_relative_to(top):
                return None
        return at


def own(path: str, session: str) -> str:
    """Where the journal keeps a session's file."""
    return path.replace("/session/", f"/session/{session}/", 1)


def _under(root: str) -> list[str]:
    return sorted(one.removeprefix(root).strip("/") for one in _FOLDERS if one.startswith(root))
