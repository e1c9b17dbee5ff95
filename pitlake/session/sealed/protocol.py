"""The bytes between the parent and a session's process: frames, file descriptors, parameters.

A frame has a kind, a length and a payload. Files are sent as descriptors, never as paths. The module needs little more
than the standard library, because the child imports it before it is sealed.
"""

import base64
import json
import os
import socket
import struct
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta, timezone
from datetime import time as clock_time
from decimal import Decimal
from typing import Any

from pitlake.session.limits import Failure
from pitlake.session.sql.reading import UNPROVEN, Reading

HEADER = struct.Struct(">cQ")
FILES, OPEN, QUERY, LOAD, ADVANCE, INTERRUPT = b"F", b"O", b"Q", b"L", b"T", b"I"
OWN_ROOT = b"own root"  # A session with an instant sends this flag with READY.
READY, DATA, END, ACK = b"R", b"D", b"E", b"A"

LIMITS = ("", "rows", "bytes", "seconds", "memory")
FIRST_FILE = 300
"""The number of the child's first file descriptor for these files. It is above those that the child itself opens."""
_WHOLE = 1 << 15
FILES_PER_FRAME = 128
"""The number of descriptors to send in one message.

The kernel accepts at most 253, and received ones must stay below FIRST_FILE.
"""


@dataclass(frozen=True)
class OrderEnd:
    """The result of an order, as reported by the child. `stateless`: whether later answers are independent of it.
    `reading`: what its statement reads, if requested.
    """

    order: int
    truncated: bool = False
    stateless: bool = False
    failure: Failure | None = None
    reading: Reading = UNPROVEN


class ProtocolError(Exception):
    """The other side disconnected, was late, or broke the protocol. The package catches this error."""


class DeadlinePassed(ProtocolError):
    """Nothing arrived before the deadline."""


def file_name(index: int) -> str:
    """Return the path at which a session sees a file. It is the descriptor's, which reveals nothing about the lake."""
    return f"/proc/self/fd/{FIRST_FILE + index}"


def encode(message: object) -> bytes:
    return json.dumps(message, separators=(",", ":"), allow_nan=True).encode()


def encode_end(end: OrderEnd) -> bytes:
    return encode(asdict(end))


def decode_end(payload: bytes | bytearray) -> OrderEnd:
    """Decode the untrusted payload of an END frame. Raises ProtocolError."""
    try:
        fields = json.loads(payload)
        order, truncated, stateless = int(fields["order"]), fields["truncated"] is True, fields["stateless"] is True
        failed = fields["failure"]
        if failed is None:
            rows_of, views = fields["reading"]["rows_of"], fields["reading"]["views"]
            named_views = None if views is None else tuple(map(str, views))
            reading = Reading(None if rows_of is None else str(rows_of), named_views)
            return OrderEnd(order, truncated, stateless, reading=reading)
        kind, message, limit = str(failed["kind"]), str(failed["message"]), str(failed["limit"])
        failure = Failure(kind, message, limit, fatal=failed["fatal"] is True)
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        raise ProtocolError("the session's report on a query can't be read") from None
    if limit not in LIMITS:
        raise ProtocolError("the session names an unknown limit")
    return OrderEnd(order, truncated, stateless, failure)


