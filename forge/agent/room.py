"""Keeps requests within a model's context window.

When a request would fill more than a given share of the window, older tool calls and results are shortened. The size
is estimated only from recorded answers, so a replay shortens the same requests.
"""

from collections.abc import Callable

from forge.agent.conversation import Conversation
from forge.core.tape import Lane
from forge.model.usage import Window


async def make_room(lane: Lane, conversation: Conversation, window: Window, on_progress: Callable[[str], None]) -> None:
    """Shorten older tool calls and results if the next request would fill the share of the window.

    The newest results are shortened only if the request would not fit otherwise. The shortening is recorded as a step
    on the lane. Raises Diverged.
    """
    expected = conversation.expected_tokens()
    if window.tokens is None or expected < window.limit:
        return
    shortened = conversation.shorten_older()
    if conversation.expected_tokens() > window.tokens:
        shortened = conversation.shorten_newest() or shortened
    if shortened:
        left = conversation.expected_tokens()
        text = f"about {expected:,} tokens, {expected / window.tokens:.0%} of the window, shortened to {left:,}"

        async def describe() -> str:
            return text

        on_progress(f"compaction: {await lane.once('compaction', [expected, window.limit], describe)}")
