"""Captures: raw HTTP answers without secrets, stored by content and found by request.

A body is compressed and stored once under its SHA-256. Each answer is a small JSON file next to other answers to the
same request. The captures of a lake in an object store are stored there too, with a local mirror. This module does not
query providers or interpret answers.
"""

import gzip
import hashlib
import json
import os
import re
import shutil
import zlib
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from pitlake import clock, machine, outside_json
from pitlake.errors import BadInput, CaptureDamaged, Unparsable
from pitlake.lake.storage.log import LakeLog
from pitlake.lake.storage.root import open_store
from pitlake.lake.storage.store import Store
from pitlake.recorder import write_whole

ROOT_VARIABLE = "PITLAKE_CAPTURES"
FOLDER = "_captures"
PLACE = "the captures"
FIRST_OF_NAME = 2
SYNCED_AT_ONCE = 8
COMPRESSION = 6  # A higher level takes four times as long to save 6 %.
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Request:
    """A request to a provider: `path` below its base URL, or below one of its other hosts.

    It never contains a secret. Two requests are the same if their keys are. settled_at: the end of the requested
    window; an earlier capture is incomplete, so a live run repeats the request.
    """

    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    method: str = "GET"
    json: Any = None
    host: str = ""
    settled_at: datetime | None = None

    @cached_property
    def query(self) -> tuple[tuple[str, str], ...]:
        """The parameters as sorted pairs of strings. None is left out, and a list becomes a repeated parameter."""
        pairs = []
        for name, value in self.params.items():
            values = value if isinstance(value, (list, tuple)) else (value,)
            pairs += [
                (name, str(item).lower() if isinstance(item, bool) else str(item))
                for item in values
                if item is not None
            ]
        return tuple(sorted(pairs))

    def key(self, source: str) -> str:
        """Return 32 hex digits that identify this request's answers, independent of the provider's base URL."""
        parts = [source, self.method.upper(), self.host, self.path, self.query, self.json]
        text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class Capture:
    """One answer. url: without the query. params: without secrets. headers: only the listed ones.

    sha256: the hash of `body`. redacted: the number of secrets removed from body and headers. fetched_at: the time at
    which the answer was complete, or a later Date header if clocks disagree.
    """

    source: str
    method: str
    url: str
    params: tuple[tuple[str, str], ...]
    payload: Any = None
    status: int
    headers: Mapping[str, str]
    body: bytes
    fetched_at: datetime
    sha256: str
    request_key: str
    redacted: int = 0

    @property
    def location(self) -> str:
        """The URL with its non-secret query."""
        return located(self.url, self.params)

    @property
    def evidence(self) -> str:
        """The evidence that rows cite: the URL with its non-secret query, and the hash of the body."""
        return f"{self.location}#sha256={self.sha256}"

    def text(self) -> str:
        """Return the body as text in its charset (default: UTF-8), without byte order mark. Bad bytes are replaced."""
        match = _CHARSET.search(self.headers.get("content-type", ""))
        try:
            return self.body.decode(match[1] if match else "utf-8-sig", errors="replace").removeprefix("\ufeff")
        except LookupError:
            return self.body.decode("utf-8-sig", errors="replace")

    def json(self) -> Any:
        """Return the body as JSON, parsed once and not to be modified. Raises Unparsable for any other content."""
        return self._json

    @cached_property
    def _json(self) -> Any:
        return self.parsed_json()

    def parsed_json(self, **hooks: Any) -> Any:
        """Parse the body as JSON with hooks of `json.loads`. Raises Unparsable for any other content."""
        try:
            return outside_json.loads(self.body.decode("utf-8-sig"), **hooks)
        except (ValueError, RecursionError):
            raise Unparsable(self.evidence, "the answer is not JSON") from None


def located(url: str, params: tuple[tuple[str, str], ...]) -> str:
    return f"{url}?{urlencode(params)}" if params else url


def answer_name(capture: Capture) -> str:
    """Return the name of an answer's file, without the hash of its body."""
    return f"{capture.request_key}-{clock.micros(capture.fetched_at):017d}"


KEPT = tuple(attribute.name for attribute in fields(Capture) if attribute.name != "body")


