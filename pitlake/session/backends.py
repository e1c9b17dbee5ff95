"""Where a session's questions are asked: its own DuckDB, and processes made for searches."""

from collections.abc import Callable, Collection
from typing import Protocol

import pyarrow as pa

from pitlake.errors import QueryInterrupted
from pitlake.questions.catalogue import Query
from pitlake.session.limits import Caps
from pitlake.session.sealed.process import Reply


class Backend(Protocol):
    """Where a session's DuckDB runs."""

    own_root: bool

    def run(self, sql: str, parameters: object, caps: Caps, views: Collection[str] = ()) -> Reply:
        """One query. views: the names by which its reading is told, none where it is not."""

    def load(self, name: str, table: pa.Table) -> None:
        """A caller's rows."""

    def interrupt(self) -> None:
        """Stop the running query."""

    def cpu_seconds(self) -> float:
        """The processor's time it has taken."""

    def close(self) -> None:
        """End it."""


class Indexed:
    """The processes of a session that have an index of words too, or vectors mapped, each opened by the first search of
    its datasets.

    names: the datasets that may be searched so. start: opens a process of these datasets, of which those are searched;
    None where none can be.
    """

    def __init__(
        self, names: frozenset[str], start: Callable[[Collection[str], Collection[str]], Backend | None]
    ) -> None:
        self.names, self.start = names, start
        self.opened: dict[tuple[tuple[str, ...], ...], Backend | None] = {}
        self._interrupts, self._closed = 0, False

    def of(self, query: Query) -> Backend | None:
        """That of a query, None where it is asked like any other; ended already where `close` came while it was opened,
        which may take minutes. Raises QueryInterrupted where `interrupt` did.
        """
        searched, asked = self.names.intersection(query.searches), (query.reads, query.searches)
        if not searched:
            return None
        if asked not in self.opened:
            before = self._interrupts
            self.opened[asked] = self.start(query.reads, searched)
            if self._closed:
                self.close()
            elif self._interrupts != before:
                raise QueryInterrupted("the query was interrupted")
        return self.opened[asked]

    def interrupt(self) -> None:
        """Stop the running search, if there is one, or the one that waits for its process. From any thread."""
        self._interrupts += 1
        for backend in filter(None, tuple(self.opened.values())):
            backend.interrupt()

    def close(self) -> None:
        """End them, and whichever is being opened. From any thread."""
        self._closed = True
        for backend in filter(None, tuple(self.opened.values())):
            backend.close()
