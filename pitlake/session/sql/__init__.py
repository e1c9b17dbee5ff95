"""A session's DuckDB connection: its initial statements, its queries, and the checks of its answers."""
