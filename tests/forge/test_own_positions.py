"""The PM's own positions: unbounded losses, and fills of a proposal before its approval."""

import pytest

from forge.agent.tools.write import WriteTool
from forge.core.config import Config, Limits
from forge.core.errors import GuardrailsBroken
from forge.memory.approvals import approve, pending
from forge.memory.book import remembered_book
from forge.memory.cash import Entry, book_cash
from forge.memory.guardrails import Guardrails
from forge.records import KINDS, content_hash, parse, render
from forge.tracking.account import advance_account, book_guardrails
from forge.tracking.morning import OWN, morning
from forge.tracking.settlement import whole_memory
from forge.tracking.work import settle_due
from tests.forge.test_account import SETTINGS, approved_expression, imported, line
from tests.forge.test_alerts import alert_texts, of
from tests.forge.test_untaken import DAYS, HELD, at, lake, memory, proposed, standing
from tests.forge.world import reviewed

__all__ = ["lake", "memory"]

RISKY = Limits(max_factor_conc=100.0, max_days_of_volume=1e9, max_single_risk=100.0)


def own_fills(memory, lake, tmp_path, day, *lines):
    """Import fills and value the book on the evening of their day."""
    now = at(memory, lake, day)
    imported(memory, tmp_path, "".join(lines))
    advance_account(memory, now, SETTINGS)
    return now


def own_loss(memory, percent, day=DAYS[1]):
    return book_cash(memory, Entry("loss", percent, day, "bought back", "QBG"))


def test_an_agent_is_told_which_position_lacks_a_loss_and_how_the_pm_states_it(memory, lake, tmp_path):
    approved_expression(memory, lake, DAYS[0], 8, target="300")
    now = own_fills(memory, lake, tmp_path, DAYS[1], line(DAYS[1], -100))
    closing = proposed(memory, target="300", adjusts="E-001", exit_reason="thesis")
    with pytest.raises(GuardrailsBroken) as refused:
        proposed(memory)
    assert "max_total_loss: missing" in str(refused.value)
    assert "nothing bounds the loss of QBG: the PM has to" in str(refused.value)
    assert "`pitlake forge cash loss PERCENT --ticker QBG`" in str(refused.value)
    (waiting,) = pending(memory, Guardrails())
    assert (waiting.expression.id, waiting.problems) == (closing, ("no review of exactly this content",))
    own_loss(memory, 30.0)
    advance_account(memory, now, SETTINGS)
    assert proposed(memory)


def test_a_short_position_without_a_loss_is_an_alert_and_named_in_the_answer_to_a_write(memory, lake, tmp_path):
    now = own_fills(memory, lake, tmp_path, DAYS[1], line(DAYS[1], -100))
    answer = WriteTool(standing(memory)).execute("/memory/expressions/new.md", render(HELD), call_id="w")
    assert "\n  nothing bounds the loss of QBG: the PM has to" in answer
    ((subject, text),) = of("loss missing", alert_texts(memory, now))
    assert (subject, text.startswith("is unknown, so nothing is approved: nothing bounds")) == ("max_total_loss", True)
    own_loss(memory, 30.0)
    advance_account(memory, now, SETTINGS)
    assert of("loss missing", alert_texts(memory, now)) == []


