"""The account: fills from a file and from approvals, and the resulting book and limits. Bars come from a lake."""

import json
from dataclasses import replace
from datetime import datetime

import pytest

from forge.core import config
from forge.desk import desk
from forge.memory import Memory
from forge.memory.approvals import approve, change_held, pending
from forge.memory.book import remembered_book
from forge.memory.cash import cash, open_account
from forge.memory.fills import fills, import_fills, void_fill
from forge.memory.guardrails import Guardrails
from forge.memory.halts import switch
from forge.providers.base import At
from forge.records import Halt
from forge.tracking.account import advance_account, book_of
from forge.tracking.ledger import Account, Holding
from forge.tracking.risk import guardrails
from forge.tracking.settlement import whole_memory
from forge.tracking.trades import close_exits
from forge.tracking.valuation import value_account
from forge.web import room
from pitlake.clock import NEW_YORK
from pitlake.errors import BadInput
from tests.forge.test_alerts import alert_texts, of
from tests.forge.test_untaken import DAYS, HELD, at, held, lake, memory, standing
from tests.forge.world import BOOK, reviewed, run_forge, wrote
from tests.web.browsing import browsing

__all__ = ["lake", "memory"]

SETTINGS = config.AccountSettings(capital=100_000.0, costs_bp=10.0)
HEADER = "ticker,quantity,price,filled_at,fees,expression\n"


def line(day, quantity=100, price=100, ticker="QBG", hour=12):
    return (
        f"{ticker},{quantity},{price},{datetime(day.year, day.month, day.day, hour, tzinfo=NEW_YORK).isoformat()},1,\n"
    )


def imported(memory, tmp_path, text):
    (tmp_path / "fills.csv").write_text(HEADER + text)
    return import_fills(memory, tmp_path / "fills.csv")


def approved_expression(memory, lake, day=DAYS[1], hour=20, **changed):
    """Approve an Expression on the second evening, or at the given day and hour; return its path."""
    at(memory, lake, day, hour)
    return f"/memory/expressions/{held(memory, **changed)}.md"


def switched(memory, status, reason):
    switch(memory, Halt(id="halt", by="pm", reason=reason, status=status))


def valued(memory, now):
    return value_account(whole_memory(memory, now.as_of), now)


def test_importing_a_fills_file_twice_books_each_fill_once_and_updates_the_book(memory, lake, tmp_path):
    now = at(memory, lake, DAYS[3])
    text = line(DAYS[0]) + line(DAYS[0]) + line(DAYS[3], -50, 50.5)
    assert imported(memory, tmp_path, text) == 3
    assert imported(memory, tmp_path, text) == 0
    assert imported(memory, tmp_path, text + line(DAYS[0])) == 1
    assert advance_account(memory, now, SETTINGS) == []
    account = valued(memory, now).account
    (position,) = account.positions
    assert (position.quantity, position.cost) == (550.0, 50.0)
    assert account.nav == pytest.approx(100_000 + 600 * 0.25 + 50 * 0.5 + 550 * 0.5 - 4)
    book = remembered_book(standing(memory).remembered)
    assert book.nav == round(account.nav, 2)
    assert book.gross == pytest.approx(550 * 50.5 / account.nav * 100, abs=1e-5)
    (own,) = book.positions
    assert (own.expression, own.factor_exposures) == ("QBG", {"equity": pytest.approx(own.notional)})
    assert (book.factor_exposures, book.duration) == (own.factor_exposures, 0.0)


