"""Losses that halt the account, and how losses are counted after its release."""

from dataclasses import replace

import pytest

from forge.memory.halts import halted
from forge.tracking.account import advance_account, loss_halt
from forge.tracking.ledger import Account
from forge.tracking.settlement import whole_memory
from tests.forge.test_account import SETTINGS, imported, line, switched
from tests.forge.test_untaken import DAYS, at, lake, memory

__all__ = ["lake", "memory"]


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"max_drawdown": 2.0}, "drawdown of 2.50 %"), ({"max_loss": 2.0}, "loss of 2.50 %"), ({"max_loss": 3.0}, None)],
)
def test_losses_beyond_a_limit_halt_trading_and_count_anew_after_a_release(memory, lake, tmp_path, limits, reason):
    settings = replace(SETTINGS, **limits)
    now = at(memory, lake, DAYS[0])
    imported(memory, tmp_path, line(DAYS[0], 100, 125))
    advance_account(memory, now, settings)
    halt = halted(whole_memory(memory, now.as_of))
    assert (halt and halt.by, halt and halt.reason.partition(" is beyond")[0]) == (
        (reason and "code"),
        (reason and f"a {reason}"),
    )
    if halt:
        switched(memory, "released", "seen")
        now = at(memory, lake, DAYS[1])
        advance_account(memory, now, settings)
        assert halted(whole_memory(memory, now.as_of)) is None


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"max_drawdown": 9.0}, "a drawdown of 10.00 % is beyond the limit of 9 %"),
        ({"max_drawdown": 10.0}, None),
        ({"max_loss": 0.5}, "a loss of 1.00 % is beyond the limit of 0.5 %"),
        ({"max_loss": 9.0}, None),
    ],
)
def test_drawdown_is_measured_from_the_peak_and_loss_from_the_start(memory, lake, limits, reason):
    now = at(memory, lake, DAYS[0])
    account = Account(100_000.0, 99_000.0, (), 0.0, ((DAYS[0], 110_000.0), (DAYS[1], 99_000.0)), {})
    halt = loss_halt(whole_memory(memory, now.as_of), account, replace(SETTINGS, **limits))
    assert (halt and halt.reason) == reason
