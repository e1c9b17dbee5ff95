"""A decision's receipt: all inputs of the decision, for replays, and whether its model may have known later events."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, cast

from forge.core.known_models import trained_to
from forge.core.tape import Tape
from forge.providers.base import At, ask
from pitlake.clock import now
from pitlake.errors import PitlakeError
from pitlake.questions import catalogue

Exposure = Literal["exposed", "partial", "clean"]


@dataclass(frozen=True)
class DecisionReceipt:
    """The receipt of a decision.

    Args:
        as_of: The decision's instant.
        market, memory: Versions of both lakes, None if nothing was published.
        tools: Requests to the lake and the hashes of its answers.
        models: Model id to knowledge cut-off, None if unknown.
        exposure: `clean` only if every cut-off is before as_of.
        prompt, skills: SHA-256.
        journal: seq and chain of the newest row remembered.
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


def exposure(cut_offs: Iterable[str | None], as_of: datetime, judged: date | None = None) -> Exposure:
    """Return whether models may have seen events after an instant. judged: the day that settles the forecast.

    clean: every cut-off is before the day of the instant. partial: a cut-off is after that day, but before the day that
    settles the forecast. exposed: any other case, including an unknown cut-off.
    """
    days = [cut_off_day and date.fromisoformat(cut_off_day) for cut_off_day in cut_offs]
    if not all(days):
        return "exposed"
    newest = max(cast("list[date]", days), default=None)
    if newest is None or newest < as_of.date():
        return "clean" if newest else "exposed"
    return "partial" if judged and newest < judged else "exposed"


def cut_off(model: str, lake: str | Path | None) -> str | None:
    """Return the last day of a model's training data, from today's registry or else `known_models`, or None."""
    name = model.rpartition(":")[2]
    at = At(as_of=now() - timedelta(seconds=1), lake=lake)
    try:
        rows = ask(catalogue.get("model_known"), {"model": name}, at)["rows"]
    except PitlakeError:
        rows = []
    dates = [row["knowledge_cutoff"] for row in rows if row.get("knowledge_cutoff")] or [trained_to(name)]
    return str(dates[0])[:10] if dates[0] else None


def cut_offs(models: Iterable[str], lake: str | Path | None) -> dict[str, str | None]:
    """Return the cut-offs of models, by their names."""
    return {model: cut_off(model, lake) for model in sorted(models)}


def recorded_cut_offs(tape: Tape) -> Callable[[str], list[str | None]]:
    """Return a function that looks up the cut-offs of a decision's models in the decision's receipt, if any."""

    def of(decision: str) -> list[str | None]:
        receipt = tape.receipt(decision)
        return list(json.loads(receipt)["models"].values()) if receipt else []

    return of