def test_a_books_duration_is_unknown_if_any_positions_duration_is(lake):
    account = Account(
        100.0, 0.0, (Holding("QBG", "", 1.0, price=60.0), Holding("TLT", "", 1.0, price=40.0)), 0.0, (), {}
    )
    view = At(as_of=datetime(2024, 3, 8, 20, tzinfo=NEW_YORK), lake=lake.root)
    book = book_of(account, (), guardrails(config.Limits(), view))
    assert (book.duration, book.gross, book.factor_exposures) == (None, 100.0, {"equity": 60.0})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("QBG,ten,100,2024-03-01T12:00:00-05:00,,\n", "line 3: quantity is 'ten'"),
        ("QBG,0,100,2024-03-01T12:00:00-05:00,,\n", "line 3: quantity is 0"),
        ("QBG,10,-1,2024-03-01T12:00:00-05:00,,\n", "line 3: price is -1"),
        ("QBG,10,nan,2024-03-01T12:00:00-05:00,,\n", "line 3: price is 'nan'"),
        ("QBG,10,1,2024-03-01 12:00,,\n", "line 3: filled_at"),
        ("QBG,10,1,2044-03-01T12:00:00-05:00,,\n", "is in the future"),
        ("N G,10,1,2024-03-01T12:00:00-05:00,,\n", "line 3: ticker is 'N G'"),
        ("QBG,10,1,2024-03-01T12:00:00-05:00,-2,\n", "line 3: fees is -2"),
        ("QBG,10,1,2024-03-01T12:00:00-05:00,,E-999\n", "line 3: there is no Expression 'E-999'"),
        ("future:CL:2024-12,1,80,2024-03-01T12:00:00-05:00,,\n", "line 3: contract future:CL:2024-12 is a future, and"),
        ("fx:USDJPY,1,150,2024-03-01T12:00:00-05:00,,\n", "line 3: fx:USDJPY is not priced in USD; give a currency as"),
        ("QBG,10\n", "line 3: its number of values differs"),
    ],
)
def test_a_bad_line_is_named_and_no_line_of_its_file_is_booked(memory, lake, tmp_path, text, problem):
    now = at(memory, lake, DAYS[3])
    with pytest.raises(BadInput, match=problem):
        imported(memory, tmp_path, line(DAYS[0]) + text)
    assert fills(whole_memory(memory, now.as_of)) == []


@pytest.mark.parametrize(
    ("currencies", "problem"),
    [
        (("EUX",), "line 2: currency 'EUX' is not supported; did you mean EUR"),
        (("GBX",), "line 2: currency 'GBX' is not supported; did you mean GBP"),
        (("usd", "EUR"), "line 3: the lake's bars of QBG are in USD, so it can't be valued in EUR"),
    ],
)
def test_a_fill_in_an_unsupported_or_mismatched_currency_is_refused(memory, lake, tmp_path, currencies, problem):
    now = at(memory, lake, DAYS[3])
    lines = [line(DAYS[0]).replace("\n", f",{currency}\n") for currency in currencies]
    (tmp_path / "fills.csv").write_text("".join((HEADER.replace("\n", ",currency\n"), *lines)))
    with pytest.raises(BadInput, match=problem):
        import_fills(memory, tmp_path / "fills.csv")
    assert fills(whole_memory(memory, now.as_of)) == []


def test_an_approved_expression_is_filled_once_at_the_next_open_and_once_at_exit(memory, lake):
    approved_expression(memory, lake, target="110", stop="90")
    now = at(memory, lake, DAYS[2])
    for _ in range(2):
        assert advance_account(memory, now, SETTINGS) == []
    (entry,) = fills(whole_memory(memory, now.as_of))
    assert (entry.quantity, entry.price, entry.source, entry.expression) == (200.0, 50.0, "code", "E-001")
    assert entry.filled_at.astimezone(NEW_YORK).isoformat() == f"{DAYS[2]}T09:30:00-05:00"
    assert entry.fees == pytest.approx(10.0)
    now = at(memory, lake, DAYS[5])
    advance_account(memory, now, SETTINGS)
    close_exits(memory, now)
    advance_account(memory, now, SETTINGS)
    _, leave = fills(whole_memory(memory, now.as_of))
    assert (leave.quantity, leave.price) == (-200.0, 55.0)
    account = valued(memory, now).account
    assert account.positions == []
    assert account.nav == pytest.approx(100_000 + 200 * 5 + 200 * 0.25 - 10 - 11)
    assert remembered_book(standing(memory).remembered).gross == 0.0


