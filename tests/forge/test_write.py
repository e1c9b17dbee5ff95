"""The write tool, its effects and the guardrails."""

from dataclasses import replace

import pytest

from forge.agent.tools.write import WriteTool
from forge.core.config import Limits
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.guardrails import Guardrails, Violation
from forge.records import KINDS, Constraints, Portfolio, Position, parse, render
from tests.forge.campaign import fuzzed
from tests.forge.world import BOOK, NEW_EXPRESSION, NEW_VIEW, desk, now, turn, wrote

PROPOSED = replace(NEW_EXPRESSION, status="proposed")
OPEN = replace(NEW_EXPRESSION, id="E-001")
AT = "/memory/expressions/E-001.md"


def only(fs, folder):
    (entry,) = fs.list_dir(folder)
    return parse(KINDS[folder.split("/")[2]], fs.read_file(folder + entry.name))


def written(fs, path, record, call_id):
    return WriteTool(fs).execute(path, record if isinstance(record, str) else render(record), call_id=call_id)


def test_t7_write_has_the_name_and_schema_of_the_design():
    reply = WriteTool.TOOL_DEF
    assert (reply["name"], reply["input_schema"]["required"]) == ("write", ["path", "content"])
    assert {name: each["type"] for name, each in reply["input_schema"]["properties"].items()} == {
        "path": "string", "content": "string",
    }  # fmt: skip
    assert "Use 'new.md' for auto-assigned IDs." in reply["description"]


def test_t7_closing_an_expression_repeatedly_makes_a_single_outcome(memory):
    desk(memory)
    fs = turn(memory, actor="code")
    closed = replace(OPEN, status="closed", exit_reason="target", entry_details="112", exit_details="114", pnl=1.2)
    assert written(fs, AT, closed, "1") == f"Written: {AT}"
    for call_id in ("1", "2"):
        assert written(fs, AT, closed, call_id) == f"Written: {AT}"
    assert written(turn(memory, actor="code"), AT, replace(closed, body="more"), "3") == f"Written: {AT}"
    outcome = only(turn(memory), "/memory/outcomes/")
    assert (outcome.id, outcome.view, outcome.expression, outcome.status) == ("OUT-001", "V-001", "E-001", "target")
    assert (outcome.closed_at, outcome.pnl) == (fs.remembered.as_of, 1.2)
    assert outcome.body == "Entry: 112\nExit: 114\nPnL: 1.2"
    assert "which is final" in written(turn(memory), AT, OPEN, "4")


def test_t7_rejecting_an_expression_makes_a_counterfactual_with_default_values(memory):
    desk(memory)
    fs = turn(memory, actor="pm")
    written(fs, AT, replace(OPEN, status="rejected"), "1")
    counterfactual = only(fs, "/memory/counterfactuals/")
    assert (counterfactual.decision_type, counterfactual.reason) == ("rejected_expression", "PM rejected")
    assert (counterfactual.expression, counterfactual.status) == ("E-001", "tracking")
    assert (counterfactual.reference_date, counterfactual.tracking_days) == (fs.remembered.as_of, 90)


def test_t7_invalidating_a_view_sends_only_its_own_expressions_to_review(memory):
    fs = desk(memory)
    wrote(fs, "/memory/views/new.md", NEW_VIEW, "other view")
    body = "status: active is what it says here"
    wrote(fs, "/memory/expressions/new.md", replace(PROPOSED, body=body), "2")
    wrote(fs, "/memory/expressions/new.md", replace(PROPOSED, view_id="V-002"), "3")
    wrote(fs, "/memory/views/V-001.md", replace(NEW_VIEW, id="V-001", status="invalidated"), "4")
    result = {name: only_at(fs, name).status for name in ("E-001", "E-002", "E-003")}
    assert result == {"E-001": "review_required", "E-002": "review_required", "E-003": "proposed"}
    assert only_at(fs, "E-002").body == body


def only_at(fs, name):
    return parse(KINDS["expressions"], fs.read_file(f"/memory/expressions/{name}.md"))


def test_t7_invalidation_reaches_concurrent_writes_that_the_turn_does_not_see(memory):
    fs, other = desk(memory), turn(memory, "other")
    wrote(other, "/memory/expressions/new.md", PROPOSED, "1")
    wrote(turn(memory, "other", actor="code"), AT, replace(OPEN, status="proposed", instrument="FV"), "2")
    before = fs.read_file(AT)
    wrote(fs, "/memory/views/V-001.md", replace(NEW_VIEW, id="V-001", status="invalidated"), "1")
    assert fs.read_file(AT) == before
    assert not fs.exists("/memory/expressions/E-002.md")
    later = turn(memory)
    assert {only_at(later, name).status for name in ("E-001", "E-002")} == {"review_required"}
    assert only_at(later, "E-001").instrument == "FV"


@pytest.mark.parametrize(
    "path",
    ["/portfolio/state.md", "/portfolio/constraints.md", "/memory/calibration/rates.md", "/memory/proposals/new.md",
     "/memory/.archive/views/V-001_1.md", "/skills/x/SKILL.md", "/approvals/new.md", "/memory/other/new.md"],
)  # fmt: skip
def test_t7_agents_cannot_write_protected_paths(memory, path):
    fs = desk(memory)
    rows = memory.journal.rows()
    assert written(fs, path, BOOK, "1").startswith("Not written. path: ")
    assert memory.journal.rows() == rows


