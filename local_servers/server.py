"""A graph server for the other modules: an address, a database, a reader's login and, if we own the server, an admin's.

This module also has the helpers of both local launchers: a free port, the wait until a server responds, and the end of
its log. embedded.py and neo4j_local.py start the servers.
"""

import logging
import socket
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Self

import neo4j
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from local_servers.lease import Lease
from pitlake.errors import GraphLoginFailed, GraphUnavailable

Auth = tuple[str, str] | None

START_SECONDS = 180.0


@dataclass(frozen=True)
class GraphServer:
    """A graph server. admin_auth: None for servers that we do not own; nothing here writes to such servers.

    admin_url: the HTTP address of an ArcadeDB server, where databases are created and dropped; "" for Neo4j.
    """

    uri: str
    database: str = "neo4j"
    reader_auth: Auth = field(default=None, repr=False)
    admin_auth: Auth = field(default=None, repr=False)
    kind: Literal["neo4j", "arcadedb"] = "neo4j"
    admin_url: str = ""

    def with_database(self, database: str) -> Self:
        return replace(self, database=database)


def free_port() -> int:
    """Return a TCP port of the loopback that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for_answer(uri: str, auth: Auth, database: str, lease: Lease, log: Path) -> None:
    """Wait until the server answers a query from this login. Servers open the port before they are ready, so connection
    failures are ignored.

    Raises:
        GraphLoginFailed: the server responds and refuses the login.
        GraphUnavailable: the server ended, or did not respond within START_SECONDS. The error names its log.
    """
    deadline = time.monotonic() + START_SECONDS
    with _quiet_driver_log(), neo4j.GraphDatabase.driver(uri, auth=auth, connection_timeout=5) as driver:
        while True:
            try:
                with driver.session(database=database) as session:
                    session.run("RETURN 1").consume()
                return  # noqa: TRY300  nothing follows
            except AuthError as error:
                raise GraphLoginFailed(f"the local graph server refused the login; see {log}") from error
            except (DriverError, Neo4jError, OSError) as error:
                if not lease.alive():
                    raise GraphUnavailable("the local graph server ended while it started", f"see {log}") from error
                if time.monotonic() > deadline:
                    raise GraphUnavailable(f"no answer after {START_SECONDS:.0f} s", f"see {log}") from error
            time.sleep(0.1)


class _quiet_driver_log:  # noqa: N801  used as a with-statement's verb
    """A context that hides the driver's errors about refused connections, which are expected while waiting."""

    def __enter__(self) -> None:
        self._log = logging.getLogger("neo4j")
        self._level = self._log.level
        self._log.setLevel(logging.CRITICAL)

    def __exit__(self, *_: object) -> None:
        self._log.setLevel(self._level)
