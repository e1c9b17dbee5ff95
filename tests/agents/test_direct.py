"""The direct wiring, in which agents read a graph and no lake. The linter supports it; the hooks are the same."""

import json
import shutil

import pytest

from tests.agents.harness import CLAUDE, ROOT, linter
from tests.agents.test_gate import ask, call, code

DIRECT = CLAUDE / "wirings" / "direct"
READ = "mcp__neo4j-cypher__read_neo4j_cypher"
SEED = """---
name: neo4j-news
description: "Query news articles from Neo4j with fulltext and vector search."
tools:
  - mcp__neo4j-cypher__read_neo4j_cypher
disallowedTools:
  - mcp__neo4j-cypher__write_neo4j_cypher
model: opus
permissionMode: dontAsk
skills:
  - neo4j-schema
  - neo4j-news
  - pit-envelope          # auto-loaded envelope contract
  - evidence-standards
  - skill-update
hooks:
  PreToolUse:
    - matcher: "mcp__neo4j-cypher__write_neo4j_cypher"
      hooks:
        - type: command
          command: "echo '{\\"decision\\":\\"block\\",\\"reason\\":\\"Neo4j writes forbidden\\"}'"
  PostToolUse:
    - matcher: "mcp__neo4j-cypher__read_neo4j_cypher"
      hooks:
        - type: command
          command: "python3 $CLAUDE_PROJECT_DIR/.claude/hooks/pit_gate.py"
---

## Workflow
1. Execute the query via `mcp__neo4j-cypher__read_neo4j_cypher`, with `pit` in the params.
"""
OTHERS = "---\nname: {}\ndescription: Of the project.\nuser-invocable: false\n---\n\n# {}\n"


@pytest.fixture
def project(tmp_path):
    """A project set up as in docs/agents.md: the files of the direct wiring, and the files that both wirings share."""
    claude = tmp_path / ".claude"
    shutil.copytree(DIRECT, claude)
    shutil.copytree(CLAUDE / "hooks", claude / "hooks", ignore=shutil.ignore_patterns("__pycache__"))
    for skill in ("pit-envelope", "evidence-standards"):
        shutil.copytree(CLAUDE / "skills" / skill, claude / "skills" / skill)
    return tmp_path


def found(project):
    return [f"{each.rule} {each.path}: {each.message}" for each in linter.lint(project)]


def test_the_linter_accepts_the_direct_wirings_own_files(project):
    assert found(project) == []


def test_the_linter_accepts_an_agent_as_the_reference_wrote_it(project):
    (project / ".claude/agents/neo4j-news.md").write_text(SEED)
    for name in ("neo4j-schema", "skill-update"):
        (project / ".claude/skills" / name).mkdir()
        (project / ".claude/skills" / name / "SKILL.md").write_text(OTHERS.format(name, name))
    assert found(project) == []


@pytest.mark.parametrize(
    ("rule", "name", "old", "new"),
    [
        ("R9", "skills/neo4j-news/SKILL.md", "AND n.created <= $pit", "AND n.created < $pit"),
        ("R9", "skills/neo4j-news/SKILL.md", "  title: n.title,", "  title: n.title, daily_stock: r.daily_stock,"),
        ("R9", "skills/neo4j-news/SKILL.md", "  available_at_source: 'neo4j_created',\n", ""),
        ("R9", "agents/neo4j-news.md", "  - neo4j-news\n", ""),
        ("R3", "agents/neo4j-news.md", "/pit_gate.py", "/pit_guard.py"),
        ("R3", "agents/neo4j-news.md", '\\"block\\"', '\\"approve\\"'),
        ("R3", "agents/neo4j-news.md", f"  - {READ}\n", f"  - {READ}\n  - WebFetch\n"),
        ("R3", "agents/neo4j-news.md", f"  - {READ}\n", f"  - {READ}\n  - mcp__pitlake__query\n"),
        ("R3", "agents/neo4j-news.md", "  - pit-envelope\n", ""),
    ],
)
def test_a_planted_fault_is_found(project, rule, name, old, new):
    page = project / ".claude" / name
    text = page.read_text()
    assert old in text
    page.write_text(text.replace(old, new, 1))
    assert rule in {each.partition(" ")[0] for each in found(project)}


@pytest.mark.parametrize(
    ("created", "verdict"),
    [("2024-05-29T17:00:00-04:00", None), ("2024-05-29T17:00:01-04:00", "PIT_VIOLATION_GT_CUTOFF")],
)
def test_a_graph_servers_answer_is_checked_against_the_pit_parameter(env, created, verdict):
    item = {"available_at": created, "available_at_source": "neo4j_created", "id": "bzNews_1"}
    records = json.dumps([{"data": [item], "gaps": []}])
    inputs = {"query": "MATCH (n:News) …", "params": {"ticker": "QBG", "pit": "2024-05-29T17:00:00-04:00"}}
    answer = ask(call([{"type": "text", "text": records}], READ, **inputs), env)
    assert code(answer) == verdict


def test_a_direct_agent_does_not_exempt_the_other_agents_from_the_rules(tmp_path):
    shutil.copytree(CLAUDE, tmp_path / ".claude", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "sql", tmp_path / "sql")
    (tmp_path / ".claude/agents/neo4j-news.md").write_text(SEED)
    (tmp_path / ".claude/agents/perplexity-sec.md").unlink()
    (tmp_path / ".claude/settings.json").write_text("{}")
    reply = found(tmp_path)
    assert "R3 .claude/agents/perplexity-sec.md: the agent is missing" in reply
    assert "R3 .claude/settings.json: there are no hooks" in reply
