"""The state of a loop: the next request's messages, its limits, and the text that explains why it stopped."""

from dataclasses import dataclass, field, replace
from typing import Literal

from forge.model.budget import CHARACTERS_A_TOKEN
from forge.model.messages import Answer, Finish, Message, Request, Results, ToolSpec
from pitlake.recorder import canonical

End = Literal["answered", "refused", "cut", "turns", "budget", "stopped", "repeated", "empty", "too_long"]
REASONS: dict[End, str] = {
    "refused": "the model refused to answer",
    "cut": "the answer was cut at the model's limit",
    "turns": "the limit of turns was reached",
    "budget": "a budget is reached",
    "stopped": "the PM stopped it",
    "empty": "the model gave an empty answer",
    "too_long": "the conversation is longer than the model takes, and cannot be shortened further",
    "repeated": "the same call was made three times",
}
UNSENT: dict[Finish, End] = {"budget": "budget", "stopped": "stopped"}
"""The kinds of end at which no request was sent."""
STOPS: dict[Finish, End] = {"refused": "refused", "length": "cut"}
EMPTY = "Your answer was empty. Answer, or call a tool."
SHOWN_CALL = (
    'Nothing was called. To call a tool, write the call alone, as {"name": "read", "arguments": {"path": "/memory/"}}. '
    "If your answer only shows a call, repeat it."
)
TRIES = 2
"""How often a model may try a call of its plan."""
COMPACTED = "[compacted: see the result of compact]"
SHORTENED = "[shortened: read the file, or call the tool with less, to see more]"
SHORT = 400
SHOWN = 12


@dataclass(frozen=True)
class LoopLimits:
    """The limits of a loop. turns: the most requests to the model. repeats: the most identical calls."""

    turns: int = 40
    repeats: int = 3


@dataclass
class Conversation:
    """A conversation, from which the next request is made.

    models: ids of the models that answered. tokens: tokens used so far. role: the role of its requests. stopped: the
    reason for ending without an answer. stable: as in `Request`. plan: the tools to call in order; the last call
    is the answer. If the plan is empty, the model calls tools and answers freely.
    """

    system: str
    messages: list[Message]
    role: str = "agent"
    models: set[str] = field(default_factory=set)
    tokens: int = 0
    stopped: str = ""
    stable: int | None = None
    plan: tuple[ToolSpec, ...] = ()
    _counted: tuple[int, int] = (0, 0)
    """The tokens of the last request with its answer, and the characters of the messages at that time."""

    def request(self, tools: tuple[ToolSpec, ...]) -> Request:
        """Return the next request. With a plan, it contains the form of the next call instead of tools."""
        tools, form = ((), self.next_form()) if self.plan else (tools, None)
        return Request(self.system, tuple(self.messages), tools, role=self.role, stable=self.stable, form=form)

    def next_form(self) -> ToolSpec | None:
        """Return the first tool of the plan that has not succeeded and may still be tried."""
        results = [result for message in self.messages if isinstance(message, Results) for result in message.returned]
        for tool in self.plan:
            failures = [result.failed for result in results if result.call.name == tool.name]
            if all(failures) and len(failures) < TRIES:
                return tool
        return None

    def add_answer(self, answer: Answer, model: str) -> None:
        """Add a model's answer. model: the model's configured id."""
        self.messages.append(answer)
        self.models.add(answer.model or model)
        tokens = answer.input_tokens + answer.output_tokens
        self.tokens += tokens
        size = self._characters()
        self._counted = (tokens if answer.input_tokens else size // CHARACTERS_A_TOKEN, size)

    def ask_again(self, shows_call: bool) -> bool:
        """Ask once for another answer if the last answer is empty or shows a call in prose. Return whether it did.

        The new request replaces an empty answer, because providers reject empty messages.
        """
        last = self.messages[-1]
        is_empty = isinstance(last, Answer) and not last.text.strip()
        request = SHOWN_CALL if shows_call else EMPTY if is_empty else ""
        if not request or request in self.messages:
            return False
        self.messages[-1:] = [request] if is_empty else [last, request]
        return True

    def expected_tokens(self) -> int:
        """Estimate the tokens of the next request from the provider's last count and the change in text length."""
        tokens, size = self._counted
        return tokens + (self._characters() - size) // CHARACTERS_A_TOKEN

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
        """Replace every tool result so far with a note in later requests. The tape keeps the results."""
        for place, message in enumerate(self.messages):
            if isinstance(message, Results):
                notes = tuple(
                    replace(result, text=COMPACTED) for result in message.returned if result.call.name != "compact"
                )
                by_id = {result.call.id: result for result in notes}
                self.messages[place] = Results(tuple(by_id.get(result.call.id, result) for result in message.returned))

    def shorten_older(self) -> bool:
        """Shorten tool calls and results in later requests, except the newest.

        Return whether any of them was shortened. The tape and the files keep the full texts.
        """
        return self._shorten(range(self._newest() - 1))

    def shorten_newest(self) -> bool:
        """Shorten the newest tool calls and results in later requests. Return whether any was shortened."""
        return self._shorten(range(max(0, self._newest() - 1), len(self.messages)))

    def stop(self, last: str, why: End, reason: str = "") -> str:
        """Stop the conversation and return a text with the reason and the tool results so far.

        reason: a reason that is more specific than the kind of end.
        """
        self.stopped = reason or REASONS[why]
        results = [result for message in self.messages if isinstance(message, Results) for result in message.returned]
        facts = [f"- {result.call.name}: {(result.text.splitlines() or [''])[0][:160]}" for result in results]
        lines = [f"STOPPED: {self.stopped}.", "KNOWN:", *(facts[-SHOWN:] or ["- no tool was called"])]
        missing = "MISSING: a final answer that uses these results."
        return "\n".join([*([last] if last else []), *lines, missing])

    def _characters(self) -> int:
        return len(canonical(self.request(()).canonical()["messages"]))

    def _newest(self) -> int:
        """Return the position of the newest results, or 0 if there are none."""
        return max((place for place, message in enumerate(self.messages) if isinstance(message, Results)), default=0)

    def _shorten(self, places: range) -> bool:
        before = list(self.messages)
        for place in places:
            message = self.messages[place]
            if isinstance(message, Results):
                shorter = tuple(replace(result, text=_short(result.text)) for result in message.returned)
                self.messages[place] = Results(shorter)
            elif isinstance(message, Answer):
                calls = list(message.calls)
                for number, call in enumerate(calls):
                    if isinstance(call.arguments, dict):
                        pairs = call.arguments.items()
                        arguments = {name: _short(text) if isinstance(text, str) else text for name, text in pairs}
                        calls[number] = replace(call, arguments=arguments)
                self.messages[place] = replace(message, calls=tuple(calls))
        return self.messages != before


def _short(text: str) -> str:
    return text if len(text) <= SHORT + len(SHORTENED) + 1 else f"{text[:SHORT]}\n{SHORTENED}"
