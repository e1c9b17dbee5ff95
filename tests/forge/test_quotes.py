"""Futures, currencies and rates that a desk's quotes follow, and instruments that cannot be followed."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from forge.agent.help import record_page
from forge.agent.tools.toolset import Writes
from forge.core import config
from forge.fs import ForgeFS
from forge.memory.cash import open_account
from forge.memory.fills import fills, import_fills
from forge.providers.base import At
from forge.records import KINDS, render
from forge.tracking.account import advance_account
from forge.tracking.alerts import alerts
from forge.tracking.bars import traded_bars
from forge.tracking.followable import Followable
from forge.tracking.paths import Bar
from forge.tracking.risk import Market, risk
from forge.tracking.settlement import whole_memory
from forge.tracking.trades import close_exits
from forge.tracking.valuation import value_account
from pitlake.clock import NEW_YORK
from pitlake.exchange import session
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_account import HEADER, approved_expression
from tests.forge.test_untaken import DAYS, HELD, START, at, memory, standing

__all__ = ["memory"]

CAPITAL = 100_000.0
EURO, OIL, RATE = "fx:EURUSD", "future:CL:2024-12", "curve:USD:10Y"
EUROS = (1.10, 1.11, 1.12, 1.13, 1.09, 1.08)
OILS = (80.0, 81.0, 82.0, 83.0, 84.0, 85.0)
RATES = (4.00, 4.05, 4.10, 4.20, 4.40, 4.30)


def quote(name, day, price, measure, unit, point="outright"):
    kind, instrument, *tenor = name.split(":")
    row = {"kind": kind, "instrument": instrument, "tenor": (*tenor, "spot")[0], "point": point, "measure": measure}
    return row | {"quoted_on": day, "value": price, "unit": unit, "available_at": session(day).close}


def bond(rate, years=10):
    return 100 / (1 + rate / 100) ** years


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A lake with six days of quotes. Oil's low on the fourth day is 70."""
    lake = Lake(tmp_path_factory.mktemp("quotes") / "lake")
    rows = []
    for day, euro, oil, rate in zip(DAYS, EUROS, OILS, RATES, strict=False):
        rows += [
            quote(EURO, day, euro, "mid", "USD per EUR"),
            quote("fx:EURUSD:3M", day, 0.004, "points", "USD per EUR"),
            quote(OIL, day, oil, "settle", "USD per barrel"),
            quote(OIL, day, oil + 0.5, "last", "USD per barrel"),
            quote(OIL, day, oil - 1, "open", "USD per barrel"),
            quote(OIL, day, oil + 2, "high", "USD per barrel"),
            quote(OIL, day, 70.0 if day == DAYS[3] else oil - 2, "low", "USD per barrel"),
            quote(RATE, day, rate, "zero_rate", "percent"),
            quote("fx:USDJPY", day, 150.0, "mid", "JPY per USD"),
            quote("index:OWN", day, 100.0, "close", ""),
            quote("vol:EURUSD:1M", day, 6.2, "implied_vol", "percent"),
            quote("future:CL:2024-12", day, 6.2, "settle", "USD per barrel", point="25P"),
        ]
    put_rows(lake, "market_quotes", *rows)
    return lake


def view_at(lake, day, hour=20):
    return At(as_of=datetime(day.year, day.month, day.day, hour, tzinfo=NEW_YORK), lake=lake.root)


def test_the_bars_of_a_day_are_its_quotes_as_of_the_instant(lake):
    bars = traded_bars(OIL, DAYS[0], view_at(lake, DAYS[3])).bars
    assert bars[DAYS[3]] == Bar(day=DAYS[3], open=82.0, high=85.0, low=70.0, close=83.0)
    assert list(bars) == DAYS[:4]
    rates = traded_bars(RATE, DAYS[0], view_at(lake, DAYS[5])).prices.closes
    assert list(rates.values()) == pytest.approx([bond(rate) for rate in RATES])
    assert traded_bars("fx:EURUSD:3M", DAYS[0], view_at(lake, DAYS[5])).bars == {}