class CaptureStore:
    """Captures below a directory, which is created at the first write. Concurrent runs are safe and never overwrite."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)
        self._unsynced: set[str] = set()
        self._left_out = frozenset[str]()
        self.until_micros: int | None = None

    def leave_out(self, retracted: Collection[str]) -> None:
        """Ignore the answers that these runs fetched."""
        runs = [run for run in self.runs() if run[0] in retracted] if retracted else []
        self._left_out = frozenset(name for run in runs for name in self.run(*run).get("fetched", ()))

    @staticmethod
    def of(location: Path | str) -> "CaptureStore":
        """Return the store of a lake, by the lake's location: $PITLAKE_CAPTURES, else `_captures` next to its tables.

        Raises BadInput if it is neither a directory nor s3://.
        """
        configured = os.environ.get(ROOT_VARIABLE)
        store = open_store(configured or location)
        folder = "" if configured else FOLDER
        if store.location != str(store.root):
            captures: CaptureStore = RemoteCaptureStore(store, folder)
        else:
            captures = CaptureStore(store.path(folder))
        log = LakeLog(open_store(location))
        captures.leave_out(log.head().retracted if log.exists() else ())
        return captures

    def put(self, capture: Capture) -> Capture:
        """Store an answer and, unless it is already stored, its body. Return the capture."""
        body = self._body(capture.sha256)
        if not self._has(body, capture.body):
            self._write(body, gzip.compress(capture.body, COMPRESSION, mtime=0))
        # Sync the file even if it exists, because a run that died may not have synced it.
        self._unsynced.add(str(body))
        facts: dict[str, Any] = {name: getattr(capture, name) for name in KEPT}
        facts["fetched_at"] = clock.iso(capture.fetched_at)
        folder = self._folder(capture.source, capture.request_key)
        answer = folder / f"{answer_name(capture)}-{capture.sha256[:16]}.json"
        self._write(answer, (json.dumps(facts, ensure_ascii=False, sort_keys=True) + "\n").encode())
        return capture

    def until(self, moment: datetime) -> Self:
        """Return the same store without answers fetched after an instant."""
        store = copy(self)
        store.until_micros = clock.micros(moment)
        return store

    def instants(self, source: str, request_key: str) -> list[int]:
        """Return when each answer to a request was fetched, in microseconds, in order."""
        return [micros for micros, _ in self._taken(self._folder(source, request_key), request_key)]

    def newest_first(self, source: str, request_key: str) -> Iterator[Capture]:
        """Yield every answer to a request, newest first. Raises CaptureDamaged."""
        folder = self._folder(source, request_key)
        for _, name in reversed(self._taken(folder, request_key)):
            capture = self._read(folder / name)
            self._unsynced |= {str(folder / name), str(self._body(capture.sha256))}
            yield capture

    def _taken(self, folder: Path, request_key: str) -> list[tuple[int, str]]:
        """Return the files of a request's answers, each with its instant, in order."""
        names = (name for name in self._names(folder) if name.startswith(f"{request_key}-") and self._counts(name))
        taken = sorted((int(name.split("-")[1]), name) for name in names)
        return [entry for entry in taken if self.until_micros is None or entry[0] <= self.until_micros]

    def _counts(self, file_name: str) -> bool:
        return not self._left_out or file_name.rpartition("-")[0] not in self._left_out

    def every(self, source: str = "*", without: Collection[str] = ()) -> Iterator[Capture]:
        """Yield all answers from a source in any order, except those to requests with some keys. Raises CaptureDamaged.

        The caller may add keys to `without` during the iteration.
        """
        for path in self._files("answers"):
            if (
                source in ("*", path.parts[-3])
                and path.name.partition("-")[0] not in without
                and self._counts(path.name)
            ):
                yield self._read(path)

    def keep_run(self, run_id: str, dataset: str, facts: Mapping[str, Any]) -> None:
        """Store the scope of a run, so that it can be parsed again from the same captures."""
        text = json.dumps(facts, ensure_ascii=False, sort_keys=True, indent=1) + "\n"
        self._write(self.root / "runs" / run_id / f"{dataset}.json", text.encode())

    def run(self, run_id: str, dataset: str) -> dict[str, Any]:
        """Return what `keep_run` stored. Raises BadInput for an unknown run."""
        try:
            facts: dict[str, Any] = json.loads(self._bytes(self.root / "runs" / run_id / f"{dataset}.json"))
        except (OSError, ValueError):
            raise BadInput("run", f"no captures of run {run_id!r} of {dataset}", "name a run and its dataset") from None
        return facts

    def runs(self) -> list[tuple[str, str]]:
        """Return the stored runs as (run, dataset)."""
        return sorted((path.parent.name, path.stem) for path in self._files("runs"))

    def flush(self) -> None:
        """Sync written files to disk, before rows that cite them are published."""
        files, self._unsynced = self._unsynced, set()
        folders = set[str]()
        for path in files:
            folder = os.path.dirname(path)  # noqa: PTH120 - far quicker
            while folder not in folders and len(folder) >= len(str(self.root)):
                folders.add(folder)
                folder = os.path.dirname(folder)  # noqa: PTH120
        with machine.working_in(PLACE, self.root), ThreadPoolExecutor(SYNCED_AT_ONCE) as pool:
            for some in (sorted(files), sorted(folders)):
                parts = (some[start::SYNCED_AT_ONCE] for start in range(SYNCED_AT_ONCE))
                deque(pool.map(lambda part: Store.sync(*part), parts), 0)

    def _names(self, folder: Path) -> list[str]:
        try:
            return os.listdir(folder)  # noqa: PTH208 - far quicker
        except FileNotFoundError:
            return []

    def _files(self, part: str) -> Iterator[Path]:
        """Return every finished file of "answers" or "runs"."""
        return (path for path in (self.root / part).rglob("*.json") if not path.name.startswith("."))

    def _bytes(self, path: Path) -> bytes:
        return path.read_bytes()

    def _has(self, path: Path, content: bytes) -> bool:
        return _holds(path, content)

    def _body(self, sha256: str) -> Path:
        return self.root / f"bodies/{sha256[:FIRST_OF_NAME]}/{sha256}.gz"

    def _folder(self, source: str, request_key: str) -> Path:
        return self.root / f"answers/{source}/{request_key[:FIRST_OF_NAME]}"

    def _write(self, path: Path, content: bytes) -> None:
        """Write a file completely or not at all."""
        with machine.working_in(PLACE, self.root):
            try:
                write_whole(path, content)
            except FileNotFoundError:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, content)
        self._unsynced.add(str(path))

    def _read(self, path: Path) -> Capture:
        try:
            facts = json.loads(self._bytes(path))
            body = gzip.decompress(self._bytes(self._body(facts["sha256"])))
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError):
            raise CaptureDamaged(path.name, "its files are not complete") from None
        if hashlib.sha256(body).hexdigest() != facts["sha256"]:
            raise CaptureDamaged(path.name, "its body is not the one that was captured")
        facts["fetched_at"] = clock.instant(facts["fetched_at"])
        facts["params"] = tuple((name, value) for name, value in facts["params"])
        return Capture(**facts, body=body)


