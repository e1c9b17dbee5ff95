"""The PreToolUse hook: what it always denies, what it denies in a bound session, and what it leaves alone."""

import importlib
import json

import pytest

from pitlake.mcp.query_service import QueryService
from pitlake.mcp.tools import tools
from pitlake.session import Viewpoint
from tests.agents.harness import ROOT
from tests.agents.messages import EARLIER, LATER, PIT
from tests.agents.mutate import pit_guard

FETCH = "python3 .claude/skills/earnings-orchestrator/scripts/pit_fetch.py --source yahoo --op earnings --symbol QACB"
MERGE = "python3 .claude/skills/earnings-bundle/scripts/merge_envelopes.py docs/answers.json"


def ask(env, tool, flags=(), **inputs):
    message = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": inputs, "cwd": str(ROOT)}
    return pit_guard.decide(json.dumps(message).encode(), env, flags)


def code(answer):
    if not answer:
        return None
    reply = answer["hookSpecificOutput"]
    assert (reply["hookEventName"], reply["permissionDecision"]) == ("PreToolUse", "deny")
    assert reply["permissionDecisionReason"] == answer["reason"]
    return answer["reason"].split(":")[0]


GRAPH_WRITES = [
    ("mcp__neo4j-cypher__write_neo4j_cypher", {}),
    ("mcp__neo4j-cypher__read_neo4j_cypher", {"query": "MATCH (n) SET n.created = 1"}),
    ("mcp__neo4j-cypher__read_neo4j_cypher", {"query": "match (n) /* x */ detach delete n"}),
    ("mcp__neo4j-cypher__read_neo4j_cypher", {"query": "CALL apoc.cypher.runWrite('x', {})"}),
    ("mcp__neo4j-cypher__read_neo4j_cypher", {"query": "LOAD  CSV FROM 'x' AS l RETURN l"}),
    ("Bash", {"command": 'cypher-shell "MATCH (n) REMOVE n.title"'}),
    ("Bash", {"command": r"""cypher-shell 'CRE\u0041TE (n)'"""}),
    ("Bash", {"command": r"""cypher-shell 'MATCH (n) \uu0044ELETE n'"""}),
    ("mcp__neo4j-cypher__read_neo4j_cypher", {"query": r"CRE\u0041TE (n)"}),
    ("mcp__neo4j-cypher__read_neo4j_cypher", {"query": r"\u0043\u0041LL\u0020apoc.x()"}),
]


@pytest.mark.parametrize(("tool", "inputs"), GRAPH_WRITES)
def test_a_graph_write_is_denied_always(env, bound, tool, inputs):
    assert code(ask(env, tool, **inputs)) == code(ask(bound, tool, **inputs)) == "GUARD_GRAPH_WRITE"


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (n:News) WHERE n.created <= $pit RETURN n.created, 'SET it'",
        "CALL db.index.fulltext.queryNodes('news_ft', $query) YIELD node RETURN node // CREATE nothing",
        "MATCH (n) RETURN n.`set` AS offset",
    ],
)
def test_a_graph_read_is_left_alone_in_an_unbound_session(env, query):
    assert ask(env, "mcp__neo4j-cypher__read_neo4j_cypher", query=query) == {}


LAKE_TOOLS = ["mcp__pitlake__run_query", "mcp__pitlake__query", "mcp__pitlake__search", "mcp__pitlake__gaps",
              "mcp__pitlake__describe"]  # fmt: skip
RAW = [
    "mcp__neo4j-cypher__read_neo4j_cypher", "mcp__perplexity__perplexity_search", "mcp__anything__at_all",
    "WebFetch", "WebSearch", "ReadMcpResourceTool", "ReadMcpResourceDirTool", "ListMcpResourcesTool", "NotebookEdit",
    "NotebookRead", "CronCreate", "EnterWorktree", "ExitWorktree", "ScheduleWakeup", "Workflow", "TaskOutput",
    "BashOutput", "REPL", "LSP", "RemoteTrigger", "Projects", "Artifact", "SlashCommand", "a tool of tomorrow", "",
    "read", "READ", "Read ", "Readx", "Reader", "TodoWriter", "Agents", "mcp__pitlake", "mcp__pitlake__",
    "mcp__plugin_other_pitlake__search", "mcp__pitlake2__query", "mcp__pitlake_evil__query", "xmcp__pitlake__query",
    "mcp__evil__mcp__pitlake__query", "mcp__PITLAKE__query", "mcp__pitlake__evil",
    *(f"{tool}{more}" for tool in LAKE_TOOLS for more in ("s", "2", "_evil", "-evil", ".evil", " ", "__x", "\n")),
]  # fmt: skip


@pytest.mark.parametrize("tool", RAW)
def test_a_raw_tool_is_denied_only_while_the_session_is_bound(env, bound, tool):
    assert ask(env, tool, query="x") == {}
    assert code(ask(bound, tool, query="x")) == "GUARD_RAW_TOOL"


