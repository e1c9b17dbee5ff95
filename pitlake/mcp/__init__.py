"""The MCP interface for agents: `query_service` queries the lake, `tools` are the tools, `server` serves.

A server's instant is fixed when it starts. A call may use an earlier instant, never a later one. Only `pitlake mcp`
imports this package.
"""
