"""Futures and currencies of an account: fills, execution, book and margin, with rates as of the instant."""

import json
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from forge.core import config
from forge.desk import papers
from forge.memory.book import remembered_book
from forge.memory.cash import cash, open_account
from forge.memory.fills import fills, import_fills, void_fill
from forge.providers.base import At
from forge.tracking.account import advance_account
from forge.tracking.alerts import alerts
from forge.tracking.rates import rates_of
from forge.tracking.risk import guardrails, risk
from forge.tracking.settlement import whole_memory
from forge.tracking.trades import close_exits
from forge.web import room
from pitlake.clock import NEW_YORK, end_of_new_york_day
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_account import approved_expression, valued
from tests.forge.test_quotes import quote
from tests.forge.test_untaken import DAYS, at, memory, standing
from tests.forge.world import BOOK, run_forge, wrote
from tests.web.browsing import browsing

__all__ = ["memory"]

CAPITAL = 1_000_000.0
INDEX, OIL = "future:QIDX:2024-06", "future:QOIL:2024-06"
CONTRACTS = {
    "future:QIDX": config.Contract(multiplier=10.0, margin=3000.0, currency="EUR"),
    "future:QOIL": config.Contract(multiplier=1000.0, margin=6000.0),
}
SETTINGS = config.AccountSettings(capital=CAPITAL, contracts=CONTRACTS)
EUROS = {0: 1.10, 1: 1.11, 2: 1.12, 4: 1.09, 5: 1.08}
"""DEXUSEU by session. The fourth session has no rate. Each rate is published on the next day."""
HEADER = "ticker,quantity,price,filled_at,fees,expression,currency\n"


def observed(series, day, value):
    row = {"series_id": series, "observation_date": day, "vintage_date": day + timedelta(days=1), "value": value}
    return row | {"withdrawn": False, "available_at": end_of_new_york_day(day + timedelta(days=1))}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A lake with six sessions of a future in EUR and a future in USD, and FRED's rates of EUR and JPY."""
    lake = Lake(tmp_path_factory.mktemp("currencies") / "lake")
    quotes = []
    for number, day in enumerate(DAYS[:6]):
        quotes.append(quote(INDEX, day, 5000.0 + 10 * number, "settle", "EUR per point"))
        quotes.append(quote("index:QFH", day, 50.0 + number, "close", "EUR per share"))
        quotes.append(quote(OIL, day, 80.0 + number, "settle", "USD per barrel"))
    put_rows(lake, "market_quotes", *quotes)
    rows = [observed("DEXUSEU", DAYS[number], value) for number, value in EUROS.items()]
    put_rows(lake, "macro_observations", *rows, observed("DEXJPUS", DAYS[0], 150.0))
    return lake


def line(ticker, quantity, price, day, currency="", expression=""):
    moment = datetime(day.year, day.month, day.day, 12, tzinfo=NEW_YORK)
    return f"{ticker},{quantity},{price},{moment.isoformat()},0,{expression},{currency}\n"


def imported(memory, *lines):
    open_account(memory, CAPITAL, 0.0, CONTRACTS)
    return import_fills(memory, HEADER + "".join(lines))


def test_exchange_rates_are_as_of_the_instant_in_usd_per_unit(lake):
    def rates(currency, number, hour=20):
        moment = datetime(DAYS[number].year, DAYS[number].month, DAYS[number].day, hour, tzinfo=NEW_YORK)
        return rates_of(currency, DAYS[0], At(as_of=moment, lake=lake.root))

    assert dict(rates("EUR", 2).by_day) == {DAYS[0]: 1.10}
    assert dict(rates("EUR", 3).by_day) == {DAYS[0]: 1.10, DAYS[1]: 1.11}
    assert rates("EUR", 6).on(DAYS[3]) == 1.12
    assert rates("JPY", 6).on(DAYS[5]) == pytest.approx(1 / 150)
    with pytest.raises(BadInput, match=f"no rate for EUR on {DAYS[0]} as of this instant; load FRED's series DEXUSEU"):
        rates("EUR", 0)
    with pytest.raises(BadInput, match="no rate for CHF"):
        rates("CHF", 6)


