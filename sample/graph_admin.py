"""Creates and changes a graph that we own: constraints, statements, wiping. For the sample world and the tests,
never for assets.

It refuses every server whose admin login we do not have, such as the server at NEO4J_URI. All statements in which
ArcadeDB and Neo4j differ are here.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import neo4j
import requests

from local_servers.server import GraphServer
from pitlake.errors import BadInput
from resources.graph.faults import translated

_HTTP_SECONDS = 30

Row = Mapping[str, object]


class GraphAdmin:
    """The only writer of a database on a server that we own. Raises BadInput for any other server."""

    def __init__(self, server: GraphServer) -> None:
        if server.admin_auth is None:
            raise BadInput(
                "server",
                "is not a server that pitlake started, so nothing is written to it",
                "load into the embedded or the local server",
            )
        self.server = server
        self._address = server.uri.rpartition("//")[2]
        self._driver = neo4j.GraphDatabase.driver(server.uri, auth=server.admin_auth, notifications_min_severity="OFF")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._driver.close()

    def create_schema(self, keys: Mapping[str, str], indexes: Iterable[tuple[str, str]] = ()) -> None:
        """Make every label's key unique, and index further (label, property) pairs. Call this before loading any data;
        repeated calls are harmless.

        If an index is added late, ArcadeDB infers a property's type from its values and silently converts later values
        to it (1.5 becomes 1). A late constraint is therefore refused on every server.

        Args:
            keys: the property that identifies the nodes of each label.
            indexes: pairs to index for look-ups and windows.

        Raises:
            BadInput: a label has nodes but no constraint.
        """
        entries = self.write("SHOW INDEXES YIELD labelsOrTypes, properties")
        single = [entry for entry in entries if entry["labelsOrTypes"] and entry["properties"]]
        there = {(entry["labelsOrTypes"][0], entry["properties"][0]) for entry in single}
        constraints = [(label, key, True) for label, key in keys.items()]
        constraints += [(label, name, False) for label, name in indexes]
        for label, name, unique in constraints:
            if (label, name) in there:
                continue
            if self.write(f"MATCH (n:{_name(label)}) RETURN 1 AS one LIMIT 1"):
                raise BadInput(
                    "schema", f"{label} has nodes but no index on {name}", "wipe the graph and load it again"
                )
            target = f"FOR (n:{_name(label)})"
            title = _name(f"{label}_{name}".lower())
            if unique:
                self.write(f"CREATE CONSTRAINT {title} IF NOT EXISTS {target} REQUIRE n.{_name(name)} IS UNIQUE")
            else:
                self.write(f"CREATE INDEX {title} IF NOT EXISTS {target} ON (n.{_name(name)})")

    def write(self, cypher: str, params: Row | None = None) -> list[dict[str, Any]]:
        """Run one statement in its own transaction and return its rows. Auto-commit is not used, because ArcadeDB would
        commit row by row, which is slow and not atomic.
        """

        def work(transaction: neo4j.ManagedTransaction) -> list[dict[str, Any]]:
            return transaction.run(cypher, dict(params or {})).data()

        with translated(self._address), self._driver.session(database=self.server.database) as session:
            return session.execute_write(work)

    def wipe(self) -> None:
        """Remove all nodes, edges, constraints and indexes."""
        if self.server.kind == "arcadedb":
            self.drop_database()
            self.create_database()
            return
        while self.write("MATCH (n) WITH n LIMIT 10000 DETACH DELETE n RETURN count(*) AS n")[0]["n"]:
            pass
        for entry in self.write("SHOW CONSTRAINTS YIELD name"):
            self.write(f"DROP CONSTRAINT {_name(str(entry['name']))}")
        for entry in self.write("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name"):
            self.write(f"DROP INDEX {_name(str(entry['name']))}")

    def create_database(self) -> None:
        """Create this database on an ArcadeDB server; Neo4j Community has only one."""
        self._command(f"create database {self.server.database}")

    def drop_database(self) -> None:
        """Remove this database and everything in it from an ArcadeDB server."""
        self._command(f"drop database {self.server.database}")

    def _command(self, command: str) -> None:
        if not self.server.admin_url:
            raise BadInput("server", "has one database only", "use wipe")
        with translated(self._address):
            answer = requests.post(
                f"{self.server.admin_url}/api/v1/server",
                json={"command": command},
                auth=self.server.admin_auth,
                timeout=_HTTP_SECONDS,
            )
            answer.raise_for_status()


def _name(identifier: str) -> str:
    return "`" + identifier.replace("`", "``") + "`"
