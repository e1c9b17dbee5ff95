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
from forge.memory.book import HELD, PORTFOLIO, with_approved
from forge.memory.effects import PM
from forge.memory.guardrails import Guardrails
from forge.memory.lessons import decide as decide_lesson
from forge.memory.lessons import waiting_lessons
from forge.providers.base import At
from forge.records import Expression, Portfolio, render
from forge.tracking.calibration import calibrate
from forge.tracking.settlement import hydrated, settle
from forge.tracking.trades import exits, expressions, held_since
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
    for lesson in waiting_lessons(memory):
        decide_lesson(memory, lesson.record.id, lesson.sha256, NAME)
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
    empty = Portfolio(id="state", gross=0.0, net=0.0, duration=0.0, factor_exposures={})
    book = cast("Portfolio", with_approved(empty, held))
    return replace(book, factor_exposures=dict(sorted((book.factor_exposures or {}).items())))
