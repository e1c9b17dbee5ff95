"""The first figures of the day, against NumPy: P&L by period, View and Expression, positions, risk and scenarios."""

import json
from dataclasses import replace
from datetime import date, datetime

import numpy as np
import pytest

from forge.core.clock import Simulated
from forge.core.config import AccountSettings, Config
from forge.desk.brief import Brief
from forge.memory import Memory
from forge.memory.cash import Entry, book_cash, open_account
from forge.memory.fills import import_fills
from forge.memory.guardrails import Exposure, Totals
from forge.tracking.account import advance_account
from forge.tracking.morning import Scenario, morning, scenarios
from forge.tracking.settlement import whole_memory
from forge.web import room
from pitlake import cli
from pitlake.clock import NEW_YORK
from pitlake.lake.lake import Lake
from tests.forge.test_account import HEADER
from tests.forge.test_risk import INDEX, NOW, OWN, market
from tests.forge.test_untaken import DAYS, START, held, standing
from tests.forge.world import NEW_VIEW, wrote
from tests.web.browsing import browsing

__all__ = ["market"]

CAPITAL = 1_000_000.0
RATES, EQUITIES = "rates +100 bp", "equities −10 %"
SETTINGS = Config(account=AccountSettings(capital=CAPITAL, benchmark="SPY"))
APRIL = next(number for number, day in enumerate(DAYS) if day.month == 5) - 1
"""The index of the last session of April."""


def fill_line(number, ticker, quantity, price, expression=""):
    day = DAYS[number]
    bought = datetime(day.year, day.month, day.day, 16, tzinfo=NEW_YORK)
    return f"{ticker},{quantity},{price},{bought.isoformat()},2,{expression}\n"


@pytest.fixture(scope="module")
def memory(market, tmp_path_factory):
    """A memory with 2,000 shares of E-001, 100 shares of SPY sold short without an Expression, and a deposit."""
    outcome = Memory(tmp_path_factory.mktemp("morning") / "forge", clock=Simulated("morning", START))
    open_account(outcome, CAPITAL, 0.0)
    wrote(standing(outcome), "/memory/views/new.md", NEW_VIEW, "view")
    held(outcome, stop="20", target="300")
    outcome.journal.clock.move(NOW)
    import_fills(outcome, HEADER + fill_line(10, "QBG", 2000, OWN[10], "E-001") + fill_line(40, "SPY", -100, INDEX[40]))
    advance_account(outcome, market, SETTINGS.account)
    book_cash(outcome, Entry("deposit", 50_000.0, DAYS[57], "second tranche"))
    advance_account(outcome, market, SETTINGS.account)
    yield outcome
    outcome.close()


@pytest.fixture(scope="module")
def first(memory, market):
    return of(memory, market)


def of(memory, market, settings=SETTINGS):
    return morning(whole_memory(memory, market.as_of), market, settings)


def pnl(since):
    """Return the P&L of QBG and SPY in USD since a session. Each fee counts in the first session of its position."""
    own = 2000 * (OWN[59] - OWN[max(since, 10)]) - (2 if since < 10 else 0)
    return own, -100 * (INDEX[59] - INDEX[max(since, 40)]) - (2 if since < 40 else 0)


def test_period_pnl_excludes_deposits_and_is_compared_with_the_benchmark(first):
    day, month, year = first.periods
    assert [(each.name, each.since) for each in first.periods] == [
        ("day", DAYS[58]), ("month", date(2024, 4, 30)), ("year", date(2023, 12, 31)),
    ]  # fmt: skip
    for period, since in (day, 58), (month, APRIL), (year, 0):
        assert period.usd == pytest.approx(sum(pnl(since)))
    nav = CAPITAL + 50_000 + sum(pnl(0))
    assert first.account.account.nav == pytest.approx(nav)
    assert day.percent == pytest.approx(day.usd / (nav - day.usd) * 100)
    assert day.benchmark == pytest.approx((INDEX[59] / INDEX[58] - 1) * 100)
    assert month.benchmark == pytest.approx((INDEX[59] / INDEX[APRIL] - 1) * 100)
    assert year.benchmark == pytest.approx((INDEX[59] / INDEX[0] - 1) * 100)
    assert [each.compared_since for each in first.periods] == [DAYS[58], date(2024, 4, 30), DAYS[0]]
    assert year.benchmark_text("SPY").endswith(f"% since {DAYS[0]}")  # the lake has no bars of the previous year
    assert "since" not in month.benchmark_text("SPY")


