"""The tool `read`: returns the text at an exact path, up to a depth."""

from typing import Any

from forge.agent.tools.base import Readable, schema
from forge.agent.tools.text import CONTEXT, DEPTHS, default_depth, excerpt, marked
from forge.model.messages import ToolSpec

SPEC = ToolSpec(
    "read",
    "Read files and directories by exact path.\n\n"
    "depth controls how much you see:\n"
    "  header  — metadata + summary (default for /memory/)\n"
    "  summary — header + key sections (default for /session/results/)\n"
    "  full    — everything (use for capital decisions)\n\n"
    "Directory reads return listings. Use query for metadata filters:\n"
    "  key:value  since:date  key>=N  status:active\n\n"
    "For discovering relevant items across many files, use search() instead.",
    schema(
        {
            "path": {"type": "string"},
            "depth": {"type": "string", "enum": list(DEPTHS)},
            "query": {"type": "string", "description": "Metadata filter for directory listings"},
        },
        "path",
    ),
)


class ReadTool:
    """The tool `read` over a turn's files."""

    spec = SPEC

    def __init__(self, fs: Readable) -> None:
        self._fs = fs

    async def execute(self, call_id: str, /, path: str, depth: str | None = None, query: str | None = None) -> str:
        """Return a text up to a depth, or a folder's listing. Raises BadInput for an invalid path."""
        if self._fs.is_dir(path):
            entries: Any = self._fs.list_dir(path, query)
            return "\n".join([f"Directory: {path} ({len(entries)} items)", *(f"  {e.name}  {e.meta}" for e in entries)])
        text = excerpt(self._fs.read_file(path), depth or default_depth(path))
        return marked(text, path) if path.startswith(CONTEXT) else text
