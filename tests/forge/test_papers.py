"""Exports: CSV tables, an order ticket that is compared with the broker's fills, and a self-verifying bundle."""

import asyncio
import csv
import json
from contextlib import closing
from dataclasses import replace
from datetime import datetime, time

import pytest

from forge.agent.agent import Agent
from forge.core.config import Config
from forge.desk import desk, papers
from forge.memory import Memory
from forge.memory.approvals import approve, change_held
from forge.memory.cash import open_account
from forge.memory.fills import book_fills, fills, import_fills, void_fill
from forge.memory.guardrails import Guardrails
from forge.model import Answer, Call
from forge.model.scripted import Scripted
from forge.providers.base import At
from forge.records import Fill, content_hash, render
from forge.records.kinds import NEW
from forge.tracking.account import advance_account
from forge.tracking.settlement import whole_memory
from pitlake import cli
from pitlake.clock import NEW_YORK
from pitlake.errors import BadInput
from pitlake.recorder import canonical, digest
from tests.forge.test_account import HEADER, SETTINGS, approved_expression, line
from tests.forge.test_untaken import DAYS, HELD, at, lake, memory, proposed
from tests.forge.world import BOOK, NEW_EXPRESSION, NEW_VIEW, activated, reviewed, turn, wrote

__all__ = ["lake", "memory"]


@pytest.fixture
def ordered(memory, lake, tmp_path):
    """The ticket of an Expression for 10 % of 100,000 USD, approved on the second day."""
    open_account(memory, SETTINGS.capital, 0.0)
    approved_expression(memory, lake)
    now = at(memory, lake, DAYS[1])
    advance_account(memory, now, replace(SETTINGS, capital=None))
    file = tmp_path / "ticket.csv"
    file.write_text(papers.ticket(whole_memory(memory, now.as_of), "E-001", now))
    return file


def test_a_ticket_orders_whole_shares_for_the_notional_and_names_its_approval(memory, ordered):
    (order,) = csv.DictReader(ordered.read_text().splitlines())
    assert len(order.pop("sha256")) == 64
    assert order == {
        "expression": "E-001", "approval": "A-001", "approved_by": "pm", "ticker": "QBG", "quantity": "99",
        "last_close": "101.0", "stop": "$95", "target": "110", "expires": "",
    }  # fmt: skip
    book = whole_memory(memory, memory.journal.clock.now())
    with pytest.raises(BadInput, match="E-009 is not a held Expression"):
        papers.ticket(book, "E-009", At(as_of=book.as_of, lake=None))


def test_broker_fills_are_booked_only_up_to_the_ticket(memory, ordered, lake):
    at(memory, lake, DAYS[3])
    remembered = whole_memory(memory, memory.journal.clock.now())
    ticket = papers.Ticket(ordered, remembered)
    expected = int(next(csv.DictReader(ordered.read_text().splitlines()))["quantity"])
    first, rest = line(DAYS[2], 60, 50), line(DAYS[3], expected - 60, 50)
    assert import_fills(memory, HEADER + first, ticket) == 1
    assert import_fills(memory, HEADER + first, ticket) == 0
    assert {fill.expression for fill in fills(whole_memory(memory, memory.journal.clock.now()))} == {"E-001"}
    for text, problem in (
        (line(DAYS[3], 10, 50, "SPY"), "10 SPY of E-001 is not on the ticket"),
        (line(DAYS[3], -10, 50), "-10 QBG of E-001 is not on the ticket"),
        (line(DAYS[3], expected, 50), f"{expected + 60} QBG would be filled of {expected} ordered"),
    ):
        with pytest.raises(BadInput, match=problem):
            import_fills(memory, HEADER + text, ticket)
    assert import_fills(memory, HEADER + first + rest, ticket) == 1
    booked = fills(whole_memory(memory, memory.journal.clock.now()))
    assert ticket.filled(booked) == {"QBG": (expected, expected)}
    changed = ordered.with_name("changed.csv")
    changed.write_text(ordered.read_text().replace("A-001", "A-007"))
    with pytest.raises(BadInput, match="its approval 'A-007' is not in this memory"):
        papers.Ticket(changed, remembered)


