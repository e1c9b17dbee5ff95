"""The history of a Delta table: the files that its commits added and removed.

Each full block of commits is summarised in one small file next to the table's rows, so that any version can be read
from a few files even if the log has thousands. The commits are kept. A block is derived from them and may be removed at
any time.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from pitlake import clock
from pitlake.errors import LakeFault
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.storage.parallel import each
from pitlake.lake.storage.store import Store

FOLDER = "_history"
BLOCK = 200
"""The number of commits in a block."""


Facts = list[str | int]
"""The facts of a file: name, rows, size, and the bounds of its `available_at` in milliseconds."""
Files = dict[str, DataFile]
"""Data files by name, which is their path in the table."""


class CommitChange(NamedTuple):
    """The changes in one commit: the names of removed files and the facts of added files."""

    removed: list[str]
    added: list[Facts]


class History:
    """The changes in one table's commits. `key`: the table's key below the root."""

    def __init__(self, store: Store, key: str) -> None:
        self._store, self._key = store, key

    def changes(self, first: int, last: int) -> Iterator[CommitChange]:
        """Return the changes in each of these commits, in order. Raises LakeFault if one is missing or unreadable."""
        first_block = first + -first % BLOCK
        yield from self._read(first, min(first_block - 1, last))
        blocks = each(self._read_block, range(first_block // BLOCK, last // BLOCK + 1), self._store.at_once)
        for start, content in zip(range(first_block, last + 1, BLOCK), blocks, strict=True):
            changes = content or self._read(start, min(start + BLOCK - 1, last))
            yield from changes[: last + 1 - start]

    def files(self, version: int, since: int, files: Files) -> Files:
        """Return the files of one version, computed from the files of an earlier version.

        Before version 0 there are none.
        """
        live, added = dict(files), dict[str, Facts]()
        for change in self.changes(since + 1, version):
            for name in change.removed:
                live.pop(name, None)
                added.pop(name, None)
            added |= {str(facts[0]): facts for facts in change.added}
        return live | self.of(added.values())

    def of(self, facts: Iterable[Facts]) -> Files:
        root = self._store.path(self._key)
        files = {}
        for name, rows, size, lo, hi in facts:
            first, last = clock.from_micros(int(lo) * 1000), clock.from_micros(int(hi) * 1000)
            files[str(name)] = DataFile(f"{root}/{name}", int(rows), int(size), first, last)
        return files

    def write(self, latest: int) -> None:
        """Write every missing block, oldest first, so that a block exists only after its predecessors."""
        full = (latest + 1) // BLOCK
        first = full
        while first and not self._store.exists(self._block(first - 1)):
            first -= 1
        for number in range(first, full):
            content = json.dumps(self._read(number * BLOCK, (number + 1) * BLOCK - 1), separators=(",", ":"))
            self._store.put_new(self._block(number), content.encode())

    def _read_block(self, number: int) -> list[CommitChange] | None:
        """Return the content of a block; None if it is missing."""
        key = self._block(number)
        try:
            changes = [CommitChange(*change) for change in json.loads(self._store.read(key))]
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            changes = []
        if len(changes) != BLOCK:
            raise LakeFault("damaged", self._store.table_uri(key))
        return changes

    def _read(self, first: int, last: int) -> list[CommitChange]:
        return each(self._commit, range(first, last + 1), self._store.at_once)

    def _commit(self, version: int) -> CommitChange:
        key = f"{self._key}/_delta_log/{version:020d}.json"
        change = CommitChange([], [])
        try:
            for line in self._store.read(key).splitlines():
                actions = json.loads(line)
                if "remove" in actions:
                    change.removed.append(actions["remove"]["path"])
                if "add" in actions:
                    add = actions["add"]
                    change.added.append(facts_of(add["path"], add["size"], add["stats"]))
        except FileNotFoundError:
            raise LakeFault("missing", self._store.table_uri(key)) from None
        except (ValueError, TypeError, KeyError):
            raise LakeFault("damaged", self._store.table_uri(key)) from None
        return change

    def _block(self, number: int) -> str:
        return f"{self._key}/{FOLDER}/{number:020d}.json"


def facts_of(name: str, size: int, stats: str) -> Facts:
    """Return a file's facts from its Delta entry."""
    parsed = json.loads(stats)
    bounds = (parsed[edge][clock.AVAILABLE_AT] for edge in ("minValues", "maxValues"))
    return [name, parsed["numRecords"], size, *(clock.micros(datetime.fromisoformat(at)) // 1000 for at in bounds)]
