"""Checks the frontmatter, hooks, skills, paths and documented calls of the data agents against rules.

An agent has one of two wirings: it queries the lake, or, without a lake, it reads a graph directly. Agents of
the second kind document Cypher in their skills instead of calls. They have their own hooks, so the settings need none.

The linter only reads files, in the project's environment; `--lake ROOT` also makes every documented call against that
lake. Prints `ERROR [RULE] path: message` lines and a summary; the exit code is 0 when nothing is wrong and 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / ".claude" / "hooks"))

from pit_call import rules  # noqa: E402
from pit_tools import GATED, UNGATED  # noqa: E402

AGENTS = Path(".claude") / "agents"
SETTINGS = Path(".claude") / "settings.json"
SCOPE = ("neo4j-*.md", "bz-news-api.md", "perplexity-*.md", "alphavantage-*.md", "yahoo-*.md")
LAKE = "mcp__pitlake__*"
WRITE = "mcp__neo4j-cypher__write_neo4j_cypher"
WRAPPER = "pit_fetch.py"
# The agents whose PIT wiring is complete, with their retrieval tools; rule R3 checks them.
PIT_DONE = {
    **dict.fromkeys(
        (f"neo4j-{domain}" for domain in ("news", "report", "transcript", "xbrl", "entity", "vector-search")), (LAKE,)
    ),
    **dict.fromkeys(("bz-news-api", "alphavantage-earnings", "yahoo-earnings"), (LAKE, "Bash")),
    **dict.fromkeys((f"perplexity-{op}" for op in ("search", "ask", "reason", "research", "sec")), (LAKE, "Bash")),
}
DIRECT = "mcp__neo4j-cypher__read_neo4j_cypher"
# Servers of other projects. The settings gate them in case a user adds them.
FOREIGN = (DIRECT, *(f"mcp__perplexity__perplexity_{op}" for op in ("search", "ask", "reason", "research")))
DEPRECATED = ("filtered-data",)
AGENT_KEYS = frozenset(
    [
        "name",
        "description",
        "tools",
        "disallowedTools",
        "model",
        "permissionMode",
        "maxTurns",
        "skills",
        "mcpServers",
        "hooks",
        "memory",
        "background",
        "effort",
        "isolation",
        "color",
        "initialPrompt",
    ]
)
SKILL_KEYS = frozenset(
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools", "user-invocable"]
)
EVENTS = frozenset(("PreToolUse", "PostToolUse", "Stop"))
HANDLER_KEYS = frozenset(("type", "command", "timeout"))
_PATH = re.compile(r"(?<![\w/.$}-])((?:\.claude|scripts|docs|sql|tests|pitlake)/[A-Za-z0-9_./-]*[A-Za-z0-9_])")
_CYPHER = re.compile(r"```cypher\n(.*?)```", re.DOTALL)
_CALLS = re.compile(r"```json\n(.*?)```", re.DOTALL)
_GAP = re.compile(r'\bgaps? `([^`]*)`|"gaps": ?\[\{"type": ?"([^"]*)"')
_ANY_TOOL = ("NoSuchTool", "mcp__nosuch__tool")


class Finding(NamedTuple):
    """A problem and its place."""

    rule: str
    path: str
    message: str


class Page(NamedTuple):
    """A Markdown file with frontmatter."""

    path: str
    front: dict[str, Any]
    body: str


def main() -> int:
    """Check the agents, print what is wrong, and return the exit code."""
    parser = argparse.ArgumentParser(description="Check the data agents.", allow_abbrev=False)
    parser.add_argument("--root", type=Path, default=ROOT, help="the project [default: this one]")
    parser.add_argument("--lake", help="also make every documented call against this lake")
    options = parser.parse_args()
    findings = list(lint(options.root))
    if options.lake:
        findings += made(options.root, options.lake)
    for finding in findings:
        print(f"ERROR [{finding.rule}] {finding.path}: {finding.message}")
    checked = sorted(path.stem for path in agent_files(options.root))
    print(f"{'FAIL' if findings else 'PASS'}: {len(findings)} errors, 0 warnings; checked {', '.join(checked)}")
    return int(bool(findings))


def agent_files(root: Path) -> list[Path]:
    """Return the data agents' files."""
    return sorted(path for pattern in SCOPE for path in (root / AGENTS).glob(pattern))