def test_a_trade_executed_by_code_is_not_booked_again_from_broker_fills(memory):
    assert proposed(memory) == "E-001"
    opened = datetime.combine(DAYS[2], time(9, 30), NEW_YORK)
    memory.journal.clock.move(opened.replace(hour=20))
    shares = {"instrument": "QBG", "quantity": 200.0, "price": 50.0, "filled_at": opened}
    book_fills(memory, {"fill:E-001:entry": Fill(id=NEW, expression="E-001", source="code", **shares)})
    again, sold = (line(DAYS[2], size, 51).replace(",\n", ",E-001\n") for size in (200, -50))
    with pytest.raises(BadInput, match=r"E-001 is executed by F-001 \(200 QBG at 50, by code\); void that first"):
        import_fills(memory, HEADER + again)
    assert import_fills(memory, HEADER + sold) == 1
    void_fill(memory, "F-001", "the broker filled it at 51")
    assert import_fills(memory, HEADER + again) == 1
    with pytest.raises(BadInput, match=r"E-001 is executed by F-003 \(200 QBG at 51, by import\)"):
        void_fill(memory, "F-001", "it is code's", "booked")


def test_ticket_needs_prices_and_importing_its_fills_reports_the_filled_quantity(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    monkeypatch.setenv("PITLAKE_LAKE", str(tmp_path / "none"))
    (tmp_path / "forge.toml").write_text("[account]\ncapital = 100000\n")
    with closing(Memory()) as memory:
        open_account(memory, 100_000.0, 0.0)
        fs = turn(memory)
        wrote(fs, "/memory/views/new.md", NEW_VIEW, "view")
        trade = fs.remembered.record(fs.remembered.newest(wrote(fs, "/memory/expressions/new.md", HELD, "trade")))
        activated(memory)
    assert cli.invoke(["forge", "ticket", "E-001"]) == 2
    assert "ID: E-001: QBG: there is no lake; write the order by hand" in capsys.readouterr().err
    order = f"expression,approval,sha256,ticker,quantity\nE-001,A-001,{content_hash(trade)},QBG,200\n"
    (tmp_path / "ticket.csv").write_text(order)
    (tmp_path / "fills.csv").write_text(HEADER + line(DAYS[0], 60, 50))
    ordered = ["forge", "fills", "import", str(tmp_path / "fills.csv"), "--ticket", str(tmp_path / "ticket.csv")]
    assert (cli.invoke(ordered), capsys.readouterr().out) == (0, "1 new fill; 60 of 200 QBG filled\n")


@pytest.mark.parametrize(
    "change", [("99", "--99"), ("99", "9.5"), ("99", "²"), ("E-001,A-001,", "E-001"), ("", "\0"), ("e", "\xff")]
)
def test_a_damaged_ticket_is_refused(memory, ordered, change):
    old, new = change
    ordered.write_bytes(ordered.read_text().replace(old, new, 1).encode("latin-1" if new == "\xff" else "utf-8"))
    with pytest.raises(BadInput, match="--ticket"):
        papers.Ticket(ordered, whole_memory(memory, memory.journal.clock.now()))


def test_tables_are_csv_and_no_text_is_a_formula(memory, lake):
    open_account(memory, SETTINGS.capital, 0.0)
    now = at(memory, lake, DAYS[3])
    import_fills(memory, HEADER + line(DAYS[0], 100, 99.5))
    wrote(turn(memory, "pm", now.as_of, actor="pm"), "/portfolio/state.md", BOOK, "book")
    approved_expression(memory, lake, DAYS[3])
    remembered = whole_memory(memory, now.as_of)
    names = ("positions", "outcomes", *papers.TABLES)
    tables = {name: list(csv.DictReader(papers.table(remembered, name, now).splitlines())) for name in names}
    assert [(row["id"], row["instrument"], float(row["quantity"])) for row in tables["fills"]] == [
        ("F-001", "QBG", 100.0)
    ]
    (position,) = tables["positions"]
    assert (position["instrument"], float(position["quantity"]), float(position["price"])) == ("QBG", 200.0, 50.5)
    assert [(row["decision"], row["decided_by"]) for row in tables["decisions"]] == [("approved", "pm")]
    assert tables["outcomes"] == []
    assert [papers._cell(text) for text in ("=1+1", "@x", "-5", "+1e3", "-x", 4.0)] == [
        "'=1+1", "'@x", "-5", "+1e3", "'-x", 4.0,
    ]  # fmt: skip


@pytest.fixture
def bundled(tmp_path, monkeypatch):
    """The bundle of a decision that wrote a View, with an approved Expression and its fill, as parsed JSON."""
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    memory = Memory()
    wrote(turn(memory, "pm", actor="pm"), "/portfolio/state.md", BOOK, "book")
    write = Call("write", {"path": "/memory/views/new.md", "content": render(NEW_VIEW)}, "id1")
    model = Scripted([Answer("", (write,), "tools", "m", 10, 3), Answer("It slows.", (), "stop", "m", 20, 5)])
    agent = Agent(memory, desk().tape, {"agent": model}.__getitem__, tmp_path / "none", Config())
    decision = asyncio.run(agent.ask("What of growth?")).decision
    fs = turn(memory, "s")
    wrote(fs, "/memory/expressions/new.md", replace(NEW_EXPRESSION, status="proposed"), "expression")
    expression = fs.remembered.record(fs.remembered.newest("/memory/expressions/E-001.md"))
    reviewed(memory, expression)
    approve(memory, "E-001", content_hash(expression), "anna", Guardrails(), confirmed=True)
    import_fills(memory, HEADER + "QBG,100,50,2024-03-01T12:00:00-05:00,1,E-001\n")
    yield json.loads(papers.bundle(desk(), memory, decision))
    memory.close()


def signed(bundle, rows):
    """Return the bundle with different rows and recomputed hashes, as a forger would write it."""
    body = bundle["bundle"] | {"rows": rows}
    return json.dumps({"bundle": body, "sha256": digest(canonical(body))})


def test_a_bundle_states_who_approved_what_and_verifies_without_lake_and_memory(bundled, tmp_path, monkeypatch, capsys):
    file = tmp_path / "bundle.json"
    file.write_text(json.dumps(bundled))
    with closing(Memory()) as memory:  # Changing a held trade needs no new review.
        change_held(memory, "E-001", "anna", Guardrails(), {"target": "200"})
        changed = papers.bundle(desk(), memory, bundled["bundle"]["decision"])
        assert papers.verify(changed)[1] == []
    with monkeypatch.context() as patch:
        patch.setattr(papers, "TERMS", {"stop": ""})  # Any other change needs a review.
        (fault,) = papers.verify(changed)[1]
        assert "approves a text of /memory/expressions/E-001.md" in fault
    monkeypatch.setenv("FORGE_LAKE", "/nowhere/else")
    assert cli.invoke(["forge", "verify", str(file)]) == 0
    output = capsys.readouterr().out
    assert "question: What of growth?" in output
    assert "F-001 100 QBG at 50, booked" in output
    assert "A-001 approved by anna: /memory/expressions/E-001.md" in output
    file.write_text(json.dumps(bundled).replace("anna", "carl"))
    assert cli.invoke(["forge", "verify", str(file)]) == 1
    assert "FAULT: the SHA-256 of the bundle differs" in capsys.readouterr().out
    file.write_text("{}")
    assert cli.invoke(["forge", "verify", str(file)]) == 2


def test_a_changed_bundle_is_detected_even_if_its_checksum_is_recomputed(bundled):
    rows = bundled["bundle"]["rows"]
    assert papers.verify(signed(bundled, rows))[1] == []
    approval, review = (next(row for row in rows if row["kind"] == kind) for kind in ("approvals", "reviews"))
    other = [row | {"content": row["content"].replace("anna", "carl")} for row in rows]
    assert papers.verify(signed(bundled, other))[1] == [f"row {approval['seq']} {approval['path']} was changed"]
    unreviewed = papers.verify(signed(bundled, [row for row in rows if row is not review]))[1]
    assert unreviewed == ["A-001 approves a text of /memory/expressions/E-001.md that is not here, or has no review"]
    unapproved = papers.verify(signed(bundled, [row for row in rows if row is not approval]))[1]
    assert unapproved == ["E-001 is active without an approval"]
    shifted = papers.verify(signed(bundled, [rows[1], rows[0], *rows[2:]]))[1]
    assert f"row {rows[0]['seq']} {rows[0]['path']} does not follow row {rows[1]['seq']}" in shifted


@pytest.mark.parametrize("value", [None, "x", -1, 1e300, [], {}])
def test_a_bundle_with_values_of_another_type_is_refused_or_has_faults(bundled, value):
    for name in bundled["bundle"]["rows"][0]:
        assert problems(signed(bundled, [row | {name: value} for row in bundled["bundle"]["rows"]]))
    for name in ("decision", "question", "as_of", "receipt", "rows"):
        body = bundled["bundle"] | {name: value}
        problems(json.dumps({"bundle": body, "sha256": digest(canonical(body))}))


def problems(text):
    """Return the faults of a bundle, or the refused field."""
    try:
        return papers.verify(text)[1]
    except BadInput as problem:
        return [problem.field]
