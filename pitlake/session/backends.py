"""The places where a session's questions run: its own DuckDB, or separate processes for catalogue queries."""

from collections.abc import Callable, Collection
from typing import Protocol

import pyarrow as pa

from pitlake.errors import QueryInterrupted
from pitlake.questions.catalogue import Query
from pitlake.session.limits import Caps
from pitlake.session.sealed.process import Reply
from pitlake.session.sql.statements import Opening
from pitlake.session.visible.binding import Binding
from pitlake.session.visible.cut_cache import CutCache


class Backend(Protocol):
    """The place where a session's DuckDB runs."""

    own_root: bool

    @property
    def alive(self) -> bool:
        """Return whether the backend can answer queries."""

    def resident_bytes(self) -> int:
        """Return the memory that the backend's process uses now, in bytes."""

    def run(self, sql: str, parameters: object, caps: Caps, views: Collection[str] = ()) -> Reply:
        """Run one query. views: names of the views whose use the reply must report; empty for no report."""

    def load(self, name: str, table: pa.Table) -> None:
        """Load a caller's rows as a temporary table."""

    def advance(self, binding: Binding, earlier: Binding, cut_cache: CutCache, opening: Opening) -> bool:
        """Show rows that became public since the earlier binding. Return False if a new backend is needed instead."""

    def interrupt(self) -> None:
        """Stop the running query."""

    def cpu_seconds(self) -> float:
        """Return the processor time that the backend has used, in seconds."""

    def close(self) -> None:
        """End the backend."""


class QueryProcesses:
    """Processes in which a session runs only catalogue queries. Each is opened by the first query that needs it."""

    def __init__(self) -> None:
        self.processes: dict[object, Backend | None] = {}
        self._interrupts, self._closed = 0, False

    def _process(self, key: object, start: Callable[[], Backend | None]) -> Backend | None:
        """Return the process of this key. Opening may take minutes. If `close` is called meanwhile, the new process is
        ended.

        Raises QueryInterrupted if `interrupt` is called.
        """
        if key not in self.processes:
            before = self._interrupts
            self.processes[key] = start()
            if self._closed:
                self.close()
            elif self._interrupts != before:
                raise QueryInterrupted("the query was interrupted")
        return self.processes[key]

    def interrupt(self) -> None:
        """Stop the query that is running or waiting for its process. Callable from any thread."""
        self._interrupts += 1
        for backend in filter(None, tuple(self.processes.values())):
            backend.interrupt()

    def close(self) -> None:
        """End the processes, including any that is being opened. Callable from any thread."""
        self._closed = True
        for backend in filter(None, tuple(self.processes.values())):
            backend.close()


class Indexed(QueryProcesses):
    """Processes with an index of words or mapped vectors.

    names: the datasets with an index. start: opens a process, given the datasets to bind and those to search; None if
    no dataset has an index.
    """

    def __init__(
        self, names: frozenset[str], start: Callable[[Collection[str], Collection[str]], Backend | None]
    ) -> None:
        super().__init__()
        self.names, self.start = names, start

    def of(self, query: Query) -> Backend | None:
        """Return the process for a query; None if no index helps."""
        if not (searched := self.names.intersection(query.searches)):
            return None
        return self._process((query.reads, query.searches), lambda: self.start(query.reads, searched))


class WithHindsight(QueryProcesses):
    """The process of a session without hindsight.

    In this process, catalogue queries find rows by their tickers. A caller's SQL never runs in it, and no answer
    contains a hindsight column.
    """

    def __init__(self, start: Callable[[], Backend]) -> None:
        super().__init__()
        self.start = start

    def of(self, _query: Query) -> Backend | None:
        """Return the process, the same for every query."""
        return self._process(None, self.start)
