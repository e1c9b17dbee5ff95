"""Records as a model writes them: natural formats are read, and all faults are reported together."""

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from forge.agent.contracts import SECTIONS, read_output
from forge.agent.tools.write import WriteTool
from forge.core.errors import RecordUnreadable
from forge.records import KINDS, content_hash, parse, read_draft, render
from forge.records.examples import EXAMPLES
from pitlake.clock import new_york_day
from tests.forge.world import NEW_EXPRESSION, NEW_VIEW, desk, now, turn, wrote

SKILLS = Path(__file__).parents[2] / "forge" / "skills"
VIEW = render(NEW_VIEW)
SCENARIOS = next(line for line in VIEW.split("\n") if line.startswith("scenarios"))
EXPRESSION = render(replace(NEW_EXPRESSION, status="proposed", target="120", stop="100", entry_details="110"))
NATURAL_VIEWS = {
    "percent": VIEW.replace("confidence: 0.6", "confidence: 60%"),
    "quotes": VIEW.replace("scope: us_growth", 'scope: "us_growth"'),
    "capitals": VIEW.replace("status: active", "Status: Active").replace("macro_regime", "Macro regime"),
    "no title": VIEW.removeprefix("# new\n"),
    "title with its prefix": VIEW.replace("# new", "# V-new"),
    "front matter": VIEW.replace("# new\n", "---\nid: new\n"),
    "fence": f"```yaml\n{VIEW}```\n",
    "fence in a fence": f"```markdown\n```yaml\n{VIEW}```\n```\n",
    "byte order mark": f"\ufeff{VIEW}",
    "Windows line ends": VIEW.replace("\n", "\r\n"),
    "comment": VIEW.replace("status: active", "status: active  # draft | active"),
    "bold names": VIEW.replace("scope:", "**scope**:").replace("horizon:", "- **horizon:**"),
    "blank lines": VIEW.replace("\nhorizon", "\n\nhorizon"),
    "yaml list": VIEW.replace(
        SCENARIOS, "scenarios:\n  - name: soft\n    probability: 70%\n  - name: hard\n    probability: 0.3"
    ),
    "yaml flow": VIEW.replace(SCENARIOS, "scenarios: [{name: soft, probability: 0.7}, {hard: 30%}]"),
    "pairs": VIEW.replace(SCENARIOS, "scenarios: soft: 70%, hard: 30%"),
    "json over lines": VIEW.replace(SCENARIOS, SCENARIOS.replace("}, ", "},\n").replace("[", "[\n")),
    "rule without spaces": VIEW.replace("close < 2.0", "close<2.0"),
}


@pytest.mark.parametrize("text", NATURAL_VIEWS.values(), ids=NATURAL_VIEWS)
def test_a_natural_spelling_reads_as_the_same_record(text):
    record = read_draft(KINDS["views"], text, "new").checked()
    assert record == NEW_VIEW
    assert content_hash(record) == content_hash(NEW_VIEW)


def field_of(line, kind="expressions", text=EXPRESSION):
    name = line.partition(":")[0]
    lines = [old for old in text.split("\n") if not old.startswith(f"{name}:")]
    return getattr(read_draft(KINDS[kind], "\n".join([lines[0], line, *lines[1:]]), "new").checked(), name)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("max_loss_pct: 1%", 1.0),
        ("max_loss_pct: 0.8 percent", 0.8),
        ("notional: 1,000.5", 1000.5),
        ("notional: +10%", 10.0),
        ("duration_impact: \N{MINUS SIGN}0.7", -0.7),
        ("factor_exposures: rates: 6%, equity: -2", {"rates": 6.0, "equity": -2.0}),
        ("factor_exposures:\n  rates: 6.0\n  equity: -2", {"rates": 6.0, "equity": -2.0}),
        ("factor_exposures: {}", {}),
        ("expires: 28 June 2030", date(2030, 6, 28)),
        ("expires: 2030/06/28", date(2030, 6, 28)),
        ("links: [V-001, O-002]", ("V-001", "O-002")),
        ("links:\n- V-001\n- O-002", ("V-001", "O-002")),
        ("links: none", ()),
        ("target: '115-00'  # in 32nds", "115"),
        ("exit_reason: n/a", ""),
        ("entry_details: >\n  112-16\n  or better", "112-16 or better"),
    ],
)
def test_a_naturally_written_value_is_parsed(line, value):
    assert field_of(line) == value


@pytest.mark.parametrize(
    "line", ["max_loss_pct: 1 or 2", "duration_impact: 5%", "expires: 06/07/2030", "expires: soon", "max_loss_pct: -1"]
)
def test_an_ambiguous_or_wrong_value_is_refused(line):
    with pytest.raises(RecordUnreadable):
        field_of(line)


def test_every_fault_is_reported_at_once_with_the_right_form():
    text = (
        VIEW.replace("confidence: 0.6", "confidence: high")
        .replace("status: active", "status: open")
        .replace("scope: us_growth\n", "colour: blue\n")
        .replace("0.7}", "0.8}")
    )
    with pytest.raises(RecordUnreadable) as caught:
        read_draft(KINDS["views"], text, "new").checked()
    lines = str(caught.value).split("\n")
    assert len(lines) == 5
    for part in ("'colour' is not a field", "'high' is not a number; write for example confidence: 0.6",
                 "'open' is not one of draft, active", "sum to 1.1", "scope: missing"):  # fmt: skip
        assert any(part in line for line in lines), part