@pytest.mark.parametrize(("pair", "unit", "value"), [("EURUSD", "USD per EUR", 1.3), ("USDEUR", "EUR per USD", 0.8)])
def test_the_desks_fx_quotes_take_precedence_over_freds_series(tmp_path, pair, unit, value):
    lake = Lake(tmp_path / "lake")
    put_rows(lake, "macro_observations", observed("DEXUSEU", DAYS[0], 1.1))
    put_rows(lake, "market_quotes", *(quote(f"fx:{pair}", day, value, "mid", unit) for day in DAYS[:3]))
    moment = datetime(DAYS[2].year, DAYS[2].month, DAYS[2].day, 20, tzinfo=NEW_YORK)
    usd = 1 / value if pair == "USDEUR" else value
    assert dict(rates_of("EUR", DAYS[1], At(as_of=moment, lake=lake.root)).by_day) == dict.fromkeys(DAYS[:3], usd)


def test_a_euro_future_is_valued_by_daily_variation_at_each_days_rate(memory, lake):
    now = at(memory, lake, DAYS[6], 8)
    assert imported(memory, line(INDEX, 4, 4990.0, DAYS[0]), line(OIL, -1, 80.5, DAYS[1])) == 2
    assert advance_account(memory, now, SETTINGS) == []
    first, second = fills(whole_memory(memory, now.as_of))
    assert (first.currency, first.multiplier, second.currency, second.multiplier) == ("EUR", 10.0, "", 1000.0)
    account = valued(memory, now).account
    euros = 4 * 10 * (10 * 1.10 + 10 * (1.11 + 1.12 + 1.12 + 1.09 + 1.08))
    assert account.nav == pytest.approx(CAPITAL + euros - 1000 * 4.5)
    assert account.margin == pytest.approx(4 * 3000 * 1.08 + 6000)
    over = alerts(standing(memory).remembered, now, config.Config(guardrails=config.Limits(max_margin=1.5)))
    share = account.margin / account.nav * 100
    assert f"over limit: max_margin is {share:.4g}, beyond the limit of 1.5" in map(str, over)
    book = remembered_book(standing(memory).remembered)
    index, oil = (4 * 5050 * 10 * 1.08 / account.nav * 100, -85_000 / account.nav * 100)
    assert {position.expression: position.notional for position in book.positions} == {
        INDEX: pytest.approx(index, abs=1e-5), OIL: pytest.approx(oil, abs=1e-5),
    }  # fmt: skip
    assert (book.gross, book.net) == (pytest.approx(index - oil, abs=1e-5), pytest.approx(index + oil, abs=1e-5))


def test_shares_in_another_currency_are_valued_by_quotes_at_the_exchange_rate(memory, lake):
    now = at(memory, lake, DAYS[6], 8)
    imported(memory, line("index:QFH", 100, 50.0, DAYS[0], "eur"))
    answer = valued(memory, now)
    assert answer.account.nav == pytest.approx(CAPITAL + 100 * (55 * 1.08 - 50 * 1.10))
    assert answer.gaps == (f"EUR: no rate on {DAYS[3]}; the last one is used",)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            line("QFH", 100, 50.0, DAYS[0], "eur"),
            "line 2: the lake's bars of QFH are in USD, so it can't be valued in EUR; load its quotes",
        ),
        (line("fx:EURUSD", 100, 1.1, DAYS[0], "EUR"), "line 2: fx:EURUSD is not priced in USD; give a currency as"),
        (line(INDEX, 1, 5000, DAYS[0], "USD"), f"line 2: currency of {INDEX} is USD; its contract is in EUR"),
        (line("future:QGAS:2024-06", 1, 3, DAYS[0]), "the account has no contract for it; write"),
    ],
)
def test_a_fill_that_does_not_fit_its_instrument_is_refused_by_name(memory, lake, statement, problem):
    now = at(memory, lake, DAYS[6])
    with pytest.raises(BadInput, match=problem):
        imported(memory, statement)
    assert fills(whole_memory(memory, now.as_of)) == []


