"""One list names the MCP server's tools. Agents and settings match all of them by the server's name."""

import re
from types import SimpleNamespace

from scripts import wiring_pages
from tests.agents.harness import CLAUDE, ROOT, linter

OWN = re.compile(r"mcp__pitlake__[\w*.|]+")


def test_a_new_tool_changes_only_the_generated_list(monkeypatch):
    names = ("query", "run_query", "search", "gaps", "describe", "compare")
    monkeypatch.setattr(wiring_pages, "tools", lambda _: [SimpleNamespace(name=name) for name in names])
    pages = wiring_pages.pages()
    assert [*pages] == [wiring_pages.LIST]
    gated, ungated = pages[wiring_pages.LIST].split("UNGATED = {")
    assert '"mcp__pitlake__compare",\n' in gated
    assert ungated == '\n    "mcp__pitlake__describe",\n}\n'


def test_the_generated_list_is_up_to_date_with_the_servers_tools():
    assert wiring_pages.pages() == {wiring_pages.LIST: (ROOT / wiring_pages.LIST).read_text()}


def test_agents_and_settings_match_all_lake_tools_by_the_servers_name():
    pages = [CLAUDE / "settings.json", *linter.agent_files(ROOT)]
    for page in pages:
        wired = page.read_text().partition("\n---\n")[0]
        assert {*OWN.findall(wired)} == {"mcp__pitlake__*", "mcp__pitlake__.*"}, page
    assert len(pages) == 15
