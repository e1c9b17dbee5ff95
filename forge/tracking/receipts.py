"""A decision's receipt: all its inputs, for replays, and whether its model may have been trained on later events."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from forge.core.tape import Tape
from pitlake.models import Exposure
from pitlake.session.api import named_model


@dataclass(frozen=True)
class DecisionReceipt:
    """The receipt of a decision.

    Args:
        as_of: The decision's instant.
        market, memory: Versions of both lakes, None if nothing was published.
        tools: Requests to the lake and the hashes of its answers.
        models: Knowledge cut-offs by model id, None if unknown.
        exposure: `clean` only if every cut-off is before as_of.
        prompt, skills: SHA-256.
        journal: seq and chain of the newest row in memory.
    """

    decision: str
    session: str
    as_of: str
    market: int | None
    memory: int | None
    tools: tuple[dict[str, Any], ...]
    models: dict[str, str | None]
    exposure: Exposure
    prompt: str
    skills: str
    journal: tuple[int, str]
    end: str
    answer: str

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def cut_off(model: str, lake: str | Path | None) -> str | None:
    """Return the last day of a model's training data, from today's registry or its maker's publication, or None."""
    day = named_model(model, lake).trained_to
    return str(day) if day else None


def cut_offs(models: Iterable[str], lake: str | Path | None) -> dict[str, str | None]:
    """Return the cut-offs of models, by their names."""
    return {model: cut_off(model, lake) for model in sorted(models)}


def recorded_cut_offs(tape: Tape) -> Callable[[str], list[str | None]]:
    """Return a function that looks up the cut-offs of a decision's models in the decision's receipt, if any."""

    def of(decision: str) -> list[str | None]:
        receipt = tape.receipt(decision)
        return list(json.loads(receipt)["models"].values()) if receipt else []

    return of
