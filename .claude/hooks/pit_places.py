"""The files of this machine that a bound session may read, search and write. All other files are forbidden.

The project may be read, except names that begin with a dot (but agents and skills may), `sample`, every lake, the
places of lakes, captures, caches and logs in the settings, and other sessions' files. Plain data may be written to the
session's own folder, `scratch/<session id>`, from which nothing is run or loaded. The target of a path decides.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import re
import unicodedata
from typing import Iterator, Mapping
from urllib.parse import unquote, urlsplit

SCRATCH = "scratch"
SUFFIXES = (".csv", ".json", ".txt")
OPEN_DOTS = ((".claude", "agents"), (".claude", "skills"))
# The folders that mark a lake or a store of captures, and the demo's world, which is stored in full next to its lake.
MARKS = ("_lake", "_captures", "_delta_log")
WORLD = "sample"
SETTINGS = (
    "PITLAKE_LAKE", "PITLAKE_CAPTURES", "PITLAKE_CACHE", "PITLAKE_GRAPH_ROOT", "PITLAKE_REPORT", "PITLAKE_HOOK_LOG",
    "DAGSTER_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR",
)  # fmt: skip
CONFIGURED = (".mcp.json", ".claude/settings.json", ".claude/settings.local.json")
# A path longer than Linux can open, or deeper than this, is refused; a call examines at most this many names in total.
MOST_PATH, MOST_DEPTH, MOST_NAMES = 4_096, 128, 5_000

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_SESSION = re.compile(r"[A-Za-z0-9-]{8,64}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Places:
    """The places of one session. folder: the folder to which paths are relative; session: the session's id, or None."""

    def __init__(self, project: str, env: Mapping[str, str], folder: str, session: object) -> None:
        self.project, self.folder = os.path.realpath(project), folder
        self._names_left = MOST_NAMES
        self._is_a_lake = functools.lru_cache(None)(_is_a_lake)
        has_id = isinstance(session, str) and _SESSION.fullmatch(session)
        self.own = os.path.join(self.project, SCRATCH, str(session)) if has_id else None
        self._kept = [_folded(place) for place in configured(self.project, env, folder)]

    def readable(self, path: str) -> bool:
        """Return whether a file, or the names in a folder, may be read."""
        return self._open(self._leads_to(path))

    def searchable(self, path: str) -> bool:
        """Return whether everything below a path may be read; False for a folder too large to check."""
        real = self._leads_to(path)
        if real is None or not self._open(real):
            return False
        for parent, folders, files in os.walk(real):
            self._names_left -= len(folders) + len(files)
            entries = (os.path.join(parent, name) for name in (*folders, *files))
            targets = (leads_to(parent, entry) if os.path.islink(entry) else entry for entry in entries)
            if self._names_left < 0 or not all(map(self._open, targets)):
                return False
        return True

    def creatable(self, path: str) -> bool:
        """Return whether a folder may be created there, in the session's own folder."""
        real = self._leads_to(path)
        if self.own is None or real is None or not _below(real, self.own):
            return False
        return all(map(_PLAIN.fullmatch, _names(real, self.own)))

    def writable(self, path: str) -> bool:
        """Return whether a data file (SUFFIXES) may be written there, in the session's own folder."""
        return self.creatable(path) and str(self._leads_to(path)).endswith(SUFFIXES)

    def _leads_to(self, path: str) -> str | None:
        """Return the target of a path, with links resolved; None if other programs may read it as another path."""
        if not isinstance(path, str) or path != path.strip() or _CONTROL.search(path):
            return None
        return leads_to(self.folder, path)

    def _open(self, real: str | None) -> bool:
        if real is None or not _below(real, self.project):
            return False
        if any(_below(_folded(real), data_place) for data_place in self._kept):
            return False
        if self.own is not None and _below(real, self.own):
            return True
        names = _names(real, self.project)
        folded = tuple(map(_folded, names))
        if folded[:1] in ((SCRATCH,), (WORLD,)):
            return False
        hidden = folded[2:] if tuple(names[:2]) in OPEN_DOTS else folded
        if any(name.startswith(".") or name in MARKS for name in hidden):
            return False
        return not any(self._is_a_lake(os.path.join(self.project, *names[:depth])) for depth in range(len(names) + 1))


def _is_a_lake(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, mark)) for mark in MARKS)


def leads_to(folder: str, path: str) -> str | None:
    """Return the target of a path from a folder, with links resolved; None if not a path, too long or too deep."""
    whole = os.path.join(folder, os.path.expanduser(path)) if len(path) <= MOST_PATH else path
    if len(whole) > MOST_PATH or whole.count(os.sep) > MOST_DEPTH:
        return None
    try:
        return os.path.realpath(whole)
    except ValueError:
        return None


def configured(project: str, env: Mapping[str, str], folder: str) -> Iterator[str]:
    """Yield the real paths of the data places in the environment and in the settings of servers and hooks."""
    environments: list[Mapping[str, object]] = [env]
    for name in CONFIGURED:
        with contextlib.suppress(OSError, ValueError), open(os.path.join(project, name), "rb") as file:
            # Any object may be the environment of a server or of all processes.
            json.load(file, object_hook=environments.append)
    for environment, name in itertools.product(environments, SETTINGS):
        value = environment.get(name)
        if isinstance(value, str) and value:
            place = unquote(urlsplit(value).path) if value.startswith("file:") else value
            yield from filter(None, (leads_to(base, place) for base in (folder, project)))


def _names(path: str, place: str) -> list[str]:
    return [name for name in os.path.relpath(path, place).split(os.sep) if name != "."]


def _below(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip(os.sep) + os.sep)


def _folded(path: str) -> str:
    """Return a path in the form used by a file system that ignores letter case and Unicode composition."""
    return unicodedata.normalize("NFC", path).casefold()
