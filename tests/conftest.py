"""What every test may ask for by name."""

from tests.graph_servers import graph, graph_admin, graph_db, graph_server

__all__ = ["graph", "graph_admin", "graph_db", "graph_server"]
