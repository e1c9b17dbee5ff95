"""Listening and serving: uvicorn with bounded connections."""

import asyncio
import socket
from functools import partial

import uvicorn
from anyio import to_thread
from starlette.types import ASGIApp

from pitlake.errors import BadInput
from pitlake.serving.connections import LONGEST_HEAD, MOST, BoundedProtocol, Connections

BACKLOG = 128


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises BadInput where it can't."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as problem:
        said = f"can't listen at {host}, port {port}: {problem.strerror}"
        raise BadInput("--host, --port", said, "name another port, or a host of this machine") from None


def server(app: ASGIApp) -> uvicorn.Server:
    """A server of an application, not yet begun."""
    return uvicorn.Server(
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
        )
    )


async def serve_until_ended(begun: uvicorn.Server, listener: socket.socket) -> None:
    """Serve; who waits for a turn waits in a thread, of which there is one a connection."""
    to_thread.current_default_thread_limiter().total_tokens = MOST
    await begun.serve([listener])


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Serve an application until interrupted."""
    asyncio.run(serve_until_ended(server(app), listener))
