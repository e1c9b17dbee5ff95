"""The tool `search`: records and files of a scope, ranked by meaning and recency as of the turn's instant.

It searches only the turn's memory and computes ages as of the turn's instant, so a replay finds the same results.
"""

from forge.agent.tools.base import schema
from forge.agent.tools.text import CONTEXT, HEADER_LINES, marked
from forge.core.embedder import Meaning
from forge.fs import ReadFS
from forge.model.messages import ToolSpec
from pitlake.errors import BadInput

MOST_RESULTS = 50
SPEC = ToolSpec(
    "search",
    "Semantic search across files in a scope.\n\n"
    "Unlike read() which takes exact paths, search() finds\n"
    "relevant items using meaning, not just keywords.\n\n"
    "  search('/memory/views/', 'consumer weakness themes')\n"
    "  search('/memory/observations/', 'credit spread anomaly')\n"
    "  search('/memory/', 'anything related to V-019')\n"
    "  search('/memory/pk/', 'rate view lessons',\n"
    "         filters='weight>=0.4 since:2026-01')\n\n"
    "Returns ranked results with headers and relevance scores.\n"
    "Use read(path, depth='full') to expand any result.",
    schema(
        {
            "scope": {"type": "string", "description": "Directory to search within"},
            "query": {"type": "string", "description": "Natural language search query"},
            "filters": {"type": "string", "description": "Optional metadata filters: key:value since:date key>=N"},
            "max_results": {"type": "integer", "default": 5, "minimum": 1, "maximum": MOST_RESULTS},
        },
        "scope",
        "query",
    ),
)


class SearchTool:
    """The tool `search` over a turn's files."""

    spec = SPEC

    def __init__(self, fs: ReadFS, meaning: Meaning) -> None:
        self._fs, self._meaning = fs, meaning

    async def execute(
        self, call_id: str, /, scope: str, query: str, filters: str | None = None, max_results: int = 5
    ) -> str:
        """Return ranked headers. Raises BadInput for a scope that is not a folder, and for invalid filters."""
        if not self._fs.is_dir(scope):
            raise BadInput("scope", f"{scope[:80]!r} is not a folder", "give a folder such as /memory/views/")
        paths, without, folders, problem = [], [], [scope.rstrip("/") + "/"], None
        while folders:
            folder = folders.pop(0)
            entries = self._fs.list_dir(folder)
            inner = [entry.name for entry in entries if entry.name.endswith("/")]
            folders += [folder + name for name in inner if not name.startswith(".")]
            try:
                matches = self._fs.list_dir(folder, filters)
                paths += [folder + entry.name for entry in matches if entry.name not in inner]
            except BadInput as refused:
                problem = refused
                without += [folder] if len(entries) > len(inner) else []  # It lacks the filters' fields.
        if problem and not paths:
            raise problem
        remembered = self._fs.remembered
        rows = [remembered.newest(path.replace("/session/", f"/session/{remembered.session}/", 1)) for path in paths]
        dated = [(path, row) for path, row in zip(paths, rows, strict=True) if row is not None]
        texts = [row.content for _, row in dated]
        written_at = [remembered.written_at(row) for _, row in dated]
        newest = max([remembered.as_of, *written_at])
        hits = self._meaning.rank(query, texts, written_at, newest, max_results)
        parts = [f"Search: '{query}' in {scope} ({len(hits)} results)"]
        for hit in hits:
            path = dated[hit.position][0]
            text = self._fs.read_lines(path, 1, HEADER_LINES)
            parts.append(f"\n  [{hit.score:.2f}] {path}\n{marked(text, path) if path.startswith(CONTEXT) else text}")
        if not hits:
            parts = [f"No results found in {scope} for '{query}'"]
        if without:
            parts.append(f"\n[left out, since they do not have these fields: {', '.join(without)}]")
        return "\n".join(parts)
