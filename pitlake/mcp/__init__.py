"""The MCP door for agents: `query_service` asks the lake, `tools` is what an agent sees, `server` serves.

Which instant a server answers at is fixed when it starts; a call may go to an earlier one, never to a later one.
Imported by `pitlake mcp` alone.
"""
