"""The web server. It listens on this machine only, unless another address is given together with its host names."""

import secrets
from collections.abc import Callable
from contextlib import closing

from pitlake.serving import server
from pitlake.serving.guard import check_reach
from pitlake.session import warm
from pitlake.web.address import forward
from pitlake.web.app import ServerSettings, application
from pitlake.web.company import read_company
from pitlake.web.questions import datasets


def token() -> str:
    return secrets.token_urlsafe(18)


def serve(settings: ServerSettings, host: str, port: int, on_started: Callable[[str], None]) -> None:
    """Serve until interrupted. on_started: called with the server's address once it answers.

    Raises BadInput if other machines could reach it and no name is given, and if it can't listen; the errors of opening
    a session.
    """
    check_reach(host, settings.hosts)
    with closing(settings.pool.sessions), server.listening(host, port) as listener:
        warm_up(settings)
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        server.serve(application(settings), listener, on_started=lambda: on_started(address))


def warm_up(settings: ServerSettings) -> None:
    """Open the session of the first page, so that errors appear at the start and the first reader does not wait."""
    if settings.pool.isolation == "process":
        warm(datasets())
    settings.pool.lake.entry(None)
    forward(settings.home.as_of)
    with settings.pool.session(settings.home.as_of) as session:
        if settings.home.ticker:
            read_company(session, settings.home)