def test_the_hooks_tool_list_equals_the_servers_tools():
    pit_tools = importlib.import_module("pit_tools")
    assert {
        f"mcp__pitlake__{tool.name}" for tool in tools(QueryService(viewpoint=Viewpoint(as_of=None)))
    } == pit_tools.GATED | pit_tools.UNGATED


@pytest.mark.parametrize("tool", LAKE_TOOLS)
def test_the_lakes_tools_accept_a_pit_up_to_the_sessions_cut_off(env, bound, tool):
    assert ask(bound, tool) == ask(bound, tool, pit=EARLIER) == ask(env, tool, pit=LATER) == {}
    assert code(ask(bound, tool, pit=LATER)) == "PIT_INVALID_PIT"
    assert code(ask(env, tool, pit="yesterday")) == "PIT_INVALID_PIT"


SHELLS = {
    "GUARD_TOO_LARGE": [f"echo {'x' * 20_000}"],
    "GUARD_WRITE": ["mkdir .claude/agents/x", "mkdir -p docs/x", "mkdir /tmp/x"],
    "GUARD_LAKE_FILES": [
        "cat .pitlake/lake/_lake/log/00000000000000000001.json", "ls ./.pitlake", "head -c 9 docs/../.pitlake/x",
        "cat README.md '|' echo /tmp/x", 'cat README.md ";" basename /tmp/x', "head README.md '&&' printf /tmp/x",
        f"{MERGE} '|' /tmp/x", "grep x docs \"||\" echo /tmp/x",
        "grep - /tmp/x", "grep -v - /tmp/x",
        "cat .mcp.json", "grep x .", "grep x docs /tmp", "cat /tmp/x", "tail /srv/lake/tables/news/x.parquet",
    ],
    "GUARD_SHELL": [
        "grep -r guidance .", "ls -R", "ls --recursive", "cat x | sort -o .claude/settings.json",
        "grep -f.pitlake/x docs/cli.md",
        "grep -- -n /tmp/x", "grep -v -- -n /tmp/x", "cat -- -n", "- docs", "'' docs",
        "grep -d recurse x .", "wc --files0-from=/tmp/list", "sort --compress-program=./x y", "date -f /tmp/x",
        "curl https://example.com", "python3 -c 'import duckdb'", "pitlake query --open 'SELECT 1'",
        "env -u PITLAKE_AS_OF ls",
        "cat .p*/x", "cat $PITLAKE_LAKE/x", "cat `ls`", "cat $(ls)", "cd .pitlake && ls", "ls & cat x", "cat < x",
        "echo x > y",
        f"{FETCH} | tee x", f"{FETCH}; cat x", f"PITLAKE_AS_OF= {FETCH}", f"{FETCH} > x", "git log", "ls\ncurl x",
        "", "'",
        "python3 /tmp/pit_fetch.py --source yahoo", "bash -c ls", 'cat "$HOME"', "cat a{b,c}",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "command"), [(code, each) for code, listing in SHELLS.items() for each in listing]
)
def test_a_shell_command_that_reaches_the_lake_or_the_network_is_denied_while_bound(env, bound, expected, command):
    reply = bound | {"PITLAKE_LAKE": "/srv/lake"}
    assert code(ask(reply, "Bash", command=command)) == expected
    assert ask(env, "Bash", command=command) == {}


@pytest.mark.parametrize(
    "command",
    [FETCH, f"{FETCH} --pit {PIT}", f'{FETCH} --query "a | b; c"', MERGE, "ls -la docs", "head -5 README.md | wc -l",
     "grep -n 'a|b' README.md", "date -u && pwd", "basename /etc/README.md",
     "grep '|' README.md; echo '&&' \"a;b\" ';'", "ls docs||pwd", "tail -n 3 README.md", "echo ''"],
)  # fmt: skip
def test_the_wrapper_the_merge_and_plain_readers_run_while_bound(bound, command):
    assert ask(bound, "Bash", command=command) == {}


def test_the_wrapper_accepts_no_later_pit_and_does_not_run_in_the_background(bound):
    assert code(ask(bound, "Bash", command=f"{FETCH} --pit {LATER}")) == "PIT_INVALID_PIT"
    assert code(ask(bound, "Bash", command=FETCH, run_in_background=True)) == "GUARD_SHELL"


def test_an_unbound_shell_command_may_mention_pit_in_its_text(env):
    assert ask(env, "Bash", command='git commit -m "Say what --pit is."') == {}
    assert code(ask(env, "Bash", command=f"{FETCH} --pit yesterday")) == "PIT_INVALID_PIT"


@pytest.mark.parametrize("command", ["ls", MERGE, f"{FETCH}; ls", f"cd /tmp && {FETCH}"])
def test_an_agents_shell_runs_only_the_wrapper(env, command):
    assert code(ask(env, "Bash", ["--wrapper"], command=command)) == "GUARD_SHELL"
    assert ask(env, "Bash", ["--wrapper"], command=FETCH) == {}


