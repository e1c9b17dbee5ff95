"""The token meter: the tokens of each request and its answer, and the share of the model's window that they filled.

All of this is read from the tape. A window is recorded with the lane that it limits, because model lists change.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache

from forge.core.config import ContextSettings
from forge.core.tape import Lane, Tape
from forge.model.messages import Answer
from pitlake.recorder import canonical

WINDOW = "window"


@dataclass(frozen=True)
class Usage:
    """Tokens of a request and its answer, as the provider counts them.

    cached: the tokens of `input` that the provider had in its cache. window: the context window of the model, None if
    unknown.
    """

    input: int
    cached: int
    output: int
    window: int | None = None

    def describe(self) -> str:
        """Format the tokens as text."""
        text = f"{self.input:,} tokens in ({self.cached:,} cached), {self.output:,} out"
        return f"{text}, {self.input / self.window:.0%} of the window" if self.window else text


@dataclass(frozen=True)
class RequestUsage(Usage):
    """The usage of a request on the tape. lane, step: its place. model: its configured id."""

    lane: str = ""
    step: int = 0
    model: str = ""


@dataclass(frozen=True)
class Window:
    """A model's window.

    tokens: None if unknown. share: the share of the window from which older tool results are shortened.
    """

    tokens: int | None = None
    share: float = 1.0

    @property
    def limit(self) -> int:
        """The number of tokens above which a request is shortened; 0 for an unknown window."""
        return int((self.tokens or 0) * self.share)

    def usage(self, answer: Answer) -> Usage:
        """Return the token usage of a request and its answer."""
        return Usage(answer.input_tokens, answer.cached_tokens, answer.output_tokens, self.tokens)


UNKNOWN = Window()


def recorded_window(lane: Lane, model: str, settings: ContextSettings) -> Window:
    """Return the window that is recorded with a lane.

    If none is recorded, use the window in the settings or the built-in list, and record it.

    A replayed lane without a recorded window has none, because it was recorded without one.
    """
    window = UNKNOWN
    if lane.mode == "record":
        window = Window(settings.windows.get(model) or _listed(model), settings.compact_at)
    return Window(**json.loads(lane.keep_content(WINDOW, canonical(asdict(window)))))


def usages(tape: Tape, decision: str) -> tuple[RequestUsage, ...]:
    """Return the usage of every answered request of a decision, by lane and step number."""
    suffix = f" {WINDOW}"
    windows = {
        name.removesuffix(suffix): json.loads(content)["tokens"]
        for name, content in tape.contents(decision).items()
        if name.endswith(suffix)
    }
    counted = []
    for step in tape.steps(decision):
        answer = json.loads(step.answer) if step.kind == "model" else {}
        if answer.get("finish") not in (None, "budget", "stopped", "too_long"):
            tokens = answer["input_tokens"], answer.get("cached_tokens", 0), answer["output_tokens"]
            model = str(json.loads(step.request)["model"])
            counted.append(RequestUsage(*tokens, windows.get(step.lane), step.lane, step.step, model))
    return tuple(counted)


def total(requests: Sequence[Usage]) -> str:
    """Return one line that summarises all requests of a decision."""
    count = f"{len(requests)} request{'' if len(requests) == 1 else 's'}"
    sums = (sum(getattr(used, name) for used in requests) for name in ("input", "cached", "output"))
    text = "{}: {:,} tokens in ({:,} cached), {:,} out".format(count, *sums)
    shares = [used.input / used.window for used in requests if used.window]
    return f"{text}, at most {max(shares):.0%} of a window" if shares else text


@cache
def _listed(model: str) -> int | None:
    from genai_prices.data_snapshot import get_snapshot

    provider, _, name = model.partition(":")
    try:
        _, known_model = get_snapshot().find_provider_model(name, None, provider, None)
    except LookupError:
        return None
    return known_model.context_window