class RemoteCaptureStore(CaptureStore):
    """Captures in an object store. They are written there first, and read from the local mirror if possible."""

    def __init__(self, store: Store, folder: str) -> None:
        super().__init__(store.path(folder))
        self._store = store

    def flush(self) -> None:
        """Do nothing: written files are in the object store already."""
        self._unsynced.clear()

    def _names(self, folder: Path) -> list[str]:
        return [Path(entry.key).name for entry in self._store.walk(self._store.key(folder))]

    def _files(self, part: str) -> Iterator[Path]:
        return (self._store.path(entry.key) for entry in self._store.walk(self._store.key(self.root / part)))

    def _bytes(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            content = self._store.read(self._store.key(path))
            super()._write(path, content)
            return content

    def _has(self, path: Path, content: bytes) -> bool:
        return _holds(path, content) and self._store.exists(self._store.key(path))

    def _write(self, path: Path, content: bytes) -> None:
        super()._write(path, content)
        self._store.keep(path)

    def _read(self, path: Path) -> Capture:
        try:
            return super()._read(path)
        except CaptureDamaged:  # The mirror's copy may be damaged, so use the object store's.
            shutil.rmtree(self.root / "bodies", ignore_errors=True)
            path.unlink(missing_ok=True)
            return super()._read(path)


def _holds(path: Path, content: bytes) -> bool:
    """Return whether a file holds this content, compressed."""
    try:
        return gzip.decompress(path.read_bytes()) == content
    except (OSError, EOFError, zlib.error):
        return False
