"""Listening: uvicorn on this machine's own address, unless another is asked for together with the names it may bear."""

import secrets
import socket
from collections.abc import Callable
from contextlib import closing

import uvicorn

from pitlake.errors import BadInput
from pitlake.session import warm
from pitlake.web.app import Doors, application
from pitlake.web.asked import forward
from pitlake.web.guard import OWN_HOSTS
from pitlake.web.known import known
from pitlake.web.questions import datasets


def token() -> str:
    """A new token."""
    return secrets.token_urlsafe(18)


def serve(doors: Doors, host: str, port: int, said: Callable[[str], None]) -> None:
    """Serve until interrupted. said: told the page's address once it listens.

    Raises BadInput when other machines could reach it and no name is given, and where it can't listen; what opening a
    session raises.
    """
    if host not in OWN_HOSTS and not doors.hosts:
        raise BadInput("--host", "reachable from other machines", "name how browsers call it with --allow-host NAME")
    with closing(doors.pool), _listening(host, port) as listener:
        begin(doors)
        said(f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}")
        config = uvicorn.Config(application(doors), log_level="warning", server_header=False, lifespan="on")
        uvicorn.Server(config).run([listener])


def begin(doors: Doors) -> None:
    """Open what the first page takes: what can't be opened is refused now, and the first reader need not wait."""
    if doors.pool.isolation == "process":
        warm(datasets())
    doors.pool.lake.entry(None)
    forward(doors.home.as_of)
    with doors.pool.session(doors.home.as_of) as session:
        known(session, doors.home)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as problem:
        said = f"can't listen at {host}, port {port}: {problem.strerror}"
        raise BadInput("--host, --port", said, "name another port, or a host of this machine") from None
