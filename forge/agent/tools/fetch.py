"""fetch: data of a source as of the turn's instant. A summary is the answer, all of it a file of the session."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

from forge.agent.tools.base import Files, schema, tokens
from forge.memory import Remembered, Row
from forge.model.messages import ToolSpec
from pitlake.errors import LakeError, PitlakeError, for_agents

CONTEXT = "/session/context/"
FETCHED = f"{CONTEXT}ctx_"
"""What the paths of kept answers begin with. Figures are proven by them, so nobody else writes there."""
_NAME = re.compile(r"/context/(ctx_[0-9]{3,9})\.md$")


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


class Shelf:
    """Where what was fetched is kept. The files of one session are numbered through, whoever fetches.

    written: what the decision wrote before, so that a call that is done again keeps its number.
    """

    def __init__(self, known: Remembered, written: Iterable[Row] = ()) -> None:
        self._of_call = {row.call_id: found[1] for row in written if (found := _NAME.search(row.path))}
        names = [found[1] for path in known.paths(f"/session/{known.session}/") if (found := _NAME.search(path))]
        self._last = max((int(name[4:]) for name in (*names, *self._of_call.values())), default=0)

    def keep(self, fs: Files, call_id: str, text: str) -> str:
        """Keep a text; the name of its file."""
        name = self._of_call.get(call_id)
        if name is None:
            self._last += 1
            name = self._of_call[call_id] = f"ctx_{self._last:03d}"
        fs.write_file(f"{CONTEXT}{name}.md", text, call_id=call_id)
        return name


class FetchTool:
    """fetch over a turn's sources. keep: of a call id and a text, keeps it and gives the name of its file."""

    def __init__(self, keep: Callable[[str, str], str], sources: Mapping[str, Asks]) -> None:
        self._keep, self._sources = keep, sources
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
        name = self._keep(call_id, full)
        return f"[{name} | {source} | {found.label} | {tokens(full)} tok]\n{found.format_summary()}"
