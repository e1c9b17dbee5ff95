"""The backends of ForgeFS: records of memory and the book, a session's files, and the folder of skills."""

from functools import cached_property
from pathlib import Path

from forge.core.errors import PathRefused
from forge.core.skill_loader import SkillLoader
from forge.fs import paths
from forge.fs.entries import DirEntry, format_meta
from forge.fs.query import Item, parse_query
from forge.memory.remembered import Remembered
from forge.records import KINDS, kind_of_path
from pitlake.errors import BadInput

_FOLDERS = {kind.folder for kind in KINDS.values()}
_ARCHIVES = {f"{paths.ARCHIVE}{kind.name}/" for kind in KINDS.values() if kind.archived}


class MemoryBackend:
    """/memory and /portfolio: records. /memory/.archive contains the earlier versions of Views and Expressions."""

    def __init__(self, remembered: Remembered) -> None:
        self._remembered = remembered

    def read(self, path: str) -> str | None:
        """Return the text at a path, or None."""
        if at := paths.parse_archive_path(path):
            kind = kind_of_path(at[0])
            earlier = self._remembered.all(at[0])[:-1] if kind and kind.archived else []
            return next((row.content for number, row in enumerate(earlier, 1) if number == at[1]), None)
        row = self._remembered.newest(path)
        return row.content if row else None

    def is_dir(self, path: str) -> bool:
        return path in {"/memory/", "/portfolio/", paths.ARCHIVE} | _FOLDERS | _ARCHIVES

    def entries(self, path: str, query: str) -> list[DirEntry]:
        """Return the entries of a folder. Records can be filtered by their fields."""
        if path == "/memory/":
            names = sorted(folder.removeprefix(path).strip("/") for folder in _FOLDERS if folder.startswith(path))
            return [DirEntry(f"{name}/", "") for name in names]
        if path == paths.ARCHIVE:
            return [DirEntry(f"{folder.removeprefix(path)}", "") for folder in sorted(_ARCHIVES)]
        if path.startswith(paths.ARCHIVE):
            folder, remembered = path.replace(paths.ARCHIVE, "/memory/", 1), self._remembered
            return [
                DirEntry(paths.archive_path(row.path, number).rpartition("/")[2], format_meta(remembered.record(row)))
                for record_path in remembered.paths(folder)
                for number, row in enumerate(remembered.all(record_path)[:-1], 1)
            ]
        kinds = [kind for kind in KINDS.values() if kind.folder == path]
        keys = list(dict.fromkeys(name for kind in kinds for name in kind.queryable))
        tests = parse_query(query, keys)
        rows = (self._remembered.newest(record_path) for record_path in self._remembered.paths(path))
        records = ((row, self._remembered.record(row)) for row in rows if row is not None)
        return [
            DirEntry(row.path.rpartition("/")[2], format_meta(record))
            for row, record in records
            if all(test(Item({**vars(record)}, row.content, self._remembered.written_at(row))) for test in tests)
        ]


class SessionBackend:
    """/session: the files of the conversation, in any folders."""

    def __init__(self, remembered: Remembered) -> None:
        self._remembered = remembered

    def read(self, path: str) -> str | None:
        """Return the text at a path, or None."""
        row = self._remembered.newest(journal_path(path, self._remembered.session))
        return row.content if row else None

    def is_dir(self, path: str) -> bool:
        fixed = path in ("/session/", "/session/context/", "/session/results/")
        return fixed or next(self._remembered.paths(journal_path(path, self._remembered.session)), None) is not None

    def entries(self, path: str, query: str) -> list[DirEntry]:
        """Return the files and folders in a folder. The words of a query are searched in the files."""
        tests, folder = parse_query(query, ()), journal_path(path, self._remembered.session)
        sizes: dict[str, str] = {}
        for file_path in self._remembered.paths(folder):
            row = self._remembered.newest(file_path)
            name, slash, _ = file_path.removeprefix(folder).partition("/")
            if row and all(test(Item({}, row.content, self._remembered.written_at(row))) for test in tests):
                sizes[name + slash] = "" if slash else f"{len(row.content):,} characters"
        return [DirEntry(name, size) for name, size in sorted(sizes.items())]


class SkillsBackend:
    """/skills: the folders of the available skills. Links can't lead outside of these folders."""

    def __init__(self, own: Path | None) -> None:
        self._own = own

    @cached_property
    def _skills(self) -> SkillLoader:
        return SkillLoader(self._own)

    def read(self, path: str) -> str | None:
        """Return the text at a path, or None."""
        file = self._at(path)
        if file is None or not file.is_file():
            return None
        try:
            return file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise PathRefused("path", f"{path!r} is not text", "read another file") from None

    def is_dir(self, path: str) -> bool:
        folder = self._at(path)
        return path == "/skills/" or (folder is not None and folder.is_dir())

    def entries(self, path: str, query: str) -> list[DirEntry]:
        """Return the files and folders in a folder, and each skill's purpose."""
        if query:
            raise BadInput("query", "skills are listed whole", "leave it out")
        if path == "/skills/":
            return [DirEntry(f"{skill.name}/", skill.summary) for skill in self._skills.index.values()]
        folder = self._at(path)
        inside = sorted(folder.iterdir()) if folder else []
        return [
            DirEntry(entry.name + ("/" if entry.is_dir() else ""), "") for entry in inside if entry.name[0] not in "._"
        ]

    def _at(self, path: str) -> Path | None:
        name, *parts = path.removeprefix("/skills/").strip("/").split("/")
        meta = self._skills.index.get(self._skills.resolve_name(name))
        if meta is None:
            return None
        at = top = meta.path.resolve()
        for part in parts:
            if not at.is_dir() or part not in {entry.name for entry in at.iterdir()}:
                return None  # This check also works on a file system that ignores case.
            at = (at / part).resolve()
            if not at.is_relative_to(top):
                return None
        return at


def journal_path(path: str, session: str) -> str:
    """Return the path of a session's file in the journal."""
    return path.replace("/session/", f"/session/{session}/", 1)
