"""The PreToolUse hook denies tools whose names only resemble the lake's, as long as the session is bound."""

import json

import pytest

from tests.agents.mutate import pit_gate, pit_guard
from tests.agents.test_guard import FETCH, ask, code

LIKE_OURS = [
    "mcp__pitlake__run_query2", "mcp__pitlake__run-query", "mcp__pitlake__run_query/../fetch", "mcp__pitlake__",
    "mcp__pitlake__run_query ", "mcp__pitlake__run_query\n", "mcp__pitlake__Search", "mcp__pitlake_web__search",
    "mcp__pitlakes__search", "mcp__pitlake__search:fetch", "mcp__my_pitlake__search", "mcp__x__mcp__pitlake__search",
    "mcp__plugin_lake_pitlake_web__search", "mcp__plugin__pitlake__search", "mcp__plugin_a_b_pitlake__search",
    "mcp__neo4j__pitlake__search",
]  # fmt: skip


@pytest.mark.parametrize("tool", LIKE_OURS)
def test_a_tool_with_a_name_similar_to_the_lakes_is_denied_while_bound(bound, tool):
    assert code(ask(bound, tool, query="x")) is not None


@pytest.mark.parametrize("command", ["echo delete and create the set", "git commit -m 'Remove what nobody merges'"])
def test_cypher_words_in_an_unbound_shell_command_are_ignored(env, command):
    assert ask(env, "Bash", command=command) == {}


@pytest.mark.parametrize(
    ("interpreter", "runs"),
    [
        ("python", True),
        ("python3", True),
        ("sh", False),
        ("python2", False),
        ("source", False),
        ("/tmp/python3", False),
    ],
)
def test_the_wrapper_runs_only_with_python(bound, interpreter, runs):
    answer = code(ask(bound, "Bash", command=FETCH.replace("python3", interpreter, 1)))
    assert (answer is None) == runs


@pytest.mark.parametrize("tool", ["PowerShell", "Monitor"])
def test_other_shells_than_bash_run_nothing_while_bound(bound, tool):
    assert code(ask(bound, tool, command="ls")) == "GUARD_SHELL"


@pytest.mark.parametrize("pattern", ["../lake/*.parquet", "*/../../lake/x", "docs/../.pitlake/**"])
def test_a_bound_session_denies_a_search_outside_the_given_folder(bound, tmp_path, pattern):
    (tmp_path / "lake").mkdir()
    (tmp_path / "docs").mkdir()
    reply = bound | {"PITLAKE_LAKE": str(tmp_path / "lake")}
    assert code(ask(reply, "Glob", pattern=pattern, path=str(tmp_path / "docs"))) == "GUARD_LAKE_FILES"


def test_the_lake_in_a_calls_working_folder_cannot_be_read(bound, tmp_path):
    question = {"file_path": ".pitlake/lake/x"}
    message = {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": question, "cwd": str(tmp_path)}
    assert code(pit_guard.decide(json.dumps(message).encode(), bound)) == "GUARD_LAKE_FILES"


@pytest.mark.parametrize("command", ["python3", "'a;b' c", "ls 'a|b'"])
def test_quoted_shell_operators_are_read_as_plain_text(bound, command):
    denied = command == "python3" or command.startswith("'")
    assert code(ask(bound, "Bash", command=command)) == ("GUARD_SHELL" if denied else None)


@pytest.mark.parametrize("quoted", ["grep 'two words' README.md", 'head -2 "README.md"', "echo 'a  b' | wc -l"])
def test_quoted_text_with_spaces_is_a_single_word(bound, quoted):
    assert ask(bound, "Bash", command=quoted) == {}


@pytest.mark.parametrize(
    "beside",
    [
        "type", "annotations", "_meta", "meta", "isError", "is_error", "stderr", "interrupted", "isImage", "durationMs",
        "noOutputExpected", "returnCodeInterpretation", "backgroundTaskId", "backgroundedByUser", "rawOutputPath",
        "assistantAutoBackgrounded", "dangerouslyDisableSandbox", "persistedOutputPath", "persistedOutputSize",
        "staleReadFileStateHint",
    ],
)  # fmt: skip
def test_known_extra_fields_of_an_answer_are_allowed_only_if_empty(beside):
    assert pit_gate._held({"stdout": "x", beside: ""}) == [("stdout", "x")]
    if beside != "durationMs":
        with pytest.raises(pit_gate.Refused):
            pit_gate._held({"stdout": "x", beside: "y"})
