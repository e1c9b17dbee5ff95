"""The PM's commands: import a book, list pending Expressions, approve and reject."""

import io
import json
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest

from forge.core.clock import Simulated
from forge.memory import Memory
from forge.memory.approvals import pending
from forge.memory.book import held_in
from forge.memory.guardrails import Guardrails
from forge.memory.lessons import waiting_lessons
from forge.records import KINDS, ProcessKnowledge, parse
from pitlake import cli
from tests.forge.world import (
    BOOK,
    NEW_EXPRESSION,
    NEW_VIEW,
    T0,
    activated,
    desk_with_proposal,
    reviewed,
    run_forge,
    turn,
    wrote,
)

pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture
def memory(place):
    with closing(Memory()) as outcome:
        yield outcome


@pytest.mark.parametrize(
    "command",
    [
        ("cash", "fee", "5", "--reason", "custody", "--on"),
        ("adjust", "E-001", "--expires"),
        ("backtest", "--to", "2014-05-09", "--from"),
    ],
)
def test_an_impossible_date_is_reported_in_one_clear_line(capsys, command):
    code, _, err = run_forge(capsys, *command, "2024-02-30")
    assert code == 2
    (reply,) = err.splitlines()
    assert "'2024-02-30' is not a calendar date; write dates as YYYY-MM-DD, such as 2024-06-28" in reply


def test_the_commands_import_a_book_and_approve_or_reject_expressions(memory, capsys, tmp_path):
    def import_book(loss):
        (tmp_path / "positions.csv").write_text(f"expression,notional,rates,loss\nE-009,40,4,\nE-010,-10,-1,{loss}\n")
        code, out, _ = run_forge(capsys, "portfolio", "import", "positions.csv")
        assert (code, out) == (0, "2 positions, gross 50 %, net 30 %\n")

    import_book("10")
    wrote(turn(memory), "/memory/views/new.md", NEW_VIEW, "view")
    fs = turn(memory)
    for name in ("one", "two"):
        wrote(fs, "/memory/expressions/new.md", replace(NEW_EXPRESSION, status="proposed", body=name), name)
    import_book("")
    assert (
        "problem: nothing bounds the loss of E-010: the PM has to give it a stop" in run_forge(capsys, "approvals")[1]
    )
    import_book("10")
    listing = run_forge(capsys, "approvals")[1]
    assert "problem: no review of exactly this content" in listing
    assert "nothing bounds" not in listing
    assert "book: gross 50 → 60\nbook: net 30 → 40\nbook: loss if every stop is hit 50 → 51\n" in listing
    assert "book: factor rates 3 → 8\n" in listing
    code, out, err = run_forge(capsys, "approve", "E-001")
    assert (code, out, "--hash: is missing" in err) == (2, "", True)
    sha256 = json.loads(run_forge(capsys, "approvals", "--format", "json")[1])[0]["sha256"]
    code, out, err = run_forge(capsys, "approve", "E-001", "--hash", sha256)
    assert (code, out, "no review of exactly this content" in err) == (2, "", True)
    reviewed(memory, parse(KINDS["expressions"], turn(memory).read_file("/memory/expressions/E-001.md")))
    assert run_forge(capsys, "approve", "E-001", "--hash", "0" * 64)[0] == 2
    code, out, err = run_forge(capsys, "approve", "E-001", "--hash", sha256)
    assert (code, out, "code can't compute max_single_risk: claimed 1 of 5" in err) == (2, "", True)
    approve = ("approve", "E-001", "--hash", sha256, "--confirm")
    assert run_forge(capsys, *approve)[1] == f"E-001 is approved: {sha256}\n"
    assert run_forge(capsys, "reject", "E-002", "--reason", " ")[0] == 2
    assert run_forge(capsys, "reject", "E-002", "--reason", "too crowded")[1] == "E-002 is rejected\n"
    assert run_forge(capsys, "approvals")[1] == "Nothing is waiting for approval.\n"
    assert run_forge(capsys, "approvals", "--format", "json")[1] == "[]\n"
    assert run_forge(capsys, "expressions")[1] == "E-001  view:V-001 | active\nE-002  view:V-001 | rejected\n"
    assert run_forge(capsys, "views", "confidence>=0.7")[1] == ""
    assert "reason: too crowded" in turn(memory).read_file("/memory/counterfactuals/CF-001.md")