def test_a_benchmark_missing_from_the_lake_is_reported_as_a_gap(memory, market):
    unknown = of(memory, market, replace(SETTINGS, account=AccountSettings(capital=CAPITAL, benchmark="NONE")))
    assert [period.benchmark for period in unknown.periods] == [None, None, None]
    assert [gap for gap in unknown.gaps if gap.startswith("NONE: ")]


def test_pnl_is_split_by_view_and_expression_with_fees_as_the_remainder(memory, market, first):
    rows = {(row.view, row.expression): row.amounts for row in first.results}
    assert list(rows) == [("V-001", ""), ("V-001", "E-001"), ("", "SPY")]
    for number, since in enumerate((58, APRIL, 0)):
        own, index = pnl(since)
        assert rows["V-001", ""][number] == rows["V-001", "E-001"][number] == pytest.approx(own)
        assert rows["", "SPY"][number] == pytest.approx(index)
    book_cash(memory, Entry("fee", 120.0, DAYS[59], "custody"))
    with_fee = of(memory, market)
    assert with_fee.results[-1].expression == "fees and interest"
    assert with_fee.results[-1].amounts == (pytest.approx(-120.0),) * 3
    exposures = sum(abs(line.exposure) for line in with_fee.positions)
    assert with_fee.risk.gross == pytest.approx(exposures / with_fee.account.account.nav * 100)  # not the stored book
    parts = [row.amounts[0] for row in with_fee.results if row.expression]
    assert sum(parts) == pytest.approx(with_fee.periods[0].usd)


def test_positions_show_their_daily_pnl_and_distance_to_stop_and_target(first):
    own, index = first.positions
    last = OWN[59]
    assert (own.instrument, own.expression, own.direction) == ("QBG", "E-001", "long")
    assert (own.exposure, own.day) == (pytest.approx(2000 * last), pytest.approx(pnl(58)[0]))
    assert (own.to_stop, own.to_target) == (
        pytest.approx((last - 20) / last * 100),
        pytest.approx((300 - last) / last * 100),
    )
    assert (index.instrument, index.direction, index.to_stop, index.to_target) == ("SPY", "short", None, None)


def test_book_risk_and_scenario_losses_agree_with_numpy(first):
    nav = first.account.account.nav
    own, index = 2000 * OWN[59] / nav * 100, -100 * INDEX[59] / nav * 100
    mine, theirs = OWN[1:60] / OWN[:59] - 1, INDEX[1:60] / INDEX[:59] - 1
    beta = np.cov(mine, theirs)[0, 1] / np.var(theirs, ddof=1)
    risk = first.risk
    assert (risk.gross, risk.net) == (pytest.approx(own - index), pytest.approx(own + index))
    assert risk.factors["equity"] == pytest.approx(own * beta + index)
    assert risk.beta == pytest.approx((own * beta + index) / 100)
    assert risk.volatility == pytest.approx(np.std(own * mine + index * theirs, ddof=1) * np.sqrt(252))
    assert risk.loss_at_stops is None  # SPY is sold short without a stop
    assert [(each.name, each.percent) for each in first.scenarios] == [
        (RATES, 0.0), (EQUITIES, pytest.approx(-0.1 * (own * beta + index))), ("QBG −20 %", pytest.approx(-0.2 * own)),
    ]  # fmt: skip
    assert first.scenarios[2].usd == pytest.approx(-0.2 * 2000 * OWN[59])


