"""The parent's side of a sealed process. It hands over files, sends queries, enforces limits and ends the process.

The child's answers are not trusted. They are limited and validated, and a child that breaks the protocol is killed.
This is isolation="process". The other side is child.py, and the files come from visible/binding.py.
"""

import os
import select
import shutil
import signal
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from pitlake.errors import IsolationUnavailable, SessionError, SessionLost
from pitlake.session.limits import Caps, Failure, Limits
from pitlake.session.sealed import launcher, untrusted_ipc
from pitlake.session.sealed.protocol import (
    ADVANCE,
    DATA,
    END,
    FILES_PER_FRAME,
    INTERRUPT,
    LOAD,
    OPEN,
    OWN_ROOT,
    QUERY,
    READY,
    Channel,
    DeadlinePassed,
    OrderEnd,
    ProtocolError,
    decode_end,
    encode,
    file_name,
)
from pitlake.session.sql.reading import UNPROVEN, Reading
from pitlake.session.sql.statements import Opening, parquet
from pitlake.session.visible.binding import Binding, Relation
from pitlake.session.visible.cut_cache import CutCache

OPEN_SECONDS = 60.0
GRACE_SECONDS = 2.0
"""The time that an interrupted query has to stop before its process is killed."""
_AGAIN_SECONDS = 0.2  # Repeat the interrupt, because it may arrive before its query has begun.
_KILLED = Failure("Killed", "the query did not stop", limit="seconds", fatal=True)
SPARE_FILES = 96
"""The empty files of a process that moves, for rows of later instants; `_LONGEST_COPY` limits the size of one."""
_LONGEST_COPY = 32 << 20
_FRAME_BYTES = 1 << 20
_ALL_THREADS = 2  # for a process's clock id, as clock_getcpuclockid(3) computes it
_PADDING = 16 << 20  # bytes that Arrow's stream may add around and between values


@dataclass(frozen=True)
class Reply:
    """The answer to a query.

    `stateless`: whether later answers are independent of the query. `reading`: the views and columns that it reads, if
    requested.
    """

    table: pa.Table
    truncated: bool
    stateless: bool
    reading: Reading = UNPROVEN


class Failed(Exception):
    """A query that was refused or failed. The session reports it to the caller."""

    def __init__(self, failure: Failure, *, stateless: bool, reason: str = "") -> None:
        self.failure, self.stateless, self.reason = failure, stateless, reason
        super().__init__(failure.message)