def test_an_outcomes_pnl_follows_from_its_fills_in_whole_shares_after_costs(memory, lake):
    path = approved_expression(memory, lake, target="110", stop="90", notional=9.99)
    now = at(memory, lake, DAYS[5])
    advance_account(memory, now, SETTINGS)
    (outcome,), gaps = close_exits(memory, now)
    entry, leave = fills(whole_memory(memory, now.as_of))
    sample = 199 * (55 - 50) + 199 * 0.25 - entry.fees - leave.fees  # 199.8 shares are rounded down to 199
    assert (entry.quantity, leave.quantity, gaps) == (199.0, -199.0, [])
    assert outcome.pnl == pytest.approx(sample / 100_000 * 100, abs=1e-9)
    expression = standing(memory).remembered.record(standing(memory).remembered.newest(path))
    assert "; +1023.86 USD by its fills" in expression.exit_details


def test_an_expression_too_small_for_a_whole_share_ends_with_zero_pnl(memory, lake):
    approved_expression(memory, lake, target="110", stop="90", notional=0.01, max_loss_pct=0.01)
    now = at(memory, lake, DAYS[5])
    assert advance_account(memory, now, SETTINGS) == [
        "E-001 is not executed: its notional is too small for a whole share"
    ]
    (outcome,), _ = close_exits(memory, now)
    assert (outcome.pnl, fills(whole_memory(memory, now.as_of))) == (0.0, [])


def test_the_pms_own_fills_count_in_an_outcome_which_notes_shares_still_held(memory, lake, tmp_path):
    path = approved_expression(memory, lake, target="110", stop="90")
    name = path.rpartition("/")[2].removesuffix(".md")
    at(memory, lake, DAYS[3])
    imported(memory, tmp_path, line(DAYS[3], 40, 50).rstrip("\n") + f"{name}\n")
    now = at(memory, lake, DAYS[5])
    advance_account(memory, now, SETTINGS)
    (outcome,), _ = close_exits(memory, now)
    assert outcome.pnl == pytest.approx((40 * (54 - 50) - 1) / 100_000 * 100)
    expression = standing(memory).remembered.record(standing(memory).remembered.newest(path))
    assert "40 QBG still held" in expression.exit_details
    advance_account(memory, now, SETTINGS)
    text = "is closed, but your fills of it still hold +2.157 % of capital: trade it, then import the fill"
    assert of("still held", alert_texts(memory, now)) == [(name, text)]
    imported(memory, tmp_path, line(DAYS[5], -40, 54).rstrip("\n") + f"{name}\n")
    advance_account(memory, now, SETTINGS)
    assert of("still held", alert_texts(memory, now)) == []


def test_shares_held_over_a_split_are_all_sold(memory, lake):
    approved_expression(memory, lake, DAYS[0], 8, target="110", stop="80")
    now = at(memory, lake, DAYS[6])
    advance_account(memory, now, SETTINGS)
    entry, leave = fills(whole_memory(memory, now.as_of))
    assert (entry.quantity, entry.price, leave.quantity, leave.price) == (100.0, 100.0, -200.0, 55.0)


def test_an_expression_without_price_bars_is_not_executed_and_the_reason_is_given(memory, lake):
    approved_expression(memory, lake, instrument="TY", target="", stop="")
    now = at(memory, lake, DAYS[3])
    assert advance_account(memory, now, SETTINGS) == [
        f"E-001 is not executed: there are no bars for TY on 2 days, {DAYS[2]} to {DAYS[3]}"
    ]
    assert fills(whole_memory(memory, now.as_of)) == []


def test_while_halted_nothing_is_approved_or_executed_until_a_release_by_hand(memory, lake):
    approved_expression(memory, lake, target="120", stop="98")
    switched(memory, "halted", "fire drill")
    now = at(memory, lake, DAYS[3])
    advance_account(memory, now, SETTINGS)
    assert fills(whole_memory(memory, now.as_of)) == []
    wrote(standing(memory), "/memory/expressions/new.md", replace(HELD, target="90", stop="20"), "second")
    (waiting,) = pending(memory, Guardrails())
    reviewed(memory, waiting.expression)
    with pytest.raises(BadInput, match="trading is halted: fire drill"):
        approve(memory, "E-002", waiting.sha256, "pm", Guardrails(), confirmed=True)
    switched(memory, "released", "over")
    approve(memory, "E-002", waiting.sha256, "pm", Guardrails(), confirmed=True)
    now = at(memory, lake, DAYS[4])
    advance_account(memory, now, SETTINGS)
    executed = [(fill.expression, fill.price) for fill in fills(whole_memory(memory, now.as_of))]
    assert executed == [("E-001", 51.0), ("E-002", 51.0)]
    with pytest.raises(BadInput, match="not halted"):
        switched(memory, "released", "again")


