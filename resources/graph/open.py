"""Reads the graph's settings and opens the graph: at NEO4J_URI, on the embedded server, or on a local Neo4j.

NEO4J_URI (with NEO4J_USERNAME, NEO4J_PASSWORD, NEO4J_DATABASE) takes precedence. Without it, PITLAKE_GRAPH names the
local server to run ("embedded" or "neo4j") and PITLAKE_GRAPH_ROOT its data directory.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from local_servers.embedded import embedded_graph
from local_servers.neo4j_local import local_neo4j
from local_servers.server import GraphServer
from pitlake.errors import BadInput
from resources.graph.graph import Graph

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
_LOCAL = {"embedded": embedded_graph, "neo4j": local_neo4j}
_DEFAULT_ROOT = Path(".pitlake") / "graph"


@dataclass(frozen=True)
class GraphSettings:
    """The settings of the graph. Blank means not set.

    Raises:
        BadInput: the address is invalid or has credentials, the login is incomplete, or the local server is unknown.
    """

    uri: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    database: str = ""
    local: str = "embedded"
    root: Path = _DEFAULT_ROOT

    def __post_init__(self) -> None:
        if "@" in self.uri:
            raise BadInput("NEO4J_URI", "carries credentials", "put them into NEO4J_USERNAME and NEO4J_PASSWORD")
        parts = urlsplit(self.uri)
        try:
            is_address = parts.scheme in SCHEMES and bool(parts.hostname) and parts.port != 0
        except ValueError:  # The port may not be a number.
            is_address = False
        if self.uri and not is_address:
            raise BadInput(
                "NEO4J_URI", "is not a graph address", "write for example bolt://host:7687 or neo4j+s://host"
            )
        if self.uri and bool(self.username) != bool(self.password):
            raise BadInput("NEO4J_USERNAME", "is needed together with the password", "set both, or neither")
        if self.local not in _LOCAL:
            raise BadInput("PITLAKE_GRAPH", f"{self.local!r} is not a local server", f"choose from {', '.join(_LOCAL)}")

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Self:
        return cls(
            uri=environ.get("NEO4J_URI", ""),
            username=environ.get("NEO4J_USERNAME", ""),
            password=environ.get("NEO4J_PASSWORD", ""),
            database=environ.get("NEO4J_DATABASE", ""),
            local=environ.get("PITLAKE_GRAPH", "") or "embedded",
            root=Path(environ.get("PITLAKE_GRAPH_ROOT", "") or _DEFAULT_ROOT),
        )


@contextlib.contextmanager
def graph_server(settings: GraphSettings | None = None) -> Iterator[GraphServer]:
    """Run the configured server during the block. Only a local server has an admin's login.

    Raises:
        BadInput: the local server cannot run here.
        GraphUnavailable: the server did not start.
    """
    chosen = settings or GraphSettings.from_env()
    if chosen.uri:
        login = (chosen.username, chosen.password) if chosen.username else None
        yield GraphServer(chosen.uri, chosen.database or "neo4j", reader_auth=login)
        return
    with _LOCAL[chosen.local](chosen.root / chosen.local) as server:
        yield server


@contextlib.contextmanager
def open_graph(settings: GraphSettings | None = None) -> Iterator[Graph]:
    """Open a read-only connection to the configured graph. Raises the errors of `Graph`."""
    with graph_server(settings) as server, Graph(server.uri, server.reader_auth, server.database) as graph:
        yield graph
