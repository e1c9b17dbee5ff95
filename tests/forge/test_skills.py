"""Ten skills: valid by the standard, overridden by a PM's own. Their scripts match closed forms. Ids: K1, K2, O1."""

import json
import subprocess
import sys
from math import isclose
from statistics import fmean, stdev

import pytest

from forge.agent.contracts import OutputUnreadable, read_output
from forge.agent.tools.text import section
from forge.core.skill_loader import OURS, SkillLoader, check_skill
from pitlake.errors import BadInput
from tests.forge.test_subagents import SYNTHESIS

FILES = {
    "context-retrieval": {"references/gap_assessment_guide.md"},
    "view-validation": {"templates/view_output.yaml", "references/calibration_usage.md"},
    "expression-design": {
        "templates/expression_output.yaml", "scripts/kelly_sizing.py", "scripts/option_payoff.py",
    },
    "portfolio-synthesis": {"templates/synthesis_output.yaml", "references/integration_brief_guide.md"},
    "scenario-analysis": {"scripts/scenario_tree.py"},
    "rv-analysis": {"scripts/zscore.py"},
    "event-analysis": set(),
    "portfolio-review": set(),
    "retrospective": {"references/counterfactual_guide.md"},
    "attention-allocation": set(),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_k2_each_built_in_skill_is_valid_and_has_the_files_of_the_design(name):
    check_skill(OURS / name)
    result = {str(each.relative_to(OURS / name)) for each in (OURS / name).glob("*/*.*") if each.suffix != ".pyc"}
    assert result == FILES[name]
    skill = SkillLoader().load(name.replace("-", "_"))
    assert (skill.name, set(skill.allowed_tools) - {"read", "search", "fetch"}) == (name, set())
    assert len(section(skill.prompt, "Eval Criteria").splitlines()) >= 5
    assert [file for file, reply in skill.scripts.items() if "fetch('analytics'" not in reply] == []


def test_k2_exactly_the_ten_built_in_skills_are_indexed():
    assert set(SkillLoader().index) == set(FILES)
    assert len(SkillLoader().meta("rv-analysis").summary) <= 80


def test_k1_a_pms_own_folder_overrides_by_name_and_changes_the_hash(tmp_path):
    own = tmp_path / "rv-analysis"
    own.mkdir()
    front = "---\nname: rv-analysis\ndescription: Mine.\nallowed-tools: read, search\n---\n"
    (own / "SKILL.md").write_text(front + "\n# Mine\n")
    ours, mine = SkillLoader(), SkillLoader(tmp_path)
    assert (mine.load("rv_analysis").prompt, mine.load("rv-analysis").allowed_tools) == ("# Mine", ("read", "search"))
    assert set(mine.index) == set(ours.index)
    before = mine.sha256()
    assert before != ours.sha256()
    (own / "SKILL.md").write_text(front + "\n# Mine \n")
    assert SkillLoader(tmp_path).sha256() != before
    with pytest.raises(BadInput, match="there is no skill 'x'"):
        ours.load("x")
    (own / "SKILL.md").write_text("name: rv-analysis")
    with pytest.raises(BadInput, match="no front matter"):
        SkillLoader(tmp_path)


@pytest.mark.parametrize(
    ("name", "field", "fault"),
    [
        ("x" * 65, "description: d", "is not the name of its folder"),
        ("x", f"description: {'d' * 1025}", "description has 1,025 characters"),
        ("x", "description: d\nmodel: opus", "has the field 'model'"),
        ("x", "allowed-tools: read", "description is missing"),
    ],
)
def test_a_skill_that_breaks_the_standard_is_refused_with_the_fault(tmp_path, name, field, fault):
    (tmp_path / name).mkdir()
    (tmp_path / name / "SKILL.md").write_text(f"---\nname: {name}\n{field}\n---\n# X\n")
    with pytest.raises(BadInput, match=fault):
        check_skill(tmp_path / name)


def run(script, **inputs):
    done = subprocess.run(
        [sys.executable, str(next(OURS.glob(f"*/scripts/{script}.py"))), json.dumps(inputs)],
        capture_output=True, text=True, check=True, env={"PYTHONPATH": str(OURS.parents[1]), "PATH": ""},
    )  # fmt: skip
    return json.loads(done.stdout)


def test_k2_scripts_agree_with_closed_forms():
    near = {"rel_tol": 0, "abs_tol": 1e-9}
    assert isclose(run("kelly_sizing", probability=0.6, win=1.5, loss=0.8, fraction=0.5)["stake"],
                   0.5 * (0.6 / 0.8 - 0.4 / 1.5), **near)  # fmt: skip
    legs = [{"kind": "call", "strike": 100, "quantity": 1, "premium": 4},
            {"kind": "call", "strike": 110, "quantity": -1, "premium": 1.5}]  # fmt: skip
    spread = run("option_payoff", legs=legs)
    assert isclose(spread["most"], 7.5, **near)
    assert isclose(spread["least"], -2.5, **near)
    assert isclose(spread["breakevens"][0], 102.5, **near)
    inner = [{"name": "c", "probability": 0.25, "value": -4.0}, {"name": "d", "probability": 0.75, "value": 1.0}]
    tree = run("scenario_tree", branches=[{"name": "a", "probability": 0.3, "value": 2.0},
                                          {"name": "b", "probability": 0.7, "branches": inner}])  # fmt: skip
    assert isclose(sum(chance for _, chance, _ in tree["paths"]), 1, **near)
    assert isclose(tree["mean"], 0.3 * 2 + 0.7 * (0.25 * -4 + 0.75), **near)
    values = [1.0, 2.5, 2.0, 4.0, 3.5, 9.0]
    score = run("zscore", values=values)["score"]
    assert isclose(score, (9.0 - fmean(values[:-1])) / stdev(values[:-1]), **near)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("### SUMMARY", "### SUM"), ("### NEXT ACTIONS", "NEXT ACTIONS"), ("0.50", "1.50"), ("0.50", "'0.5'"),
        ("weakened", "weaker"), ("V-001", "V-1"), ("V-001", "E-001"), ("```yaml", "```"), ("none", "nothing much"),
        ("scenario_changes: []", "scenario_changes: all"), ("key_evidence", "evidence"), ("0.60", ".nan"),
        ("direction: weakened", "direction: weakened\ndirection: unchanged"),
        ("scenario_changes: []", "x: &a 1\ny: *a"),
        ("Growth slows.", ""), ("none", "```yaml\nexpression_id: E-001\naction: sell\nurgency: immediate\n```"),
        ("```yaml\nview", "```yaml\n- 1\n- view"), ("prior_confidence: 0.60\n", ""),
        ("view_id", "!!python/object:os.x"),
    ],
)  # fmt: skip
def test_o1_an_unreadable_synthesis_is_rejected(old, new):
    assert read_output("portfolio-synthesis", SYNTHESIS).view_updates[0].direction == "weakened"
    with pytest.raises(OutputUnreadable):
        read_output("portfolio-synthesis", SYNTHESIS.replace(old, new, 1))