def test_an_unopened_expression_is_closed_after_its_last_day_even_while_halted(memory, lake):
    path = approved_expression(memory, lake)
    switched(memory, "halted", "fire drill")
    change_held(memory, "E-001", "pm", Guardrails(), {"exit_reason": "thesis"})
    (outcome,), gaps = close_exits(memory, at(memory, lake, DAYS[4]))
    assert (gaps, outcome.status, outcome.pnl) == ([], "thesis", 0.0)
    assert "no session left to open in" in standing(memory).read_file(path)


def test_the_account_commands_import_fills_value_the_book_and_halt_trading(lake, opened_desk, capsys):
    opened_desk.write_text("")
    assert run_forge(capsys, "book")[0] == 2
    opened_desk.write_text("[account]\ncapital = 100000\n")
    opened_desk.parent.parent.joinpath("fills.csv").write_text(HEADER + line(DAYS[4], 100, 50))
    code, out, err = run_forge(capsys, "fills", "import", "fills.csv")
    assert (code, out) == (0, "1 new fill\n"), err
    code, out, err = run_forge(capsys, "book", "--format", "json")
    answer = json.loads(out)
    assert (code, answer["nav"], answer["open_pnl"], answer["halted"]) == (0, 100_399.0, 400.0, None), err
    assert "valued at its last close" in answer["gaps"][0]
    out = run_forge(capsys, "book")[1]
    assert [row for row in out.splitlines() if len(row) > 80 and not row.startswith("gap: ")] == []
    assert "QBG" in out
    assert run_forge(capsys, "halt", "--reason", "drill")[:2] == (0, "trading is halted\n")
    assert "TRADING IS HALTED" in run_forge(capsys, "book")[1]
    assert run_forge(capsys, "release", "--reason", "over")[:2] == (0, "trading is released\n")
    code, _, err = run_forge(capsys, "portfolio", "import", "fills.csv")
    assert (code, "follows your fills" in err) == (2, True)
    with browsing(lake.root, rooms=(room,)) as client:
        page = client.get("/desk").text
        for text in ("The account", "100,399.00 USD", ">QBG<", "valued at its last close"):
            assert text in page
        assert "No account is open" not in page
    memory = Memory()
    assert remembered_book(memory.hydrate(memory.journal.clock.now())).nav == 100_399.0
    memory.close()


@pytest.fixture
def opened_desk(lake, place, monkeypatch):
    monkeypatch.setenv("PITLAKE_LAKE", str(lake.root))
    (place / ".pitlake").mkdir()
    settings = place / ".pitlake" / "forge.toml"
    settings.write_text("[account]\ncapital = 100000\n")
    (place / "fills.csv").write_text(HEADER + line(DAYS[4], 100, 50) + line(DAYS[5], 10, 54))
    return settings


def booked(capsys, *arguments):
    code, out, err = run_forge(capsys, "book", "--format", "json", *arguments)
    assert code == 0, err
    return json.loads(out)


