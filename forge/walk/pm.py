"""The simulated PM, and all that time does between two questions: settling, exits, what was not taken, marks.

The PM approves what waits with clean guardrails and a review that approves, at the next trigger, and keeps the book to
what is held. Everything that is done bears its instant, so that a run that was killed in the middle goes on.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import cast

from forge.fs import ForgeFS
from forge.memory import Memory, approvals
from forge.memory.effects import PM, PORTFOLIO
from forge.memory.guardrails import Guardrails
from forge.providers.base import At
from forge.records import Expression, Portfolio, Position, render
from forge.tracking.calibration import calibrate
from forge.tracking.settlement import hydrated, settle
from forge.tracking.trades import HELD, exits, expressions, held_since
from forge.tracking.untaken import untaken

NAME = "simulated PM"


def between(
    memory: Memory, at: At, guardrails: Guardrails, cut_offs: Callable[[str], Iterable[str | None]]
) -> dict[str, int]:
    """What is done as of an instant before the agent is asked; how much of what. Raises LakeNotFound."""
    _book(memory, at.as_of)
    for waiting in approvals.pending(memory, guardrails):
        if not waiting.problems:
            approvals.approve(memory, waiting.expression.id, waiting.sha256, NAME, guardrails)
            _book(memory, at.as_of)
    settled = settle(memory, at, cut_offs)
    closed, gaps = exits(memory, at)
    followed, missing = untaken(memory, at)
    calibrate(memory, at.as_of)
    _book(memory, at.as_of)
    memory.flush()
    return {
        **Counter(one.status for one in settled),
        "closed": len(closed),
        "followed": len(followed),
        "gaps": len(gaps) + len(missing),
    }


def _book(memory: Memory, at: datetime) -> None:
    """Keep the book to what is held, in percent of capital; nothing is written where it is that already."""
    known = hydrated(memory, at)
    held = [one for path, one in expressions(known) if one.status in HELD and held_since(known, path)]
    row, book = known.newest(PORTFOLIO), _summed(held)
    if row is None or replace(cast("Portfolio", known.record(row)), updated=None) != book:
        files = ForgeFS(memory, known, actor=PM)
        files.write_file(PORTFOLIO, render(book), call_id=f"book:{row.seq if row else 0}")


def _summed(held: list[Expression]) -> Portfolio:
    """The book of what is held; of a short trade the notional is negative."""
    signed = [(-1 if one.direction == "short" else 1) * abs(one.notional or 0.0) for one in held]
    positions = tuple(
        Position(expression=one.id, notional=notional, factor_exposures=one.factor_exposures or {})
        for one, notional in zip(held, signed, strict=True)
    )
    factors: dict[str, float] = {}
    for name, share in (pair for one in positions for pair in sorted(one.factor_exposures.items())):
        factors[name] = factors.get(name, 0.0) + share
    return Portfolio(
        id="state",
        gross=float(sum(map(abs, signed))),
        net=float(sum(signed)),
        duration=float(sum(one.duration_impact or 0.0 for one in held)),
        positions=positions,
        factor_exposures=dict(sorted(factors.items())),
    )
