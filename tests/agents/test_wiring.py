"""The wiring names the MCP server's tools as scripts/wiring_pages.py writes them: a new tool reaches every place."""

from types import SimpleNamespace

from scripts import wiring_pages
from tests.agents.harness import ROOT


def test_a_new_tool_is_allowed_guarded_and_gated_everywhere(monkeypatch):
    names = ("query", "run_query", "search", "gaps", "describe", "compare")
    monkeypatch.setattr(wiring_pages, "tools", lambda _: [SimpleNamespace(name=name) for name in names])
    pages = wiring_pages.pages(ROOT)
    assert {path.parent.name for path in pages} == {".claude", "hooks", "scripts", "agents"}
    for path, text in pages.items():
        wired = '"gaps", "compare"' in text or '"gaps", "describe", "compare"' in text
        assert wired or "  - mcp__pitlake__compare\n" in text or '"mcp__pitlake__compare",\n' in text, path
        if "matcher" in text and path.suffix != ".py":
            assert "mcp__pitlake__gaps|mcp__pitlake__compare" in text, path
            assert "|mcp__pitlake__describe" not in text, path


def test_the_wiring_follows_the_server_s_tools():
    assert [path for path, text in wiring_pages.pages(ROOT).items() if (ROOT / path).read_text() != text] == []
