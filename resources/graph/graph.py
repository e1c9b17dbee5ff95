"""The only way to read the source graph: verified as read-only, streamed, with typed errors. Nothing here writes.

This module does not depend on labels or datasets and starts no server. open.py, tests or the caller provide the
address. sample/graph_admin.py loads sample graphs.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Self
from urllib.parse import urlsplit

import neo4j
import tenacity
from neo4j.exceptions import DriverError, Neo4jError

from local_servers.server import Auth
from pitlake.errors import GraphRefused, GraphUnavailable
from resources.graph.faults import translated
from resources.graph.guard import prove_read_only

FETCH_SIZE = 5000
_LIST_ROWS = 200  # This keeps few Python objects alive, so the garbage collector has little to do.


class Graph:
    """A read-only connection to one database over Bolt. It is opened only after the server has refused a write through
    it.

    Args:
        uri: a bolt or neo4j address, without credentials.
        auth: user and password, or None for a server without logins.
        database: the database of every session; never the server's default.
        retry_seconds: the time for which a query without results is retried if the server cannot answer.

    Raises:
        GraphUnavailable, GraphLoginFailed: the server is unreachable, or refused the login.
        GraphNotReadOnly: the server does not refuse a write through this connection.
    """

    def __init__(self, uri: str, auth: Auth, database: str = "neo4j", *, retry_seconds: float = 10.0) -> None:
        self.address = urlsplit(uri).netloc.rpartition("@")[2]
        self.database = database
        self._retry_seconds = retry_seconds
        with translated(self.address):
            self._driver = neo4j.GraphDatabase.driver(
                uri,
                auth=auth,
                user_agent="pitlake",
                connection_timeout=15,
                connection_acquisition_timeout=30,
                notifications_min_severity="OFF",
            )
        try:
            self._patiently(self._prove)
        except BaseException:
            self._driver.close()
            raise

    def __repr__(self) -> str:
        return f"Graph({self.address}, database={self.database!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. Never raises, because everything was read."""
        with suppress(DriverError, Neo4jError, OSError):
            self._driver.close()

    def stream(
        self, cypher: str, params: Mapping[str, object] | None = None, *, fetch_size: int = FETCH_SIZE
    ) -> Iterator[list[neo4j.Record]]:
        """Yield the rows of a query in short lists, as the driver's records. `fetch_size` is the size of one pull.

        Raises:
            GraphUnavailable: the connection was lost; the rows yielded so far are incomplete.
            GraphRefused: the statement writes, or the login may not run it.
            GraphQueryFailed: the query failed because of its syntax, an unknown name or the server's limits.
        """
        count = 0
        with translated(self.address):
            cursor = self._patiently(self._open, cypher, params, fetch_size)
        with translated(self.address, lambda: f"broke off after {count:,} records"), cursor:
            while records := cursor.take(min(fetch_size, _LIST_ROWS)):
                count += len(records)
                yield records
            cursor.finish()

    def _prove(self) -> None:
        with translated(self.address):
            prove_read_only(self._driver, self.database, self.address)

    def _open(self, cypher: str, params: Mapping[str, object] | None, fetch_size: int) -> "_Cursor":
        with translated(self.address):
            session = self._driver.session(
                database=self.database, default_access_mode=neo4j.READ_ACCESS, fetch_size=fetch_size
            )
            return _Cursor(session, cypher, dict(params or {}))

    @property
    def _patiently(self) -> tenacity.Retrying:
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(GraphUnavailable),
            stop=tenacity.stop_after_delay(self._retry_seconds),
            wait=tenacity.wait_random_exponential(multiplier=0.2, max=3.0),
            reraise=True,
        )


class _Cursor:
    """One running query: a READ transaction that is always rolled back, and its remaining records."""

    def __init__(self, session: neo4j.Session, cypher: str, params: dict[str, object]) -> None:
        self._session = session
        try:
            self._transaction = session.begin_transaction()
            self._result = self._transaction.run(cypher, params)
            self._result.peek()  # After this point a retry is not safe.
        except BaseException:
            session.close()
            raise
        self._records = iter(self._result)

    def take(self, rows: int) -> list[neo4j.Record]:
        """Return up to `rows` more records; an empty list at the end."""
        return list(islice(self._records, rows))

    def finish(self) -> None:
        """Refuse the results of a statement that writes, because they may include its own writes."""
        summary = self._result.consume()
        counters = summary.counters
        if summary.query_type in {"w", "rw"} or counters.contains_updates or counters.contains_system_updates:
            raise GraphRefused("the statement writes; this connection only reads, and it was rolled back")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self._transaction.close()
            self._session.close()
        except (DriverError, Neo4jError, OSError):
            if kind is None:
                raise
