"""Files that a bound session may read and write: every tool is tried on every place, written in every way."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.harness import ROOT
from tests.agents.messages import PIT
from tests.agents.mutate import HOOKS, pit_guard

SESSION, OTHER = "0f3b6f0e-5a1c-4b7e-9d57-1f2a3b4c5d6e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"
MERGE = ".claude/skills/earnings-bundle/scripts/merge_envelopes.py"
FETCH = ".claude/skills/earnings-orchestrator/scripts/pit_fetch.py"

# Files in a project and in the user's home that a bound session must not read, by the reason.
UNREADABLE = {
    "the default lake": "project/.pitlake/lake/_lake/log/1.json",
    "the lake of the environment": "named/_lake/log/1.json",
    "a lake in the project": "project/data/elsewhere/tables/news/x.json",
    "a lake's own folder": "project/data/elsewhere/_lake/log/1.json",
    "a table alone": "project/data/copied/part.json",
    "captures in the project": "project/data/kept/_captures/a.json",
    "captures of the environment": "project/data/captures/a.json",
    "the cache": "home/.cache/pitlake/boundary/a.json",
    "the cache of a server's settings": "project/data/cache/boundary/a.json",
    "the mirror": "home/.cache/pitlake/mirror/ab/tables/news/x.json",
    "the key": "home/.local/state/pitlake/signed_cache.key",
    "another session's files": f"project/scratch/{OTHER}/answers.json",
    "transcripts": "home/.claude/projects/p/x.jsonl",
    "secrets": "project/.env",
    "the demo's world": "project/sample/data/news.json",
    "history": "project/.git/objects/x",
    "another project": "neighbour/README.md",
}
# Other files that a bound session must not write, because a program runs them or they restrict the session.
UNWRITABLE = {
    "pipelines": "project/pipelines/commands/fetch.py", "assets": "project/assets/graph/news.py",
    "resources": "project/resources/http/client.py", "sql": "project/sql/views/embeddings.sql",
    "checks": "project/checks/warnings.py", "the kernel": "project/pitlake/gate/rules.py",
    "a path file": "project/.venv/lib/python3.11/site-packages/x.pth",
    "sitecustomize": "project/sitecustomize.py", "conftest": "project/conftest.py", "tests": "project/tests/test_x.py",
    "a shell's start": "home/.bashrc", "a shell's profile": "home/.profile", "a user's packages":
    "home/.local/lib/python3.11/site-packages/usercustomize.py", "a git hook": "project/.git/hooks/post-checkout",
    "settings": "project/.claude/settings.json", "local settings": "project/.claude/settings.local.json",
    "a user's settings": "home/.claude/settings.json", "hooks": "project/.claude/hooks/pit_guard.py",
    "skills": "project/.claude/skills/news-queries/SKILL.md", "agents": "project/.claude/agents/neo4j-news.md",
    "servers": "project/.mcp.json", "build": "project/Makefile", "packaging": "project/pyproject.toml",
    "memory": "project/CLAUDE.md", "docs": "project/docs/page.md", "a new file": "project/notes.json",
    "code in the own folder": f"project/scratch/{SESSION}/sitecustomize.py",
    "memory in the own folder": f"project/scratch/{SESSION}/CLAUDE.md",
    "settings in the own folder": f"project/scratch/{SESSION}/.claude/settings.json",
    "a dot file in the own folder": f"project/scratch/{SESSION}/.env.txt",
    "the own folder itself": f"project/scratch/{SESSION}",
    "beside the own folder": f"project/scratch/{SESSION}.json",
    "a longer name": f"project/scratch/{SESSION}x/a.json",
    "temporary files": "tmp/answers.json",
}  # fmt: skip


def build(folder):
    """Create a project, the user's home, and lakes inside and outside the project."""
    project = folder / "project"
    for place in {**UNREADABLE, **UNWRITABLE}.values():
        path = folder / place
        if place != UNWRITABLE["the own folder itself"]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("CANARY")
    shutil.copytree(HOOKS.parent, project / ".claude", dirs_exist_ok=True)
    (project / "data/copied/_delta_log").mkdir()
    cache = {"mcpServers": {"pitlake": {"command": "sh", "env": {"PITLAKE_CACHE": "data/cache"}}}}
    (project / ".mcp.json").write_text(json.dumps(cache))
    (project / "links").mkdir()
    for number, place in enumerate(UNREADABLE.values()):
        (project / "links" / str(number)).symlink_to((folder / place).parent)
    (project / "scratch" / SESSION).mkdir(parents=True, exist_ok=True)
    (project / "scratch" / SESSION / "answers.json").write_text("{}")
    return folder


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return build(tmp_path_factory.mktemp("shared"))


