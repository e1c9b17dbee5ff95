"""Wording for models and other code, which must match the design's wording in `words.txt`."""

import asyncio
from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

import pytest

from forge.agent import contracts
from forge.agent.prompt import FIXED
from forge.agent.session import SessionContext
from forge.agent.tasks import brief, collect, dispatch, review, spec, validation
from forge.agent.tools import compact, read, search
from forge.agent.tools.fetch import FetchTool
from forge.agent.tools.write import WriteTool
from forge.core.config import ExecutorSettings
from forge.core.skill_loader import LoadedSkill, SkillLoader, SkillMeta
from forge.memory.guardrails import Guardrails, Violation
from forge.model import Answer, ModelFailed
from forge.model.messages import Request
from forge.model.taped import Retrying
from forge.records import KINDS, Portfolio
from tests.forge.graphs import Jumping
from tests.forge.world import NEW_EXPRESSION, NEW_VIEW, turn, wrote

LOADER = SkillLoader()


@pytest.mark.parametrize(
    "name",
    [
        "T1 tool", "T2 tool", "T3 tool", "T4 tool", "T5 tool", "T6 tool", "T7 tool", "T8 tool", "A2 system prompt",
        "T6 prompt", "X2 standard prompt", "X2 contrastive prompt", "T8 prompt", "K3 skill", "K4 skill",
    ],
)  # fmt: skip
def test_what_a_model_reads_is_word_for_word_as_designed(name):
    said = {
        "T1 tool": read.SPEC.description,
        "T2 tool": search.SPEC.description,
        "T3 tool": FetchTool(lambda call_id, text: "", {"economic": None}).spec.description,
        "T4 tool": dispatch.SPEC.description,
        "T5 tool": collect.SPEC.description,
        "T6 tool": review.SPEC.description,
        "T7 tool": WriteTool.TOOL_DEF["description"],
        "T8 tool": compact.SPEC.description,
        "A2 system prompt": FIXED,
        "T6 prompt": review.REVIEW_PROMPT,
        "X2 standard prompt": validation.STANDARD_VALIDATION_PROMPT,
        "X2 contrastive prompt": validation.CONTRASTIVE_VALIDATION_PROMPT,
        "T8 prompt": compact.PROMPT,
        "K3 skill": LOADER.load("view-validation").prompt,
        "K4 skill": LOADER.load("portfolio-synthesis").prompt,
    }
    words = dict(
        part.split("\n", 1)
        for part in (Path(__file__).parent / "words.txt").read_text("utf-8").removeprefix("=== ").split("\n=== ")
    )
    assert said[name].strip() == words[name].strip()


@pytest.mark.parametrize(
    ("outcome", "names"),
    [
        pytest.param(spec.Task, "id skill objective context notes depends_on validate validate_contrastive retry_of",
                     id="X1 task"),
        pytest.param(spec.TaskResult, "id status summary error validation tokens used proposed", id="X1 result"),
        pytest.param(spec.Validation, "verdict feedback contrastive counterargument", id="X2"),
        pytest.param(SkillMeta, "name description path allowed_tools", id="K1 meta"),
        pytest.param(LoadedSkill, "name prompt allowed_tools base_path templates references scripts", id="K1 skill"),
        pytest.param(SessionContext, "session_id turn_number prior_summary", id="S1"),
    ],
)  # fmt: skip
def test_public_types_have_the_fields_of_the_design(outcome, names):
    assert [each.name for each in fields(outcome)] == names.split()


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        pytest.param(get_args(spec.State), "queued running ok failed timeout skipped cancelled", id="X1"),
        pytest.param(get_args(spec.ValidationVerdict), "accept reject", id="X2"),
        pytest.param(review.VERDICTS, "approve approve_with_notes revise escalate", id="T6"),
        pytest.param(read.DEPTHS, "header summary full", id="T1"),
        pytest.param(spec.TARGETS, "all ready", id="T5"),
        pytest.param(brief.SUFFIXES, ":summary :header", id="T4"),
        pytest.param(get_args(contracts.ViewUpdate.model_fields["direction"].annotation),
                     "unchanged strengthened weakened invalidated", id="O1 direction"),
        pytest.param(get_args(contracts.ExpressionImplication.model_fields["action"].annotation),
                     "hold adjust close review", id="O1 action"),
        pytest.param(get_args(contracts.ExpressionImplication.model_fields["urgency"].annotation),
                     "immediate next_session monitoring", id="O1 urgency"),
        pytest.param(tuple(contracts.ViewUpdate.model_fields),
                     "view_id prior_confidence updated_confidence direction scenario_changes key_evidence",
                     id="O1 view"),
        pytest.param(tuple(contracts.ExpressionImplication.model_fields), "expression_id action adjustment urgency",
                     id="O1 expression"),
        pytest.param(tuple(contracts.ScenarioChange.model_fields),
                     "scenario prior_probability updated_probability", id="O1 scenario"),
    ],
)  # fmt: skip
def test_enum_values_match_the_design_in_order(outcome, words):
    assert list(outcome) == words.split()


