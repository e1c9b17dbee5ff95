"""One DuckDB connection of a session: what it starts with, how a query runs on it, what an answer must be."""
