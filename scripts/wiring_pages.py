"""Write the names of the MCP server's tools into the list that the guard, the gate and the agents' linter read."""

from pathlib import Path

from pitlake.mcp.query_service import QueryService
from pitlake.mcp.tools import UNGATED, tools
from pitlake.session.viewpoint import Viewpoint

LIST = Path(".claude/hooks/pit_tools.py")
_TEXT = '''\
"""The tools of the lake's server, written by `make docs`: the gate checks GATED; answers of UNGATED have no rows."""

GATED = {{
{gated}}}
UNGATED = {{
{ungated}}}
'''


def pages() -> dict[Path, str]:
    """Return the list of the server's tools, by its path."""
    names = [tool.name for tool in tools(QueryService(viewpoint=Viewpoint(as_of=None)))]
    gated, ungated = (
        "".join(f'    "mcp__pitlake__{name}",\n' for name in names if (name in UNGATED) is without)
        for without in (False, True)
    )
    return {LIST: _TEXT.format(gated=gated, ungated=ungated)}
