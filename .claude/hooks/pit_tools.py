"""The tools of the lake's server, written by `make docs`: the gate checks GATED; answers of UNGATED have no rows."""

GATED = {
    "mcp__pitlake__query",
    "mcp__pitlake__run_query",
    "mcp__pitlake__search",
    "mcp__pitlake__gaps",
}
UNGATED = {
    "mcp__pitlake__describe",
}