def test_fills_in_a_currency_without_a_rate_are_refused_on_import_or_not_counted(memory, lake, tmp_path):
    now = at(memory, lake, DAYS[6])

    def check_rate(currency, day):
        rates_of(currency, day, now)

    open_account(memory, CAPITAL, 0.0)
    with pytest.raises(BadInput, match="the lake has no rate for CHF"):
        import_fills(memory, HEADER + line("index:QFH", 100, 50.0, DAYS[0], "CHF"), None, check_rate)
    assert fills(whole_memory(memory, now.as_of)) == []
    imported(memory, line("index:QFH", 100, 50.0, DAYS[0], "CHF"), line(OIL, 1, 80.0, DAYS[0]))
    answer = valued(memory, now)
    assert answer.account.nav == pytest.approx(CAPITAL + 5000)
    assert answer.gaps[0].startswith("CHF: ")
    assert answer.gaps[0].endswith("; its fills are not counted")


@pytest.mark.parametrize(
    ("instrument", "entry", "leave", "contracts", "fees", "rate"),
    [(INDEX, 5020.0, 5030.0, 2, (20.08, 20.12), 1.12), (OIL, 82.0, 83.0, 1, (16.4, 16.6), 1)],
)
def test_an_approved_futures_trade_is_executed_in_whole_contracts_with_costs(
    memory, lake, instrument, entry, leave, contracts, fees, rate
):
    approved_expression(memory, lake, instrument=instrument, stop="", target="", expires=DAYS[3], notional=12.0)
    now = at(memory, lake, DAYS[6])
    gaps = advance_account(memory, now, replace(SETTINGS, costs_bp=2.0))
    bought, sold = fills(whole_memory(memory, now.as_of))
    assert (bought.fees, sold.fees) == fees
    assert (bought.quantity, bought.price, sold.quantity, sold.price) == (contracts, entry, -contracts, leave)
    (outcome,), _ = close_exits(memory, now)
    variation = contracts * (leave - entry) * CONTRACTS[instrument[:11]].multiplier * rate
    assert outcome.pnl == pytest.approx((variation - sum(fees) * rate) / CAPITAL * 100)
    assert [gap for gap in gaps if "not executed" in gap] == []


def test_a_future_without_a_matching_contract_is_not_executed_and_the_reason_given(memory, lake):
    approved_expression(memory, lake, instrument=INDEX, stop="", target="")
    now = at(memory, lake, DAYS[6])
    (gap,) = advance_account(memory, now, replace(SETTINGS, contracts={}))
    missing = f"E-001 is not executed: contract: {INDEX} is a future, and the account has no contract for it; write "
    assert gap == f'{missing}[account.contracts."future:QIDX"] with multiplier and margin to the settings'
    wrong = {"future:QIDX": config.Contract(multiplier=10.0, margin=3000.0)}
    (gap,) = advance_account(memory, now, replace(SETTINGS, contracts=wrong))
    assert f"the contract of {INDEX} is in USD, its quotes in EUR" in gap
    assert fills(whole_memory(memory, now.as_of)) == []


def test_only_a_changed_contract_is_written_as_a_new_dated_entry(memory, lake):
    at(memory, lake, DAYS[1])
    for _ in range(2):
        open_account(memory, CAPITAL, 0.0, CONTRACTS)
    now = at(memory, lake, DAYS[4])
    raised = {**CONTRACTS, "future:QOIL": config.Contract(multiplier=1000.0, margin=7000.0)}
    for _ in range(2):
        open_account(memory, CAPITAL, 0.0, raised)
    terms = [
        (entry.ticker, entry.amount, entry.booked_on)
        for entry in cash(whole_memory(memory, now.as_of))
        if entry.entry == "contract"
    ]
    assert terms == [
        ("future:QIDX", 3000.0, DAYS[1]),
        ("future:QOIL", 6000.0, DAYS[1]),
        ("future:QOIL", 7000.0, DAYS[4]),
    ]


