"""Partial fills of approvals and positions: the rest counts toward the limits and is followed to its end."""

import pytest

from forge.core.config import Limits
from forge.core.errors import GuardrailsBroken
from forge.memory.approvals import change_held
from forge.memory.book import remembered_book
from forge.memory.cash import open_account
from forge.memory.fills import fills, void_fill
from forge.tracking.account import advance_account
from forge.tracking.risk import guardrails
from forge.tracking.settlement import whole_memory
from forge.tracking.trades import close_exits
from tests.forge.test_account import SETTINGS, approved_expression, close_exits_of_account, imported, line, valued
from tests.forge.test_untaken import DAYS, at, lake, memory, standing

__all__ = ["lake", "memory"]


def filled(memory, tmp_path, day, price, *quantities):
    """Import fills of E-001, an hour apart."""
    lines = [line(day, each, price, hour=10 + number) for number, each in enumerate(quantities)]
    assert imported(memory, tmp_path, "".join(lines).replace(",1,\n", ",1,E-001\n")) == len(quantities)


@pytest.mark.parametrize(
    ("quantities", "rest"),
    [
        ((40,), 8.0), ((40, 60), 5.0), ((40, -10), 8.0), ((40, -10, 100), 3.0), ((199,), 0.05), ((199.5,), 0.0),
        ((250,), 0.0),
    ],
)  # fmt: skip
def test_the_unfilled_rest_of_an_approval_counts_in_the_book(memory, lake, tmp_path, quantities, rest):
    approved_expression(memory, lake, target="110", stop="90")
    now = at(memory, lake, DAYS[3])
    filled(memory, tmp_path, DAYS[3], 50, *quantities)
    advance_account(memory, now, SETTINGS)
    held = sum(quantities) * 50.5 / valued(memory, now).account.nav * 100
    assert remembered_book(standing(memory).remembered).gross == pytest.approx(held + rest, abs=1e-4)


def test_a_stop_change_is_checked_at_the_positions_current_size(memory, lake, tmp_path):
    approved_expression(memory, lake, target="110", stop="90", max_loss_pct=0.1)
    now = at(memory, lake, DAYS[3])
    filled(memory, tmp_path, DAYS[3], 50, 900)  # more than the approved 200
    advance_account(memory, now, SETTINGS)
    limits = guardrails(Limits(max_factor_conc=100.0, max_days_of_volume=1000.0), now)
    with pytest.raises(GuardrailsBroken, match="max_single_risk: 9"):
        change_held(memory, "E-001", "pm", limits, {"stop": "40"})
    change_held(memory, "E-001", "pm", limits, {"stop": "48"})


@pytest.mark.parametrize(("sold", "void", "left"), [(80, 0, 120), (200, 0, 0), (250, 0, -50), (80, 1, 200)])
def test_what_is_left_after_a_partial_sale_is_sold_at_the_exit(memory, lake, tmp_path, sold, void, left):
    approved_expression(memory, lake, target="110", stop="90")
    advance_account(memory, at(memory, lake, DAYS[2]), SETTINGS)
    at(memory, lake, DAYS[4])
    filled(memory, tmp_path, DAYS[4], 51, -sold)
    if void:
        void_fill(memory, "F-002", "the broker did not fill it")
    (outcome,), gaps = close_exits_of_account(memory, now := at(memory, lake, DAYS[5]))
    own = fills(whole_memory(memory, now.as_of))[2 - void :]
    assert ([(each.quantity, each.price) for each in own], gaps) == ([(-left, 55.0)] if left else [], [])
    assert (valued(memory, now).account.positions, outcome.status) == ([], "target")


def test_shares_sold_after_a_late_booked_exit_are_not_sold_twice(memory, lake, tmp_path):
    approved_expression(memory, lake, target="110", stop="90")
    advance_account(memory, at(memory, lake, DAYS[2]), SETTINGS)
    now = at(memory, lake, DAYS[6])
    filled(memory, tmp_path, DAYS[6], 54, -150)
    close_exits_of_account(memory, now)
    assert [each.quantity for each in fills(whole_memory(memory, now.as_of))] == [200.0, -50.0, -150.0]


@pytest.mark.parametrize(("expression", "texts"), [("E-001", 2), ("", 1)])
def test_an_outcome_is_restated_only_after_a_later_fill_of_its_own_expression(
    memory, lake, tmp_path, expression, texts
):
    approved_expression(memory, lake, target="110", stop="90")
    open_account(memory, SETTINGS.capital, 0.0)
    for number, name in ((5, "E-001"), (6, expression)):
        now = at(memory, lake, DAYS[number])
        imported(memory, tmp_path, line(DAYS[number], 40, 50).rstrip("\n") + f"{name}\n")
        close_exits(memory, now)
    assert len(standing(memory).remembered.all("/memory/outcomes/OUT-001.md")) == texts
