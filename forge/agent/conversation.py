"""The state of a loop: the next request's messages, its limits, and the text that explains why it stopped."""

from dataclasses import dataclass, field, replace
from typing import Literal, cast

from forge.model.messages import Message, Results

End = Literal["answered", "refused", "cut", "turns", "budget", "repeated", "empty", "too_long"]
REASONS: dict[End, str] = {
    "refused": "the model refused to answer",
    "cut": "the answer was cut at the model's limit",
    "turns": "the limit of turns was reached",
    "budget": "a budget is reached",
    "empty": "the model gave an empty answer",
    "too_long": "the conversation is longer than the model takes, and cannot be shortened further",
    "repeated": "the same call was made three times",
}
COMPACTED = "[compacted: see the answer of compact]"
SHORTENED = "[shortened: read the file, or call the tool with less, to see more]"
SHORT = 400
SHOWN = 12


@dataclass(frozen=True)
class LoopLimits:
    """The limits of a loop. turns: requests to the model; repeats: of one identical call."""

    turns: int = 40
    repeats: int = 3


@dataclass
class Conversation:
    """The next request's content. models: ids of the models that answered; tokens: used so far; role: of its requests;
    stopped: the reason it ended without an answer.
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

    def shorten(self) -> bool:
        """Shorten tool results in later requests: all but the newest, or those too if the others are short.

        Return whether there was anything to shorten. The tape keeps the results.
        """
        places = [place for place, message in enumerate(self.messages) if isinstance(message, Results)]
        for chosen in (places[:-1], places[-1:]):
            before = list(self.messages)
            for place in chosen:
                results = cast("Results", self.messages[place]).returned
                self.messages[place] = Results(tuple(replace(result, text=_short(result.text)) for result in results))
            if self.messages != before:
                return True
        return False

    def stop(self, last: str, why: End, reason: str = "") -> str:
        """Stop the conversation and return a text with the reason and what is known.

        reason: why it stopped, if more is known than the kind of end.
        """
        self.stopped = reason or REASONS[why]
        results = [result for message in self.messages if isinstance(message, Results) for result in message.returned]
        facts = [f"- {result.call.name}: {(result.text.splitlines() or [''])[0][:160]}" for result in results]
        lines = [f"STOPPED: {self.stopped}.", "KNOWN:", *(facts[-SHOWN:] or ["- no tool was called"])]
        missing = "MISSING: an answer that takes all of this into account."
        return "\n".join([*([last] if last else []), *lines, missing])


def _short(text: str) -> str:
    return text if len(text) <= SHORT + len(SHORTENED) + 1 else f"{text[:SHORT]}\n{SHORTENED}"
