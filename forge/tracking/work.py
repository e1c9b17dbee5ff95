"""Does the work between decisions on demand: fills, settlements, exits and untaken trades, then scores."""

from forge.core import config
from forge.memory import Memory
from forge.memory.fills import fills
from forge.providers.base import At
from forge.records import Calibration
from forge.tracking.account import advance_account
from forge.tracking.settlement import CutOffs, settle, whole_memory
from forge.tracking.trades import close_exits
from forge.tracking.untaken import track_untaken


def settle_due(memory: Memory, at: At, cut_offs: CutOffs, settings: config.Config) -> tuple[list[str], list[str]]:
    """Do the work that is due as of an instant, as the hourly schedule does.

    Return the changes, and the work that could not be done. Raises LakeNotFound, and BadInput for a read-only
    memory.
    """
    memory.journal.require_writable()
    executed, gaps = execute_and_close(memory, at, settings.account)
    settled = settle(memory, at, cut_offs)
    tracked, missing = track_untaken(memory, at, settings.counterfactuals)
    changes = [
        f"{answer.id} {answer.view} {answer.status.replace('_', ' ')} {answer.value or answer.reason}"
        for answer in settled
    ]
    changes += [*executed, *(f"{trade.id} {trade.expression or trade.view} {trade.status}" for trade in tracked)]
    return changes, [*gaps, *missing]


def execute_and_close(memory: Memory, at: At, settings: config.AccountSettings) -> tuple[list[str], list[str]]:
    """Execute approved Expressions and close positions at their exits. Return code's fills and the closed positions,
    and the work that could not be done.
    """
    before = {fill.id for fill in fills(whole_memory(memory, at.as_of))}
    gaps = advance_account(memory, at, settings)
    executed = (fill for fill in fills(whole_memory(memory, at.as_of)) if fill.id not in before)
    changes = [
        f"{fill.id} {fill.expression} {fill.quantity:g} {fill.instrument} at {fill.price:g}" for fill in executed
    ]
    closed, unfollowed = close_exits(memory, at)
    for outcome in closed:
        result = "" if outcome.pnl is None else f": {outcome.pnl:g} %"
        changes.append(f"{outcome.id} {outcome.expression} closed by its {outcome.status}{result}")
    return changes, [*gaps, *unfollowed]


def describe(calibration: Calibration) -> str:
    """Return the scores of a category in one line."""
    figures = (
        ("Brier", calibration.brier, "%.3f"),
        ("base rate", calibration.base_brier, "%.3f"),
        ("ECE", calibration.ece, "%.3f"),
        ("by chance", calibration.null_ece, "%.3f"),
        ("skill", calibration.skill, "%.3f"),
        ("lead days", calibration.lead_days, "%.1f"),
    )
    scores = ", ".join(f"{name} {form % number}" for name, number, form in figures if number is not None)
    noun = "forecast" if calibration.forecasts == 1 else "forecasts"
    counted = f"{calibration.id}: {calibration.forecasts} {noun}, {calibration.status}"
    return f"{counted}; {scores}" if scores else counted