def test_the_configured_capital_opens_the_account_once_and_later_cash_is_dated(opened_desk, capsys):
    assert booked(capsys)["nav"] == 100_000
    assert "-0.00" not in run_forge(capsys, "book")[1]
    for arguments, text in (
        (("deposit", "5000", "--on", "2024-03-08"), "C-003 deposit 5,000.00 USD on 2024-03-08\n"),
        (("withdrawal", "1000", "--on", "2024-03-11"), "C-004 withdrawal 1,000.00 USD on 2024-03-11\n"),
        (("fee", "20"), "C-005 fee 20.00 USD on "),
        (("interest", "5"), "C-006 interest 5.00 USD on "),
    ):
        code, out, err = run_forge(capsys, "cash", *arguments, "--reason", "by wire")
        assert (code, out.startswith(text)) == (0, True), err
    account = booked(capsys)
    assert (account["nav"], account["fees"], account["financing"]) == (103_975, 20, -5)
    assert (account["drawdown_pct"], account["notes"]) == (pytest.approx(25 / 104_000 * 100, abs=1e-5), [])
    opened_desk.write_text("[account]\ncapital = 900000\n")
    changed = booked(capsys)
    assert changed["nav"] == 103_975
    assert "opened with 100,000 USD; the setting, now 900,000" in changed["notes"][0]
    assert run_forge(capsys, "book", "--as-of", "2024-03-08T00:00:00Z")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("deposit", "0"), "AMOUNT: 0 is not above 0"),
        (("deposit", "nan"), "AMOUNT: nan is not above 0"),
        (("deposit", "inf"), "AMOUNT: inf is not above 0"),
        (("deposit", "5", "--on", "2044-01-04"), "--on: 2044-01-04 is in the future"),
        (("bonus", "5"), "'bonus' is not one of"),
    ],
)
def test_an_invalid_cash_entry_is_refused(opened_desk, capsys, arguments, problem):
    code, _, err = run_forge(capsys, "cash", *arguments, "--reason", "x")
    assert (code, problem in err) == (2, True), err


def test_a_changed_financing_rate_applies_from_the_day_of_the_change(memory, lake, tmp_path):
    now = at(memory, lake, DAYS[0])
    imported(memory, tmp_path, line(DAYS[0], 2000, 100))
    advance_account(memory, now, replace(SETTINGS, financing_rate=3.65))
    night = valued(memory, at(memory, lake, DAYS[1])).account.financing
    assert night == pytest.approx(-100_001 * 0.0001 * (DAYS[1] - DAYS[0]).days, rel=1e-3)
    advance_account(memory, at(memory, lake, DAYS[1]), replace(SETTINGS, financing_rate=0.0))
    assert valued(memory, at(memory, lake, DAYS[3])).account.financing == night


def test_each_change_of_the_financing_rate_is_recorded_once(memory, lake):
    rates = (3.0, 5.0, 5.0, 3.0, 3.0)
    for day, rate in zip(DAYS, rates, strict=False):
        at(memory, lake, day)
        open_account(memory, SETTINGS.capital, rate)
    entries = cash(whole_memory(memory, memory.journal.clock.now()))
    assert [(entry.amount, entry.booked_on) for entry in entries if entry.entry == "rate"] == [
        (3.0, DAYS[0]), (5.0, DAYS[1]), (3.0, DAYS[3]),
    ]  # fmt: skip


def test_a_voided_fill_stays_on_record_but_does_not_count_until_it_is_restored(opened_desk, capsys):
    assert run_forge(capsys, "fills", "import", "fills.csv")[1] == "2 new fills\n"
    before = booked(capsys)["nav"]
    code, out, err = run_forge(capsys, "fills", "void", "F-002", "--reason", "not ours")
    assert (code, out) == (0, f"F-002 (10 QBG at 54) is void; the book leaves it out from {DAYS[5]} on\n"), err
    account = booked(capsys)
    assert (before - 100_399, account["nav"]) == (-1, 100_399)
    assert account["notes"] == [f"F-002 (10 QBG at 54) is void: not ours; the account leaves it out from {DAYS[5]} on"]
    again = "F-002 is void: not ours; to book it again: pitlake forge fills restore F-002\n"
    _, out, err = run_forge(capsys, "fills", "import", "fills.csv")
    assert (out, err.startswith(again)) == ("0 new fills\n", True)
    listing = run_forge(capsys, "fills", "list")[1].splitlines()
    assert (len(listing), listing[1].endswith("10 QBG at 54 void: not ours")) == (2, True)
    for name, problem in (("F-002", "F-002 is void: not ours"), ("F-009", "there is no fill 'F-009'")):
        code, _, err = run_forge(capsys, "fills", "void", name, "--reason", "x")
        assert (code, problem in err) == (2, True), err
    with Memory().journal.database.reading() as execute:
        texts = execute("SELECT content FROM forge_journal WHERE path = '/portfolio/fills/F-002.md' ORDER BY seq")
    assert ["status: void" in text for (text,) in texts] == [False, True]
    code, out, err = run_forge(capsys, "fills", "restore", "F-002", "--reason", "it is ours after all")
    assert (code, out) == (0, f"F-002 (10 QBG at 54) is booked; the book counts it from {DAYS[5]} on\n"), err
    assert (booked(capsys)["nav"], booked(capsys)["notes"]) == (before, [])
    _, out, err = run_forge(capsys, "fills", "import", "fills.csv")
    assert (out, "void" in err) == ("0 new fills\n", False)
    assert run_forge(capsys, "fills", "list")[1].splitlines()[1].endswith("at 54 booked: it is ours after all")
    code, _, err = run_forge(capsys, "fills", "restore", "F-002", "--reason", "x")
    assert (code, "F-002 is booked" in err) == (2, True), err


