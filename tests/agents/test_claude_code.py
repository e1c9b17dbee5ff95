"""The real Claude Code in a bound session: one call of each tool it offers. `make claude` installs it and tries all."""

import pytest

from tests.agents.claude_code import attempts, campaign, cells, house

pytestmark = pytest.mark.skipif(house.claude() is None, reason="Claude Code is not installed: make claude")


@pytest.mark.slow
def test_no_tool_of_claude_code_brings_a_byte_of_what_came_after(tmp_path):
    seen = campaign.run(tmp_path / "house", bound=True, script=attempts.few)
    assert seen.leaks == []
    assert seen.canary == 0
    assert {*seen.offered} <= seen.tried
    assert {"Read", "Write", "Edit", "Bash", "mcp__pitlake__query", "mcp__evil__query"} <= {*seen.offered}
    assert seen.outcomes()["denied by guard or gate"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["forgotten", "contaminated"])
def test_a_data_agent_reads_nothing_later_and_what_it_says_at_its_end_is_held(tmp_path, variant):
    played = cells.play(tmp_path / "house", variant, ["neo4j-news"], calls=slice(2))
    assert [(cell.agent, cell.faults) for cell in played] == [("neo4j-news", []), ("the session", [])]
    assert [len(cell.seen) for cell in played] == [2, 1]
