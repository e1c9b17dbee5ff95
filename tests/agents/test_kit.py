"""`pitlake agents` installs the kit into a project, checks it and removes it. No file of the project is lost."""

import json
import shutil
from pathlib import Path

import pytest

from pitlake.agents import install as kit
from pitlake.agents.kit import RULES, SERVERS, SETTINGS, files
from pitlake.agents.settings import Conflict, join, part
from pitlake.errors import BadInput, PitlakeError
from pitlake.gate import rules
from tests.agents.harness import ROOT

OWN = {
    "permissions": {"allow": ["Bash(ls)"], "defaultMode": "plan"},
    "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]},
    "model": "opus",
}


@pytest.fixture
def project(tmp_path):
    outcome = tmp_path / "project"
    outcome.mkdir()
    return outcome


def own(project, name, text):
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))


def tree(project):
    return {path.relative_to(project).as_posix(): path.read_bytes() for path in project.rglob("*") if path.is_file()}


def test_an_installed_kit_works_and_uninstalls_completely(project):
    kit.install(project)
    assert kit.check(project) == []
    assert (project / RULES).read_bytes() == Path(rules.__file__).read_bytes()
    assert {path.name for path in (ROOT / ".claude/agents").iterdir()} == {
        path.name for path in (project / ".claude/agents").iterdir()
    }
    assert json.loads((ROOT / SERVERS).read_text()) == json.loads((project / SERVERS).read_text())
    before = tree(project)
    kit.install(project)
    assert tree(project) == before
    assert kit.uninstall(project) == []
    assert list(project.iterdir()) == []


def test_installing_extends_the_projects_settings_and_uninstalling_restores_them(project):
    own(project, SETTINGS, OWN)
    own(project, ".mcp.json", {"mcpServers": {"mine": {"command": "x"}}})
    own(project, ".claude/agents/mine.md", "mine")
    before = {name: json.loads((project / name).read_text()) for name in (SETTINGS, ".mcp.json")}
    kit.install(project)
    kit.install(project)
    assert kit.check(project) == []
    document = json.loads((project / SETTINGS).read_text())
    assert document["hooks"]["PreToolUse"][0] == OWN["hooks"]["PreToolUse"][0]
    assert len(document["hooks"]["PreToolUse"]) == 2
    assert document["permissions"]["defaultMode"] == "plan"
    kit.uninstall(project)
    assert {name: json.loads((project / name).read_text()) for name in (SETTINGS, ".mcp.json")} == before
    assert {*tree(project)} == {SETTINGS, ".mcp.json", ".claude/agents/mine.md"}


@pytest.mark.parametrize(
    ("name", "text", "reply"),
    [
        (".claude/agents/neo4j-news.md", "my own", ".claude/agents/neo4j-news.md"),
        (SETTINGS, {"autoMemoryEnabled": True}, ".claude/settings.json (autoMemoryEnabled)"),
        (".mcp.json", {"mcpServers": {"pitlake": {"command": "mine"}}}, ".mcp.json (mcpServers.pitlake)"),
        (SETTINGS, "not json", "is not a JSON object"),
        (SETTINGS, "[]", "is not a JSON object"),
    ],
)
def test_a_conflict_with_the_projects_files_is_named_and_nothing_is_written(project, name, text, reply):
    own(project, name, text)
    before = tree(project)
    with pytest.raises(BadInput) as refused:
        kit.install(project)
    assert reply in str(refused.value)
    assert tree(project) == before


def test_files_changed_by_the_user_are_neither_updated_nor_removed(project):
    kit.install(project)
    changed = project / ".claude/agents/neo4j-news.md"
    changed.write_text("mine now")
    assert kit.check(project) == [".claude/agents/neo4j-news.md was changed"]
    with pytest.raises(BadInput, match="neo4j-news"):
        kit.install(project)
    assert kit.uninstall(project) == [".claude/agents/neo4j-news.md"]
    assert tree(project) == {".claude/agents/neo4j-news.md": b"mine now"}


def test_an_older_kit_is_brought_up_to_date(project, monkeypatch):
    older = files() | {".claude/agents/neo4j-news.md": b"older", ".claude/agents/gone.md": b"gone"}
    with monkeypatch.context() as patched:
        patched.setattr("pitlake.agents.kit.files", lambda: older)
        patched.setattr(kit, "__version__", "0.0.1")
        kit.install(project)
    assert any("0.0.1" in each for each in kit.check(project))
    kit.install(project)
    assert kit.check(project) == []
    assert not (project / ".claude/agents/gone.md").exists()


def test_an_interrupted_install_can_be_undone(project, monkeypatch):
    def cut_off(path, text):
        if path.name == "lake-server":
            raise OSError("no space")
        return output(path, text)

    output = kit._write
    own(project, SETTINGS, OWN)
    before = tree(project)
    with monkeypatch.context() as patched:
        patched.setattr(kit, "_write", cut_off)
        with pytest.raises(OSError, match="no space"):
            kit.install(project)
    kit.uninstall(project)
    assert {name: json.loads(text) for name, text in tree(project).items()} == {
        name: json.loads(text) for name, text in before.items()
    }


def test_check_says_what_does_not_work(project, monkeypatch, tmp_path):
    kit.install(project)
    (project / kit.PYTHON).write_text("/nowhere/bin/python\n")
    (project / SETTINGS).write_text("{}")
    (tmp_path / "bin").mkdir()
    for name in ("sh", "dirname", "cat", "pwd"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    text = "\n".join(kit.check(project))
    for reply in (
        "settings.json lacks",
        "pitlake-python was changed",
        "python3 can't run",
        "lake-server can't find pitlake",
    ):
        assert reply in text


def test_a_missing_kit_or_project_is_refused_with_the_reason(project, tmp_path):
    for do in (kit.check, kit.uninstall):
        with pytest.raises(BadInput, match="no agent kit was installed"):
            do(project)
    with pytest.raises(BadInput, match="is not a folder"):
        kit.install(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="own checkout"):
        kit.install(ROOT)
    own(project, kit.RECORD, "{}")
    with pytest.raises(PitlakeError, match="can't be read"):
        kit.uninstall(project)


def test_part_reverses_join_and_conflicts_are_refused():
    own_ones = {"a": [1, 2], "b": {"c": 1}}
    whole, added = join(own_ones, {"a": [2, 3], "b": {"d": {"e": [1]}}, "f": True})
    assert whole == {"a": [1, 2, 3], "b": {"c": 1, "d": {"e": [1]}}, "f": True}
    assert part(whole, added) == own_ones
    with pytest.raises(Conflict, match=r"b\.c"):
        join(own_ones, {"b": {"c": 2}})
