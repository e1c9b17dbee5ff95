"""The loop: a model calls tools until it answers. It works with any provider and records every step on the tape."""

from collections import Counter
from collections.abc import Callable, Mapping

from forge.agent.conversation import STOPS, UNSENT, Conversation, End, LoopLimits
from forge.agent.room import make_room
from forge.agent.tools.base import FAILED, Tool, run_tool
from forge.agent.tools.calls import interpret_calls, shows_call
from forge.agent.tools.write import WRITTEN
from forge.core.tape import Lane
from forge.model.messages import Call, Model, Results, Returned
from forge.model.usage import UNKNOWN, Window
from pitlake.recorder import canonical


def no_progress(_line: str) -> None:
    """Ignore a line of progress."""


async def loop(
    model: Model,
    lane: Lane,
    conversation: Conversation,
    tools: Mapping[str, Tool],
    limits: LoopLimits,
    on_progress: Callable[[str], None],
    window: Window = UNKNOWN,
) -> tuple[str, End]:
    """Run a model and its tools until it answers, ends its plan or is stopped. Return the answer and the kind of end.

    model: the model, taped on the same lane. on_progress: called with a line for each step. window: the model's context
    window. Raises ModelFailed, Diverged.
    """
    specs, last, repeated = tuple(tool.spec for tool in tools.values()), "", Counter[str]()
    for _ in range(limits.turns):
        await make_room(lane, conversation, window, on_progress)
        answer = await model.ask(conversation.request(specs))
        if why := UNSENT.get(answer.finish):
            return conversation.stop(last, why, answer.text), why
        if answer.finish == "too_long":
            if conversation.shorten_older() or conversation.shorten_newest():
                continue
            return conversation.stop(last, "too_long"), "too_long"
        conversation.add_answer(answer := interpret_calls(answer, tools, conversation.messages), model.id)
        on_progress(window.usage(answer).describe())
        last = answer.text or last
        if why := STOPS.get(answer.finish):
            return conversation.stop(last, why), why
        if not answer.calls:
            if conversation.ask_again(shows_call(answer.text, tools, conversation.messages[:-1])):
                continue
            return (answer.text, "answered") if answer.text.strip() else (conversation.stop(last, "empty"), "empty")
        returned = [Returned(call, await _called(lane, tools, call, on_progress)) for call in answer.calls]
        compact_calls = [
            result.call for result in returned if result.call.name == "compact" and FAILED not in result.text
        ]
        targets = [call.arguments.get("target") for call in compact_calls if isinstance(call.arguments, dict)]
        if "conversation" in targets:
            conversation.compact_results()
        conversation.messages.append(Results(tuple(returned)))
        if conversation.plan and not conversation.next_form():
            return returned[-1].text, "answered"
        exchanges = {canonical([result.call.name, result.call.arguments, result.text]) for result in returned}
        if not exchanges <= repeated.keys():
            repeated.clear()  # The results are new, so the repeated calls were not a loop.
        repeated.update(exchanges)
        if max(repeated.values()) >= limits.repeats:
            return conversation.stop(last, "repeated"), "repeated"
    return conversation.stop(last, "turns"), "turns"


async def _called(lane: Lane, tools: Mapping[str, Tool], call: Call, on_progress: Callable[[str], None]) -> str:
    on_progress(f"{call.name} {canonical(call.arguments)[:100]}")
    call_id = lane.next_id
    text = await lane.once("tool", [call.name, call.arguments], lambda: run_tool(tools, call, call_id))
    if call.name.startswith("write") and not text.startswith(WRITTEN):
        on_progress(f"refused: {' '.join(text.split())}")
    return text
