"""The tools of the lake's MCP server, written by scripts/wiring_pages.py. The guard lets no other run.

The gate checks the answers of GATED. Answers of UNGATED have no rows.
"""

GATED = {
    "mcp__pitlake__query",
    "mcp__pitlake__run_query",
    "mcp__pitlake__search",
    "mcp__pitlake__gaps",
}
UNGATED = {
    "mcp__pitlake__describe",
}
