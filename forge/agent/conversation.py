"""What a loop holds: the messages of the next request, its limits, and what it says where a model can't."""

from dataclasses import dataclass, field, replace
from typing import Literal

from forge.model.messages import Message, Results

End = Literal["answered", "refused", "cut", "turns", "budget", "repeated"]
REASONS: dict[End, str] = {
    "refused": "the model refused to answer",
    "cut": "the answer was cut at the model's limit",
    "turns": "the limit of turns was reached",
    "budget": "a budget is reached",
    "repeated": "the same call was made three times",
}
COMPACTED = "[compacted: see what compact answered]"
SHOWN = 12


@dataclass(frozen=True)
class LoopLimits:
    """When a loop stops. turns: requests to the model; repeats: of one call."""

    turns: int = 40
    repeats: int = 3


@dataclass
class Conversation:
    """What the next request says. models: the ids that answered; tokens: used so far; role: which its requests
    bear; stopped: why it came to an end without an answer.
    """

    system: str
    messages: list[Message]
    role: str = "agent"
    models: set[str] = field(default_factory=set)
    tokens: int = 0
    stopped: str = ""

    def results(self) -> str:
        """Every tool result the next request would show."""
        return "\n\n".join(
            f"--- {one.call.name} ---\n{one.text}"
            for message in self.messages
            if isinstance(message, Results)
            for one in message.returned
            if one.text != COMPACTED
        )

    def compacted(self) -> None:
        """Put a note in the place of every tool result so far, in all requests to come. The tape keeps them."""
        for place, message in enumerate(self.messages):
            if isinstance(message, Results):
                told = tuple(replace(one, text=COMPACTED) for one in message.returned if one.call.name != "compact")
                kept = {one.call.id: one for one in told}
                self.messages[place] = Results(tuple(kept.get(one.call.id, one) for one in message.returned))

    def ended(self, last: str, why: End, told: str = "") -> str:
        """What is known and what is missing, said by code. told: why it ended, where more is known than its kind."""
        self.stopped = told or REASONS[why]
        given = [one for message in self.messages if isinstance(message, Results) for one in message.returned]
        known = [f"- {one.call.name}: {(one.text.splitlines() or [''])[0][:160]}" for one in given]
        lines = [f"STOPPED: {self.stopped}.", "KNOWN:", *(known[-SHOWN:] or ["- nothing was asked"])]
        missing = "MISSING: an answer that takes all of this into account."
        return "\n".join([*([last] if last else []), *lines, missing])