def test_a_stored_text_is_still_parsed_strictly():
    with pytest.raises(RecordUnreadable):
        parse(KINDS["views"], NATURAL_VIEWS["percent"])


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_example_of_each_record_kind_is_accepted_unchanged(memory, kind):
    desk(memory)
    answer = WriteTool(turn(memory)).execute(f"/memory/{kind}/new.md", render(EXAMPLES[kind]), call_id="1")
    assert answer.startswith("Written: "), answer


def test_the_expression_template_is_accepted_unchanged(memory):
    desk(memory)
    text = (SKILLS / "expression-design/templates/expression_output.yaml").read_text()
    assert WriteTool(turn(memory)).execute("/memory/expressions/new.md", text, call_id="1").startswith("Written: ")


def test_the_view_template_is_accepted_unchanged():
    text = (SKILLS / "view-validation/templates/view_output.yaml").read_text()
    output = read_output("view-validation", f"### SUMMARY\nGrowth slows.\n\n### VIEW UPDATES\n```yaml\n{text}```\n")
    (update,) = output.view_updates
    assert (update.view_id, update.direction, len(update.scenario_changes)) == ("V-001", "weakened", 2)


def test_the_synthesis_template_is_accepted_unchanged():
    text = (SKILLS / "portfolio-synthesis/templates/synthesis_output.yaml").read_text()
    views, expressions = (f"```yaml\n{block}```" for block in text.split("---\n"))
    bodies = ("Growth slows.", views, expressions, "How long?", "Watch orders.")
    output = read_output(
        "portfolio-synthesis", "\n\n".join(f"### {name}\n{body}" for name, body in zip(SECTIONS, bodies, strict=True))
    )
    (update,), (implied,) = output.view_updates, output.expression_implications
    assert (update.view_id, update.updated_confidence) == ("V-001", 0.5)
    assert (implied.expression_id, implied.action, implied.urgency) == ("E-001", "hold", "monitoring")


TODAY = new_york_day(now())
NEVER_RIGHT = {
    "a column that the query lacks": ("views", {"settles": replace(NEW_VIEW.settles, rule="closing < 2.0")},
                                      "no column 'closing'"),
    "a day that is over": ("views", {"settles": replace(NEW_VIEW.settles, by=TODAY - timedelta(days=2))},
                           "is past"),
    "a horizon that is no day": ("views", {"horizon": "2036-02-30"},
                                 "horizon: 2036-02-30 is not a calendar date"),
    "a horizon before the View": ("views", {"horizon": f"to {TODAY - timedelta(days=2)}"},
                                  f"horizon: {TODAY - timedelta(days=2)} is past, and it is {TODAY} now"),
    "an impossible last day": ("expressions", {"expires": "2036-02-30"}, "expires: '2036-02-30' is not a date"),
    "a long's stop above its entry": ("expressions", {"entry_details": "110", "stop": "111", "target": "120"},
                                      "stop: "),
    "a short's stop below its target": ("expressions", {"direction": "short", "stop": "90", "target": "100"},
                                        "stop: "),
    "a target equal to the stop": ("expressions", {"target": "111-00", "stop": "111-00"}, "equal"),
    "a negative loss": ("expressions", {}, "max_loss_pct: -1"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "changes", "problem"), NEVER_RIGHT.values(), ids=NEVER_RIGHT)
def test_a_record_that_can_never_be_valid_is_refused(memory, kind, changes, problem):
    desk(memory)
    base = NEW_VIEW if kind == "views" else replace(NEW_EXPRESSION, status="draft")
    text = render(replace(base, **{name: each for name, each in changes.items() if name != "expires"}))
    text = text.replace("\n---\n", f"\nexpires: {changes['expires']}\n---\n") if "expires" in changes else text
    if problem == "max_loss_pct: -1":
        text = text.replace("max_loss_pct: 1.0", "max_loss_pct: -1.0")
    answer = WriteTool(turn(memory)).execute(f"/memory/{kind}/new.md", text, call_id="1")
    assert answer.startswith("Not written. line "), answer
    assert problem in answer


def test_a_trade_whose_stop_is_above_the_entry_can_be_flagged_and_rejected(memory):
    desk(memory)
    trailing = replace(NEW_EXPRESSION, status="proposed", entry_details="100", stop="105", target="120")
    wrote(turn(memory, actor="code"), "/memory/expressions/new.md", trailing, "1")
    flagged = replace(trailing, id="E-002", status="review_required")
    assert wrote(turn(memory), "/memory/expressions/E-002.md", flagged, "2")
    assert wrote(turn(memory, actor="pm"), "/memory/expressions/E-002.md", replace(flagged, status="rejected"), "3")


def test_a_view_whose_day_has_passed_can_still_be_ended(memory):
    text = render(replace(NEW_VIEW, settles=replace(NEW_VIEW.settles, by=TODAY - timedelta(days=2))))
    wrote(turn(memory, actor="code"), "/memory/views/new.md", text, "1")
    ended = text.replace("# new", "# V-001").replace("status: active", "status: expired")
    assert wrote(turn(memory), "/memory/views/V-001.md", ended, "2") == "/memory/views/V-001.md"
