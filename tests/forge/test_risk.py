"""Pre-trade risk from bars, against NumPy. The larger of the claimed and computed figures counts."""

from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace

import numpy as np
import pytest

from forge.agent.tools.write import WriteTool
from forge.core.clock import Simulated
from forge.core.config import Config, Limits
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.approvals import approve, pending
from forge.providers.base import At
from forge.records import Leg, Position, render
from forge.tracking.alerts import alerts
from forge.tracking.risk import Market, book_returns, guardrails, risk
from pitlake.clock import NEW_YORK
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_untaken import DAYS, HELD, bar
from tests.forge.world import BOOK, NEW_VIEW, reviewed, turn, wrote

NOW = datetime(DAYS[59].year, DAYS[59].month, DAYS[59].day, 20, tzinfo=NEW_YORK)


def closes(seed, start):
    rng = np.random.default_rng(seed)
    return np.round(start * np.cumprod(1 + rng.normal(0, 0.02, 61)), 4)


OWN, INDEX = closes(1, 100.0), closes(2, 400.0)


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """A lake with a company and an index fund, as of an instant before their last bars."""
    lake = Lake(tmp_path_factory.mktemp("risk") / "lake")
    rows = [bar(day, float(price), volume=1000.0) for day, price in zip(DAYS, OWN, strict=False)]
    rows += [
        bar(day, float(price), symbol="SPY", entity_id="SPY", entity_kind="index")
        for day, price in zip(DAYS, INDEX, strict=False)
    ]
    put_rows(lake, "prices", *rows)
    return At(as_of=NOW, lake=lake.root)


@pytest.fixture
def memory(tmp_path):
    outcome = Memory(tmp_path / "forge", clock=Simulated("risk", NOW))
    positions = (Position(expression="SPY", notional=30.0),)
    book = replace(BOOK, gross=30.0, net=30.0, nav=1_000_000.0, positions=positions)
    wrote(turn(outcome, "pm", actor="pm"), "/portfolio/state.md", book, "book")
    wrote(turn(outcome, at=outcome.read_instant(NOW)), "/memory/views/new.md", NEW_VIEW, "view")
    yield outcome
    outcome.close()


def trade(**changed):
    return replace(HELD, **{"id": "E-001"} | changed)


def test_risk_figures_agree_with_numpy_over_bars_up_to_the_instant(market, memory):
    remembered = memory.hydrate(memory.read_instant(NOW))
    result = risk(trade(direction="short", stop="130", notional=10.0), remembered, market)
    own, index = OWN[:60], INDEX[:60]
    mine, theirs = own[1:] / own[:-1] - 1, index[1:] / index[:-1] - 1
    assert result.price == own[-1]
    assert result.loss_at_stop == pytest.approx((130 - own[-1]) / own[-1] * 10)
    gap = max(0.0, *(own[1:] / own[:-1] - 1))
    assert result.loss_with_gap == pytest.approx((130 * (1 + gap) - own[-1]) / own[-1] * 10)
    assert result.volatility == pytest.approx(np.std(mine, ddof=1) * np.sqrt(252) * 100)
    assert result.beta == pytest.approx(np.cov(mine, theirs)[0, 1] / np.var(theirs, ddof=1))
    assert result.concentration == pytest.approx(25.0)
    assert result.correlation == pytest.approx(-np.corrcoef(mine, theirs)[0, 1])
    assert result.days_of_volume == pytest.approx(100_000 / own[-1] / 1000)
    assert result.gaps == ()


def test_a_figure_that_bars_cannot_give_is_reported_as_a_gap(market, memory):
    remembered = memory.hydrate(memory.read_instant(NOW))
    unstopped = risk(trade(stop=""), remembered, market)
    assert (unstopped.loss_at_stop, unstopped.loss_with_gap) == (None, 10.0)
    assert unstopped.gaps == ("QBG: has no stop that code can follow, so its whole value can be lost",)
    result = risk(trade(direction="option"), remembered, market)
    assert (result.loss_with_gap, "option" in result.gaps[0]) == (None, True)
    assert risk(trade(instrument="TY"), remembered, market).gaps[0].startswith("TY: ")