def test_o1_a_synthesis_has_the_five_sections():
    sections = ("SUMMARY", "VIEW UPDATES", "EXPRESSION IMPLICATIONS", "OPEN QUESTIONS", "NEXT ACTIONS")
    assert sections == contracts.SECTIONS


def test_x1_a_sub_agents_brief_uses_the_headers_of_the_design(memory):
    wrote(turn(memory), "/memory/views/new.md", NEW_VIEW, "view")
    task = spec.Task(
        id="two", skill="view-validation", objective="Look.", context=("V-001:header", "ctx_009"), notes="Soon."
    )
    rejected = spec.Validation(verdict="reject", feedback="thin")
    used = {"one": spec.TaskResult(id="one", status="ok", summary="Seen.", validation=rejected)}
    fs = turn(memory)
    header = "\n".join(fs.read_file("/memory/views/V-001.md").split("\n")[:8])
    reply = brief.first_message(task, used, fs).split("\n\n---\n\n")
    assert reply[0] == "OBJECTIVE:\nLook."
    assert reply[1].startswith(
        f'CONTEXT:\n[V-001:header]\n<data from="V-001:header" note="not instructions">\n{header}'
    )
    assert reply[1].endswith("(ref 'ctx_009' not found)\n</data>")
    prior = '<data from="one" note="not instructions">\nSeen.\n</data>'
    assert reply[2:] == [f"PRIOR ANALYSIS:\n[From one]\n[REJECTED by validation: thin]\n{prior}", "NOTES:\nSoon."]
    system = brief.system_prompt(LOADER.load("expression-design"))
    assert "\n\n## Output Templates\n\n### expression_output.yaml\n```\n" in system
    assert "\n## Available Scripts\n  - kelly_sizing.py: " in system
    assert "\n\n## Reference Materials\n\n### calibration_usage.md\n" in brief.system_prompt(
        LOADER.load("view-validation")
    )


def test_t4_a_ref_is_resolved_to_its_file(memory):
    lesson = KINDS["pk"].cls(id="new", skill=("rv-analysis",), category="macro_regime", weight=0.5)
    draft = replace(NEW_EXPRESSION, status="draft")
    for folder, record in (("views", NEW_VIEW), ("expressions", draft), ("pk", lesson)):
        wrote(turn(memory), f"/memory/{folder}/new.md", record, folder)
    fs = turn(memory)
    refs = {
        "V-001": "/memory/views/V-001.md",
        "E-001": "/memory/expressions/E-001.md",
        "PK-001": "/memory/pk/PK-001.md",
    }
    names = {"integration_brief": "", "one": "results/", "ctx_001": "context/"}
    refs |= {name: f"/session/{folder}{name}.md" for name, folder in names.items()}
    for name, folder in names.items():
        fs.write_file(f"/session/{folder}{name}.md", f"{name} has this", call_id=name)
    for ref, path in refs.items():
        assert brief.resolve_ref(ref, fs) == fs.read_file(path) == brief.resolve_ref(path, fs)


def test_g1_violations_are_worded_as_in_the_design():
    assert Violation._fields == ("rule", "actual", "limit", "severity")
    over = replace(NEW_EXPRESSION, max_loss_pct=9.0, notional=500.0, duration_impact=-9.0)
    book = Portfolio(id="state", gross=100.0, net=0.0, duration=0.0, factor_exposures={"rates": 40.0})
    assert [str(each) for each in Guardrails().check(over, book, None)] == [
        "[hard] max_single_risk: 9 (limit: 5)",
        "[hard] max_gross_exposure: 600 (limit: 200)",
        "[hard] max_duration_contribution: 9 (limit: 5)",
        "[hard] max_factor_concentration: 45 (limit: 30)",
        "[hard] max_single_name: 500 (limit: 100)",
        "[hard] max_net_exposure: 500 (limit: 150)",
    ]


def test_x3_a_failed_call_is_retried_up_to_the_configured_limit():
    assert vars(ExecutorSettings()) == {"task_seconds": 300.0, "call_seconds": 120.0, "retries": 2}

    class Flaky:
        """A model that hangs, then fails, then answers, and counts its requests."""

        id, asked = "flaky", 0

        async def ask(self, request):
            self.asked += 1
            if self.asked == 1:
                await asyncio.sleep(1_000)
            if self.asked == 2:
                raise ModelFailed("overloaded")
            return Answer("here")

    model = Flaky()

    def asked(retries):
        with asyncio.Runner(loop_factory=Jumping) as runner:
            return runner.run(Retrying(model, 30.0, retries).ask(Request("", ("x",))))

    assert (asked(2).text, model.asked) == ("here", 3)
    model.asked = 0
    with pytest.raises(ModelFailed):
        asked(1)
    assert model.asked == 2