def test_a_fill_whose_multiplier_differs_from_the_open_positions_is_refused(memory, lake):
    at(memory, lake, DAYS[3])
    bought, sold = line(OIL, 2, 80.0, DAYS[1]), line(OIL, -1, 82.0, DAYS[3])
    imported(memory, bought)
    open_account(memory, CAPITAL, 0.0, {"future:QOIL": config.Contract(multiplier=500.0, margin=6000.0)})
    now = at(memory, lake, DAYS[4], 20)
    problem = f"multiplier of {OIL} is 500, but its open position has 1000; close the position first, or void"
    with pytest.raises(BadInput, match=problem):
        import_fills(memory, HEADER + bought + sold)
    assert len(fills(whole_memory(memory, now.as_of))) == 1
    void_fill(memory, "F-001", "not ours")
    assert import_fills(memory, HEADER + bought + sold) == 1
    assert valued(memory, at(memory, lake, DAYS[5], 20)).account.nav == pytest.approx(CAPITAL + 500 * (82 - 85))


def test_a_file_imported_again_after_a_changed_contract_adds_no_fill(memory, lake):
    at(memory, lake, DAYS[3])
    statement = line(OIL, 1, 80.0, DAYS[1])
    assert (imported(memory, statement), imported(memory, statement)) == (1, 0)
    open_account(memory, CAPITAL, 0.0, {"future:QOIL": config.Contract(multiplier=500.0, margin=6000.0)})
    assert import_fills(memory, HEADER + statement) == 0
    void_fill(memory, "F-001", "not ours")
    assert import_fills(memory, HEADER + statement) == 0


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"CL": {"multiplier": 1000, "margin": 1}}, "contracts.CL: 'CL' is not a future; write one such as future:CL"),
        ({"future:CL": {"margin": 1}}, "account.contracts.future:CL.multiplier: is missing"),
        ({"future:CL": {"multiplier": 0, "margin": 1}}, "multiplier: is 0; it should be greater than 0"),
        ({"future:CL": {"multiplier": 1, "margin": 1, "currency": "EUX"}}, "currency: 'EUX' is not supported"),
        ({"future:CL": {"multiplier": 1, "margin": -1}}, "margin: is -1; it should be greater than or equal to 0"),
    ],
)
def test_an_impossible_contract_in_the_settings_is_refused_by_name(settings, problem):
    with pytest.raises(BadInput, match=problem):
        config.from_mapping({"account": {"contracts": settings}})


@pytest.fixture
def opened(lake, place, monkeypatch):
    """A file with two fills, on a live desk whose settings define the contracts."""
    monkeypatch.setenv("PITLAKE_LAKE", str(lake.root))
    (place / ".pitlake").mkdir()
    contracts = "".join(
        f'[account.contracts."{name}"]\nmultiplier = {each.multiplier}\nmargin = {each.margin}\n'
        f'currency = "{each.currency}"\n'
        for name, each in CONTRACTS.items()
    )
    (place / ".pitlake" / "forge.toml").write_text(f"[account]\ncapital = 1000000\n{contracts}")
    statement = HEADER + line(INDEX, 4, 4990.0, DAYS[0]) + line(OIL, -1, 80.5, DAYS[1])
    (place / "fills.csv").write_text(statement)
    return place / "fills.csv"