def test_a_large_trade_needs_two_named_users_to_approve_the_same_text(memory, capsys, tmp_path):
    (tmp_path / ".pitlake/forge.toml").write_text('[approvers]\nusers = ["anna", "ben"]\nsecond_above = 8.0\n')
    wrote(turn(memory, "pm", actor="pm"), "/portfolio/state.md", BOOK, "book")
    wrote(turn(memory), "/memory/views/new.md", NEW_VIEW, "view")
    fs = turn(memory)
    for name, size in (("large", 10.0), ("small", 5.0)):
        wrote(fs, "/memory/expressions/new.md", replace(NEW_EXPRESSION, status="proposed", notional=size), name)
    for item in pending(memory, Guardrails()):
        reviewed(memory, item.expression)
    sha256 = {each.expression.id: each.sha256 for each in pending(memory, Guardrails())}

    def approve(name, by):
        return run_forge(capsys, "approve", name, "--hash", sha256[name], "--confirm", "--by", by)

    assert "'carl' is not among [approvers] users" in approve("E-001", "carl")[2]
    assert approve("E-002", "ben")[1] == f"E-002 is approved: {sha256['E-002']}\n"
    assert "is not among [approvers] users" in run_forge(capsys, "adjust", "E-002", "--expires", "2024-06-21")[2]
    assert "is not among [approvers] users" in run_forge(capsys, "close", "E-002", "--reason", "x", "--by", "carl")[2]
    assert (
        run_forge(capsys, "adjust", "E-002", "--expires", "2030-06-21", "--by", "ben")[1]
        == "E-002: expires 2030-06-21\n"
    )
    due = f"anna approved E-001; a second person must approve it: {sha256['E-001']}\n"
    assert approve("E-001", "anna")[1] == due
    assert "anna has approved E-001 already" in approve("E-001", "anna")[2]
    assert list(held_in(turn(memory).remembered)) == ["/memory/expressions/E-002.md"]
    assert "approved by anna; a second person must approve" in run_forge(capsys, "approvals")[1]
    changed = replace(NEW_EXPRESSION, id="E-001", status="proposed", notional=11.0)
    wrote(turn(memory), "/memory/expressions/E-001.md", changed, "changed")
    reviewed(memory, changed)
    (waiting,) = pending(memory, Guardrails())
    assert waiting.approved_by == (), "the first approval was of another text"
    sha256["E-001"] = waiting.sha256
    assert [approve("E-001", by)[0] for by in ("anna", "ben")] == [0, 0]
    assert len(held_in(turn(memory).remembered)) == 2


@pytest.mark.parametrize(
    ("text", "reply"), [("a,b\n1,2\n", "no column expression"), ("expression,notional\nE-1,much\n", "line 2: notional")]
)
def test_a_book_that_cannot_be_read_is_refused_and_nothing_is_written(memory, capsys, tmp_path, text, reply):
    (tmp_path / "positions.csv").write_text(text)
    code, out, err = run_forge(capsys, "portfolio", "import", "positions.csv")
    assert (code, out, reply in err) == (2, "", True)
    assert memory.journal.rows() == []


def test_an_approval_without_a_hash_shows_the_text_and_asks_for_its_hash(memory, capsys, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    lesson = ProcessKnowledge(id="new", skill=("rv-analysis",), category="process", weight=0.9, claim="Wait a day.")
    wrote(turn(memory), "/memory/pk/new.md", lesson, "lesson")
    code, _, err = run_forge(capsys, "approve", "PK-001")
    assert (code, "read the text of PK-001, then give --hash" in err) == (2, True)
    monkeypatch.setattr("sys.stdin", Terminal("00000000\n"))
    code, _, err = run_forge(capsys, "approve", "PK-001")
    assert (code, "claim: Wait a day." in err, "PK-001 has changed" in err) == (2, True, True)
    (waiting,) = waiting_lessons(memory)
    monkeypatch.setattr("sys.stdin", Terminal(f"{waiting.sha256[:8]}\n"))
    assert run_forge(capsys, "approve", "PK-001")[0] == 0
    assert waiting_lessons(memory) == []
    assert run_forge(capsys, "approve", "PK-001")[0] == 2


def held(memory):
    desk_with_proposal(memory, stop="30")
    assert cli.invoke(["forge", "adjust", "E-001", "--stop", "33"]) == 2
    activated(memory)


def test_the_pm_adjusts_and_closes_a_held_position(memory, capsys):
    held(memory)
    capsys.readouterr()
    assert run_forge(capsys, "adjust", "E-001", "--stop", "33", "--expires", "2199-01-02") == (
        0,
        "E-001: stop 33, expires 2199-01-02\n",
        "",
    )
    assert run_forge(capsys, "adjust", "E-001")[0] == 2
    code, out, _ = run_forge(capsys, "close", "E-001", "--reason", "thesis broken")
    assert (code, out.startswith("E-001 closes at the end of ")) == (0, True)
    expression = parse(KINDS["expressions"], turn(memory).read_file("/memory/expressions/E-001.md"))
    assert (expression.status, expression.stop, expression.exit_reason) == ("active", "33", "thesis broken")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("close", "--reason", " "), "reason: is empty"),
        (("close", "--reason", "bell\x07"), "reason: has a control character"),
        (("close", "--reason", "x" * 3_000), "reason: is longer than 2,000 characters"),
        (("adjust", "--stop", "abc"), "stop: 'abc' is not a price above 0"),
        (("adjust", "--stop", ""), "stop: '' is not a price above 0"),
        (("adjust", "--stop", "30,5"), "stop: '30,5' is not a price above 0"),
        (("adjust", "--stop", "1e400"), "stop: '1e400' is not a price above 0"),
        (("adjust", "--stop", "bell\x07"), "is not a price above 0"),
        (("adjust", "--stop=-5"), "stop: '-5' is not a price above 0"),
        (("adjust", "--stop", "40", "--target", "39"), "is not below the target 39"),
        (("adjust", "--expires", "1900-01-01"), "expires: 1900-01-01 is past"),
    ],
)
def test_an_invalid_adjustment_or_close_is_refused_and_the_position_is_unchanged(memory, capsys, arguments, problem):
    held(memory)
    before = memory.journal.head()
    capsys.readouterr()
    code, out, err = run_forge(capsys, arguments[0], "E-001", *arguments[1:])
    assert (code, out, problem in err) == (2, "", True), err
    assert memory.journal.head() == before


