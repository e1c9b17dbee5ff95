"""docs/adding-an-mcp-tool.md: its method becomes a tool that answers as of the server's instant."""

import re
from textwrap import dedent, indent

from pitlake.clock import instant
from pitlake.mcp import server as servers
from pitlake.mcp import tools
from scripts import wiring_pages
from tests.agents.harness import ROOT
from tests.doors.conftest import AS_OF
from tests.doors.mcp_client import service, talk

PAGE = (ROOT / "docs" / "adding-an-mcp-tool.md").read_text(encoding="utf-8")


def test_the_tool_on_the_page_answers_as_of_the_instant_and_refuses_bad_arguments(lake, monkeypatch):
    (method,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (entry,) = re.findall(r"`(box\.\w+)`", PAGE)
    source = (ROOT / "pitlake" / "mcp" / "tools.py").read_text(encoding="utf-8")
    source = source.replace("\nUNGATED =", indent(dedent(method), "    ") + "\n\nUNGATED =")
    module = vars(tools).copy()
    exec(compile(source.replace("box.describe)]", f"box.describe, {entry})]"), "tools.py", "exec"), module)
    monkeypatch.setattr(servers, "tools", module["tools"])
    right, unknown, wrong = talk(
        servers.server(service(lake)),
        ("newest_headlines", {"count": 3}),
        ("newest_headlines", {"cout": 3}),
        ("newest_headlines", {"count": 0}),
    )
    rows = right.structured_content["data"]
    assert len(rows) == 3
    assert max(instant(row["available_at"]) for row in rows) <= instant(AS_OF)
    assert (unknown.is_error, wrong.is_error) == (True, True)


def test_the_page_names_the_list_of_tools():
    assert f"`{wiring_pages.LIST}`" in PAGE