class SealedProcess:
    """The process of one session. Only `interrupt` may be called from other threads."""

    def __init__(
        self, binding: Binding, cut_cache: CutCache, limits: Limits, opening: Opening, *, moves: bool = False
    ) -> None:
        self._limits = limits
        self._numbers: dict[tuple[int, ...], int] = {}
        self._spare = deque[tuple[int, int]]()
        forked = launcher.fork(opening.usual)
        self._channel = Channel(forked.channel)
        self.pid, self._pidfd = forked.pid, forked.pidfd
        self._end = weakref.finalize(self, _end, self._channel, self._pidfd, self._spare, os.getpid())
        self._sending, self._order, self._running = threading.Lock(), 0, False
        try:
            self.own_root = self._open(binding, cut_cache, opening, SPARE_FILES if moves else 0)
        except ProtocolError as problem:
            self.close()
            raise SessionLost(f"the session did not open: {problem}") from None
        except BaseException:
            self.close()
            raise

    def run(self, sql: str, parameters: object, caps: Caps, views: Collection[str] = ()) -> Reply:
        """Run one query. views: the views to report as read; empty for no report.

        Raises Failed, SessionLost, KeyboardInterrupt (the session stays usable).
        """
        order = {"sql": sql, "parameters": parameters, "views": sorted(views), **asdict(caps)}
        end, stream = self._ask(QUERY, order, b"", caps.bytes + caps.bytes // 8 + _PADDING)
        try:
            table = untrusted_ipc.table(pa.py_buffer(stream), caps.rows)
        except ProtocolError as problem:
            raise self._lost(str(problem)) from None
        return Reply(table, end.truncated, end.stateless, end.reading)

    def load(self, name: str, table: pa.Table) -> None:
        """Load a caller's rows as a temporary table."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        self._ask(LOAD, {"name": name}, memoryview(sink.getvalue()), _FRAME_BYTES)

    def advance(self, binding: Binding, earlier: Binding, cut_cache: CutCache, opening: Opening) -> bool:
        """Hand over the rows that have become public since the earlier binding, and show them.

        Return False if the process has no room for the new files or failed, and is no longer usable. A sealed process
        can open nothing, so new rows are written into empty files that it received at its start. Raises the errors of
        opening a session.
        """
        try:
            binding.deliver(cut_cache, self._fill, earlier)
            unchanged = {relation.name for relation, before in zip(binding.relations, earlier.relations, strict=True)
                         if relation.numbers == before.numbers and relation.by_name == before.by_name}  # fmt: skip
            order = {"statements": opening.instant_statements(_files, unchanged)}
            self._ask(ADVANCE, order, b"", _FRAME_BYTES, OPEN_SECONDS)
        except (_NoRoom, Failed, SessionLost):
            return False
        return True

    def interrupt(self) -> None:
        """Stop the running query, if there is one. Callable from any thread."""
        if self._running:
            self._send_interrupt()

    @property
    def alive(self) -> bool:
        if not self._end.alive:
            return False
        gone = select.poll()
        gone.register(self._pidfd, select.POLLIN)
        return not gone.poll(0)

    def resident_bytes(self) -> int:
        """Return the memory that the process uses now, in bytes; 0 once it has ended."""
        try:
            _, resident, *_ = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()
        except OSError:
            return 0
        return int(resident) * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self) -> float:
        """Return the processor time of the process, in seconds; 0 once it has ended."""
        try:
            return time.clock_gettime(~self.pid << 3 | _ALL_THREADS)
        except OSError:
            return 0.0

    def close(self) -> None:
        """Kill the process and wait until it has ended."""
        self._end()

    def _open(self, binding: Binding, cut_cache: CutCache, opening: Opening, spare: int) -> bool:
        with _Parcel(self._channel) as parcel:

            def take(descriptor: int) -> int:
                number = self._numbers[_identity(descriptor)] = parcel.add(descriptor)
                return number

            binding.deliver(cut_cache, take)
            for _ in range(spare):
                with tempfile.TemporaryFile(buffering=0) as empty:
                    self._spare.append((parcel.add_readable(empty.fileno()), os.dup(empty.fileno())))
        order = {
            "statements": opening.statements(_files),
            "mapped": {relation.registered: relation.numbers for relation in binding.relations if relation.mapped},
            "memory": self._limits.address_space,
            "threads": int(self._limits.threads),
            "seconds": self._limits.seconds,
            "bound": binding.as_of is not None,
        }
        deadline = time.monotonic() + OPEN_SECONDS
        self._channel.send(OPEN, encode(order), deadline)
        kind, payload = self._channel.receive(_FRAME_BYTES, deadline)
        if kind == READY:
            return payload == OWN_ROOT
        failure = decode_end(payload).failure or Failure("Unknown", "no reason was given")
        if failure.kind == "Unsealable":
            raise IsolationUnavailable(failure.message)
        raise SessionError(f"the session did not open: {failure.message}")

    def _fill(self, descriptor: int) -> int:
        """Return the number of this file in the process.

        If the process lacks the file, its content is copied into an empty file of the process.
        """
        identity = _identity(descriptor)
        if identity not in self._numbers:
            if not self._spare or os.fstat(descriptor).st_size > _LONGEST_COPY:
                raise _NoRoom
            number, room = self._spare.popleft()
            with os.fdopen(room, "wb") as copy, os.fdopen(os.dup(descriptor), "rb") as file:
                file.seek(0)
                shutil.copyfileobj(file, copy)
                copy.flush()
                os.utime(room, (0, 0))  # A session must not learn when the file was made.
            self._numbers[identity] = number
        return self._numbers[identity]

    def _ask(
        self, kind: bytes, order: dict[str, Any], body: memoryview | bytes, cap: int, seconds: float | None = None
    ) -> tuple[OrderEnd, bytearray]:
        self._order += 1
        head = encode({**order, "id": self._order})
        deadline = time.monotonic() + (seconds or self._limits.seconds)
        try:
            with self._sending:
                self._channel.send(kind, b"".join((len(head).to_bytes(4, "big"), head, body)), deadline)
            self._running = True
            end, stream, reason = self._await(cap, deadline)
        except ProtocolError as problem:
            raise self._lost(str(problem)) from None
        except KeyboardInterrupt:
            self._send_interrupt()
            raise
        finally:
            self._running = False
        if end.failure is None:
            return end, stream
        if end.failure.fatal:
            raise self._lost(f"DuckDB failed internally: {end.failure.message}")
        raise Failed(end.failure, stateless=end.stateless, reason=reason)

    def _await(self, cap: int, deadline: float) -> tuple[OrderEnd, bytearray, str]:
        reason, give_up, stream = "", deadline, bytearray()
        while True:
            try:
                kind, payload = self._channel.receive(_FRAME_BYTES, deadline)
            except (DeadlinePassed, KeyboardInterrupt) as stopped:
                by_hand = isinstance(stopped, KeyboardInterrupt)
                if reason and (by_hand or time.monotonic() >= give_up):
                    self.close()
                    raise (KeyboardInterrupt() if reason == "keyboard" else Failed(_KILLED, stateless=False)) from None
                if not reason:
                    reason, give_up = "keyboard" if by_hand else "seconds", time.monotonic() + GRACE_SECONDS
                self._send_interrupt()
                deadline = min(give_up, time.monotonic() + _AGAIN_SECONDS)
                continue
            if kind == DATA:
                stream += payload
            elif kind == END and (end := decode_end(payload)).order == self._order:
                if reason == "keyboard":
                    raise KeyboardInterrupt
                return end, stream, reason
            else:  # The rest of an answer to an abandoned order.
                stream = bytearray()
            if len(stream) > cap:
                raise ProtocolError("the session sent more than was asked for")

    def _send_interrupt(self) -> None:
        with suppress(ProtocolError), self._sending:
            self._channel.send(INTERRUPT, encode({"id": self._order}), time.monotonic() + GRACE_SECONDS)

    def _lost(self, problem: str) -> SessionLost:
        self.close()
        return SessionLost(f"the session is lost: {problem}; open a new one")


def _files(relation: Relation) -> str:
    if relation.mapped:
        return relation.registered
    return parquet(map(file_name, relation.numbers), relation.schema if relation.by_name else None)


class _NoRoom(Exception):
    """The process has too few empty files for the new rows, or the rows are too many to copy."""


def _identity(descriptor: int) -> tuple[int, ...]:
    """Return the facts that identify a file and its content in the file system."""
    facts = os.fstat(descriptor)
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


class _Parcel:
    """Descriptors for the child, collected into frames. Making files may take minutes, but a frame must be quick."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._count = 0
        self._numbers: list[int] = []
        self._descriptors: list[int] = []

    def add(self, descriptor: int) -> int:
        """Add a copy of a descriptor, and return its number."""
        return self._add(os.dup(descriptor))

    def add_readable(self, descriptor: int) -> int:
        """Add another, read-only descriptor of the same file, and return its number."""
        os.utime(descriptor, (0, 0))
        return self._add(os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC))

    def _add(self, descriptor: int) -> int:
        self._descriptors.append(descriptor)
        self._numbers.append(self._count)
        self._count += 1
        if len(self._numbers) == FILES_PER_FRAME:
            self._send()
        return self._count - 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None and self._numbers:
                self._send()
        finally:
            self._drop()

    def _send(self) -> None:
        self._channel.send_files(self._descriptors, self._numbers, time.monotonic() + OPEN_SECONDS)
        self._drop()

    def _drop(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.pop())
        self._numbers.clear()


def _end(channel: Channel, pidfd: int, spare: deque[tuple[int, int]], owner: int) -> None:
    channel.close()
    while spare:
        os.close(spare.popleft()[1])
    if os.getpid() == owner:  # A fork of the opener has a copy of this object and must not end the session.
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        gone = select.poll()
        gone.register(pidfd, select.POLLIN)
        gone.poll(5000)
    os.close(pidfd)
