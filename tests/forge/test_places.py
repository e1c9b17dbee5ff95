"""A desk's files, which apply to every interface: settings with limits and models, and a PM's own skills."""

import asyncio
import json
from dataclasses import replace

import pytest

from forge.core.skill_loader import SkillLoader
from forge.desk import desk
from forge.model import Answer
from forge.model.scripted import Scripted
from forge.records import KINDS, parse
from tests.forge.world import desk_with_proposal, reviewed, run_forge, turn

OWN = "---\nname: rv-analysis\ndescription: The way we do it here.\n---\n\n# Ours\n"


pytestmark = pytest.mark.usefixtures("place")


def settings(tmp_path, text):
    (tmp_path / ".pitlake").mkdir(exist_ok=True)
    (tmp_path / ".pitlake" / "forge.toml").write_text(text)


def test_configured_limits_apply_to_the_pms_approvals(capsys, tmp_path):
    memory = desk().memory()
    desk_with_proposal(memory)
    reviewed(memory, parse(KINDS["expressions"], turn(memory).read_file("/memory/expressions/E-001.md")))
    memory.close()
    assert "ready to approve" in run_forge(capsys, "approvals")[1]
    sha256 = json.loads(run_forge(capsys, "approvals", "--format", "json")[1])[0]["sha256"]
    settings(tmp_path, "[guardrails]\nmax_single_risk = 0.5\n")
    assert "problem: guardrail [hard] max_single_risk: 1 (limit: 0.5)" in run_forge(capsys, "approvals")[1]
    code, out, err = run_forge(capsys, "approve", "E-001", "--hash", sha256)
    assert (code, out, "max_single_risk: 1 (limit: 0.5)" in err) == (2, "", True)


def test_settings_choose_models_and_every_command_refuses_an_unknown_key(capsys, tmp_path, monkeypatch):
    settings(tmp_path, '[models]\nreview = "openai:our-own@http://127.0.0.1:1/v1"\n')
    code, out, _ = run_forge(capsys, "doctor")
    assert (code, "model of review: openai:our-own@http://127.0.0.1:1/v1" in out) == (0, True)
    assert f"settings: {tmp_path / '.pitlake' / 'forge.toml'}\n" in out
    settings(tmp_path, "[guardrails]\nmax_risk = 0.5\n")
    for door in (["approvals"], ["views"], ["read", "/memory/views/"], ["doctor"], ["ask", "What?"]):
        code, out, err = run_forge(capsys, *door)
        assert (code, out, "guardrails.max_risk" in err, "max_single_risk" in err) == (2, "", True, True)
    monkeypatch.setenv("FORGE_CONFIG", "nowhere.toml")
    assert "nowhere.toml" in run_forge(capsys, "views")[2]


def test_a_pms_own_skill_overrides_the_built_in_skill_and_changes_the_receipt(capsys, tmp_path, monkeypatch):
    def receipt():
        own = desk()
        memory = own.memory()
        agent = replace(own.agent(memory, tmp_path / "none"), models=lambda role: Scripted([Answer("done")]))
        outcome = asyncio.run(agent.ask("What?")).receipt
        memory.close()
        return outcome

    assert receipt().skills == SkillLoader().sha256()
    assert "The way we do it here." not in run_forge(capsys, "read", "/skills/")[1]
    folder = tmp_path / ".pitlake" / "forge-skills"
    (folder / "rv-analysis").mkdir(parents=True)
    (folder / "rv-analysis" / "SKILL.md").write_text(OWN)
    assert "The way we do it here." in run_forge(capsys, "read", "/skills/")[1]
    first = receipt().skills
    assert first == SkillLoader(folder).sha256() != SkillLoader().sha256()
    (folder / "rv-analysis" / "SKILL.md").write_text(f"{OWN}\nMore.\n")
    assert receipt().skills != first
    monkeypatch.setenv("FORGE_SKILLS", "nowhere")
    code, out, err = run_forge(capsys, "doctor")
    assert (code, out, "FORGE_SKILLS" in err) == (2, "", True)