PLANNING = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "KillShell", "ReportFindings", "StructuredOutput",
            "TaskCreate", "TaskGet", "TaskList", "TaskStop", "TaskUpdate", "TodoWrite", "ToolSearch")  # fmt: skip


def test_the_lists_of_planning_and_file_tools_are_complete():
    assert {*PLANNING} == pit_guard.PLANNING
    assert {"Edit", "Glob", "Grep", "MultiEdit", "Read", "Write"} == pit_guard.FILE_TOOLS.keys()


@pytest.mark.parametrize("tool", PLANNING)
def test_tools_that_only_plan_run_while_bound(bound, tool):
    assert ask(bound, tool, subject="read the news") == {}


AGENT = {"description": "news", "prompt": "QACB news of the 10 days before T", "subagent_type": "neo4j-news"}
RESUMED = {"to": "a1b2-c3", "summary": "narrower", "message": "a narrower window", "type": "message",
           "recipient": "a1b2-c3", "content": "a narrower window"}  # fmt: skip


def test_subagents_and_the_projects_skills_run_while_bound(bound):
    assert ask(bound, "Agent", **AGENT | {"subagent_type": "general-purpose"}, run_in_background=True) == {}
    assert ask(bound, "SendMessage", to="a1b2-c3", message="a narrower window", summary="narrower") == {}
    assert ask(bound, "SendMessage", **RESUMED) == ask(bound, "SendMessage", **RESUMED, recipient_kind="agent") == {}
    assert ask(bound, "Skill", skill="earnings-bundle", args="QACB") == ask(bound, "Skill", skill="news-queries") == {}


@pytest.mark.parametrize("tool", ["Agent", "Task"])
@pytest.mark.parametrize("more", [{}, {"run_in_background": True}, {"name": "news"}])
def test_a_data_agent_is_forced_to_run_in_the_foreground(env, bound, tool, more):
    for session in (env, bound):
        reply = ask(session, tool, **AGENT | more)["hookSpecificOutput"]
        assert reply == {"hookEventName": "PreToolUse", "updatedInput": AGENT | more | {"run_in_background": False}}
        assert ask(session, tool, **AGENT | more | {"run_in_background": False}) == {}


@pytest.mark.parametrize(
    ("tool", "inputs"),
    [
        *(("SendMessage", RESUMED | more) for more in (
            {"recipient": "another"}, {"type": "broadcast"}, {"recipient_kind": "session"}, {"to": "uds:/x"},
            {"recipient": "bridge:1", "to": "bridge:1"}, {"content": "see @/srv/lake/x"}, {"cwd": "/"})),
        *(("Agent", AGENT | more) for more in (
            {"isolation": "worktree"}, {"isolation": "remote"}, {"cwd": "/"}, {"prompt": "read @/srv/lake/x"},
            {"prompt": "@~/.cache/pitlake/x"}, {"prompt": "(@.pitlake/x)"}, {"prompt": "!`cat x`"},
            {"description": "@/srv/lake"}, {"mode": "bypassPermissions"})),
        *(("SendMessage", {"to": to, "message": "x"}) for to in ("uds:/tmp/other.sock", "bridge:1", "../x", "")),
        ("SendMessage", {"to": "main", "message": "see @/srv/lake/x"}),
        *(("Skill", {"skill": each}) for each in ("update-config", "run", "../hooks", "", ".", "x:news-queries", None)),
        *(("Skill", {"skill": "news-queries", "args": args}) for args in ("@/srv/x", "!`cat /srv/x`", "a @.env")),
    ],
)  # fmt: skip
def test_subagents_elsewhere_and_file_references_in_prompts_are_denied_while_bound(env, bound, tool, inputs):
    assert code(ask(bound, tool, **inputs)) == ("GUARD_SKILL" if tool == "Skill" else "GUARD_AGENT")
    assert "decision" not in ask(env, tool, **inputs)


@pytest.mark.parametrize("inputs", [{"file_path": 5}, {"file_path": None}, {"path": ["."]}, {"path": 5, "pattern": 5}])
@pytest.mark.parametrize("tool", sorted(pit_guard.FILE_TOOLS))
def test_a_file_tool_with_an_invalid_path_is_denied_while_bound(bound, tool, inputs):
    assert code(ask(bound, tool, **inputs)) in ("GUARD_LAKE_FILES", "GUARD_WRITE")


@pytest.mark.parametrize("pattern", ["/*", "/", "/*.csv"])
def test_a_glob_from_the_root_is_denied_while_bound(bound, pattern):
    assert code(ask(bound, "Glob", pattern=pattern)) == "GUARD_LAKE_FILES"


def test_the_settings_send_every_tool_through_the_guard():
    hooks = json.loads((ROOT / ".claude" / "settings.json").read_text())["hooks"]
    assert [entry["matcher"] for entry in hooks["PreToolUse"]] == ["*"]


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"{}", b'{"tool_name": "Bash", "tool_input": [1]}', b"[" * 100_000])
def test_a_malformed_message_is_denied(env, text):
    assert code(pit_guard.decide(text, env)) == "PIT_PARSE_ERROR"
