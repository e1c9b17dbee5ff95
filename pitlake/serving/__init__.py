"""HTTP for `pitlake mcp --http` and `pitlake web`: listening, limited connections, fair turns, access.

Only these commands import it, and they provide the application.
"""