def lint(root: Path) -> Iterator[Finding]:
    """Yield everything wrong with the agents of a project, without making their calls."""
    files = agent_files(root)
    wired_to_a_lake = not files or not all(_is_direct(path) for path in files)
    for name in sorted(PIT_DONE.keys() - {path.stem for path in files}) if wired_to_a_lake else ():
        yield Finding("R3", f"{AGENTS}/{name}.md", "the agent is missing")
    for path in files:
        try:
            agent = _page(root, path)
        except (ValueError, OSError) as error:
            yield Finding("R8", str(path.relative_to(root)), f"the frontmatter cannot be read: {error}")
            continue
        yield from _agent(root, agent, path.stem)
    if wired_to_a_lake:
        yield from _settings(root)


def _is_direct(path: Path) -> bool:
    try:
        return direct(frontmatter(path.read_text(encoding="utf-8"))[0])
    except (ValueError, OSError):
        return False


def direct(front: Mapping[str, Any]) -> bool:
    """Return whether an agent reads a graph and no lake."""
    tools = _listed(front.get("tools"))
    return DIRECT in tools and not any(tool.startswith("mcp__pitlake__") for tool in tools)


def _page(root: Path, path: Path) -> Page:
    front, body = frontmatter(path.read_text(encoding="utf-8"))
    return Page(str(path.relative_to(root)), front, body)


def frontmatter(text: str) -> tuple[dict[str, Any], str]:
    """Return the frontmatter of a page and its body. Raises ValueError if it is missing or not a map."""
    head, end, body = text.partition("\n---\n")
    if not head.startswith("---\n") or not end:
        raise ValueError("there is no front matter between two lines of ---")
    try:
        front = yaml.safe_load(head.removeprefix("---"))
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    if isinstance(front, dict):
        return front, body
    raise ValueError("it is not a map")


def _agent(root: Path, agent: Page, stem: str) -> Iterator[Finding]:
    skills = _listed(agent.front.get("skills"))
    if "evidence-standards" not in skills:
        yield Finding("R1", agent.path, "evidence-standards is not among its skills")
    for matcher in (entry.get("matcher") for _, entry in _entries(agent.front.get("hooks"))):
        if _catches_all(matcher):
            yield Finding("R2", agent.path, f"a hook matches any tool: {matcher!r}")
    if stem in PIT_DONE:
        retrieval = (DIRECT,) if direct(agent.front) else PIT_DONE[stem]
        yield from (Finding("R3", agent.path, message) for message in _wiring(agent, retrieval))
    if agent.front.get("name") != stem:
        yield Finding("R8", agent.path, "its name is not its file's")
    yield from (Finding("R8", agent.path, message) for message in _unknown_keys(agent.front))
    yield from _commands(agent)
    for skill in skills:
        if skill in DEPRECATED:
            yield Finding("R7", agent.path, f"the skill {skill} is deprecated")
    yield from _paths(root, agent, skills)
    wrong = _wrong_cypher(root, skills) if direct(agent.front) else _wrong_calls(root, agent)
    yield from (Finding("R9", agent.path, message) for message in wrong)


