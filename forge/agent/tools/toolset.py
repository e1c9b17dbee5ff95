"""The tools of each role. A role cannot call other tools."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import cast

from forge.agent.conversation import Conversation
from forge.agent.tools.base import Tool
from forge.agent.tools.compact import CompactTool
from forge.agent.tools.fetch import Asks, FetchTool, Shelf
from forge.agent.tools.read import ReadTool
from forge.agent.tools.search import SearchTool
from forge.agent.tools.write import WRITTEN, WriteTool
from forge.core.embedder import Meaning
from forge.fs import ForgeFS
from forge.model.messages import Model, ToolSpec
from forge.records import KINDS, Expression, parse
from pitlake.errors import BadInput, PitlakeError


class Writes:
    """The tool `write`, in the form that the loop calls."""

    spec = ToolSpec(WriteTool.TOOL_DEF["name"], WriteTool.TOOL_DEF["description"], WriteTool.TOOL_DEF["input_schema"])

    def __init__(self, fs: ForgeFS, market: Asks | None) -> None:
        self._fs, self._tool, self._market = fs, WriteTool(fs), market

    async def execute(self, call_id: str, /, path: str, content: str) -> str:
        """Write, and return the path or the fault. A note is added for an Expression that code can't follow."""
        answer = self._tool.execute(path, content, call_id=call_id)
        return answer + await self._note(answer.removeprefix(WRITTEN)) if answer.startswith(WRITTEN) else answer

    async def _note(self, path: str) -> str:
        kind = KINDS["expressions"]
        if self._market is None or not path.startswith(kind.folder):
            return ""
        instrument = cast("Expression", parse(kind, self._fs.read_file(path))).instrument
        try:
            bars = bool((await self._market({"op": "price", "ticker": instrument})).rows)
        except BadInput:
            bars = False
        except PitlakeError:
            return ""  # without a lake no instrument can be looked up
        note = f"Note: {instrument} has no daily bars here, so that the PM, not code, follows its target and stop."
        return "" if bars else f"\n{note}"


def agent_tools(
    fs: ForgeFS,
    meaning: Meaning,
    asks: Mapping[str, Asks],
    model: Callable[[str], Model],
    conversation: Conversation,
    shelf: Shelf,
    crew: tuple[Tool, ...],
) -> dict[str, Tool]:
    """Return the agent's eight tools. model: returns compact's model for a call; crew: dispatch, collect, review."""
    tools: tuple[Tool, ...] = (
        ReadTool(fs),
        SearchTool(fs, meaning),
        Writes(fs, asks.get("market")),
        FetchTool(partial(shelf.keep, fs), asks),
        *crew,
        CompactTool(model, fs, conversation),
    )
    return {tool.spec.name: tool for tool in tools}
