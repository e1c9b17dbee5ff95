"""Sessions without bars, unproven splits and foreign dividends end no position. Ids: O2."""

from dataclasses import replace
from datetime import datetime

import pytest

from forge.core.config import Alerts, Config
from forge.memory.approvals import change_held
from forge.memory.guardrails import Guardrails
from forge.tracking.account import advance_account
from forge.tracking.alerts import alerts
from forge.tracking.paths import PATIENCE
from forge.tracking.settlement import whole_memory
from forge.tracking.trades import close_exits
from forge.tracking.untaken import track_untaken
from pitlake.clock import NEW_YORK, end_of_new_york_day
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_account import SETTINGS, approved_expression, imported, valued
from tests.forge.test_untaken import DAYS, HELD, at, bar, held, memory, proposed, standing
from tests.forge.world import wrote

__all__ = ["memory"]

PRICES = {
    "HLT": [100, 100, 100, 100, None, None, 85, 86],  # halted for two days, then below its stop
    "GON": [100, 100, 100, 99, None, None],  # delisted
    "UNP": [100, 100, 100, 100, 50, 50],  # falls like an unproven split
    "DIV": [100, 100, 100, 100, 100, 90],  # pays a dividend in Canadian dollars on the fourth day
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    outcome = Lake(tmp_path_factory.mktemp("holes") / "lake")
    rows = [
        bar(day, float(price), symbol=ticker, entity_id=str(number), volume=1000.0)
        for number, (ticker, prices) in enumerate(PRICES.items(), start=1)
        for day, price in zip(DAYS, [*prices, *[prices[-1]] * 20], strict=False)
        if price
    ]
    put_rows(outcome, "prices", *rows)
    reply = {"ticker": "DIV", "declaration_date": DAYS[0], "ex_dividend_date": DAYS[3], "cash_amount": 0.25}
    reply |= {"dividend_id": "d", "dividend_type": "Regular", "currency": "CAD"}
    put_rows(outcome, "dividends", reply | {"available_at": end_of_new_york_day(DAYS[0])})
    return outcome


def evening(memory, lake, number):
    """Return an evening's alerts on E-001, the positions closed, and the reasons why others stay open."""
    now = at(memory, lake, DAYS[number], 23)
    listing = alerts(whole_memory(memory, now.as_of), now, Config(alerts=Alerts(data_late_hours=4)))
    outcomes, gaps = close_exits(memory, now)
    return [alert.text for alert in listing if alert.subject == "E-001"], outcomes, gaps


def test_a_stop_crossed_during_a_halt_raises_a_daily_alert_and_fills_at_the_next_open(memory, lake):
    held(memory, instrument="HLT", target="130")
    for number in (4, 5):
        hole = f"there are no bars for HLT on {DAYS[4]}" if number == 4 else "there are no bars for HLT on 2 days"
        texts, outcomes, gaps = evening(memory, lake, number)
        assert texts[0].startswith(f"may have passed its stop 95, unfollowed since {DAYS[4]}: {hole}")
        assert (outcomes, gaps[0].startswith(f"E-001: {hole}")) == ([], True)
    texts, (outcome,), gaps = evening(memory, lake, 6)
    assert (texts, gaps) == ([f"reached its stop 95 on {DAYS[6]}"], [])
    assert (outcome.status, outcome.pnl) == ("stop", pytest.approx(-1.5))
    assert f"stop at 85 on {DAYS[6]}; there are no bars for HLT on 2 days, {DAYS[4]} to {DAYS[5]};" in outcome.body
    assert (outcome.version, len(outcome.answer)) == (lake.head(), 64)


def test_an_unproven_split_raises_an_alert_and_the_stop_fills_a_session_later(memory, lake):
    held(memory, instrument="UNP", target="130")
    assert evening(memory, lake, 3) == ([], [], [])
    texts, outcomes, _ = evening(memory, lake, 4)
    unproven = f"the split of {DAYS[4]} is unproven"
    assert (texts, outcomes) == (
        [f"has passed its stop 95 at 50, unfollowed since {DAYS[4]}: {unproven}"], [],
    )  # fmt: skip
    _, (outcome,), _ = evening(memory, lake, 5)
    assert (outcome.status, outcome.pnl) == ("stop", pytest.approx(-5.0))
    assert f"stop at 50 on {DAYS[5]}; {unproven};" in outcome.body


def test_a_dividend_in_another_currency_is_noted_but_not_counted(memory, lake):
    held(memory, instrument="DIV", target="130")
    assert evening(memory, lake, 4) == ([], [], [])
    _, (outcome,), _ = evening(memory, lake, 5)
    assert (outcome.status, outcome.pnl) == ("stop", pytest.approx(-1.0))
    assert f"the dividend of {DAYS[3]} is not in USD and is not counted" in outcome.body


def test_a_position_closed_by_the_pm_ends_at_its_last_price_if_no_bar_comes(memory, lake):
    approved_expression(memory, lake, DAYS[0], 8, instrument="GON", target="130")
    advance_account(memory, at(memory, lake, DAYS[5]), SETTINGS)
    change_held(memory, "E-001", "pm", Guardrails(), {"exit_reason": "delisted"})
    for number in range(6, 6 + PATIENCE):
        advance_account(memory, at(memory, lake, DAYS[number]), SETTINGS)
        texts, outcomes, _ = evening(memory, lake, number)
        assert (len(texts), bool(outcomes)) == ((0, True) if number == 5 + PATIENCE else (1, False))
    (outcome,) = outcomes
    assert (outcome.status, outcome.pnl) == ("delisted", pytest.approx(100 * -1 / 100_000 * 100 - 0.01 - 0.0099))
    assert "time at 99 on" in outcome.body


def test_the_pms_closing_fill_ends_a_position_without_bars(memory, lake, tmp_path):
    approved_expression(memory, lake, DAYS[0], 8, instrument="GON", target="130")
    now = at(memory, lake, DAYS[4])
    assert advance_account(memory, now, SETTINGS) == []
    assert valued(memory, now).gaps == (f"GON: no bar on {DAYS[4]}; valued at its last close",)
    sold = datetime.combine(DAYS[4], datetime.min.time(), NEW_YORK).replace(hour=12)
    assert imported(memory, tmp_path, f"GON,-100,40,{sold.isoformat()},1,E-001\n") == 1
    (outcome,), gaps = close_exits(memory, now)
    assert (outcome.status, gaps) == ("fill", [])
    assert outcome.pnl == pytest.approx((100 * -60 - 1 - 10) / 100_000 * 100)
    assert (outcome.version, len(outcome.answer)) == (lake.head(), 64)


def test_an_option_position_closed_by_the_pm_ends_without_a_result(memory, lake):
    held(memory, instrument="HLT", direction="option", target="", stop="")
    change_held(memory, "E-001", "pm", Guardrails(), {"exit_reason": "expired"})
    _, (outcome,), gaps = evening(memory, lake, 1)
    assert (outcome.status, outcome.pnl, gaps) == ("expired", None, [])
    assert "no result by bars: a trade that is option can't be followed by daily bars" in outcome.body


def test_an_untaken_trade_is_followed_across_missing_bars(memory, lake):
    name = proposed(memory, instrument="HLT", target="130")
    over = replace(HELD, id=name, instrument="HLT", target="130", status="rejected", rejection_reason="too dear")
    wrote(standing(memory, "pm"), f"/memory/expressions/{name}.md", over, "rejected")
    (outcome,), gaps = track_untaken(memory, at(memory, lake, DAYS[6]))
    assert (outcome.exit_reason, outcome.total_return, gaps) == ("stop", pytest.approx(-0.15), [])
