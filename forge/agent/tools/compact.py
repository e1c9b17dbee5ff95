"""The tool `compact`: summarises a text for one purpose. Applied to the conversation, it replaces older results.

The tape keeps the originals.
"""

from collections.abc import Callable

from forge.agent.conversation import Conversation
from forge.agent.tools.base import Readable, schema
from forge.agent.tools.text import marked
from forge.model.messages import Model, Request, ToolSpec
from pitlake.errors import BadInput

MAX_TOKENS = 400
PROMPT = (
    "Compress the source to answer the FOCUS question. "
    "Keep numbers, dates, key facts. Drop process artifacts "
    "and anything irrelevant to the focus. "
    "50-100 words. Never exceed 150."
)
SPEC = ToolSpec(
    "compact",
    "Re-compress context for your current reasoning purpose.\n\n"
    "  compact('session_history', 'decisions affecting rates')\n"
    "  compact('sa_growth', 'just the confidence change')\n"
    "  compact('all_results', 'summary table for integration')\n"
    "  compact('conversation', 'what matters for the view') — older tool results leave the conversation\n\n"
    "Use before high-stakes reasoning to clear noise.",
    schema({"target": {"type": "string"}, "focus": {"type": "string"}}, "target", "focus"),
)


class CompactTool:
    """The tool `compact` over a turn's files and conversation. model: returns a call's model, on its own lane."""

    spec = SPEC

    def __init__(self, model: Callable[[str], Model], fs: Readable, conversation: Conversation) -> None:
        self._model, self._fs, self._conversation = model, fs, conversation

    async def execute(self, call_id: str, /, target: str, focus: str) -> str:
        """Return a summary of the source in 50 to 100 words. Raises ModelFailed, and BadInput if a budget is
        exceeded.
        """
        results = "/session/results/"
        if target == "conversation":
            source: str | None = self._conversation.tool_results()
        elif target == "session_history":
            source = self._text("/session/turn_history.md")
        elif target == "all_results":
            names = [entry.name for entry in self._fs.list_dir(results)] if self._fs.exists(results) else None
            texts = [f"--- {name} ---\n{self._fs.read_file(f'{results}{name}')}" for name in names or ()]
            source = None if names is None else "\n\n".join(texts)
        else:
            source = None if "/" in target else self._text(f"{results}{target}.md")
            source = source if source is not None else self._text(target)
        if source is None:
            return f"(target '{target[:80]}' not found)"
        text = f"FOCUS: {focus}\n\nSOURCE:\n{marked(source, target)}"
        answer = await self._model(call_id).ask(Request(PROMPT, (text,), max_tokens=MAX_TOKENS, role="compact"))
        if answer.finish in ("budget", "stopped", "too_long"):
            raise BadInput("compact", answer.text)
        return answer.text

    def _text(self, path: str) -> str | None:
        if not path.startswith("/") or not self._fs.exists(path) or self._fs.is_dir(path):
            return None
        return self._fs.read_file(path)
