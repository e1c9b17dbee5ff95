"""The tables of one version of a lake, each looked up when it is first used."""

from collections.abc import Iterator, Mapping

from pitlake import machine
from pitlake.lake.storage.manifest import TableState
from pitlake.lake.storage.store import PLACE, Store
from pitlake.lake.tables.delta import DeltaTables


class PinnedTables(Mapping[str, TableState]):
    """The tables of a log entry. A table's files are looked up at their first use, so that opening is fast."""

    def __init__(self, store: Store, tables: DeltaTables, pins: Mapping[str, int]) -> None:
        self._store, self._tables, self._pins = store, tables, pins

    def __getitem__(self, table: str) -> TableState:
        if table not in self._pins:
            raise KeyError(table)
        with machine.working_in(PLACE, self._store.location), self._store.translated():
            return self._tables.pinned(table, self._pins)

    def __iter__(self) -> Iterator[str]:
        return iter(self._pins)

    def __len__(self) -> int:
        return len(self._pins)
