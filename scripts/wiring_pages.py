"""Writes the names of the MCP server's tools, from pitlake.mcp.tools, into all files of the data agents' wiring.

The guard lists the tools that may be called. Settings and agents list the tools whose answers pass the gate.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pitlake.mcp.query_service import QueryService
from pitlake.mcp.tools import UNGATED, tools
from pitlake.session.viewpoint import Viewpoint

CLAUDE = Path(".claude")
SERVER = "mcp__pitlake__"
_MATCHER = re.compile(rf"{SERVER}\w+(?:\|{SERVER}\w+)+")
_LIST = re.compile(rf'(?P<start> +(?:- |"))(?P<name>{SERVER}\w+)(?P<end>",)?\n(?:(?P=start){SERVER}\w+(?P=end)?\n)*')
_NAMES = re.compile(rf'(?<=f"{SERVER}\{{name\}}" for name in )\([^)]*\)')


def pages(root: Path) -> dict[Path, str]:
    """Return every file of the wiring below `root` with the names of the tools, by its path, with current names."""
    callable_tools = [tool.name for tool in tools(QueryService(viewpoint=Viewpoint(as_of=None)))]
    gated = [name for name in callable_tools if name not in UNGATED]
    lists = {
        CLAUDE / "settings.json": callable_tools,
        CLAUDE / "hooks" / "pit_guard.py": callable_tools,
        CLAUDE / "skills/earnings-orchestrator/scripts/lint_data_agents.py": gated,
        **{agent.relative_to(root): gated for agent in _agents(root)},
    }
    return {path: _with_names((root / path).read_text(), names, gated) for path, names in lists.items()}


def _agents(root: Path) -> Iterator[Path]:
    return (path for path in sorted((root / CLAUDE / "agents").glob("*.md")) if SERVER in path.read_text())


def _with_names(text: str, names: list[str], gated: Iterable[str]) -> str:
    """Replace lists of tools by `names`, and matchers of hooks by `gated`."""
    text = _MATCHER.sub("|".join(SERVER + name for name in gated), text)
    quoted = ", ".join(f'"{name}"' for name in names)
    text = _NAMES.sub(f"({quoted})", text)
    return _LIST.sub(
        lambda match: "".join(f"{match['start']}{SERVER}{name}{match['end'] or ''}\n" for name in names), text
    )
