"""The process of one session, from the fork to its end. It takes the files, seals itself, opens the files and answers.

It has only the files and statements from its parent, and a separate copy of the zygote's blank DuckDB. The zygote
starts it. protocol.py defines its messages, sandbox.py seals it, and engine.py runs the SQL. Its first thread reads the
socket. A second thread, started after the seal, runs the queries, so that a query can be interrupted.
"""

import json
import os
import threading
from queue import SimpleQueue
from typing import Any

import duckdb
import pyarrow as pa

from pitlake.session.limits import Caps, Failure
from pitlake.session.sealed import protocol, sandbox
from pitlake.session.sealed.protocol import (
    ACK,
    ADVANCE,
    DATA,
    END,
    FILES,
    FIRST_FILE,
    INTERRUPT,
    LOAD,
    OPEN,
    OWN_ROOT,
    QUERY,
    READY,
    ChildEnd,
    OrderEnd,
)
from pitlake.session.sql import engine

_CHUNK = 1 << 18
# DuckDB starts no threads if it can't read its control group, which its own root does not have.
_READABLE_WITHOUT_OWN_ROOT = ("/proc/self/cgroup", "/sys/fs/cgroup")


def serve(descriptor: int, connection: duckdb.DuckDBPyConnection, separated: bool) -> None:
    """Run one session on this socket. connection: its copy of a DuckDB prepared with its datasets, without rows.
    `separated`: whether the zygote has its own namespaces, in which the session can get its own root.
    """
    end = ChildEnd(descriptor)
    try:
        bound = _open(end, connection, separated)
    except (sandbox.Unsealable, protocol.ProtocolError, OSError, duckdb.Error) as problem:
        failure = Failure(type(problem).__name__, str(problem))
        end.send(END, protocol.encode_end(OrderEnd(0, failure=failure)))
        return
    QueryServer(end, connection, bound).run()


def _open(end: ChildEnd, connection: duckdb.DuckDBPyConnection, separated: bool) -> bool:
    """Open the session that the parent orders; return whether it has an instant."""
    files = 0
    while True:
        kind, payload = end.receive()
        if kind == OPEN:
            break
        if kind != FILES:
            raise protocol.ProtocolError(f"a frame {kind!r} before the session is open")
        files += _take_files(end, json.loads(payload))
    order = json.loads(payload)
    mapped = order["mapped"]
    room = sum(os.fstat(FIRST_FILE + index).st_size for indexes in mapped.values() for index in indexes)
    own_root = _seal(order["memory"] + room, files, separated)
    engine.allot(connection, threads=order["threads"], memory=order["memory"] // 2)
    for name, indexes in mapped.items():
        engine.register(connection, name, [protocol.file_name(index) for index in indexes])
    engine.execute(connection, *order["statements"])
    names = [protocol.file_name(index) for index in range(files)]
    engine.lock(connection, files=names, seconds=order["seconds"])
    end.send(READY, OWN_ROOT if own_root else b"")
    return bool(order["bound"])


def _take_files(end: ChildEnd, indexes: list[int]) -> int:
    for index, received in zip(indexes, end.receive_files(len(indexes)), strict=True):
        os.dup2(received, FIRST_FILE + index, inheritable=False)
        os.close(received)
    end.send(ACK)
    return len(indexes)


def _seal(memory: int, files: int, separated: bool) -> bool:
    own_root = separated and sandbox.own_root()
    sandbox.drop_capabilities()
    sandbox.limit(memory, files)
    sandbox.read_only_these(files, () if own_root else _READABLE_WITHOUT_OWN_ROOT)
    sandbox.allow_only_calls()
    return own_root


class QueryServer:
    """A server that answers the parent's queries, one at a time."""

    def __init__(self, end: ChildEnd, connection: duckdb.DuckDBPyConnection, bound: bool) -> None:
        self._end, self._connection, self._bound = end, connection, bound
        self._orders: SimpleQueue[tuple[bytes, bytes]] = SimpleQueue()
        self._running: int | None = None
        self._guard = threading.Lock()

    def run(self) -> None:
        """Execute orders until the parent hangs up."""
        threading.Thread(target=self._work, daemon=True).start()
        while True:
            try:
                kind, payload = self._end.receive()
            except EOFError:
                return
            if kind == INTERRUPT:
                order = json.loads(payload)["id"]
                with self._guard:  # Otherwise the interrupt could stop the next query.
                    if self._running == order:
                        self._connection.interrupt()
            else:
                self._orders.put((kind, payload))

    def _work(self) -> None:
        while True:
            kind, payload = self._orders.get()
            length = int.from_bytes(payload[:4], "big")
            order = json.loads(payload[4 : 4 + length])
            with self._guard:
                self._running = order["id"]
            end = self._query(order) if kind == QUERY else self._changed(kind, order, payload[4 + length :])
            with self._guard:
                self._running = None
            self._end.send(END, protocol.encode_end(end))
            if end.failure and end.failure.fatal:
                os._exit(1)

    def _changed(self, kind: bytes, order: dict[str, Any], body: bytes) -> OrderEnd:
        """Load rows, or show the files of a later instant, which the parent has already filled."""
        try:
            if kind == LOAD:
                engine.load(self._connection, order["name"], pa.ipc.open_stream(body).read_all())
            elif kind == ADVANCE:
                engine.execute(self._connection, *order["statements"])
        except Exception as error:  # noqa: BLE001  the boundary: any error of an order is reported, the session lives
            return OrderEnd(order["id"], failure=engine.failure(error))
        return OrderEnd(order["id"])

    def _query(self, order: dict[str, Any]) -> OrderEnd:
        stateless = True  # This holds while no statement has run.
        caps = Caps(rows=order["rows"], bytes=order["bytes"], truncate=order["truncate"])
        try:
            parameters = protocol.unpack_parameters(order["parameters"])
            answer = engine.RunningQuery(
                self._connection, order["sql"], parameters, caps, order["views"], bound=self._bound
            )
            stateless = answer.stateless
            answer.start()
            sink = _Sink(self._end)
            with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), answer.schema) as writer:
                for batch in answer.batches():
                    writer.write_batch(batch)
            sink.flush()
        except Exception as error:  # noqa: BLE001  the same boundary
            return OrderEnd(order["id"], stateless=stateless, failure=engine.failure(error))
        return OrderEnd(order["id"], answer.truncated, stateless, reading=answer.reading)


class _Sink:
    """The target of Arrow's stream writer. It collects small writes and sends DATA frames."""

    closed = False

    def __init__(self, end: ChildEnd) -> None:
        self._end, self._held = end, bytearray()

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        if len(view) >= _CHUNK:
            self.flush()
            for start in range(0, len(view), _CHUNK):
                self._end.send(DATA, view[start : start + _CHUNK])
        else:
            self._held += view
            if len(self._held) >= _CHUNK:
                self.flush()
        return len(view)

    def flush(self) -> None:
        if self._held:
            self._end.send(DATA, bytes(self._held))
            self._held.clear()

    def close(self) -> None:
        """Do nothing; Arrow requires this method."""