@pytest.fixture
def world(request, monkeypatch):
    """The folders of a test: shared by the tests that only check a place, new for every other test."""
    folder = request.getfixturevalue("shared" if "place" in request.fixturenames else "tmp_path")
    outcome = folder if (folder / "project").exists() else build(folder)
    monkeypatch.setattr(pit_guard, "HERE", str(outcome / "project" / ".claude" / "hooks"))
    monkeypatch.setenv("HOME", str(outcome / "home"))
    return outcome


@pytest.fixture
def settings(bound, world):
    return bound | {"PITLAKE_LAKE": f"file://{world}/named", "PITLAKE_CAPTURES": str(world / "project/data/captures")}


def judged(settings, world, tool, flags=(), **inputs):
    message = {"tool_name": tool, "tool_input": inputs, "cwd": str(world / "project"), "session_id": SESSION}
    answer = pit_guard.decide(json.dumps(message).encode(), settings, flags)
    return answer["reason"].split(":")[0] if answer else None


def spellings(world: Path, place: str):
    """Yield the ways to write a file's path."""
    path, project = world / place, world / "project"
    relative = os.path.relpath(path, project)
    yield str(path)
    yield relative
    yield f"./{relative}"
    yield f"docs/../{relative}"
    yield str(path).replace("/", "//")[1:]
    yield f"{path.parent}/./{path.name}"
    yield f"/proc/self/root{path}"
    yield f" {path}"
    yield f"{path} "
    if place.startswith("home/"):
        yield f"~/{path.relative_to(world / 'home')}"
    if place in UNREADABLE.values():
        yield f"links/{list(UNREADABLE.values()).index(place)}/{path.name}"


def reads(path: str):
    """Yield every call that reads a file or reveals the contents of its folder."""
    folder, name = os.path.split(path)
    yield "Read", {"file_path": path}
    yield "Grep", {"pattern": "CANARY", "path": path}
    yield "Grep", {"pattern": "CANARY", "path": folder, "output_mode": "content"}
    yield "Grep", {"pattern": "CANARY", "path": folder, "glob": name}
    above, within = os.path.split(folder)
    for pattern in (path, f"{folder}/*", f"{folder}/**/*", f"{folder}/{name[0]}*", f"{folder}/{{{name},x}}",
                    f"{folder}/[{name[0]}]*"):  # fmt: skip
        yield "Glob", {"pattern": pattern}
    if within not in ("", ".", ".."):
        yield "Glob", {"pattern": f"{above}/*/{name}"}
        yield "Glob", {"pattern": f"{above}/{within[0]}*/{name}"}
    yield "Glob", {"pattern": "**/*", "path": folder}
    yield "Glob", {"pattern": name, "path": folder}
    quoted = f"'{path}'"
    for command in (f"cat {quoted}", f"cat docs/page.md {quoted}", f"head -c 9 {quoted}", f"tail -n 3 {quoted}",
                    f"wc -l {quoted}", f"grep -n CANARY {quoted}", f"grep CANARY '{folder}'", f"ls -la {quoted}",
                    f"ls docs && cat {quoted}", f"python3 {MERGE} {quoted}",
                    f"python3 {MERGE} --pit {PIT} {quoted}"):  # fmt: skip
        yield "Bash", {"command": command}


def writes(path: str):
    """Yield every call that writes a file. Shell commands that write are denied for every path."""
    yield "Write", {"file_path": path, "content": "x"}
    yield "Edit", {"file_path": path, "old_string": "a", "new_string": "b"}
    yield "MultiEdit", {"file_path": path, "edits": []}
    yield "NotebookEdit", {"notebook_path": path, "new_source": "x"}
    quoted = f"'{path}'"
    for command in (f"mkdir -p {quoted}/x", f"echo x > {quoted}", f"echo x >> {quoted}", f"echo x | tee {quoted}",
                    f"cp docs/page.md {quoted}", f"mv docs/page.md {quoted}", f"ln -s /etc/passwd {quoted}",
                    f"sed -i s/a/b/ {quoted}", f"touch {quoted}", f"rm {quoted}", f"git apply {quoted}"):  # fmt: skip
        yield "Bash", {"command": command}


