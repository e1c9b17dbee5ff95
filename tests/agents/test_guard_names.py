"""The PreToolUse hook: of tools whose names begin or end like the lake's, none passes while the session is bound."""

import pytest

from tests.agents.test_guard import FETCH, ask, code

LIKE_OURS = [
    "mcp__pitlake__run_query2", "mcp__pitlake__run-query", "mcp__pitlake__run_query/../fetch", "mcp__pitlake__",
    "mcp__pitlake__run_query ", "mcp__pitlake__run_query\n", "mcp__pitlake__Search", "mcp__pitlake_web__search",
    "mcp__pitlakes__search", "mcp__pitlake__search:fetch", "mcp__my_pitlake__search", "mcp__x__mcp__pitlake__search",
    "mcp__plugin_lake_pitlake_web__search", "mcp__plugin__pitlake__search", "mcp__plugin_a_b_pitlake__search",
    "mcp__neo4j__pitlake__search",
]  # fmt: skip


@pytest.mark.parametrize("tool", LIKE_OURS)
def test_a_tool_whose_name_is_like_one_of_ours_is_another_tool(bound, tool):
    assert code(ask(bound, tool, query="x")) is not None


@pytest.mark.parametrize("command", ["echo delete and create the set", "git commit -m 'Remove what nobody merges'"])
def test_words_of_cypher_in_an_unbound_shell_are_only_words(env, command):
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
def test_the_wrapper_runs_by_python_and_by_nothing_else(bound, interpreter, runs):
    answer = code(ask(bound, "Bash", command=FETCH.replace("python3", interpreter, 1)))
    assert (answer is None) == runs
