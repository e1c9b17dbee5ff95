"""One DuckDB connection of a session: its initial statements, its queries, and the checks of its answers."""