def test_every_protected_place_is_denied_by_its_plain_path(settings, world):
    places = [str(world / place) for place in UNREADABLE.values()]
    assert {judged(settings, world, "Read", file_path=path) for path in places} == {"GUARD_LAKE_FILES"}
    places += [str(world / place) for place in UNWRITABLE.values()]
    assert {judged(settings, world, "Write", file_path=path, content="x") for path in places} == {"GUARD_WRITE"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", UNREADABLE.values(), ids=UNREADABLE)
def test_no_tool_reads_a_protected_place_in_any_spelling(settings, world, place):
    passed = [
        (tool, given)
        for spelling in spellings(world, place)
        for tool, given in reads(spelling)
        if judged(settings, world, tool, **given) is None
    ]
    assert passed == []


@pytest.mark.sampled(7)
@pytest.mark.parametrize("place", {**UNREADABLE, **UNWRITABLE}.values(), ids={**UNREADABLE, **UNWRITABLE})
def test_no_tool_writes_outside_the_sessions_own_data_in_any_spelling(settings, world, place):
    passed = [
        (tool, given)
        for spelling in spellings(world, place)
        for tool, given in writes(spelling)
        if judged(settings, world, tool, **given) is None
    ]
    own = f"project/scratch/{SESSION}"
    folders = [each for each in passed if each[0] == "Bash" and each[1]["command"].startswith("mkdir -p ")]
    assert passed == (folders if f"{place}/".startswith(f"{own}/") and "/." not in place else [])


@pytest.mark.parametrize("spelled", [".PITLAKE/lake/_LAKE/log/1.json", "DATA/CAPTURES/a.json", "Sample/data/news.json",
                                     ".Env", "data/elsewhere/_Lake/log/1.json",
                                     f"Scratch/{OTHER}/answers.json"])  # fmt: skip
def test_a_protected_place_is_denied_in_any_letter_case(settings, world, spelled):
    """The folders exist in upper and lower case, as on a case-insensitive file system."""
    path = world / "project" / spelled
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("CANARY")
    assert [each for each in reads(spelled) if judged(settings, world, each[0], **each[1]) is None] == []


@pytest.mark.parametrize("path", ["", ".", "..", "/", "~", "/proc/self/environ", "/proc/self/cwd/.env", "/dev/stdin",
                                  "docs\n/etc/passwd", "docs\x00x", "../project/.env"])  # fmt: skip
def test_searching_or_writing_an_odd_path_is_denied(settings, world, path):
    assert judged(settings, world, "Grep", pattern="x", path=path) is not None
    assert judged(settings, world, "Glob", pattern="**/*", path=path) is not None
    assert judged(settings, world, "Write", file_path=path, content="x") == "GUARD_WRITE"


def test_a_search_without_a_path_begins_in_the_working_folder(settings, world):
    assert judged(settings, world, "Grep", pattern="x") == "GUARD_LAKE_FILES"
    assert judged(settings, world, "Glob", pattern="*") == "GUARD_LAKE_FILES"
    assert judged(settings, world, "Glob", pattern="docs/*") is None


def test_a_glob_that_begins_with_a_slash_is_denied_but_a_trailing_slash_is_allowed(settings, world):
    assert judged(settings, world, "Glob", pattern="/*", path="docs") == "GUARD_LAKE_FILES"
    assert judged(settings, world, "Glob", pattern="*/", path="docs") is None


@pytest.mark.parametrize("file", [".mcp.json", ".claude/settings.json", ".claude/settings.local.json"])
def test_data_places_named_in_the_settings_cannot_be_read(settings, world, file):
    names = ("PITLAKE_LAKE", "PITLAKE_CAPTURES", "PITLAKE_CACHE", "PITLAKE_GRAPH_ROOT", "PITLAKE_REPORT",
             "PITLAKE_HOOK_LOG", "DAGSTER_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR")  # fmt: skip
    for folder in ("docs", f"file://{world}/project/docs"):
        env = {name: f"{folder}/{name}" for name in names}
        reply = {"mcpServers": {"pitlake": {"env": env}}} if file == ".mcp.json" else {"env": env}
        (world / "project" / file).write_text(json.dumps(reply))
        assert [name for name in names if judged(settings, world, "Read", file_path=f"docs/{name}") is None] == []
        assert judged(settings, world, "Read", file_path="docs/page.md") is None


def test_settings_that_name_no_place_change_nothing(settings, world):
    reply = {"mcpServers": {"pitlake": {"env": {"PITLAKE_CACHE": 5, "PITLAKE_REPORT": ""}}}}
    (world / "project" / ".mcp.json").write_text(json.dumps(reply))
    assert judged(settings, world, "Read", file_path="docs/page.md") is None
    assert judged(settings, world, "Bash", command="echo ''") is None


def test_a_search_of_too_many_names_is_denied(settings, world, monkeypatch):
    monkeypatch.setattr("pit_places.MOST_NAMES", 3)
    for number in range(4):
        (world / "project" / "docs" / f"{number}.md").write_text("x")
    assert judged(settings, world, "Grep", pattern="x", path="docs") == "GUARD_LAKE_FILES"


@pytest.mark.parametrize("path", ["docs/page.md", "./docs/../docs/page.md", ".claude/skills/lake-schema/SKILL.md",
                                  ".claude/agents/neo4j-news.md", f"scratch/{SESSION}/answers.json",
                                  "pipelines/commands/fetch.py"])  # fmt: skip
def test_the_projects_own_pages_can_be_read(settings, world, path):
    for spelled in (path, str(world / "project" / path)):
        assert judged(settings, world, "Read", file_path=spelled) is None
        assert judged(settings, world, "Grep", pattern="x", path=spelled) is None
        assert judged(settings, world, "Bash", command=f"cat {spelled} | head -3") is None


@pytest.mark.parametrize("path", ["answers.json", "made/notes.txt", "made/deeper/table.csv"])
def test_plain_data_can_be_written_to_the_sessions_own_folder(settings, world, path):
    own = f"scratch/{SESSION}"
    assert judged(settings, world, "Bash", command=f"mkdir -p {own}/made/deeper") is None
    for spelled in (f"{own}/{path}", str(world / "project" / own / path)):
        assert judged(settings, world, "Write", file_path=spelled, content="{}") is None
        assert judged(settings, world, "Edit", file_path=spelled) is None
        assert judged(settings, world, "MultiEdit", file_path=spelled, edits=[]) is None
    assert judged(settings, world, "Bash", command=f"python3 {MERGE} {own}/answers.json") is None


def test_writing_without_a_session_id_or_through_a_link_is_denied(settings, world):
    message = {"tool_name": "Write", "tool_input": {"file_path": "scratch/x.json"}, "cwd": str(world / "project")}
    for session in ({}, {"session_id": "../docs"}, {"session_id": ""}, {"session_id": 5}):
        assert pit_guard.decide(json.dumps(message | session).encode(), settings) != {}
    shutil.rmtree(world / "project" / "scratch")
    (world / "project" / "scratch").symlink_to(world / "project" / "pipelines")
    path = f"scratch/{SESSION}/x.json"
    assert judged(settings, world, "Write", file_path=path, content="x") == "GUARD_WRITE"


def test_the_denial_names_the_place_to_write(settings, world):
    message = {"tool_name": "Write", "tool_input": {"file_path": "x.json"}, "session_id": SESSION}
    reply = pit_guard.decide(json.dumps(message).encode(), settings)["reason"]
    assert str(world / "project" / "scratch" / SESSION) in reply


PLANTED = "import pathlib, os; pathlib.Path(os.environ['CANARY']).write_text('ran')\nraise SystemExit(3)\n"


def test_planted_code_can_be_neither_written_nor_run_by_the_wrapper(settings, world, tmp_path):
    """The chain has three steps: write code that the wrapper runs, run the wrapper, read its output."""
    canary = tmp_path / "canary"
    planted = [world / "project" / name for name in ("pitlake/__init__.py", "assets/__init__.py", "sitecustomize.py",
                                                      "usercustomize.py", "click.py", "json.py")]  # fmt: skip
    for path in planted:
        assert judged(settings, world, "Write", file_path=str(path), content=PLANTED) == "GUARD_WRITE"
        path.write_text(PLANTED)
    assert judged(settings, world, "Bash", command=f"python3 {FETCH} --source yahoo; cat {canary}") == "GUARD_SHELL"
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= settings | {"CANARY": str(canary), "PYTHONPATH": str(world / "project"), "HOME": str(world / "home")}
    question = [sys.executable, "-I", str(ROOT / FETCH), "--source", "yahoo", "--op", "earnings", "--symbol", "QACB"]
    done = subprocess.run(question, cwd=world / "project", env=env, capture_output=True, text=True, check=True)
    assert not canary.exists()
    assert json.loads(done.stdout).keys() == {"data", "gaps"}
    assert "exit code" not in done.stdout
    assert judged(settings, world, "Read", file_path=str(canary)) == "GUARD_LAKE_FILES"


@pytest.mark.parametrize("question", [["--lake", "x"], ["--lake=x"], ["--input-file", "x"], ["--input-file=x"],
                                   ["input_file=x"], ["earnings", "input_file=x"]])  # fmt: skip
def test_a_bound_wrapper_refuses_another_lake_or_an_input_file(settings, world, question):
    outcome = world / "project" / "scratch" / SESSION / "answers.json"
    question = [each.replace("=x", f"={outcome}") if each != "x" else str(outcome) for each in question]
    command = [sys.executable, "-I", str(ROOT / FETCH), "--source", "yahoo", "--symbol", "QACB", *question]
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=True)
    assert [gap["reason"].split(":")[0] for gap in json.loads(done.stdout)["gaps"]] == ["PIT_INVALID_PIT"]
