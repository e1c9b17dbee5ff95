"""The demo's month of trading: its trades on real bars, and its read-only pages as of the last day."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from assets.drops import all_drops
from assets.drops.receiving import publish, receive
from forge.core.clock import Simulated
from forge.core.tape import Tape
from forge.memory import Memory
from forge.memory.fills import fills
from forge.web import room
from pitlake.cli import invoke
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore
from sample import month, outside
from tests.every import every
from tests.web.browsing import browsing

PAGES = ("", "/approvals", "/calibration", "/ledger", "/retrospective", "/skills", "/commands", "/v/V-001", "/e/E-001")
HIT, STOPPED = (270 - 258.805, 240 - 258.805)
"""The result of the first two trades in USD per share, from the bars of 21 and 23 April and 6 May."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("month")
    lake, bars = Lake(home / "lake"), all_drops()["own_bars"]
    store = CaptureStore.of(lake.location)
    receive(bars, outside.DROPS / "own_bars", store, settled=0)
    assert list(publish(bars, store, lake, run_id="month"))
    month.play(home, lake)
    return home


@pytest.fixture(scope="module")
def desk(home):
    """A browser on the memory that `make web` opens."""
    (names,) = re.findall(r"FORGE_LAKE=\.pitlake/demo/(\S+) \$\(BIN\)/pitlake web", Path("Makefile").read_text())
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("FORGE_LAKE", str(home / names))
        patched.setenv("PITLAKE_LAKE", str(home / "lake"))
        with browsing(home / "lake", rooms=(room,)) as client:
            yield client


def test_of_four_trades_a_win_and_a_stop_are_closed_and_two_stay_open(home):
    clock = Simulated(month.RUN, month.ENDS)
    with closing(Memory(home / "forge", clock=clock)) as memory:
        remembered = memory.hydrate(memory.read_instant(clock.now()))
    legs = {}
    for fill in fills(remembered):
        legs.setdefault(fill.expression, []).append(fill)
    results = {name: sum(-fill.quantity * fill.price for fill in both) for name, both in legs.items() if len(both) == 2}
    shares = {name: both[0].quantity for name, both in legs.items()}
    assert results == pytest.approx({"E-001": shares["E-001"] * HIT, "E-002": shares["E-002"] * STOPPED})
    assert (sorted(legs), len(Tape(home / "forge-tape.sqlite").decisions())) == (
        ["E-001", "E-002", "E-003", "E-004"],
        3,
    )


def test_the_desk_shows_the_last_day_with_its_capital_alert_and_pending_decisions(desk):
    page = desk.get("/desk").text
    assert "of 1,000,000 paid in" in page
    assert re.search(r'class="clock">(.*?)<', page)[1] == "Friday 21 May 2010, 17:00 New York"
    assert "unfollowed since 2010-05-19: there are no bars for OWNH" in page
    assert "E-005" in page
    assert "sess_" not in page
    assert "-0.00 %" not in page
    assert len(set(re.findall(r"/desk/d/([\w-]+)", page))) == 3


def test_pages_have_no_dead_buttons_and_state_once_that_they_are_read_only(desk):
    pages = {path: desk.get(f"/desk{path}").text for path in PAGES}
    assert {path: page.count("read-only") for path, page in pages.items()} == dict.fromkeys(PAGES, 1)
    assert every('<form method="post"' not in page and "Go to today" not in page for page in pages.values())


def test_the_command_line_shows_the_same_day_and_is_read_only(desk, capsys):
    assert invoke(("forge", "desk")) == 0
    output = capsys.readouterr().out
    assert output.startswith("as of 2010-05-21T21:00:00")
    assert "long AAPL E-004" in output
    assert invoke(("forge", "export", "positions")) == 0
    assert "E-004" in capsys.readouterr().out
    assert invoke(("forge", "settle")) == 2
    assert "is read-only" in capsys.readouterr().err
