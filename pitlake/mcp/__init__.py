"""The MCP door: agents ask the lake through tools. `desk` asks, `tools` is what an agent sees, `server` serves.

Which instant a server answers at is fixed when it starts; a call may go to an earlier one, never to a later one.
Imported by `pitlake mcp` alone.
"""