def test_a_scenario_without_its_figure_is_unknown_and_a_short_position_loses_nothing():
    totals = Totals(50.0, -50.0, None, None, {"QBG": -50.0}, 0.0)
    assert scenarios(totals, 1000.0) == (
        Scenario(RATES, None, None),
        Scenario(EQUITIES, None, None),
        Scenario("one name −20 %", 0.0, 0.0),
    )
    rates = Totals(50.0, 50.0, 4.0, {"equity": 20.0}, {"TLT": 50.0}, 0.0)
    assert [each.usd for each in scenarios(rates, 1000.0)] == [-40.0, -20.0, -100.0]


def test_a_scenario_leaves_out_a_position_whose_figure_is_unknown_and_names_it(first):
    counted = [("QBG", Exposure(duration=0.0, factors={"equity": 40.0})), ("NEW", Exposure())]
    counted.append(("E-001", Exposure(duration=2.0, factors={"rates": 20.0})))
    totals = Totals(80.0, 80.0, None, {"equity": 40.0, "rates": 20.0}, {"QBG": 40.0}, 0.0, counted=counted)
    rates, equities, single = scenarios(totals, 1000.0)
    assert (rates, equities.percent, equities.usd) == (Scenario(RATES, -2.0, -20.0, ("NEW",)), -4.0, -40.0)
    assert [each.partial for each in (rates, equities, single)] == ["partial, without NEW"] * 2 + [""]
    page = replace(first, scenarios=(rates, equities), risk=replace(first.risk, without=("NEW",)))
    lines = list(Brief(NOW, page, [], [], []).lines())
    assert [row.split("  ")[0] for row in lines if row.endswith("  partial, without NEW")] == [RATES, EQUITIES]
    assert [row.split("  ")[0] for row in lines if "beta" in row] == ["beta, without NEW"]
    nothing = scenarios(replace(totals, factors={}, counted=counted[1:2]), 1000.0)
    assert [(each.percent, each.partial) for each in nothing[:2]] == [(None, "")] * 2


def test_command_and_page_begin_with_the_account(market, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "live"))
    monkeypatch.setenv("PITLAKE_LAKE", str(market.lake))
    (tmp_path / "live.toml").write_text('[account]\ncapital = 1000000\nbenchmark = "SPY"\n')
    text = HEADER + fill_line(10, "QBG", 2000, OWN[10]) + fill_line(10, "NEW", 100, 90.0)
    (tmp_path / "fills.csv").write_text(text)
    assert cli.invoke(["forge", "fills", "import", str(tmp_path / "fills.csv")]) == 0
    notes = capsys.readouterr().err
    assert notes == "NEW: the lake has no price for it; valued at its last fill\n"  # the desk names such sessions
    assert cli.invoke(["forge", "desk"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("net asset value")
    heads = ["P&L", "by View and Expression", "positions", "risk", "needs a decision", "since the last session"]
    result = [next(number for number, line in enumerate(lines) if line.startswith(head)) for head in heads]
    assert result == sorted(result)
    assert len([row for row in lines if row.startswith("gap: QBG: no bar on")]) == 1
    assert cli.invoke(["forge", "desk", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["nav"] == pytest.approx(CAPITAL + 2000 * (OWN[60] - OWN[10]) - 4)
    assert [each["without"] for each in document["scenarios"]] == [["NEW", "QBG"], ["NEW", "QBG"], []]
    assert [period["name"] for period in document["periods"]] == ["day", "month", "year"]
    with browsing(Lake(market.lake).root, rooms=(room,)) as client:
        content, first = client.get("/desk").text, client.get("/desk.json").json()["morning"]
    assert (first["nav"], first["alerts"]) == (document["nav"], document["alerts"])
    assert content.count("QBG: no bar on") == 1
    order = [
        "Net asset value", "P&amp;L by View", "Positions", "Risk", "What needs you", "Since the last session",
        "Views</h2>",
    ]  # fmt: skip
    assert [content.index(head) for head in order] == sorted(content.index(head) for head in order)
    assert "Hash <code>" not in content