def test_the_commands_and_the_desk_show_futures_margin_and_currencies(lake, opened, capsys):
    code, out, err = run_forge(capsys, "fills", "import", str(opened))
    assert (code, out) == (0, "2 new fills\n"), err
    out = run_forge(capsys, "book")[1]
    margin, exposure = 4 * 3000 * 1.08 + 6000, 4 * 5050 * 10 * 1.08
    assert f"margin used {margin:>22,.2f} USD" in out
    assert f"{INDEX}, 10 EUR a point, margin 12,960 USD\n" in out
    assert f"{4:>32}{4990:>11,.2f}{5050:>11,.2f}{exposure:>13,.0f}" in out
    assert [row for row in out.splitlines() if len(row) > 80 and not row.startswith("gap: ")] == []
    answer = json.loads(run_forge(capsys, "book", "--format", "json")[1])
    assert answer["margin"] == pytest.approx(margin)
    (index, oil) = answer["positions"]
    assert (index["currency"], index["multiplier"], index["value"]) == ("EUR", 10.0, 0.0)
    assert (oil["exposure"], oil["open_pnl"], oil["margin"]) == (-85_000.0, pytest.approx(-4500.0), 6000.0)
    risk = json.loads(run_forge(capsys, "desk", "--format", "json")[1])["risk"]
    assert risk["margin"] == pytest.approx(margin / answer["nav"] * 100)
    out = run_forge(capsys, "desk")[1]
    assert f"margin used {risk['margin']:>31.2f}\n" in out
    assert f"long {INDEX}\n{exposure:>35,.0f}" in out
    assert run_forge(capsys, "constrain", "--max-margin", "1.5") == (0, "max_margin 1.5\n", "")
    with browsing(lake.root, rooms=(room,)) as client:
        page = client.get("/desk").text
    for text in ("Margin used</dt><dd>18,960.00 USD", "10 EUR a point, margin 12,960 USD", ">218,160.00<"):
        assert text in page
    code, _, err = run_forge(capsys, "cash", "contract", "5", "--reason", "x")
    assert (code, "'contract' is not one of" in err) == (2, True)
    opened.write_text(HEADER + line("index:QFH", 1, 5, DAYS[0], "CHF"))
    code, _, err = run_forge(capsys, "fills", "import", str(opened))
    assert (code, f"the lake has no rate for CHF on {DAYS[0]}" in err) == (2, True)


def test_a_pending_futures_trade_shows_its_contracts_and_its_ticket_orders_them(memory, lake):
    open_account(memory, CAPITAL, 0.0, CONTRACTS)
    wrote(standing(memory, "pm"), "/portfolio/state.md", replace(BOOK, nav=CAPITAL), "book of the day")
    path = approved_expression(memory, lake, instrument=INDEX, stop="4900", target="", notional=12.0)
    now = at(memory, lake, DAYS[3])
    remembered = whole_memory(memory, now.as_of)
    shown = risk(remembered.record(remembered.newest(path)), remembered, now)
    assert shown.lines()[:3] == ["last close: 5030 EUR", "contracts: 2", f"initial margin: {2 * 3000 * 1.11:.4g} USD"]
    trade, book = remembered.record(remembered.newest(path)), remembered_book(remembered)
    margin, limits = 12.0 * 3000 / (5030 * 10), (0.6, 0.8)
    tight, wide = (guardrails(config.Limits(max_margin=limit), now, cash(remembered)) for limit in limits)
    assert [str(each) for each in tight.check(trade, replace(book, positions=()), None)] == [
        f"[hard] max_margin: {margin:g} (limit: 0.6)"
    ]
    assert wide.check(trade, replace(book, positions=()), None) == ()
    assert f"margin 0 → {margin:.4g}" in map(str, wide.what_if(trade, replace(book, positions=())))
    unknown = replace(trade, instrument="future:QGAS:2024-06")
    assert "[hard] max_margin: missing (limit: 0.8)" in map(str, wide.check(unknown, book, None))
    rows = papers.ticket(remembered, "E-001", now).splitlines()
    assert dict(zip(rows[0].split(","), rows[1].split(","), strict=True))["quantity"] == "2"
