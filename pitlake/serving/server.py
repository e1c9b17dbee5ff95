"""Listening and serving: uvicorn with bounded connections."""

import asyncio
import socket
from collections.abc import Callable
from functools import partial

import uvicorn
from anyio import to_thread
from starlette.types import ASGIApp

from pitlake.errors import BadInput
from pitlake.serving.connections import LONGEST_HEAD, MOST, BoundedProtocol, Connections

BACKLOG = 128


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises BadInput if it cannot listen."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as problem:
        sentence = f"can't listen at {host}, port {port}: {problem.strerror}"
        raise BadInput("--host, --port", sentence, "name another port, or a host of this machine") from None


class NotifyingServer(uvicorn.Server):
    """A uvicorn server that calls `on_started` once it answers requests and handles signals."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application and accept connections."""
        await super().startup(sockets)
        if self.started:
            self._on_started()


def server(app: ASGIApp, on_started: Callable[[], None] = lambda: None) -> NotifyingServer:
    """Return a server, not started yet, for an application."""
    return NotifyingServer(
        uvicorn.Config(
            app,
            loop="asyncio",
            http=partial(BoundedProtocol, Connections()),  # type: ignore[arg-type]
            ws="none",
            lifespan="on",
            log_level="warning",
            server_header=False,
            backlog=BACKLOG,
            h11_max_incomplete_event_size=LONGEST_HEAD,
        ),
        on_started,
    )


async def serve_until_ended(uvicorn_server: uvicorn.Server, listener: socket.socket) -> None:
    """Serve with one thread per connection, because requests wait for their turn in threads."""
    to_thread.current_default_thread_limiter().total_tokens = MOST
    await uvicorn_server.serve([listener])


def serve(app: ASGIApp, listener: socket.socket, on_started: Callable[[], None] = lambda: None) -> None:
    """Serve an application until interrupted; `on_started` is called once it answers."""
    asyncio.run(serve_until_ended(server(app, on_started), listener))