def test_book_returns_are_weighted_over_the_days_common_to_all_positions():
    """60 of QAU are held and 20 of QBG sold short. QCU is left out, and QDE has no bars."""
    prices = {"QAU": (100.0, 110.0, 99.0, 99.0), "QBG": (50.0, 49.0, None, 49.0), "QCU": (10.0, 20.0, 30.0, 40.0)}
    rows = {
        ticker: [{"date": day, "close": price} for day, price in zip(DAYS, closes, strict=False) if price]
        for ticker, closes in prices.items()
    }
    sizes = {"QAU": 60.0, "QBG": -20.0, "QCU": 5.0, "QDE": 5.0}
    positions = tuple(Position(expression=ticker, notional=notional) for ticker, notional in sizes.items())
    market = SimpleNamespace(rows=lambda ticker, gaps: rows.get(ticker, []))
    returns = book_returns(replace(BOOK, positions=positions), (), market, [], without="QCU")
    assert returns == {DAYS[1]: pytest.approx(60 * 0.1 + 20 * 0.02), DAYS[3]: pytest.approx(0.0)}


@pytest.mark.parametrize(("notional", "within"), [(8.0, True), (18.0, False)])
def test_the_computed_loss_overrides_a_smaller_claimed_loss(market, memory, notional, within):
    stop = f"{OWN[59] * 0.5:.2f}"
    fs = turn(memory, at=memory.read_instant(NOW))
    wrote(fs, "/memory/expressions/new.md", trade(id="new", stop=stop, max_loss_pct=0.1, notional=notional), "e")
    limits = guardrails(Limits(max_factor_conc=50.0), market)
    (waiting,) = pending(memory, limits)
    reviewed(memory, waiting.expression)
    (figure,) = [each for each in waiting.figures if each.rule == "max_single_risk"]
    assert (figure.claimed, figure.basis, figure.within, waiting.claims) == (0.1, "computed", within, ())
    assert figure.actual == figure.computed > notional * 0.49
    if not within:
        with pytest.raises(BadInput, match=r"max_single_risk: 9\."):
            approve(memory, "E-001", waiting.sha256, "pm", limits)
        return
    approve(memory, "E-001", waiting.sha256, "pm", limits)
    path = next(iter(memory.hydrate(memory.read_instant(NOW)).paths("/approvals/")))
    approval = memory.hydrate(memory.read_instant(NOW)).newest(path).content
    assert f"\nmax_single_risk: claimed 0.1, computed {figure.computed:g} of 5\n" in approval
    assert "\nclaimed: " not in approval


def legs(*pairs, **more):
    return tuple(Leg(instrument=name, notional=size, **more) for name, size in pairs)


NEVER = {
    "no stop": ({"stop": "", "max_loss_pct": 0.1}, "max_single_risk", "computed"),
    "a short without a stop": (
        {"direction": "short", "stop": "", "target": "", "notional": 1.0}, "max_single_risk", "computed"),
    "a spread of 190 %": (
        {"direction": "spread", "notional": 190.0, "max_loss_pct": 0.1}, "max_single_name", "claimed"),
    "a notional of 150 % with a claimed loss of 0.1": (
        {"instrument": "TY", "notional": 150.0, "max_loss_pct": 0.1}, "max_single_name", "claimed"),
    "no factors": ({"factor_exposures": {}, "notional": 60.0}, "max_factor_concentration", "computed"),
    "no factors where nothing is computed": (
        {"factor_exposures": {}, "instrument": "TY"}, "max_factor_concentration", "missing"),
    "a loss of 0": ({"instrument": "TY", "stop": "", "max_loss_pct": 0.0}, "max_single_risk", "missing"),
    "a spread whose legs are larger than its notional": (
        {"direction": "spread", "notional": 1.0, "legs": legs(("QBG", 70.0), ("SPY", -140.0))},
        "max_gross_exposure", "computed"),
    "a sold call": (
        {"direction": "option", "notional": 1.0, "legs": legs(("QBG", -1.0), kind="call", strike=120.0, premium=9.0)},
        "max_single_risk", "computed"),
    "many days of volume": ({"notional": 80.0}, "max_days_of_volume", "computed"),
}  # fmt: skip


@pytest.mark.parametrize(("changed", "rule", "basis"), NEVER.values(), ids=NEVER)
def test_a_trade_that_only_claims_to_be_within_the_limits_is_refused(market, changed, rule, basis):
    question = trade(**{"notional": 10.0, "stop": f"{OWN[59] * 0.9:.2f}", "entry_details": ""} | changed)
    book = replace(BOOK, gross=0.0, net=0.0, nav=1_000_000.0, factor_exposures={"rates": 0.0, "equity": 25.0})
    limits = guardrails(Limits(), market)
    assert rule in [each.rule for each in limits.check(question, book, None)]
    assert [each.basis for each in limits.figures(question, book, None) if each.rule == rule] == [basis]


