"""The graph as a Dagster resource. Assets call its `connect`; open.py and graph.py implement it.

Blank fields are read from the environment when the run starts (see open.py). Within a run, the connection and any local
server are created at the first use and kept until the end.
"""

import contextlib
import dataclasses
import threading
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
from pydantic import Field, PrivateAttr

from pitlake.errors import BadInput
from resources.graph.graph import Graph
from resources.graph.open import GraphSettings, open_graph


class GraphResource(dg.ConfigurableResource[None]):
    """The source graph, read-only. Give the password as `EnvVar` or leave it blank: then it comes from
    NEO4J_PASSWORD."""

    uri: str = Field(default="", description="Bolt address without credentials; blank: NEO4J_URI, else a local server.")
    username: str = Field(default="", description="Blank: NEO4J_USERNAME.")
    password: str = Field(default="", description="Blank: NEO4J_PASSWORD.", repr=False)
    database: str = Field(default="", description="Blank: NEO4J_DATABASE, else neo4j.")
    local: str = Field(default="", description="Server to run where no address is known: embedded or neo4j.")
    root: str = Field(default="", description="Directory of the local server's data.")

    _run: contextlib.ExitStack | None = PrivateAttr(default=None)
    _graph: Graph | None = PrivateAttr(default=None)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Begin a run: connections are kept until its end."""
        self._run = contextlib.ExitStack()

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        run, self._run, self._graph = self._run, None, None
        if run is not None:
            run.close()

    @contextlib.contextmanager
    def connect(self) -> Iterator[Graph]:
        """Open a read-only connection, shared within a run and separate outside of runs. Raises the errors of `Graph`.

        Within a run, raises BadInput for a graph without nodes, because an empty result would look like a success.
        """
        if self._run is None:
            with open_graph(self.settings()) as graph:
                yield graph
            return
        with self._lock:
            if self._graph is None:
                self._graph = filled(self._run.enter_context(open_graph(self.settings())))
        yield self._graph

    def settings(self) -> GraphSettings:
        """Return this configuration, with defaults from the environment. Raises BadInput, as GraphSettings does."""
        settings: dict[str, object] = {
            name: getattr(self, name)
            for name in ("uri", "username", "password", "database", "local")
            if getattr(self, name)
        }
        if self.root:
            settings["root"] = Path(self.root)
        return dataclasses.replace(GraphSettings.from_env(), **settings)  # type: ignore[arg-type]


def filled(graph: Graph) -> Graph:
    """Return the same graph. Raises BadInput if it has no nodes."""
    if not any(graph.stream("MATCH (n) RETURN 1 AS one LIMIT 1")):
        raise BadInput(
            "NEO4J_URI", f"the graph at {graph.address} has no nodes", "set it to your graph, or load this one first"
        )
    return graph
