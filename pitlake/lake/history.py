"""The history of a Delta table: which files its commits added and removed, as the commits themselves tell it.

Each full block of commits is told once more in one small file beside the table's rows, so that any version is told by
a few files where the log has thousands. The commits stay: a block is derived from them and may be removed at any time.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from pitlake import clock
from pitlake.errors import LakeFault
from pitlake.lake.manifest import DataFile, TableState
from pitlake.lake.parallel import each
from pitlake.lake.store import Store

FOLDER = "_history"
BLOCK = 200
"""How many commits a block tells of."""


class Change(NamedTuple):
    """What one commit did: the names of the files it removed, and of those it added [name, rows, size, lo, hi], the
    bounds of `available_at` in milliseconds.
    """

    removed: list[str]
    added: list[list[str | int]]


class History:
    """What the commits of one table did. `key`: where the table lies below the root."""

    def __init__(self, store: Store, key: str) -> None:
        self._store, self._key = store, key

    def changes(self, last: int) -> Iterator[Change]:
        """What each commit up to `last` did, in order. Raises LakeFault for a commit that is gone or says nothing."""
        for number in range(last // BLOCK + 1):
            yield from self._told(number) or self._read(number, last)

    def state(self, version: int) -> TableState | None:
        """The files of one version; None where blocks before it are not written, and Delta knows it sooner."""
        live: dict[str, list[str | int]] = {}
        changes: list[Change] = []
        numbers = range(version // BLOCK + 1)
        for number, told in zip(numbers, each(self._told, numbers, self._store.at_once), strict=True):
            if told is None and number < numbers[-1]:
                return None
            changes += told or self._read(number, version)
        for change in changes[: version + 1]:
            for name in change.removed:
                live.pop(name, None)
            live |= {str(facts[0]): facts for facts in change.added}
        root = self._store.path(self._key)
        return TableState(tuple(_data_file(f"{root}/{name}", live[name]) for name in sorted(live)))

    def write(self, latest: int) -> None:
        """Write the blocks that are full at a version and not there yet, so that none is there without those before."""
        full = (latest + 1) // BLOCK
        first = full
        while first and not self._store.exists(self._block(first - 1)):
            first -= 1
        for number in range(first, full):
            told = json.dumps(self._read(number, latest), separators=(",", ":"))
            self._store.put_new(self._block(number), told.encode())

    def _told(self, number: int) -> list[Change] | None:
        """What a block tells; None where it is not there."""
        key = self._block(number)
        try:
            return [Change(*change) for change in json.loads(self._store.read(key))]
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            raise LakeFault("damaged", self._store.table_uri(key)) from None

    def _read(self, number: int, last: int) -> list[Change]:
        """What the commits of a block say, up to `last`."""
        return each(self._commit, range(number * BLOCK, min(last + 1, (number + 1) * BLOCK)), self._store.at_once)

    def _commit(self, version: int) -> Change:
        key = f"{self._key}/_delta_log/{version:020d}.json"
        found = Change([], [])
        try:
            for line in self._store.read(key).splitlines():
                actions = json.loads(line)
                if "remove" in actions:
                    found.removed.append(actions["remove"]["path"])
                if "add" in actions:
                    found.added.append(_facts(**actions["add"]))
        except FileNotFoundError:
            raise LakeFault("missing", self._store.table_uri(key)) from None
        except (ValueError, TypeError, KeyError):
            raise LakeFault("damaged", self._store.table_uri(key)) from None
        return found

    def _block(self, number: int) -> str:
        return f"{self._key}/{FOLDER}/{number:020d}.json"


def _facts(*, path: str, size: int, stats: str, **_others: object) -> list[str | int]:
    told = json.loads(stats)
    bounds = (told[edge][clock.AVAILABLE_AT] for edge in ("minValues", "maxValues"))
    return [path, told["numRecords"], size, *(clock.micros(datetime.fromisoformat(at)) // 1000 for at in bounds)]


def _data_file(path: str, facts: list[str | int]) -> DataFile:
    _, rows, size, lo, hi = facts
    return DataFile(path, int(rows), int(size), clock.from_micros(int(lo) * 1000), clock.from_micros(int(hi) * 1000))