@pytest.mark.parametrize(
    ("instrument", "direction", "stop", "entry", "leave", "closed_on"),
    [
        (EURO, "long", "1.10", 1.12, 1.09, DAYS[4]),  # the day's only quote is below its stop
        (OIL, "long", "75", 81.0, 75.0, DAYS[3]),  # at its stop, between open and low
        (RATE, "long", "66", bond(4.10), bond(4.40), DAYS[4]),
        (RATE, "short", "", bond(4.10), bond(4.30), DAYS[5]),  # on its last day
    ],
)
def test_fills_stops_and_pnl_are_computed_from_quotes(
    memory, lake, instrument, direction, stop, entry, leave, closed_on
):
    settings = config.AccountSettings(
        capital=CAPITAL, contracts={"future:CL": config.Contract(multiplier=10.0, margin=60.0)}
    )
    expires = DAYS[5] if not stop else None
    approved_expression(memory, lake, instrument=instrument, direction=direction, stop=stop, target="", expires=expires)
    now = at(memory, lake, DAYS[5])
    assert advance_account(memory, now, settings) == []
    (outcome,), gaps = close_exits(memory, now)
    bought, sold = fills(whole_memory(memory, now.as_of))
    side, multiplier = 1 if direction == "long" else -1, 10.0 if instrument == OIL else None
    quantity = side * (CAPITAL * 0.1 // (entry * (multiplier or 1.0)))
    assert gaps == []
    assert (bought.quantity, sold.quantity) == (quantity, -quantity)
    assert (bought.price, sold.price) == pytest.approx((entry, leave))
    assert (bought.multiplier, sold.multiplier) == (multiplier, multiplier)
    assert (bought.filled_at.astimezone(NEW_YORK).date(), sold.filled_at.astimezone(NEW_YORK).date()) == (
        DAYS[2],
        closed_on,
    )
    assert outcome.status == ("stop" if stop else "time")
    assert outcome.pnl == pytest.approx(quantity * (leave - entry) * (multiplier or 1.0) / CAPITAL * 100)


def test_imported_fills_of_a_quoted_instrument_are_valued(memory, lake, tmp_path):
    open_account(memory, CAPITAL, 0.0)
    at(memory, lake, DAYS[1])
    (tmp_path / "fills.csv").write_text(f"{HEADER}{EURO},1000,1.1,{DAYS[1]}T12:00:00-05:00,,\n")
    assert import_fills(memory, tmp_path / "fills.csv") == 1
    now = at(memory, lake, DAYS[4])
    valued = value_account(whole_memory(memory, now.as_of), now)
    assert valued.account.nav == pytest.approx(CAPITAL + 1000 * (1.09 - 1.1))
    assert valued.gaps == ()


def test_risk_and_alerts_read_quotes(memory, lake):
    approved_expression(memory, lake, instrument=EURO, stop="1.075", target="")
    now = at(memory, lake, DAYS[4])
    remembered = whole_memory(memory, now.as_of)
    result = risk(replace(HELD, id="E-002", instrument=EURO, stop="1.0"), remembered, now)
    assert (result.price, result.loss_at_stop) == (1.09, pytest.approx(10 * 0.09 / 1.09))
    listing = alerts(remembered, now, config.Config())
    assert [alert.kind for alert in listing if alert.subject in ("E-001", EURO)] == ["stop near"]
    late = alerts(remembered, view_at(lake, DAYS[9]), config.Config())
    (text,) = [alert.text for alert in late if alert.subject == "E-001"]
    assert text.startswith(f"may have passed its stop 1.075, unfollowed since {DAYS[6]}: there are no bars for {EURO}")


def test_a_rate_has_its_zero_coupon_bonds_duration_and_counts_as_rates_exposure(lake):
    """A fifth of the capital is sold at the modified duration of ten years at 4.40 %."""
    sold = replace(HELD, instrument=RATE, direction="short", stop="", target="", notional=20.0)
    exposure = Market(view_at(lake, DAYS[4])).compute(sold, None)
    assert (exposure.duration, exposure.factors) == (pytest.approx(-0.2 * 10 / 1.044), {"rates": -20.0})


@pytest.mark.parametrize(
    ("changed", "refused"),
    [
        ({"instrument": "TY"}, "TY"),
        ({"instrument": "EURUSD"}, "EURUSD"),
        ({"instrument": "fx:USDJPY"}, "fx:USDJPY"),
        ({"instrument": "index:OWN"}, "index:OWN"),
        ({"instrument": "vol:EURUSD:1M"}, "vol:EURUSD:1M"),
        ({"instrument": "fx:EURUSD:3M"}, "fx:EURUSD:3M"),
        ({"instrument": EURO}, None),
        ({"instrument": OIL}, None),
        ({"instrument": RATE}, None),
        ({"instrument": "TLT 95 put", "direction": "option"}, None),
    ],
)
def test_an_expression_on_an_instrument_without_usable_prices_is_refused(memory, lake, changed, refused):
    checked = Followable(at(memory, lake, DAYS[4])).fault
    remembered = standing(memory).remembered
    writes = Writes(ForgeFS(memory, remembered, followed=checked))
    text = render(replace(HELD, status="draft", stop="", target="", **changed))
    answer = asyncio.run(writes.execute("1", "/memory/expressions/new.md", text))
    if refused is None:
        assert answer == "Written: /memory/expressions/E-001.md"
        return
    assert f"instrument: '{refused}' has neither daily bars nor quotes as of {DAYS[4] + timedelta(days=1)}" in answer
    assert f"give an instrument of market_quotes: {RATE}, {OIL}, {EURO}" in answer
    assert [*standing(memory).remembered.paths("/memory/expressions/")] == []


def test_a_later_quote_does_not_make_an_instrument_followable(memory, lake):
    """Before the first close there are no quotes, so nothing can be followed and no instrument is refused."""
    before = At(as_of=START, lake=lake.root)
    assert Followable(before).fault("TY") is None
    assert Followable(before).describe() == "no instrument: the lake has no prices from the last 30 days"
    long_after = view_at(lake, DAYS[60])
    assert Followable(long_after).fault("TY") is None
    assert EURO not in record_page(KINDS["expressions"], before)
    assert EURO in record_page(KINDS["expressions"], view_at(lake, DAYS[0]))


def test_an_earlier_expression_without_usable_prices_can_still_be_changed(memory, lake):
    now = at(memory, lake, DAYS[4])
    writes = ForgeFS(memory, standing(memory).remembered)
    old = replace(HELD, status="draft", instrument="TY", stop="", target="")
    path = writes.write_file("/memory/expressions/new.md", render(old), call_id="old").path
    later = ForgeFS(memory, standing(memory).remembered, followed=Followable(now).fault)
    assert later.write_file(path, render(replace(old, id="E-001", notional=5.0)), call_id="changed").path == path
