"""A session in the calling process, for trusted code. It has the same files, views and answers, but no seal.

DuckDB reads the proven files through Arrow datasets. DuckDB gets no paths and may not write. A list of allowed paths
would also allow writing to these paths. It has no memory limit and no wall around native code, and it cannot kill a
query that does not react to an interrupt. This is isolation="in_process".
"""

import mmap
import time
from collections.abc import Collection
from contextlib import suppress
from operator import attrgetter

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from pitlake.errors import SessionLost
from pitlake.session.limits import Caps, Limits
from pitlake.session.sealed import protocol
from pitlake.session.sealed.process import Failed, Reply
from pitlake.session.sql import engine
from pitlake.session.sql.statements import Opening
from pitlake.session.visible.binding import Binding
from pitlake.session.visible.cut_cache import CutCache

_PARQUET = ds.ParquetFileFormat()


class InProcess:
    """One in-process session. Only `interrupt` may be called from other threads."""

    own_root = False
    alive = True

    def __init__(self, binding: Binding, cut_cache: CutCache, limits: Limits, opening: Opening) -> None:
        self._files: list[ds.Fragment] = []
        binding.deliver(cut_cache, self._take)
        self._bound, self._connection = binding.as_of is not None, engine.connect()
        try:
            engine.prepare(self._connection, opening.usual)
            engine.allot(self._connection, threads=int(limits.threads), memory=limits.address_space // 2)
            self._register(binding)
            engine.execute(self._connection, *opening.statements(attrgetter("registered")))
            engine.lock(self._connection, files=(), seconds=limits.seconds)
        except BaseException:
            self.close()
            raise

    def run(self, sql: str, parameters: object, caps: Caps, views: Collection[str] = ()) -> Reply:
        """Run one query. views: to report as read; empty for none. Raises Failed, SessionLost, KeyboardInterrupt."""
        stateless = True  # This holds while no statement has run.
        try:
            answer = engine.RunningQuery(
                self._connection, sql, protocol.unpack_parameters(parameters), caps, views, bound=self._bound
            )
            stateless = answer.stateless
            answer.start()
            table = pa.Table.from_batches(list(answer.batches()), answer.schema)
        except (duckdb.Error, engine.OverCap, pa.ArrowException, MemoryError, RuntimeError, ValueError) as error:
            raise self._failed(error, stateless) from None
        return Reply(table, answer.truncated, stateless, answer.reading)

    def load(self, name: str, table: pa.Table) -> None:
        """Load a caller's rows as a temporary table."""
        try:
            engine.load(self._connection, name, table)
        except (duckdb.Error, pa.ArrowException, MemoryError) as error:
            raise self._failed(error, stateless=False) from None

    def advance(self, binding: Binding, earlier: Binding, cut_cache: CutCache, opening: Opening) -> bool:
        """Also show the rows that became public since the earlier binding. Return False if DuckDB failed."""
        binding.deliver(cut_cache, self._take, earlier)
        try:
            self._register(binding)
            engine.execute(self._connection, *opening.instant_statements(attrgetter("registered")))
        except duckdb.Error:
            return False
        return True

    def interrupt(self) -> None:
        """Stop the running query, if there is one. Callable from any thread."""
        self._connection.interrupt()

    def resident_bytes(self) -> int:
        """Return 0, because the session has no separate process."""
        return 0

    def cpu_seconds(self) -> float:
        """Return the processor time of this process, which includes the session."""
        return time.process_time()

    def close(self) -> None:
        with suppress(duckdb.Error):
            self._connection.close()
        self._files.clear()

    def _take(self, descriptor: int) -> int:
        content = pa.py_buffer(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
        self._files.append(_PARQUET.make_fragment(content))
        return len(self._files) - 1

    def _register(self, binding: Binding) -> None:
        for relation in (each for each in binding.relations if each.numbers):
            files = [self._files[number] for number in relation.numbers]
            self._connection.register(relation.registered, ds.FileSystemDataset(files, relation.schema, _PARQUET))

    def _failed(self, error: BaseException, stateless: bool) -> Exception:
        failure = engine.failure(error)
        if failure.fatal:
            self.close()
            return SessionLost(f"the session is lost: DuckDB failed internally: {failure.message}; open a new one")
        return Failed(failure, stateless=stateless)
