"""The page that compares taken with untaken trades."""

import re

from forge.records import Counterfactual, Outcome
from forge.web import room
from tests.forge.test_untaken import lake, memory
from tests.forge.world import turn, wrote
from tests.web.browsing import browsing

__all__ = ["lake", "memory"]


def test_the_retrospective_page_compares_taken_with_untaken_trades(memory, lake, monkeypatch):
    code = turn(memory, "code", actor="code")
    start = memory.journal.clock.now()
    for number, pnl in enumerate((1.0, -0.5)):
        outcome = Outcome(id="new", view="V-001", expression=f"E-00{number}", pnl=pnl)
        wrote(code, "/memory/outcomes/new.md", outcome, f"outcome {number}")
    untaken = Counterfactual(
        id="new", decision_type="rejected_expression", view="V-001", reason="crowded", reference_date=start,
        entry_price=100.0, total_return=0.04,
    )  # fmt: skip
    wrote(code, "/memory/counterfactuals/new.md", untaken, "untaken")
    monkeypatch.setenv("FORGE_LAKE", str(memory.lake.root))
    with browsing(lake.root, rooms=(room,)) as client:
        page = client.get("/desk/retrospective").text
    cells = re.findall(r'scope="row">([^<]*)</th><td[^>]*>(\d+)</td><td[^>]*>(\d+)</td><td[^>]*>([^<]*)<', page)
    assert cells == [
        ("taken", "2", "1", "+0.25 % of capital"),
        ("rejected expression", "1", "1", "+4.00 % of the opening price"),
    ]
    assert "No lesson waits for you." in page
