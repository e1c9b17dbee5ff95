"""fetch: data of a source as of the turn's instant. A summary is the answer, all of it a file of the session."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from forge.errors import NotThere
from forge.model.messages import ToolSpec
from forge.tools.base import Files, schema, tokens
from pitlake.errors import LakeError, PitlakeError, for_agents

CONTEXT = "/session/context/"


class Fetched(Protocol):
    """What a source gave."""

    @property
    def label(self) -> str:
        """What was asked."""

    def format_full(self) -> str:
        """All of it."""

    def format_summary(self) -> str:
        """At most 100 tokens."""


Asks = Callable[[Mapping[str, Any]], Awaitable[Fetched]]
"""A source: parameters in, what it has as of the turn's instant out. Raises PitlakeError."""


class FetchTool:
    """fetch over a turn's sources. The files of one session are numbered through, whoever fetches."""

    def __init__(self, fs: Files, sources: Mapping[str, Asks]) -> None:
        self._fs, self._sources = fs, sources
        known = ", ".join(sources)
        self.spec = ToolSpec(
            "fetch",
            f"Fetch external data.\nSources: {known}\n\n"
            "Returns a summary. Full content stored at "
            "/session/context/ctx_NNN.md — use read(depth='full').",
            schema(
                {"source": {"type": "string", "enum": list(sources)}, "params": {"type": "object"}}, "source", "params"
            ),
        )

    async def execute(self, call_id: str, /, source: str, params: dict[str, Any]) -> str:
        """A line that names the file, and the summary; what failed is said in one line."""
        try:
            found = await self._sources[source](params)
        except PitlakeError as problem:
            told = for_agents(problem)
            kind = type(problem) if told == str(problem) else LakeError
            return f"[FETCH FAILED | {source}] {kind.__name__}: {told}"
        full = found.format_full()
        name = self._next()
        self._fs.write_file(f"{CONTEXT}{name}.md", full, call_id=call_id)
        return f"[{name} | {source} | {found.label} | {tokens(full)} tok]\n{found.format_summary()}"

    def _next(self) -> str:
        try:
            names = [entry.name for entry in self._fs.list_dir(CONTEXT)]
        except NotThere:
            names = []
        taken = [int(name[4:-3]) for name in names if name.startswith("ctx_") and name[4:-3].isdigit()]
        return f"ctx_{max(taken, default=0) + 1:03d}"