@pytest.mark.parametrize("reason", ["bell\x07", "half \udcff", "x" * 3_000])
def test_a_reason_that_cannot_be_stored_is_refused(memory, capsys, reason):
    wrote(turn(memory), "/memory/views/new.md", NEW_VIEW, "view")
    wrote(turn(memory), "/memory/expressions/new.md", replace(NEW_EXPRESSION, status="draft"), "draft")
    lesson = ProcessKnowledge(id="new", skill=("rv-analysis",), category="process", weight=0.9, claim="Wait a day.")
    wrote(turn(memory), "/memory/pk/new.md", lesson, "lesson")
    before = memory.journal.head()
    for name in ("E-001", "PK-001"):
        code, out, err = run_forge(capsys, "reject", name, "--reason", reason)
        assert (code, out, "reason: " in err) == (2, "", True), err
    assert run_forge(capsys, "reject", "PK-001", "--reason", " ")[0] == 2
    assert memory.journal.head() == before
    assert run_forge(capsys, "reject", "PK-001", "--reason", "too vague")[0] == 0
    code, _, err = run_forge(capsys, "reject", "PK-001", "--reason", "again")
    assert (code, "id: PK-001 does not wait for approval" in err) == (2, True)


def test_constraints_only_tighten_the_settings(memory, capsys):
    assert run_forge(capsys, "constrain", "--max-gross", "150")[:2] == (0, "max_gross 150\n")
    assert run_forge(capsys, "constrain", "--max-single-risk", "1")[0] == 0
    code, _, err = run_forge(capsys, "constrain", "--max-gross", "500")
    assert (code, "--max-gross: 500 is not between 0 and the settings' 200" in err) == (2, True)
    assert run_forge(capsys, "constrain")[0] == 2
    limits = parse(KINDS["constraints"], turn(memory).read_file("/portfolio/constraints.md"))
    assert (limits.max_gross, limits.max_single_risk) == (150.0, 1.0)


def test_every_memory_is_listed_and_can_be_chosen(capsys, tmp_path):
    for place in (".pitlake/forge", ".pitlake/forge-walks/spring-run/memory"):
        run = "spring" if place.endswith("forge") else "spring-run"
        memory = Memory(tmp_path / place, clock=Simulated(run, T0))
        wrote(turn(memory, "s", T0), "/memory/views/new.md", replace(NEW_VIEW, scope=run), "view")
        memory.journal.clock.move(T0 + timedelta(minutes=1))
        memory.flush()
        memory.close()
    listing = run_forge(capsys, "memories")[1]
    assert [row.split()[0] for row in listing.splitlines()] == ["live", "spring", "spring-run"]
    for run in ("spring", "spring-run"):
        assert run_forge(capsys, "--memory", run, "views")[1].startswith(f"V-001  {run} ")
    assert run_forge(capsys, "views")[1] == ""
    code, _, err = run_forge(capsys, "--memory", "sprin", "views")
    assert (code, "--memory: there is no memory 'sprin'" in err) == (2, True)


def test_an_empty_list_of_fills_says_so(capsys):
    assert run_forge(capsys, "fills", "list") == (0, "There are no fills yet.\n", "")