@pytest.mark.parametrize(
    ("notional", "stated", "total"), [(20.0, None, 20.0), (-20.0, None, None), (-20.0, 3.0, 3.0)],
    ids=["a long", "a short", "a short whose loss the PM confirmed"],
)  # fmt: skip
def test_the_loss_of_an_unstopped_position_is_its_notional_confirmed_or_missing(market, notional, stated, total):
    held = trade(id="E-001", direction="short" if notional < 0 else "long", stop="", target="", max_loss_pct=stated)
    own = Position(expression="E-001" if stated else "QBG", notional=notional)
    book, limits = replace(BOOK, gross=20.0, net=notional, positions=(own,)), guardrails(Limits(), market)
    held = replace(held, notional=20.0)
    question = trade(id="E-002", instrument="SPY", notional=5.0, stop=f"{INDEX[59] * 0.9:.2f}", factor_exposures={})
    figure = next(each for each in limits.book(book, None, [held]) if each.rule == "max_total_loss")
    broken = "; ".join(map(str, limits.check(question, book, None, [held])))
    assert (figure.actual, "[hard] max_total_loss: missing (limit: 100)" in broken) == (total, total is None)


def test_a_bought_option_loses_its_premium_and_a_covered_call_the_stock(market):
    price, compute = OWN[59], Market(market).compute
    bought = trade(direction="option", notional=10.0, legs=legs(("QBG", 10.0), kind="call", strike=price, premium=4.0))
    assert compute(bought, None).loss == pytest.approx(10 / price * 4.0)
    sold = Leg(instrument="QBG", notional=-10.0, kind="call", strike=price * 1.1, premium=2.0)
    covered = trade(direction="option", notional=10.0, legs=(*legs(("QBG", 10.0)), sold))
    assert compute(covered, None).loss == pytest.approx(10 - 10 / price * 2.0)
    assert compute(covered, None).names == {"QBG": 0.0}


def test_a_trade_beyond_the_limits_is_cut_where_the_settings_say_so(market, memory):
    stop = f"{OWN[59] * 0.5:.2f}"
    remembered = memory.hydrate(memory.read_instant(NOW), session="s")
    limits = guardrails(Limits(over="cap", max_factor_conc=50.0), market)
    fs = ForgeFS(memory, remembered, limits)
    question = trade(id="new", stop=stop, notional=18.0, max_loss_pct=2.0)
    answer = WriteTool(fs).execute("/memory/expressions/new.md", render(question), call_id="e")
    (waiting,) = pending(memory, limits)
    cut = waiting.expression
    loss = next(each for each in waiting.figures if each.rule == "max_single_risk")
    assert answer == f"Written: /memory/expressions/E-001.md\nCut to the limits: notional {cut.notional}, was 18.0"
    assert (cut.capped_from, cut.max_loss_pct) == (18.0, pytest.approx(2.0 * cut.notional / 18))
    assert loss.computed <= 5.0 < loss.computed / cut.notional * (cut.notional + 0.02)
    refused = WriteTool(ForgeFS(memory, fs.remembered, guardrails(Limits(max_factor_conc=50.0), market)))
    assert refused.execute("/memory/expressions/new.md", render(question), call_id="f").startswith(
        "GUARDRAIL VIOLATIONS:"
    )


def test_the_pms_own_positions_over_a_limit_raise_alerts(market, memory):
    own = (Position(expression="QBG", notional=85.0), Position(expression="SPY", notional=85.0))
    book = replace(BOOK, gross=170.0, net=170.0, duration=0.0, nav=1_000_000.0, positions=own, factor_exposures={})
    wrote(turn(memory, "pm", at=memory.read_instant(NOW), actor="pm"), "/portfolio/state.md", book, "fills")
    listing = alerts(memory.hydrate(memory.read_instant(NOW)), market, Config())
    beta = np.cov(OWN[1:60] / OWN[:59], INDEX[1:60] / INDEX[:59])[0, 1] / np.var(INDEX[1:60] / INDEX[:59], ddof=1)
    assert [(each.kind, each.subject, each.text) for each in listing if each.kind == "over limit"] == [
        ("over limit", "max_factor_conc", f"is {85 + 85 * beta:.4g}, beyond the limit of 30"),
        ("over limit", "max_total_loss", "is 170, beyond the limit of 100"),
        ("over limit", "max_net", "is 170, beyond the limit of 150"),
    ]
