"""The pages' server: on this machine's own address, unless another is asked for together with the names it may bear."""

import secrets
from collections.abc import Callable
from contextlib import closing

from pitlake.serving import server
from pitlake.serving.guard import check_reach
from pitlake.session import warm
from pitlake.web.app import Doors, application
from pitlake.web.asked import forward
from pitlake.web.known import known
from pitlake.web.questions import datasets


def token() -> str:
    """A new token."""
    return secrets.token_urlsafe(18)


def serve(doors: Doors, host: str, port: int, said: Callable[[str], None]) -> None:
    """Serve until interrupted. said: is called with the page's address once it answers.

    Raises BadInput when other machines could reach it and no name is given, and where it can't listen; what opening a
    session raises.
    """
    check_reach(host, doors.hosts)
    with closing(doors.pool), server.listening(host, port) as listener:
        begin(doors)
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        server.serve(application(doors), listener, on_started=lambda: said(address))


def begin(doors: Doors) -> None:
    """Open what the first page takes: what can't be opened is refused now, and the first reader need not wait."""
    if doors.pool.isolation == "process":
        warm(datasets())
    doors.pool.lake.entry(None)
    forward(doors.home.as_of)
    with doors.pool.session(doors.home.as_of) as session:
        known(session, doors.home)
