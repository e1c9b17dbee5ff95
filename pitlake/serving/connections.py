"""Limits of connections: their number per client and in total, and the time that a request may take to arrive.

uvicorn's protocol only times out idle connections. A connection that is waiting for its request is closed to make room
for a newer one. If all requests are being answered, the newer connection is refused.
"""

import asyncio
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEADER_SECONDS, BODY_SECONDS, READ_SECONDS = 10.0, 20.0, 30.0
"""The seconds for a request's head to arrive, for its body, and for a client to receive its answer."""
MOST, MOST_OF_CLIENT = 256, 128
"""The most connections in total and from one address."""
LONGEST_HEAD = 32 << 10

_REFUSAL = b"HTTP/1.1 %s\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_TIMED_OUT, _FULL = _REFUSAL % b"408 Request Timeout", _REFUSAL % b"503 Service Unavailable"


class Phase(Enum):
    """The phase of a connection, with the seconds it may take."""

    HEAD = "head"
    BODY = "body"
    ANSWER = "answer"

    @property
    def seconds(self) -> float | None:
        """Return the seconds that the phase may last."""
        return {Phase.HEAD: HEADER_SECONDS, Phase.BODY: BODY_SECONDS}.get(self)


@dataclass
class Connections:
    """The open connections of one server, oldest first."""

    most: int = MOST
    most_of_client: int = MOST_OF_CLIENT
    open: dict["BoundedProtocol", str] = field(default_factory=dict)

    def admit(self, new: "BoundedProtocol", client: str) -> bool:
        """Add a new connection and close others that it replaces. Return False if there is no room."""
        same = [connection for connection, its in self.open.items() if its == client]
        full = len(same) >= self.most_of_client
        if full or len(self.open) >= self.most:
            waiting = [
                connection for connection in (same if full else self.open) if connection.phase is not Phase.ANSWER
            ]
            if not waiting:
                return False
            longest = min(waiting, key=lambda connection: connection.since)
            self.open.pop(longest)
            longest.transport.abort()
        self.open[new] = client
        return True


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with time limits. `phase`: what the connection is waiting for. `since`: the start of the phase."""

    def __init__(self, connections: Connections, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.phase, self.since = Phase.HEAD, self.loop.time()
        self._connections = connections
        self._arrives: asyncio.TimerHandle | None = None
        self._is_read: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or refuse it."""
        super().connection_made(transport)
        self._wait(Phase.HEAD)
        if not self._connections.admit(self, self.client[0] if self.client else ""):
            self._end_with(_FULL)

    def data_received(self, data: bytes) -> None:
        """Read the next data."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the next request, or until the last bytes are sent."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._read_within()
        else:
            self._look()

    def pause_writing(self) -> None:
        """Start the time limit of a client that does not read."""
        super().pause_writing()
        self._read_within()

    def resume_writing(self) -> None:
        """Stop the time limit of a client that reads again."""
        super().resume_writing()
        _cancel(self._is_read)

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._arrives)
        _cancel(self._is_read)
        self._connections.open.pop(self, None)
        super().connection_lost(exc)

    def _look(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            phase = Phase.HEAD
        else:
            phase = Phase.BODY if cycle.more_body else Phase.ANSWER
        if phase is not self.phase:
            self._wait(phase)

    def _wait(self, phase: Phase) -> None:
        self.phase, self.since = phase, self.loop.time()
        _cancel(self._arrives)
        self._arrives = (
            None if phase.seconds is None else self.loop.call_later(phase.seconds, self._end_with, _TIMED_OUT)
        )

    def _read_within(self) -> None:
        _cancel(self._is_read)
        self._is_read = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def _end_with(self, refusal: bytes) -> None:
        if not self.transport.is_closing():
            cycle: RequestResponseCycle | None = self.cycle
            if cycle is None or not cycle.response_started:
                self.transport.write(refusal)
            self.transport.close()
            self._read_within()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
