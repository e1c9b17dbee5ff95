"""The linter of the data agents accepts the catalogue and finds one planted fault per rule. The skills are valid."""

import re
import shutil
import subprocess
import sys
from contextlib import nullcontext

import pytest

from forge.core.skill_loader import check_skill
from pitlake.errors import BadInput
from tests.agents.harness import CLAUDE, ROOT, SCRIPTS, linter
from tests.every import every

LINTER = SCRIPTS / "lint_data_agents.py"
AGENTS = sorted((CLAUDE / "agents").glob("*.md"))
SKILLS = sorted(path.parent for path in (CLAUDE / "skills").glob("*/SKILL.md"))


@pytest.fixture
def project(tmp_path):
    """A copy of the files that the linter reads, in which tests plant faults."""
    for name in (".claude", "sql", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pitlake" / "gate").mkdir(parents=True)
    return tmp_path


def plant(project, path, old, new):
    page = project / ".claude" / path
    text = page.read_text()
    assert old in text
    page.write_text(text.replace(old, new, 1))


def test_the_linter_passes_the_projects_own_agents():
    done = subprocess.run([sys.executable, LINTER], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("PASS: 0 errors, 0 warnings; checked alphavantage-earnings, bz-news-api")


FAULTS = [
    ("R1", "agents/neo4j-news.md", "  - evidence-standards\n", ""),
    ("R2", "agents/neo4j-news.md", 'matcher: "mcp__neo4j-cypher__write_neo4j_cypher"', 'matcher: "*"'),
    ("R2", "agents/neo4j-news.md", 'matcher: "mcp__neo4j-cypher__write_neo4j_cypher"', 'matcher: "mcp__.*"'),
    ("R3", "agents/neo4j-report.md", "  - pit-envelope\n", ""),
    ("R3", "agents/bz-news-api.md", " --wrapper || exit 2", " || exit 2"),
    ("R3", "agents/neo4j-xbrl.md", '/pit_gate.py"', '/pit_guard.py"'),
    ("R3", "agents/neo4j-entity.md", "  - mcp__pitlake__*\n", "  - WebFetch\n"),
    ("R3", "agents/neo4j-entity.md", '"mcp__pitlake__.*"', '"mcp__pitlake__query|mcp__pitlake__gaps"'),
    ("R3", "settings.json", '"mcp__pitlake__.*"', '"mcp__pitlake__query"'),
    ("R3", "settings.json", "mcp__perplexity__perplexity_reason", "mcp__perplexity__perplexity_raisin"),
    ("R5", "agents/neo4j-news.md", "## Notes", "See docs/agents-of-old.md.\n\n## Notes"),
    ("R5", "skills/news-queries/SKILL.md", "\n# ", "\nRun scripts/nowhere.py.\n\n# "),
    ("R5", "agents/neo4j-news.md", "  - news-queries\n", "  - olds-queries\n"),
    ("R6", "agents/neo4j-news.md", "$CLAUDE_PROJECT_DIR/.claude/hooks/pit_gate.py", ".claude/hooks/pit_gate.py"),
    ("R7", "agents/neo4j-news.md", "  - news-queries\n", "  - news-queries\n  - filtered-data\n"),
    ("R8", "agents/neo4j-news.md", "permissionMode: dontAsk", "permissionMode: dontAsk\npermissions: none"),
    ("R8", "agents/neo4j-news.md", "name: neo4j-news", 'name: "neo4j-news'),
    ("R8", "skills/news-queries/SKILL.md", "\ndescription:", "\ninvocable: false\ndescription:"),
    ("R9", "agents/neo4j-news.md", '"name": "news_latest"', '"name": "news_newest"'),
    ("R9", "agents/neo4j-news.md", '"params": {"ticker": "QBG"}', '"params": {"symbol": "QBG"}'),
    ("R9", "agents/neo4j-news.md", ', "pit": "2024-05-29T17:00:00-04:00"}}', "}}"),
    ("R10", "agents/neo4j-news.md", "## Notes", "Answer with a gap `config`.\n\n## Notes"),
    ("R10", "skills/news-queries/SKILL.md", "- gap `unverifiable`", "- gap `banana`"),
    ("R9", "agents/yahoo-earnings.md", "--symbol QACB --pit 2024", "--symbol QACB --until 2024"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("rule", "path", "old", "new"), FAULTS)
def test_a_planted_fault_is_found_by_its_rule(project, rule, path, old, new):
    plant(project, path, old, new)
    assert rule in {finding.rule for finding in linter.lint(project)}


def test_a_missing_agent_is_reported_and_gives_exit_code_1(project):
    (project / ".claude" / "agents" / "perplexity-sec.md").unlink()
    command = [sys.executable, LINTER, "--root", project]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "ERROR [R3] .claude/agents/perplexity-sec.md: the agent is missing"
    assert done.stdout.splitlines()[1].startswith("FAIL: 1 errors")


@pytest.mark.parametrize("text", ["", "name: a\n", "---\nname: a\n", "---\n- a\n---\n", "---\na: b: c\n---\n"])
def test_a_page_without_frontmatter_is_refused(text):
    with pytest.raises(ValueError, match=r"front matter|map"):
        linter.frontmatter(text)


@pytest.mark.parametrize(
    ("matcher", "tool", "expected"),
    [
        ("Bash", "Bash", True), ("Bash", "BashOutput", False), ("Edit|Write", "Write", True),
        ("Edit, Write", "Write", True),
        ("mcp__pitlake__query", "mcp__pitlake__query_all", False), ("mcp__memory__.*", "mcp__memory__get", True),
        ("^Note", "NotebookEdit", True), ("*", "x", True), ("", "x", True), (None, "x", True),
    ],
)  # fmt: skip
def test_matchers_match_tools_as_claude_code_does(matcher, tool, expected):
    assert linter.matches(matcher, tool) is expected


@pytest.mark.parametrize("skill", SKILLS, ids=lambda path: path.name)
def test_a_skill_is_valid_and_of_a_readable_size(skill):
    of_claude_code = pytest.raises(BadInput, match="'user-invocable'")
    with of_claude_code if skill.name == "pit-envelope" else nullcontext():
        check_skill(skill)
    assert len((skill / "SKILL.md").read_text().splitlines()) < 500


@pytest.mark.parametrize("agent", AGENTS, ids=lambda path: path.stem)
def test_an_agent_s_text_has_15_to_20_lines(agent):
    text = agent.read_text().partition("\n---\n")[2]
    assert 15 <= sum(bool(line) for line in text.splitlines()) <= 20


@pytest.mark.parametrize("agent", AGENTS, ids=lambda path: path.stem)
def test_an_agent_loads_at_most_20_kb_of_skills(agent):
    skills = linter._listed(linter._page(ROOT, agent).front.get("skills"))
    assert skills
    assert sum((ROOT / ".claude" / "skills" / name / "SKILL.md").stat().st_size for name in skills) <= 20_000


def test_paths_and_targets_on_the_agents_page_exist():
    page = (ROOT / "docs" / "agents.md").read_text()
    assert [path for path in linter._PATH.findall(page) if not (ROOT / path).exists()] == []
    assert every(
        f"\n{target}: " in (ROOT / "Makefile").read_text() for target in re.findall(r"^make (\w+)", page, re.MULTILINE)
    )
    names = {re.sub("^-", "perplexity-", name) for name in re.findall(r"(?<=[| ])([a-z0-9]*-[a-z-]+)(?=[ ,])", page)}
    assert linter.PIT_DONE.keys() <= names


def test_the_lake_answers_every_documented_call(marked_lake):
    assert linter.made(ROOT, str(marked_lake)) == []


def test_a_documented_call_the_lake_refuses_is_found(project, marked_lake):
    plant(project, "agents/neo4j-news.md", "evidence, id, title, url FROM news", "evidence, id, headline FROM news")
    plant(
        project,
        "skills/entity-queries/SKILL.md",
        '"entity_company", "params": {',
        '"entity_company", "params": {"at": 1, ',
    )
    pages = {"neo4j-news.md", "entity-queries"}
    for page in (*(project / ".claude" / "agents").iterdir(), *(project / ".claude" / "skills").iterdir()):
        if page.name not in pages:
            page.unlink() if page.is_file() else shutil.rmtree(page)
    assert [(each.rule, each.path) for each in linter.made(project, str(marked_lake))] == [
        ("R9", ".claude/agents/neo4j-news.md"),
        ("R9", ".claude/skills/entity-queries/SKILL.md"),
    ]