@pytest.mark.parametrize(("quantity", "size"), [(100, 10.0), (250, 12.625), (-100, 10.0)])
@pytest.mark.parametrize("is_valued", [True, False])
def test_fills_of_a_proposal_count_once_in_its_limits(memory, lake, tmp_path, quantity, size, is_valued):
    at(memory, lake, DAYS[3], 8)
    name = proposed(memory, stop="45")
    lines = (
        line(DAYS[3], quantity, 50.5).replace(",1,\n", f",0,{name}\n"),
        line(DAYS[3], 40, 50.5).replace(",1,", ",0,"),
    )
    at(memory, lake, DAYS[3])
    own_loss(memory, 100.0)
    now = own_fills(memory, lake, tmp_path, DAYS[3], *lines)
    limits = book_guardrails(RISKY, standing(memory).remembered, now) if is_valued else Guardrails(RISKY)
    other = proposed(memory, stop="45", body="another")
    figures = {each.expression.id: {one.rule: one.actual for one in each.figures} for each in pending(memory, limits)}
    before = abs(quantity + 40) * 0.0505
    assert figures[name]["max_gross_exposure"] == pytest.approx(size + 40 * 0.0505, abs=1e-4)
    assert figures[other]["max_gross_exposure"] == pytest.approx(before + 10, abs=1e-4)
    (gross, *_) = next(each.book for each in pending(memory, limits) if each.expression.id == name)
    assert (gross.before, gross.after) == pytest.approx((before, size + 40 * 0.0505), abs=1e-4)


@pytest.mark.parametrize(("quantity", "size"), [(100, 10.0), (250, 12.625), (-100, 10.0)])
def test_fills_of_a_proposal_count_once_from_its_approval_to_the_next_settlement(
    memory, lake, tmp_path, quantity, size
):
    at(memory, lake, DAYS[3], 8)
    name = proposed(memory, stop="45")
    at(memory, lake, DAYS[3])
    own_loss(memory, 100.0)
    proposals_fill = line(DAYS[3], quantity, 50.5).replace(",1,\n", f",0,{name}\n")
    own_fills(memory, lake, tmp_path, DAYS[3], proposals_fill, line(DAYS[3], 40, 50.5).replace(",1,", ",0,"))
    expression = parse(KINDS["expressions"], standing(memory).read_file(f"/memory/expressions/{name}.md"))
    reviewed(memory, expression)
    approve(memory, name, content_hash(expression), "pm", Guardrails(RISKY), confirmed=True)
    book = remembered_book(standing(memory).remembered)
    assert book.gross == pytest.approx(size + 40 * 0.0505, abs=1e-4)
    assert book.gross == pytest.approx(sum(abs(position.notional) for position in book.positions))
    assert book.net == pytest.approx(sum(position.notional for position in book.positions))
    equity = sum(position.factor_exposures.get("equity", 0.0) for position in book.positions)
    assert book.factor_exposures.get("equity", 0.0) == pytest.approx(equity)
    proposed(memory, stop="45", body="another")
    (waiting,) = pending(memory, Guardrails(RISKY))
    figures = {figure.rule: figure.actual for figure in waiting.figures}
    assert figures["max_gross_exposure"] == pytest.approx(size + 40 * 0.0505 + 10, abs=1e-4)


@pytest.mark.parametrize(("quantity", "percent", "day", "lost"), [(-1, 5, 6, 6.93), (-1, 7, 6, 0), (1, 0.5, 2, 0.99)])
def test_an_own_position_that_loses_more_than_was_stated_is_an_alert(
    memory, lake, tmp_path, quantity, percent, day, lost
):
    own_fills(memory, lake, tmp_path, DAYS[1], line(DAYS[1], quantity, 101))
    own_loss(memory, percent)
    now = at(memory, lake, DAYS[day])
    advance_account(memory, now, SETTINGS)
    text = f"lost {lost} % since {DAYS[1]}, more than the {percent} % that you stated; code does not close it"
    assert of("loss passed", alert_texts(memory, now)) == ([("QBG", text)] if lost else [])
    assert morning(whole_memory(memory, now.as_of), now, Config()).own_positions_note == OWN


def test_what_code_bought_is_reported_under_the_work_that_bought_it(memory, lake):
    approved_expression(memory, lake, target="110", stop="90")
    now = at(memory, lake, DAYS[2])
    assert settle_due(memory, now, lambda _: (), Config(account=SETTINGS)) == (["F-001 E-001 200 QBG at 50"], [])
    assert settle_due(memory, now, lambda _: (), Config(account=SETTINGS)) == ([], [])
