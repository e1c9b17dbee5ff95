"""Pre-trade risk from bars, against NumPy; a claim that the stop contradicts is a violation."""

from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from forge.core.clock import Simulated
from forge.memory import Memory
from forge.memory.approvals import approve, pending
from forge.memory.guardrails import Guardrails
from forge.providers.base import At
from forge.records import Position
from forge.tracking.risk import claim_check, risk
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
    """A company, an index fund and one bar after the instant that is asked as of."""
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
    made = Memory(tmp_path / "forge", clock=Simulated("risk", NOW))
    positions = (Position(expression="SPY", notional=30.0),)
    book = replace(BOOK, gross=30.0, net=30.0, nav=1_000_000.0, positions=positions)
    wrote(turn(made, "pm", actor="pm"), "/portfolio/state.md", book, "book")
    wrote(turn(made, at=made.read_instant(NOW)), "/memory/views/new.md", NEW_VIEW, "view")
    yield made
    made.close()


def trade(**changed):
    return replace(HELD, **{"id": "E-001"} | changed)


def test_the_figures_are_those_of_numpy_over_bars_up_to_the_instant(market, memory):
    remembered = memory.hydrate(memory.read_instant(NOW))
    found = risk(trade(direction="short", stop="130", notional=10.0), remembered, market)
    own, index = OWN[:60], INDEX[:60]
    mine, theirs = own[1:] / own[:-1] - 1, index[1:] / index[:-1] - 1
    assert found.price == own[-1]
    assert found.loss_at_stop == pytest.approx((130 - own[-1]) / own[-1] * 10)
    assert found.volatility == pytest.approx(np.std(mine, ddof=1) * np.sqrt(252) * 100)
    assert found.beta == pytest.approx(np.cov(mine, theirs)[0, 1] / np.var(theirs, ddof=1))
    assert found.concentration == pytest.approx(25.0)
    assert found.correlation == pytest.approx(-np.corrcoef(mine, theirs)[0, 1])
    assert found.days_of_volume == pytest.approx(100_000 / own[-1] / 1000)
    assert found.gaps == ()


def test_what_bars_cannot_say_is_a_gap(market, memory):
    remembered = memory.hydrate(memory.read_instant(NOW))
    assert risk(trade(stop=""), remembered, market).gaps == ("it has no stop, so its loss is unlimited",)
    found = risk(trade(direction="option"), remembered, market)
    assert (found.loss_at_stop, "option" in found.gaps[0]) == (None, True)
    assert risk(trade(instrument="TY"), remembered, market).gaps[0].startswith("TY: ")


@pytest.mark.parametrize(("claimed", "contradicted"), [(4.9, False), (0.1, True)])
def test_a_loss_that_the_stop_contradicts_cannot_be_approved(market, memory, claimed, contradicted):
    stop = f"{OWN[59] * 0.5:.2f}"
    fs = turn(memory, at=memory.read_instant(NOW))
    wrote(fs, "/memory/expressions/new.md", trade(id="new", stop=stop, max_loss_pct=claimed, notional=18.0), "e")
    claims = claim_check(market)
    (waiting,) = pending(memory, Guardrails(), claims=claims)
    reviewed(memory, waiting.expression)
    assert [one.rule for one in waiting.violations] == ["loss_at_stop_over_twice_the_claim"] * contradicted
    if contradicted:
        with pytest.raises(BadInput, match=r"loss_at_stop_over_twice_the_claim: 8\.99"):
            approve(memory, "E-001", waiting.sha256, "pm", Guardrails(), claims)
    else:
        approve(memory, "E-001", waiting.sha256, "pm", Guardrails(), claims)
