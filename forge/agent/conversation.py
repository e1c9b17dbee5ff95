"""The state of a loop: the next request's messages, its limits, and the text that explains why it stopped."""

from dataclasses import dataclass, field, replace
from typing import Literal

from forge.model.messages import Message, Results

End = Literal["answered", "refused", "cut", "turns", "budget", "repeated", "empty"]
REASONS: dict[End, str] = {
    "refused": "the model refused to answer",
    "cut": "the answer was cut at the model's limit",
    "turns": "the limit of turns was reached",
    "budget": "a budget is reached",
    "empty": "the model gave an empty answer",
    "repeated": "the same call was made three times",
}
COMPACTED = "[compacted: see the answer of compact]"
SHOWN = 12


@dataclass(frozen=True)
class LoopLimits:
    """When a loop stops. turns: requests to the model; repeats: of one identical call."""

    turns: int = 40
    repeats: int = 3


@dataclass
class Conversation:
    """The next request's content. models: ids of the models that answered; tokens: used so far; role: of its requests;
    stopped: why it ended without an answer.
    """

    system: str
    messages: list[Message]
    role: str = "agent"
    models: set[str] = field(default_factory=set)
    tokens: int = 0
    stopped: str = ""

    def tool_results(self) -> str:
        """Return every tool result that the next request would show."""
        return "\n\n".join(
            f"--- {result.call.name} ---\n{result.text}"
            for message in self.messages
            if isinstance(message, Results)
            for result in message.returned
            if result.text != COMPACTED
        )

    def compact_results(self) -> None:
        """Replace every tool result so far by a note in later requests. The tape keeps the results."""
        for place, message in enumerate(self.messages):
            if isinstance(message, Results):
                notes = tuple(
                    replace(result, text=COMPACTED) for result in message.returned if result.call.name != "compact"
                )
                by_id = {result.call.id: result for result in notes}
                self.messages[place] = Results(tuple(by_id.get(result.call.id, result) for result in message.returned))

    def stop(self, last: str, why: End, reason: str = "") -> str:
        """Stop the conversation and return a text that says why and lists what is known.

        reason: why it stopped, if more is known than the kind of end.
        """
        self.stopped = reason or REASONS[why]
        results = [result for message in self.messages if isinstance(message, Results) for result in message.returned]
        facts = [f"- {result.call.name}: {(result.text.splitlines() or [''])[0][:160]}" for result in results]
        lines = [f"STOPPED: {self.stopped}.", "KNOWN:", *(facts[-SHOWN:] or ["- no tool was called"])]
        missing = "MISSING: an answer that takes all of this into account."
        return "\n".join([*([last] if last else []), *lines, missing])
