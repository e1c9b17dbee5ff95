"""The tool `fetch`: gets a source's data as of the turn's instant, stores it in a file and returns a summary."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from forge.agent.tools.base import Files, schema, tokens
from forge.agent.tools.text import CONTEXT, marked, one_line, quoted
from forge.memory import Remembered, Row
from forge.model.messages import ToolSpec
from pitlake.errors import BadInput, LakeError, PitlakeError, for_agents

_NAME = re.compile(r"/context/(ctx_[0-9]{3,9})\.md$")


class Fetched(Protocol):
    """The response from a source."""

    @property
    def label(self) -> str:
        """Return a label of the fetched data."""

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows of the answer."""

    def format_full(self) -> str:
        """Return the whole answer."""

    def format_summary(self) -> str:
        """Return a summary of at most 100 tokens."""


Asks = Callable[[Mapping[str, Any]], Awaitable[Fetched]]
"""A source: a function from parameters to its data as of the turn's instant. Raises PitlakeError."""


class Shelf:
    """Stores fetched data.

    Numbers the files of a session consecutively, for all tools. earlier_rows: the decision's earlier writes, so that a
    repeated call keeps its number.
    """

    def __init__(self, remembered: Remembered, earlier_rows: Iterable[Row] = ()) -> None:
        self._of_call = {row.call_id: match[1] for row in earlier_rows if (match := _NAME.search(row.path))}
        names = [
            match[1] for path in remembered.paths(f"/session/{remembered.session}/") if (match := _NAME.search(path))
        ]
        self._last = max((int(name[4:]) for name in (*names, *self._of_call.values())), default=0)

    def keep(self, fs: Files, call_id: str, text: str) -> str:
        """Store a text and return the name of its file."""
        name = self._of_call.get(call_id)
        if name is None:
            self._last += 1
            name = self._of_call[call_id] = f"ctx_{self._last:03d}"
        fs.write_file(f"{CONTEXT}{name}.md", text, call_id=call_id)
        return name


class FetchTool:
    """The tool `fetch` over a turn's sources. keep: stores the text of a call and returns the name of its file."""

    def __init__(self, keep: Callable[[str, str], str], sources: Mapping[str, Asks]) -> None:
        self._keep, self._sources = keep, sources
        names = ", ".join(sources)
        self.spec = ToolSpec(
            "fetch",
            f"Fetch external data.\nSources: {names}\n\n"
            "Returns a summary. Full content stored at "
            "/session/context/ctx_NNN.md — use read(depth='full').",
            schema(
                {"source": {"type": "string", "enum": list(sources)}, "params": {"type": "object"}}, "source", "params"
            ),
        )

    async def execute(self, call_id: str, /, source: str, params: dict[str, Any]) -> str:
        """Fetch and store the data. Return the file and a summary, or one line that describes the failure."""
        try:
            result = await self._sources[source](params)
        except PitlakeError as problem:
            message = for_agents(problem)
            kind = type(problem) if message == str(problem) else LakeError
            page = f"; see read('/help/{source}.md')" if isinstance(problem, BadInput) else ""
            return f"[FETCH FAILED | {source}] {kind.__name__}: {quoted(message)}{page}"
        full = result.format_full()
        name = self._keep(call_id, full)
        head = f"[{name} | {source} | {one_line(result.label)} | {tokens(full)} tok]"
        return f"{head}\n{marked(result.format_summary(), name)}"
