"""The loop: a model asks for tools until it answers. It knows no provider, and every step goes over the tape."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from forge.model.messages import Answer, Call, Message, Model, Request, Results, Returned, dumped, loaded
from forge.tape import Lane, canonical, digest
from forge.tools.base import Tool, run

End = Literal["answered", "refused", "cut", "turns", "tokens", "repeated"]
_REASONS: dict[End, str] = {
    "refused": "the model refused to answer",
    "cut": "the answer was cut at the model's limit",
    "turns": "the limit of turns was reached",
    "tokens": "the budget of tokens was used up",
    "repeated": "the same call was made three times",
}


@dataclass(frozen=True)
class Limits:
    """When a loop stops. turns: requests to the model; tokens: of all requests and answers; repeats: of one call."""

    turns: int = 40
    tokens: int = 1_000_000
    repeats: int = 3


@dataclass
class Conversation:
    """What the next request says. models: the ids that answered; tokens: used so far."""

    system: str
    messages: list[Message]
    models: set[str] = field(default_factory=set)
    tokens: int = 0

    def forget_results(self, note: str) -> int:
        """Put a note in the place of every tool result so far, in all requests to come; how many there were."""
        older = [place for place, one in enumerate(self.messages) if isinstance(one, Results)]
        for place in older:
            results = self.messages[place]
            assert isinstance(results, Results)
            self.messages[place] = Results(tuple(replace(one, text=note) for one in results.returned))
        return len(older)


async def loop(
    model: Model, lane: Lane, talk: Conversation, tools: Mapping[str, Tool], limits: Limits, said: Callable[[str], None]
) -> tuple[str, End]:
    """The answer, and how it came to an end. said: is told of each step. Raises ModelFailed, Diverged."""
    specs, seen, last = tuple(tool.spec for tool in tools.values()), Counter[str](), ""
    for _ in range(limits.turns):
        answer = await asked(model, lane, talk, Request(talk.system, tuple(talk.messages), specs))
        talk.messages.append(answer)
        last = answer.text or last
        if answer.finish in ("refused", "length"):
            return _ended(talk, last, "refused" if answer.finish == "refused" else "cut")
        if not answer.calls:
            return answer.text, "answered"
        returned = []
        for call in answer.calls:
            said(f"{call.name} {canonical(call.arguments)[:100]}")
            returned.append(Returned(call, await _called(lane, tools, call)))
            seen[canonical([call.name, call.arguments])] += 1
        talk.messages.append(Results(tuple(returned)))
        if max(seen.values()) >= limits.repeats:
            return _ended(talk, last, "repeated")
        if talk.tokens >= limits.tokens:
            return _ended(talk, last, "tokens")
    return _ended(talk, last, "turns")


async def asked(model: Model, lane: Lane, talk: Conversation, request: Request) -> Answer:
    """A model's answer, by way of the tape. Raises ModelFailed, Diverged."""

    async def ask() -> str:
        return dumped(await model.ask(request))

    answer = loaded(await lane.once("model", {"model": model.id, **request.canonical()}, ask))
    talk.models.add(answer.model or model.id)
    talk.tokens += answer.input_tokens + answer.output_tokens
    return answer


async def _called(lane: Lane, tools: Mapping[str, Tool], call: Call) -> str:
    call_id = lane.next_id
    return await lane.once("tool", [call.name, call.arguments], lambda: run(tools, call, call_id))


def _ended(talk: Conversation, last: str, why: End) -> tuple[str, End]:
    """What is known and what is missing, said by code where the model can't."""
    results = [one for message in talk.messages if isinstance(message, Results) for one in message.returned]
    known = [f"- {one.call.name} {digest(one.call.arguments)[:8]}: {one.text.splitlines()[0][:160]}" for one in results]
    parts = [last, f"STOPPED: {_REASONS[why]}.", "KNOWN:", *(known[-12:] or ["- nothing was asked"])]
    return "\n".join([part for part in parts if part] + ["MISSING: an answer that takes all of this into account."]), why
