"""The loop: a model asks for tools until it answers. It knows no provider, and every step goes over the tape."""

from collections import Counter
from collections.abc import Callable, Mapping

from forge.agent.conversation import Conversation, End, LoopLimits
from forge.agent.tools.base import FAILED, Tool, run
from forge.core.tape import Lane, canonical
from forge.model.messages import Call, Finish, Model, Request, Results, Returned

STOPS: Mapping[Finish, End] = {"refused": "refused", "length": "cut"}


def unsaid(_line: str) -> None:
    """Tell nobody."""


async def loop(
    model: Model,
    lane: Lane,
    talk: Conversation,
    tools: Mapping[str, Tool],
    limits: LoopLimits,
    said: Callable[[str], None],
) -> tuple[str, End]:
    """The answer, and how it came to an end. model: taped on the same lane; said: is told of each call.

    Raises ModelFailed, Diverged.
    """
    specs, seen, last = tuple(tool.spec for tool in tools.values()), Counter[str](), ""
    for _ in range(limits.turns):
        answer = await model.ask(Request(talk.system, tuple(talk.messages), specs, role=talk.role))
        if answer.finish == "budget":
            return talk.ended(last, "budget", answer.text), "budget"
        talk.messages.append(answer)
        talk.models.add(answer.model or model.id)
        talk.tokens += answer.input_tokens + answer.output_tokens
        last = answer.text or last
        if why := STOPS.get(answer.finish):
            return talk.ended(last, why), why
        if not answer.calls:
            return answer.text, "answered"
        returned = []
        for call in answer.calls:
            said(f"{call.name} {canonical(call.arguments)[:100]}")
            returned.append(Returned(call, await _called(lane, tools, call)))
            seen[canonical([call.name, call.arguments])] += 1
        if any(_compacts(one) for one in returned):
            talk.compacted()
        talk.messages.append(Results(tuple(returned)))
        if max(seen.values()) >= limits.repeats:
            return talk.ended(last, "repeated"), "repeated"
    return talk.ended(last, "turns"), "turns"


async def _called(lane: Lane, tools: Mapping[str, Tool], call: Call) -> str:
    call_id = lane.next_id
    return await lane.once("tool", [call.name, call.arguments], lambda: run(tools, call, call_id))


def _compacts(given: Returned) -> bool:
    arguments = given.call.arguments
    asked = given.call.name == "compact" and isinstance(arguments, dict) and arguments.get("target") == "conversation"
    return asked and FAILED not in given.text