def _listed(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _entries(hooks: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(hooks, dict):
        for event, entries in hooks.items():
            yield from ((event, entry) for entry in entries or () if isinstance(entry, dict))


def _commands_of(entry: Mapping[str, Any]) -> list[str]:
    handlers = entry.get("hooks")
    return (
        [str(handler.get("command", "")) for handler in handlers if isinstance(handler, dict)]
        if isinstance(handlers, list)
        else []
    )


def matches(matcher: Any, tool: str) -> bool:
    """Return whether a hook's matcher covers a tool, as Claude Code reads it: names, else a regular expression."""
    if matcher in (None, "", "*"):
        return True
    if re.fullmatch(r"[A-Za-z0-9_\-, |]+", str(matcher)):
        return tool in re.split(r"\s*[|,]\s*", str(matcher).strip())
    return re.search(str(matcher), tool) is not None


def _catches_all(matcher: Any) -> bool:
    try:
        return any(matches(matcher, tool) for tool in _ANY_TOOL)
    except re.error:
        return True


def _wiring(agent: Page, retrieval: tuple[str, ...]) -> Iterator[str]:
    entries = list(_entries(agent.front.get("hooks")))

    def hooked(event: str, tool: str, *words: str) -> bool:
        covering = [entry for kind, entry in entries if kind == event and matches(entry.get("matcher"), tool)]
        return any(all(word in command for word in words) for entry in covering for command in _commands_of(entry))

    if "pit-envelope" not in _listed(agent.front.get("skills")):
        yield "pit-envelope is not among its skills"
    if not hooked("PreToolUse", WRITE, "block") and not hooked("PreToolUse", WRITE, "pit_guard.py"):
        yield "PreToolUse does not block graph writes"
    tools = _listed(agent.front.get("tools"))
    yield from (f"{tool} is not one of its retrieval tools" for tool in tools if tool not in retrieval)
    for tool in retrieval:
        if tool not in tools:
            yield f"its retrieval tool {tool} is missing"
        for name in sorted(GATED) if tool == LAKE else (tool,):
            if not hooked("PostToolUse", name, "pit_gate.py"):
                yield f"PostToolUse does not gate {name} with pit_gate.py"
            flags = ["--wrapper"] if name == "Bash" else []
            if name != DIRECT and not hooked("PreToolUse", name, "pit_guard.py", *flags):
                yield f"PreToolUse does not guard {name} with pit_guard.py"


def _unknown_keys(front: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"unknown frontmatter key {key!r}" for key in front if key not in AGENT_KEYS)
    yield from (f"the frontmatter has no {key}" for key in ("name", "description") if not front.get(key))
    for event, entry in _entries(front.get("hooks")):
        if event not in EVENTS:
            yield f"unknown hook event {event!r}"
        yield from (f"unknown hook key {key!r}" for key in entry if key not in ("matcher", "hooks"))
        for handler in entry.get("hooks") or ():
            yield from (f"unknown hook key {key!r}" for key in handler if key not in HANDLER_KEYS)


def _commands(agent: Page) -> Iterator[Finding]:
    for _, entry in _entries(agent.front.get("hooks")):
        for command in _commands_of(entry):
            project = not command.startswith("echo ") and (".claude/" in command or "scripts/" in command)
            if project and "$CLAUDE_PROJECT_DIR" not in command:
                yield Finding("R6", agent.path, "a hook's command names a project path without $CLAUDE_PROJECT_DIR")


def _paths(root: Path, agent: Page, skills: list[str]) -> Iterator[Finding]:
    """Yield missing paths in the agent, its hooks and the skills it loads."""
    pages = [agent]
    for skill in skills:
        path = root / ".claude" / "skills" / skill / "SKILL.md"
        if path.is_file():
            pages.append(_page(root, path))
            unknown = sorted(pages[-1].front.keys() - SKILL_KEYS)
            yield from (Finding("R8", pages[-1].path, f"unknown frontmatter key {key!r}") for key in unknown)
        elif skill not in DEPRECATED:
            yield Finding("R5", agent.path, f"the skill {skill} is not there")
    commands = [command for _, entry in _entries(agent.front.get("hooks")) for command in _commands_of(entry)]
    hooked = re.sub(r"\$CLAUDE_PROJECT_DIR/", " ", " ".join(commands))
    for page in [*pages, Page(agent.path, {}, hooked)]:
        for name in sorted(set(_PATH.findall(page.body))):
            if not (root / name).exists():
                yield Finding("R5", page.path, f"there is no {name}")
        kinds = {kind for match in _GAP.findall(page.body) for kind in match if kind}
        unknown_kinds = sorted(kinds - {*rules.ANSWER_GAPS})
        yield from (Finding("R10", page.path, f"there is no gap of type {kind}") for kind in unknown_kinds)


def _settings(root: Path) -> Iterator[Finding]:
    try:
        hooks = json.loads((root / SETTINGS).read_text(encoding="utf-8"))["hooks"]
    except (OSError, ValueError, KeyError, TypeError):
        yield Finding("R3", str(SETTINGS), "there are no hooks")
        return
    for event, tool, script in [
        ("PreToolUse", WRITE, "pit_guard.py"),
        *(("PostToolUse", tool, "pit_gate.py") for tool in (*sorted(GATED), *FOREIGN, "Bash")),
        *(("PostToolUse", tool, "pit_answer.py") for tool in ("Agent", "Task")),
        ("SubagentStop", "neo4j-news", "pit_answer.py"),
    ]:
        covering = [entry for kind, entry in _entries(hooks) if kind == event and matches(entry.get("matcher"), tool)]
        if not any(script in command for entry in covering for command in _commands_of(entry)):
            yield Finding("R3", str(SETTINGS), f"{event} of {tool} does not run {script}")


def calls(agent: Page) -> Iterator[dict[str, Any]]:
    """Yield the calls an agent documents. Raises ValueError for a line that is not a JSON object."""
    for block in _CALLS.findall(agent.body):
        for line in block.strip().splitlines():
            call = json.loads(line)
            if not isinstance(call, dict) or not isinstance(call.get("input"), dict):
                raise ValueError(f"not a call: {line[:60]}")  # noqa: TRY004  Callers catch ValueError.
            yield call


def _wrong_calls(root: Path, agent: Page) -> Iterator[str]:
    try:
        documented = list(calls(agent))
    except ValueError as error:
        yield f"a documented call is not a JSON object ({error})"
        return
    if not documented:
        yield "it does not document a call"
    for call in documented:
        tool, arguments = call.get("tool"), call["input"]
        tools = _listed(agent.front.get("tools"))
        if tool not in tools and not (LAKE in tools and tool in GATED | UNGATED):
            yield f"a documented call uses {tool}, which is not one of its tools"
        elif tool == "Bash":
            command = str(arguments.get("command"))
            if WRAPPER not in command or " --pit " not in command:
                yield "a documented shell call is not a call of pit_fetch.py with --pit"
        elif "pit" not in arguments:
            yield f"a documented call of {tool} carries no pit"
        elif tool.endswith("__run_query"):
            yield from _wrong_query(root, arguments)


def _wrong_cypher(root: Path, skills: list[str]) -> Iterator[str]:
    """Yield why the skills' Cypher returns no envelopes as of a PIT. Templates with an ellipsis are skipped."""
    pages = (root / ".claude" / "skills" / skill / "SKILL.md" for skill in skills)
    texts = [text for page in pages if page.is_file() for text in _CYPHER.findall(page.read_text(encoding="utf-8"))]
    queries = [text for text in texts if "$pit" in text and "..." not in text]
    if not queries:
        yield "none of its skills has a Cypher query up to $pit"
    for text in queries:
        first = text.strip().splitlines()[0]
        for phrase in ("<= $pit", "available_at:", "available_at_source:", "AS data", "AS gaps"):
            if phrase not in text:
                yield f"a query lacks {phrase!r}: {first}"
        yield from (
            f"a query uses {key}, which was added later: {first}" for key in rules.FORBIDDEN_KEYS if key in text
        )


def _wrong_query(root: Path, arguments: Mapping[str, Any]) -> Iterator[str]:
    path = root / "sql" / "queries" / f"{arguments.get('name')}.sql"
    if not path.is_file():
        yield f"a documented call runs {arguments.get('name')!r}, which is not a query"
        return
    parameters = dict(re.findall(r"^-- param (\w+) \w+ (\w+|=)", path.read_text(encoding="utf-8"), re.MULTILINE))
    params = arguments.get("params") or {}
    yield from (f"{path.stem} has no parameter {name!r}" for name in params if name not in parameters)
    needed = sorted(name for name, need in parameters.items() if need == "required" and name not in params)
    yield from (f"{path.stem} needs {name!r}" for name in needed)


def skill_files(root: Path) -> list[Path]:
    """Return the pages of the skills that data agents load."""
    return sorted((root / ".claude" / "skills").glob("*/SKILL.md"))


def made(root: Path, lake: str) -> list[Finding]:
    """Make every call of the lake's tools that agents and skills document, and return a finding for each refusal.

    A call goes to a server bound to the call's `pit`, or to a server in open mode if it has none. Calls of pit_fetch.py
    access the network and are not made.
    """
    refusals: dict[str, str] = {}
    findings: list[Finding] = []
    for path in (*agent_files(root), *skill_files(root)):
        page = _page(root, path)
        for call in calls(page) if '{"tool":' in page.body else ():
            text = json.dumps(call, sort_keys=True)
            if text not in refusals:
                refusals[text] = "" if call["tool"] == "Bash" else answered(call, lake)[1]
            if refusals[text]:
                findings.append(Finding("R9", page.path, f"{call['tool']} is refused: {refusals[text]}"))
    return findings


def answered(call: Mapping[str, Any], lake: str) -> tuple[dict[str, Any], str]:
    """Make a documented call with a server's own tools; return the answer, or an empty one and why it was refused."""
    from pitlake.mcp.query_service import QueryService
    from pitlake.mcp.tools import Toolbox
    from pitlake.session.viewpoint import Viewpoint

    pit = call["input"].get("pit")
    service = QueryService(viewpoint=Viewpoint.parse(pit, open_mode=pit is None, lake=lake))
    result = getattr(Toolbox(service), call["tool"].rpartition("__")[2])(**call["input"])
    return ({}, result.content[0].text) if result.is_error else (result.structured_content, "")


if __name__ == "__main__":
    sys.exit(main())
