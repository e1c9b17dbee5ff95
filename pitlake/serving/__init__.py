"""HTTP for `pitlake mcp --http` and `pitlake web`: listening, limited connections, fair turns, access.

Only these commands import this package. They provide the application.
"""
