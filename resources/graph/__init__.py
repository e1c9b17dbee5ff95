"""The source graph: read over Bolt with the official neo4j driver, guarded against writing in more than one way."""
