"""The simulated PM, and the work between two questions: settlement, exits, counterfactuals, calibration.

At the next trigger the PM approves the Expressions with clean guardrails and an approving review, and updates the book.
Everything is recorded with its instant, so that a killed run can be resumed.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from forge.core import config
from forge.fs import ForgeFS
from forge.memory import Memory, approvals
from forge.memory.book import HELD, PORTFOLIO, with_approved
from forge.memory.effects import PM
from forge.memory.guardrails import Guardrails
from forge.memory.lessons import decide as decide_lesson
from forge.memory.lessons import waiting_lessons
from forge.providers.base import At
from forge.records import Portfolio, render
from forge.tracking.account import advance_account
from forge.tracking.alerts import alerts
from forge.tracking.calibration import calibrate
from forge.tracking.settlement import settle, whole_memory
from forge.tracking.trades import active_since, close_exits, expressions
from forge.tracking.untaken import track_untaken

NAME = "simulated PM"


def advance(
    memory: Memory,
    at: At,
    guardrails: Guardrails,
    cut_offs: Callable[[str], Iterable[str | None]],
    settings: config.Config,
) -> dict[str, Any]:
    """Do the work that is due as of an instant, before the agent gets a question.

    Return counts, and the alerts after the work.

    Raises LakeNotFound.
    """
    account = settings.account
    unexecuted = advance_account(memory, at, account)
    keeps_account = account.capital is not None
    if not keeps_account:
        _update_book(memory, at.as_of)
    for waiting in approvals.pending(memory, guardrails):
        if not waiting.problems and not waiting.claims:
            approvals.approve(memory, waiting.expression.id, waiting.sha256, NAME, guardrails)
            if not keeps_account:
                _update_book(memory, at.as_of)
    for lesson in waiting_lessons(memory):
        decide_lesson(memory, lesson.record.id, lesson.sha256, NAME)
    settled = settle(memory, at, cut_offs)
    closed, gaps = close_exits(memory, at)
    followed, missing = track_untaken(memory, at, settings.counterfactuals)
    calibrate(memory, at.as_of)
    if not keeps_account:
        _update_book(memory, at.as_of)
    current_alerts = alerts(whole_memory(memory, at.as_of), at, settings, guardrails)
    memory.flush()
    return {
        **Counter(settlement.status for settlement in settled),
        "closed": len(closed),
        "followed": len(followed),
        "gaps": len(gaps) + len(missing) + len(unexecuted),
        "alerts": [[alert.kind, alert.subject, alert.text] for alert in current_alerts],
    }


def _update_book(memory: Memory, at: datetime) -> None:
    """Update the book to the open positions, in percent of capital, if it changed."""
    remembered = whole_memory(memory, at)
    open_expressions = [
        expression
        for path, expression in expressions(remembered)
        if expression.status in HELD and active_since(remembered, path)
    ]
    row = remembered.newest(PORTFOLIO)
    empty = Portfolio(id="state", gross=0.0, net=0.0, duration=0.0, factor_exposures={})
    book = cast("Portfolio", with_approved(empty, open_expressions))
    book = replace(book, factor_exposures=dict(sorted((book.factor_exposures or {}).items())))
    if row is None or replace(cast("Portfolio", remembered.record(row)), updated=None) != book:
        files = ForgeFS(memory, remembered, actor=PM)
        files.write_file(PORTFOLIO, render(book), call_id=f"book:{row.seq if row else 0}")
