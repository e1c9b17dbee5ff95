"""HTTP for `pitlake mcp --http` and `pitlake web`: listening, limited connections, fair turns, access."""
