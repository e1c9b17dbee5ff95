"""The real Claude Code in a bound session makes one call to each offered tool. `make claude` runs all calls."""

import pytest

from tests.agents.claude_code import attempts, campaign, cells, house

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not house.versions(), reason="Claude Code is not installed: make claude"),
]
NEWEST = house.versions()[-1:]


@pytest.mark.parametrize("version", NEWEST)
def test_no_tool_of_claude_code_leaks_anything_from_after_the_cut_off(tmp_path, version):
    seen = campaign.run(tmp_path / "house", version, bound=True, script=attempts.few)
    assert seen.leaks == []
    assert seen.canary == 0
    assert {*seen.offered} <= seen.tried
    assert {"Read", "Write", "Edit", "Bash", "mcp__pitlake__query", "mcp__evil__query"} <= {*seen.offered}
    assert seen.outcomes()["denied by guard or gate"] > 10


@pytest.mark.parametrize("version", NEWEST)
@pytest.mark.parametrize("variant", ["forgotten", "contaminated"])
def test_a_background_or_resumed_data_agent_leaks_nothing_after_the_cut_off(tmp_path, version, variant):
    played = cells.play(tmp_path / "house", variant, ["neo4j-news"], version=version, background=True, calls=slice(2))
    assert [(cell.agent, cell.faults) for cell in played] == [("neo4j-news", []), ("the session", [])]
