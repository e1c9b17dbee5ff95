"""Verifies that the connection is read-only before the first read, by trying to write.

Reads are protected in four ways. The transaction mode is READ (Neo4j enforces it, ArcadeDB ignores it). The login may
only read (ArcadeDB and Neo4j Enterprise enforce it, Neo4j Community has no roles). Nothing is ever committed, and a
result that reports an update is refused. The server enforces the first two. At least one of these must work, which is
tested here.
"""

import neo4j
from neo4j.exceptions import DriverError, Neo4jError

from pitlake.errors import GraphNotReadOnly
from resources.graph.faults import refuses_writing

_ANY_NODE = "MATCH (n) RETURN labels(n) AS labels LIMIT 1"


def prove_read_only(driver: neo4j.Driver, database: str, address: str) -> None:
    """Try to create a node in a READ transaction that is always rolled back, and expect a refusal.

    The node has a label that is in use. Even if the server accepts the node before the rollback, no new label remains.
    The exception is an empty ArcadeDB with an administrator's login: it keeps an empty, unnamed vertex type.

    Raises: GraphNotReadOnly: the server accepted the statement, or refused it for a reason other than that it writes.
    neo4j's own errors: the server did not respond.
    """
    with driver.session(database=database, default_access_mode=neo4j.READ_ACCESS) as session:
        node = _rolled_back(session, _ANY_NODE)
        try:
            labels = node["labels"] if node is not None else []
            label = "".join(f":`{label.replace('`', '``')}`" for label in labels[:1])
            _rolled_back(session, f"CREATE (n{label})")
        except (DriverError, Neo4jError) as error:
            if refuses_writing(error):
                return
            if isinstance(error, DriverError) or error.is_retryable():
                raise
            answer = error.code
        else:
            answer = "it was accepted and rolled back"
    raise GraphNotReadOnly(
        f"the graph at {address} did not refuse a write in a READ transaction ({answer}); "
        "give a login that may only read, or a server that enforces READ transactions"
    )


def _rolled_back(session: neo4j.Session, statement: str) -> neo4j.Record | None:
    """Run a statement and roll it back. The transaction is not used in `with`, because the driver would then commit."""
    transaction = session.begin_transaction()
    try:
        return transaction.run(statement).single()
    finally:
        transaction.close()
