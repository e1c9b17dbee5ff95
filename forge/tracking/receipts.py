"""A decision's receipt: all it stood on, so that it can be asked again, and whether its model may have known more."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, cast

from forge.core.known_models import trained_to
from forge.core.tape import Tape
from forge.providers.base import At, ask
from pitlake.errors import PitlakeError
from pitlake.questions import catalogue

Exposure = Literal["exposed", "partial", "clean"]


@dataclass(frozen=True)
class Receipt:
    """as_of: T; market, memory: versions of both lakes, None where nothing was published; tools: what the lake was
    asked and the hash of its answers; models: id to knowledge cut-off, None where it is unknown; exposure: clean only
    where every cut-off lies before T; prompt, skills: sha256; journal: seq and chain of the newest row remembered.
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

    def dumped(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), sort_keys=True)


def exposure(cut_offs: Iterable[str | None], as_of: datetime, judged: date | None = None) -> Exposure:
    """Whether models may have read of what came after T. judged: the day by which that is known, if one is.

    clean: every cut-off lies before T's day; partial: one lies after it, but before the day that judges; else exposed,
    also where a cut-off is unknown.
    """
    known = [one and date.fromisoformat(one) for one in cut_offs]
    if not all(known):
        return "exposed"
    newest = max(cast("list[date]", known), default=None)
    if newest is None or newest < as_of.date():
        return "clean" if newest else "exposed"
    return "partial" if judged and newest < judged else "exposed"


def cut_off(model: str, lake: str | Path | None, now: datetime) -> str | None:
    """The last day a model was trained on, by the registry's newest word, else by `forge.core.known_models`;
    None where that is unknown.
    """
    name = model.rpartition(":")[2]
    try:
        rows = ask(catalogue.get("model_known"), {"model": name}, At(as_of=now, lake=lake))["rows"]
    except PitlakeError:
        rows = []
    found = [one["knowledge_cutoff"] for one in rows if one.get("knowledge_cutoff")] or [trained_to(name)]
    return str(found[0])[:10] if found[0] else None


def recorded_cut_offs(tape: Tape) -> Callable[[str], list[str | None]]:
    """Of a decision: the cut-offs of its models as its receipt has them; none where no receipt was kept."""

    def of(decision: str) -> list[str | None]:
        kept = tape.receipt(decision)
        return list(json.loads(kept)["models"].values()) if kept else []

    return of
