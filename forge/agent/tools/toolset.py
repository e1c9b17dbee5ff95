"""The tools of each role. A role cannot call other tools."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from forge.agent.conversation import Conversation
from forge.agent.tools.base import Tool
from forge.agent.tools.compact import CompactTool
from forge.agent.tools.fetch import Asks, FetchTool, Shelf
from forge.agent.tools.planned import PLANS, ShortView
from forge.agent.tools.read import ReadTool
from forge.agent.tools.search import SearchTool
from forge.agent.tools.typed import typed_writes
from forge.agent.tools.write import WriteTool
from forge.core.embedder import Meaning
from forge.fs import ForgeFS
from forge.model.messages import Model, ToolSpec
from forge.records import KINDS
from forge.records.examples import EXAMPLES
from forge.records.kinds import NEW
from forge.records.text import schema

PROFILES = {"small": ("read", "fetch", "write", "write_view")}
"""The tools of each profile that does not have all tools."""
Profile = tuple[str, bool]
FULL: Profile = ("full", False)


class Writes:
    """The tool `write`, adapted to the interface that the loop calls."""

    spec = ToolSpec(WriteTool.TOOL_DEF["name"], WriteTool.TOOL_DEF["description"], WriteTool.TOOL_DEF["input_schema"])

    def __init__(self, fs: ForgeFS) -> None:
        self._tool = WriteTool(fs)

    async def execute(self, call_id: str, /, path: str, content: str) -> str:
        """Write content, and return the path or the error."""
        return self._tool.execute(path, content, call_id=call_id)

    def right_call(self, arguments: Mapping[str, Any]) -> str:
        """Return the correct call if a record's fields were given as arguments, "" if none were."""
        kinds = [KINDS[name] for name in EXAMPLES]
        kind = max(kinds, key=lambda kind: len(arguments.keys() & schema(kind.cls).keys()))
        if not arguments.keys() & schema(kind.cls).keys():
            return ""
        path = kind.path(NEW)
        return f": for this record write(path={path!r}, content=ITS_FIELDS_AS_JSON); see read('/help/{kind.name}.md')"


def agent_tools(
    fs: ForgeFS,
    meaning: Meaning,
    asks: Mapping[str, Asks],
    model: Callable[[str], Model],
    conversation: Conversation,
    shelf: Shelf,
    crew: tuple[Tool, ...],
    profile: Profile = FULL,
) -> dict[str, Tool]:
    """Return the agent's eight tools, or those of a profile.

    model: returns compact's model for a call. crew: dispatch, collect, review. profile: the profile in the
    settings, and whether each kind of record has a separate write tool.
    """
    tools: tuple[Tool, ...] = (
        ReadTool(fs),
        SearchTool(fs, meaning),
        Writes(fs),
        FetchTool(partial(shelf.keep, fs), asks),
        *crew,
        CompactTool(model, fs, conversation),
        *(typed_writes(fs) if profile[1] else ()),
        *([ShortView(fs)] if tuple(profile) in PLANS else ()),
    )
    by_name = {tool.spec.name: tool for tool in tools}
    return {name: tool for name, tool in by_name.items() if name in PROFILES.get(profile[0], by_name)}
