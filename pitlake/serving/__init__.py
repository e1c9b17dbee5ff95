"""HTTP for `pitlake mcp --http` and `pitlake web`: one way to listen, bounded connections, fair turns, who may ask.

Imported by these commands alone. What is served is theirs.
"""
