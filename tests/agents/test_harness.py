"""Every agent in every variant, with the server, the hooks and the settings as configured.

Here each agent makes only its first call; `make agents` makes all calls.
"""

import json

import pytest

from tests.agents import harness, world
from tests.agents.harness import VARIANTS, Player, at, faults, linter, shell
from tests.every import every


@pytest.mark.parametrize("agent", sorted(linter.PIT_DONE))
def test_an_agent_reads_nothing_of_the_future_in_any_variant(stage, agent):
    wrong = {variant: faults(variant, stage.play(agent, variant, calls=slice(1))) for variant in VARIANTS}
    assert every(not each for each in wrong.values()), wrong


@pytest.mark.parametrize("agent", ["bz-news-api"])
def test_pit_fetch_returns_nothing_of_the_future(stage, agent):
    player = Player(agent, stage.bound)
    seen = player.play(at(player.calls[-1], None), shell(stage.bound))
    assert (seen.ran, seen.blocked) == (True, False)
    assert world.MARK not in seen.text
    assert json.loads(json.loads(seen.text)["stdout"]).keys() == {"data", "gaps"}


def test_every_lying_server_is_blocked(stage):
    player = Player("neo4j-news", stage.free)
    for turn in range(5):
        seen = player.play(at(player.calls[0], world.PIT), harness.lying(stage.open_server, turn))
        assert seen.blocked
        assert world.MARK not in seen.text


def test_a_server_that_is_open_in_a_bound_session_is_blocked(stage):
    seen = Player("neo4j-news", stage.bound).play(at(Player("neo4j-news", {}).calls[0], None), stage.open_server)
    assert seen.blocked
    assert world.MARK not in seen.text


@pytest.mark.parametrize(
    ("tool", "inputs"),
    [
        ("mcp__neo4j-cypher__write_neo4j_cypher", {"query": "CREATE (n)"}),
        ("mcp__neo4j-cypher__read_neo4j_cypher", {"query": "MATCH (n) RETURN n", "params": {"pit": world.PIT}}),
        ("mcp__perplexity__perplexity_ask", {"query": "what came next?"}),
        ("WebFetch", {"url": "https://example.com"}),
        ("Bash", {"command": "cat $PITLAKE_LAKE/_lake/log/*"}),
        ("mcp__pitlake__query", {"sql": "SELECT 1", "pit": "2030-01-01T00:00:00Z"}),
    ],
)
def test_forbidden_tools_do_not_run_in_a_bound_session(stage, tool, inputs):
    def run(_):
        raise AssertionError("the tool ran")

    seen = Player("neo4j-news", stage.bound).play({"tool": tool, "input": inputs}, run)
    assert (seen.ran, seen.blocked) == (False, True)


def answered(*items):
    return {"content": [{"type": "text", "text": json.dumps({"data": items, "gaps": []})}], "structuredContent": None}


def test_undated_perplexity_answers_are_blocked_and_dated_answers_pass(stage):
    """The plan's second minimal test: Perplexity's tools return dated items, or a clean gap."""
    player = Player("perplexity-ask", stage.free)
    for tool in ("search", "ask", "reason", "research"):
        call = {"tool": f"mcp__perplexity__perplexity_{tool}", "input": {"query": "QACB", "params": {"pit": world.PIT}}}
        prose = {"content": [{"type": "text", "text": f"It went up. {world.MARK}"}], "structuredContent": None}
        undated = answered({"url": "https://example.com", "snippet": world.MARK})
        for reply in (prose, undated):
            seen = player.play(call, lambda _, message=reply: (False, message))
            assert seen.blocked
            assert world.MARK not in seen.text
        dated = answered({"available_at": "2024-05-02T00:00:00-04:00", "available_at_source": "provider_metadata"})
        assert not player.play(call, lambda _, reply=dated: (False, reply)).blocked


def test_series_of_alpha_vantage_end_at_the_cut_off(stage):
    """The plan's third minimal test, for both of an agent's tools: the lake's own and pit_fetch.py."""
    player = Player("alphavantage-earnings", stage.free)
    series = next(call for call in player.calls if "av_daily_bars" in json.dumps(call))
    _, reply = stage.open_server(series)
    dates = [row["available_at"] for row in reply["structuredContent"]["data"]]
    assert len(dates) > 2
    assert max(dates) <= "2024-05-29T21:00:00Z"
    assert not player.play(series, stage.open_server).blocked
    question = f"--source alphavantage --pit {world.PIT} TIME_SERIES_DAILY symbol=QACB"
    command = f"python3 {harness.SCRIPTS / 'pit_fetch.py'} {question}"
    seen = player.play({"tool": "Bash", "input": {"command": command}}, shell(stage.free))
    assert not seen.blocked
    assert world.MARK not in seen.text