def test_t7_a_view_with_an_unknown_settlement_query_is_refused(memory):
    settles = replace(NEW_VIEW.settles, query="crystal_ball", params={})
    assert "crystal_ball" in written(desk(memory), "/memory/views/new.md", replace(NEW_VIEW, settles=settles), "1")


@pytest.mark.parametrize(
    ("changes", "rule", "actual"),
    [
        ({"max_loss_pct": 5.1}, "max_single_risk", 5.1),
        ({"notional": 100.5}, "max_gross_exposure", 200.5),
        ({"notional": -100.5}, "max_gross_exposure", 200.5),
        ({"duration_impact": -5.5}, "max_duration_contribution", 5.5),
        ({"factor_exposures": {"rates": 21.0}}, "max_factor_concentration", 31.0),
        ({"factor_exposures": {"rates": -41.0}}, "max_factor_concentration", 31.0),
        ({"max_loss_pct": None}, "max_single_risk", "missing"),
        ({"notional": None}, "max_gross_exposure", "missing"),
        ({"duration_impact": None}, "max_duration_contribution", "missing"),
        ({"factor_exposures": None}, "max_factor_concentration", "missing"),
    ],
)
def test_g1_each_limit_is_enforced_and_a_missing_figure_breaks_its_limit(changes, rule, actual):
    (result,) = Guardrails(Limits(max_single_name=500.0)).check(replace(NEW_EXPRESSION, **changes), BOOK, None)
    assert (result.rule, result.actual, result.severity) == (rule, pytest.approx(actual) if rule else "", "hard")


def test_g1_a_figure_equal_to_its_limit_is_allowed():
    full = replace(
        NEW_EXPRESSION, max_loss_pct=5.0, notional=100.0, duration_impact=5.0, factor_exposures={"rates": 20.0}
    )
    assert Guardrails().check(full, BOOK, None) == ()


def test_g1_without_a_book_the_limits_on_the_book_are_broken():
    assert [each.rule for each in Guardrails().check(NEW_EXPRESSION, None, None)] == [
        "max_gross_exposure", "max_factor_concentration", "max_single_name", "max_net_exposure", "max_total_loss",
    ]  # fmt: skip
    assert len(Guardrails().check(NEW_EXPRESSION, Portfolio(id="state"), None)) == 3


def test_g1_an_update_replaces_its_own_position():
    content = Position(expression="E-001", notional=95.0, factor_exposures={"rates": 20.0})
    book = replace(BOOK, gross=195.0, positions=(content,), factor_exposures={"rates": 25.0})
    assert Guardrails().check(replace(OPEN, notional=100.0, factor_exposures={"rates": 25.0}), book, None) == ()
    assert len(Guardrails().check(replace(OPEN, id="E-002", notional=100.0), book, None)) == 1


def test_g1_constraints_only_tighten():
    loose, tight = (
        Constraints(id="constraints", max_single_risk=50.0),
        Constraints(id="constraints", max_single_risk=0.5),
    )
    assert Guardrails().check(NEW_EXPRESSION, BOOK, loose) == ()
    assert Guardrails().check(NEW_EXPRESSION, BOOK, tight) == (Violation("max_single_risk", 1.0, 0.5),)


def test_g1_a_non_numeric_field_is_refused_and_closing_is_never_blocked(memory):
    desk(memory)
    fs = turn(memory, actor="code")
    text = render(OPEN).replace("max_loss_pct: 1.0", "max_loss_pct: 1%")
    assert written(fs, AT, text, "1").startswith("Not written. line 9: max_loss_pct: '1%' is not a number")
    broken = replace(OPEN, max_loss_pct=None, notional=1e6)
    assert written(fs, AT, broken, "2").split("\n") == [
        "GUARDRAIL VIOLATIONS:",
        "  [hard] max_single_risk: missing (limit: 5)",
        "  [hard] max_gross_exposure: 1.0001e+06 (limit: 200)",
        "  [hard] max_single_name: 1e+06 (limit: 100)",
        "  [hard] max_net_exposure: 1.00002e+06 (limit: 150)",
    ]
    assert "only become active through" in written(fs, AT, replace(OPEN, body="other"), "5")
    for number, status in enumerate(("draft", "closed"), start=3):
        assert written(fs, AT, replace(broken, status=status), str(number)) == f"Written: {AT}"


def test_g1_the_pms_constraints_apply_to_agent_writes(memory):
    desk(memory)
    pm = turn(memory, "pm", actor="pm")
    wrote(pm, "/portfolio/constraints.md", Constraints(id="constraints", max_gross=105.0), "limit")
    fs = turn(memory)
    answer = written(fs, "/memory/expressions/new.md", NEW_EXPRESSION, "1")
    assert "[hard] max_gross_exposure: 120 (limit: 105)" in answer


def test_t7_hostile_arguments_are_answered(tmp_path):
    assert fuzzed(tmp_path, 300, seed=1) == []


def test_t7_nothing_is_written_twice_when_a_turn_is_resumed(tmp_path):
    first = Memory(tmp_path / "forge")
    desk(first)
    fs = turn(first, actor="code")
    written(fs, AT, replace(OPEN, status="closed"), "close")
    again = ForgeFS(Memory(tmp_path / "forge"), first.hydrate(fs.remembered.as_of, session="s"), actor="code")
    assert not again.exists("/memory/outcomes/OUT-001.md")
    written(again, AT, replace(OPEN, status="closed"), "close")
    assert [entry.name for entry in again.list_dir("/memory/outcomes/")] == ["OUT-001.md"]
    assert [row.kind for row in first.journal.rows()].count("outcomes") == 1
    assert now() > fs.remembered.as_of