def test_a_trade_whose_fill_is_void_is_not_executed_again(memory, lake):
    approved_expression(memory, lake, target="110", stop="90")
    now = at(memory, lake, DAYS[2])
    advance_account(memory, now, SETTINGS)
    void_fill(memory, "F-001", "the broker did not fill it")
    for day in (DAYS[2], DAYS[5]):
        advance_account(memory, at(memory, lake, day, 21), SETTINGS)
    assert fills(whole_memory(memory, at(memory, lake, DAYS[5], 22).as_of)) == []
    (outcome,), _ = close_exits(memory, at(memory, lake, DAYS[5], 22))
    assert (outcome.status, outcome.pnl) == ("target", 0.0)


def test_the_pms_own_book_applies_only_until_the_first_fill(memory, lake, tmp_path):
    def gross():
        advance_account(memory, at(memory, lake, DAYS[0]), SETTINGS)
        return remembered_book(standing(memory).remembered).gross

    assert gross() == BOOK.gross
    imported(memory, tmp_path, line(DAYS[0], 100, 100))
    assert gross() == pytest.approx(10_000 / 99_999 * 100, abs=1e-5)
    void_fill(memory, "F-001", "not ours")
    assert gross() == 0.0


def test_a_new_account_has_an_empty_book_that_passes_the_limits(opened_desk):
    own = desk()
    memory = own.memory()
    own.agent(memory, None)
    book = remembered_book(memory.hydrate(memory.read_instant(memory.journal.clock.now())))
    assert (book.gross, book.net, book.duration, book.nav, book.positions) == (0.0, 0.0, 0.0, 100_000.0, ())
    assert Guardrails().check(replace(HELD, id="E-001", status="proposed"), book, None) == ()


def test_booking_or_voiding_a_fill_after_an_outcome_restates_the_outcome(memory, lake, tmp_path):
    path = approved_expression(memory, lake, target="110", stop="90")
    at(memory, lake, DAYS[3])
    imported(memory, tmp_path, line(DAYS[3], 40, 50).rstrip("\n") + "E-001\n")
    now = at(memory, lake, DAYS[5])
    (outcome,), _ = close_exits_of_account(memory, now)
    assert outcome.pnl == pytest.approx((40 * (54 - 50) - 1) / 100_000 * 100)
    for number, (change, sample) in enumerate(
        (
            (lambda: imported(memory, tmp_path, line(DAYS[5], -40, 60, hour=15).rstrip("\n") + "E-001\n"), 40 * 10 - 2),
            (lambda: void_fill(memory, "F-002", "it was sold at 55"), 40 * 4 - 1),
            (lambda: imported(memory, tmp_path, line(DAYS[5], -40, 55, hour=16).rstrip("\n") + "E-001\n"), 40 * 5 - 2),
        )
    ):
        change()
        for hour in (21, 22):
            assert close_exits_of_account(memory, at(memory, lake, DAYS[6 + number], hour))[0] == []
        rows = standing(memory).remembered.all("/memory/outcomes/OUT-001.md")
        restated = standing(memory).remembered.record(rows[-1])
        assert (len(rows), restated.pnl) == (number + 2, pytest.approx(sample / 100_000 * 100))
        assert restated.body.splitlines()[-1].startswith(f"Restated after F-00{(2, 2, 3)[number]}: ")
    assert standing(memory).remembered.record(standing(memory).remembered.newest(path)).status == "closed"


def close_exits_of_account(memory, now):
    advance_account(memory, now, SETTINGS)
    return close_exits(memory, now)