class Channel:
    """The parent's end of a session's socket. Reads have deadlines (monotonic seconds) and size limits."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._kind: bytes | None = None
        self._buffer, self._filled = bytearray(HEADER.size), 0
        self._torn = False

    def send(self, kind: bytes, payload: bytes | memoryview = b"", deadline: float | None = None) -> None:
        """Send one frame. A small frame is sent completely or not at all; a truncated large one ends the connection."""
        if self._torn:
            raise ProtocolError("an order was cut off")
        try:
            self._wait_at_most(deadline)
            self._torn = len(payload) > _WHOLE
            self._sock.sendall(b"".join((HEADER.pack(kind, len(payload)), payload)))
            self._torn = False
        except TimeoutError:
            raise DeadlinePassed("the session does not read") from None
        except OSError as error:
            raise ProtocolError(os.strerror(error.errno or 0)) from None

    def send_files(self, descriptors: Sequence[int], indexes: Sequence[int], deadline: float | None) -> None:
        """Send one frame of files with their numbers, and wait until the child has taken them."""
        self.send(FILES, encode(list(indexes)), deadline)
        try:
            socket.send_fds(self._sock, [b"\0"], list(descriptors))
        except OSError as error:
            raise ProtocolError(os.strerror(error.errno or 0)) from None
        self.expect(ACK, 0, deadline)

    def receive(self, cap: int, deadline: float | None) -> tuple[bytes, bytearray]:
        """Return the next frame, of at most `cap` bytes. Can be called again after DeadlinePassed or an interrupt."""
        if self._kind is None:
            self._fill(HEADER.size, deadline)
            kind, length = HEADER.unpack(self._buffer)
            if length > cap:
                raise ProtocolError("the session sent more than was asked for")
            self._kind, self._filled, self._buffer = kind, 0, bytearray(length)
        self._fill(len(self._buffer), deadline)
        kind, payload = self._kind, self._buffer
        self._kind, self._filled, self._buffer = None, 0, bytearray(HEADER.size)
        return kind, payload

    def expect(self, kind: bytes, cap: int, deadline: float | None) -> bytearray:
        """Return the payload of the next frame, which must be of this kind."""
        received, payload = self.receive(cap, deadline)
        if received != kind:
            raise ProtocolError(f"the session sent {received!r} instead of {kind!r}")
        return payload

    def close(self) -> None:
        self._sock.close()

    def _fill(self, length: int, deadline: float | None) -> None:
        view = memoryview(self._buffer)
        try:
            while self._filled < length:
                self._wait_at_most(deadline)
                count = self._sock.recv_into(view[self._filled :])
                if count == 0:
                    raise ProtocolError("the session's process ended")
                self._filled += count
        except TimeoutError:
            raise DeadlinePassed("the session does not answer") from None
        except OSError as error:
            raise ProtocolError(os.strerror(error.errno or 0)) from None

    def _wait_at_most(self, deadline: float | None) -> None:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)


class ChildEnd:
    """The child's end. It uses only read() and write(), because the seal allows no other calls for sockets."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def send(self, kind: bytes, payload: bytes | memoryview = b"") -> None:
        self._write(HEADER.pack(kind, len(payload)))
        self._write(payload)

    def receive(self) -> tuple[bytes, bytes]:
        """Return the next frame. Raises EOFError if the parent hung up."""
        kind, length = HEADER.unpack(self._exactly(HEADER.size))
        return kind, self._exactly(length)

    def receive_files(self, expected: int) -> list[int]:
        """Return the descriptors after a FILES frame. Call it before the seal, which forbids recvmsg."""
        sock = socket.socket(fileno=os.dup(self._descriptor))
        with sock:
            _, received, _, _ = socket.recv_fds(sock, 1, expected)
        if len(received) != expected:
            raise ProtocolError("descriptors were lost on the way")
        return received

    def _exactly(self, length: int) -> bytes:
        parts: list[bytes] = []
        while length:
            part = os.read(self._descriptor, min(length, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def _write(self, payload: bytes | memoryview) -> None:
        view = memoryview(payload).cast("B")
        while view:
            view = view[os.write(self._descriptor, view) :]


def pack_parameters(parameters: object) -> object:
    """Encode query parameters as JSON. Values of types that JSON lacks are tagged with their type.

    Raises TypeError for other types, UnicodeEncodeError for text that is not UTF-8.
    """
    if isinstance(parameters, dict):
        if others := [name for name in parameters if not isinstance(name, str)]:
            raise TypeError(f"names of parameters and of struct fields must be strings, not {others[0]!r}")
        return {"$": "dict", "v": {_utf8(name): pack_parameters(value) for name, value in parameters.items()}}
    if isinstance(parameters, (list, tuple)):
        return [pack_parameters(value) for value in parameters]
    return _pack_value(parameters)


def _pack_value(value: Any) -> object:
    if isinstance(value, str):
        return _utf8(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, datetime):
        if str(value) == "NaT":  # pandas' NaT is an instance of datetime.
            return None
        if value.tzinfo is None:
            return {"$": "timestamp", "v": value.isoformat()}
        return {"$": "instant", "v": value.astimezone(timezone.utc).isoformat()}
    for kind, (cls, write, _) in _TAGGED.items():
        if isinstance(value, cls):
            return {"$": kind, "v": write(value)}
    if hasattr(value, "item"):  # a numpy scalar
        return _pack_value(value.item())
    raise TypeError(f"a parameter of type {type(value).__name__} cannot be bound")


def _utf8(text: str) -> str:
    text.encode()
    return text


def unpack_parameters(packed: Any) -> Any:
    """Decode the parameters that `pack_parameters` encoded."""
    if isinstance(packed, list):
        return [unpack_parameters(value) for value in packed]
    if not isinstance(packed, dict):
        return packed
    kind, value = packed["$"], packed["v"]
    if kind == "dict":
        return {name: unpack_parameters(inner) for name, inner in value.items()}
    if kind in ("timestamp", "instant"):
        return datetime.fromisoformat(value)
    return _TAGGED[kind][2](value)


_TAGGED: dict[str, tuple[type, Any, Any]] = {
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (clock_time, clock_time.isoformat, clock_time.fromisoformat),
    "interval": (timedelta, lambda v: [v.days, v.seconds, v.microseconds], lambda v: timedelta(v[0], v[1], v[2])),
    "decimal": (Decimal, str, Decimal),
    "bytes": (bytes, lambda v: base64.b64encode(v).decode(), base64.b64decode),
    "uuid": (uuid.UUID, str, uuid.UUID),
}
