"""The checkpoints that Delta writes into a table's log. Only the newest few are kept, without tombstones.

Each checkpoint lists every file, so the space of all checkpoints would grow with the square of the number of versions.
Commits are never removed and contain the same information. `pitlake.lake.tables.history` summarises them in fewer
files.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import Schema

from pitlake.lake.storage.store import Store
from pitlake.lake.tables.history import Facts, facts_of

INTERVAL = 20
KEPT = 3
"""The number of checkpoints to keep.

Delta finds the newest checkpoint by a hint, but a slow writer may leave a hint to an older one.
"""
_FACTS = ("path", "size", "stats")
NAME = re.compile(r"/_delta_log/([0-9]{20})\.checkpoint\.parquet$")


class Checkpoints:
    """The checkpoints of one table. `key`: the table's key below the root."""

    def __init__(self, store: Store, key: str) -> None:
        self._store, self._log = store, f"{key}/_delta_log"
        self._hint = f"{self._log}/_last_checkpoint"

    def newest(self) -> int:
        """Return the version from which Delta starts reading, according to its hint; -1 without a hint."""
        try:
            return int(json.loads(self._store.read(self._hint))["version"])
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return -1

    def facts(self, version: int) -> list[Facts] | None:
        """Return the facts of the files that a checkpoint lists; None if it is missing or unreadable."""
        try:
            parts = self._column(version, "add", _FACTS)
            rows = zip(*(parts[name] for name in _FACTS), strict=True)
            return [facts_of(name, size, stats) for name, size, stats in rows if name is not None]
        except (FileNotFoundError, pa.ArrowException, ValueError, TypeError, KeyError):
            return None

    def schema(self, latest: int) -> Schema | None:
        """Return the schema of a table's newest version, from the newest checkpoint; None if no checkpoint is near or a
        later commit may have changed the schema.
        """
        newest = self.newest()
        if not 0 <= newest <= latest <= newest + INTERVAL:
            return None
        try:
            for version in range(newest + 1, latest + 1):
                if b'"metaData"' in self._store.read(f"{self._log}/{version:020d}.json"):
                    return None
            schemas = self._column(newest, "metaData", ("schemaString",))["schemaString"]
            return next(Schema.from_json(text) for text in schemas if text is not None)
        except (FileNotFoundError, pa.ArrowException, ValueError, TypeError, KeyError, StopIteration):
            return None

    def tend(self, version: int) -> None:
        """Remove the tombstones of this version's checkpoint, if there is one, and remove the oldest checkpoint."""
        if self.newest() != version:
            return
        self._bare(self._key(version))
        oldest = version - KEPT * INTERVAL
        if oldest > 0:
            self._store.delete(self._key(oldest))

    def unneeded(self, keys: Iterable[str]) -> list[str]:
        """Return the checkpoints among these files that the table no longer keeps."""
        newest, matches = self.newest(), ((key, NAME.search(key)) for key in keys)
        return [
            key
            for key, match in matches
            if match and key.startswith(self._log) and int(match[1]) <= newest - KEPT * INTERVAL
        ]

    def mended(self) -> bool:
        """Remove a hint to a missing checkpoint, which would stop Delta from reading. Return whether there was one."""
        newest = self.newest()
        if newest < 0 or self._store.exists(self._key(newest)):
            return False
        self._store.delete(self._hint)
        return True

    def _column(self, version: int, column: str, names: Iterable[str]) -> dict[str, list[Any]]:
        """Return the named fields of one column of a checkpoint, each with a value per row."""
        file = pq.ParquetFile(pa.BufferReader(self._store.read(self._key(version))))
        values = file.read(columns=[f"{column}.{name}" for name in names], use_threads=False)[column]
        return {field.name: part.to_pylist() for field, part in zip(values.type, values.flatten(), strict=True)}

    def _bare(self, key: str) -> None:
        """Rewrite a checkpoint without tombstones, if it has any.

        Otherwise they would stay for a hundred years, because the table makes other engines keep removed files that
        long.
        """
        actions = pq.read_table(pa.BufferReader(self._store.read(key)))
        bare = actions.filter(pc.is_null(actions["remove"]))
        if bare.num_rows < actions.num_rows:
            sink = pa.BufferOutputStream()
            pq.write_table(bare, sink, compression="zstd")
            self._store.put(key, sink.getvalue().to_pybytes())

    def _key(self, version: int) -> str:
        return f"{self._log}/{version:020d}.checkpoint.parquet"
