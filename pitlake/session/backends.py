"""Where a session's questions run: its own DuckDB, and processes for catalogue queries alone."""

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
        """Run one query. views: names of the views whose use the reply reports; empty to report nothing."""

    def load(self, name: str, table: pa.Table) -> None:
        """Load a caller's rows as a temporary table."""

    def interrupt(self) -> None:
        """Stop the running query."""

    def cpu_seconds(self) -> float:
        """Return the processor time it has used, in seconds."""

    def close(self) -> None:
        """End it."""


class QueryProcesses:
    """Processes in which a session asks catalogue queries alone, each opened by the first query that needs it."""

    def __init__(self) -> None:
        self.processes: dict[object, Backend | None] = {}
        self._interrupts, self._closed = 0, False

    def _process(self, key: object, start: Callable[[], Backend | None]) -> Backend | None:
        """Return the process of this key; ended already where `close` came while it was opened, which may take minutes.

        Raises QueryInterrupted where `interrupt` came.
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
        """Stop the running query, if there is one, or the one that waits for its process. From any thread."""
        self._interrupts += 1
        for backend in filter(None, tuple(self.processes.values())):
            backend.interrupt()

    def close(self) -> None:
        """End them, and whichever is being opened. From any thread."""
        self._closed = True
        for backend in filter(None, tuple(self.processes.values())):
            backend.close()


class Indexed(QueryProcesses):
    """Processes that have an index of words too, or mapped vectors.

    names: the datasets that may be searched by one. start: opens a process of the first datasets, of which the second
    are searched; None where nothing of them has an index.
    """

    def __init__(
        self, names: frozenset[str], start: Callable[[Collection[str], Collection[str]], Backend | None]
    ) -> None:
        super().__init__()
        self.names, self.start = names, start

    def of(self, query: Query) -> Backend | None:
        """Return the process for a query; None where no index helps."""
        if not (searched := self.names.intersection(query.searches)):
            return None
        return self._process((query.reads, query.searches), lambda: self.start(query.reads, searched))


class WithHindsight(QueryProcesses):
    """The process of a session that leaves hindsight out, in which catalogue queries find rows by the tickers on them.

    A caller's SQL never runs there, and no column of hindsight is in an answer.
    """

    def __init__(self, start: Callable[[], Backend]) -> None:
        super().__init__()
        self.start = start

    def of(self, _query: Query) -> Backend | None:
        """Return the process, which is the same for every query."""
        return self._process(None, self.start)
