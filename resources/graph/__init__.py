"""The source graph, read over Bolt with the official neo4j driver and protected against writes in several ways."""
