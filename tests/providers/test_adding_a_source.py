"""The source that docs/adding-a-source.md adds in under 60 lines of code works like every other source."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from assets.feeds.factory import feed_asset
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from pitlake.lake.lake import Lake
from pitlake.session.contracts import Catalogue
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from tests.loopback import Answer, Loopback
from tests.providers.conftest import KEY, hasty
from tests.sessions import open_at

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "adding-a-source.md").read_text()
PATHS = re.findall(r"\*\*\d\. The \w+\*\*, `([\w/]+)\.py`", PAGE)
CODE = list(zip(PATHS, re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL), strict=True))
MOST_LINES = 60
ANSWER = {
    "calls": [
        {"ship": "Ever Ours", "berth": 3, "published": "2024-02-15T16:00:00-05:00"},
        {"ship": "Late Arrival", "berth": 4, "published": "2024-02-16T09:00:00-05:00"},
        {"ship": "Undated", "berth": 5, "published": "2024-02-16"},
        {"ship": "Unmoored", "berth": None, "published": "2024-02-15T16:00:00-05:00"},
    ]
}


@pytest.fixture
def feed(monkeypatch):
    """The feed defined on the page, whose modules are imported under their documented names."""
    for path, code in CODE:
        name = path.replace("/", ".")
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(code, path, "exec"), module.__dict__)
    return sys.modules["assets.external.harbour.port_calls"].FEED


@pytest.fixture
def harbour(monkeypatch):
    server = Loopback()
    server.script["/calls"] = [Answer(ANSWER)]
    monkeypatch.setenv("PITLAKE_HARBOUR_URL", server.url)
    monkeypatch.setenv("HARBOUR_KEY", KEY)
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()


def test_the_documentation_names_its_files_and_has_under_60_lines_of_code():
    assert [path for path, _ in CODE] == [
        "pitlake/datasets/port_calls", "resources/http/providers/harbour", "assets/external/harbour/port_calls",
    ]  # fmt: skip
    lines = [line for _, text in CODE for line in text.splitlines() if line.strip()]
    assert len(lines) < MOST_LINES


def test_the_documented_source_works_from_the_network_to_an_answer(feed, harbour, tmp_path):
    lake = Lake(tmp_path / "lake")
    with HttpClient(hasty(feed.provider), CaptureStore.of(lake.root), "live") as client:
        report = run_feed(feed, Scope(queries=("NYC",)), client, lake, run_id="first")
        run_feed(feed, Scope(queries=("NYC",)), client, lake, run_id="again")
    assert len(harbour.asked) == 1
    assert (report.outcome.total.extracted, report.outcome.total.published) == (4, 2)
    assert dict(report.gaps) == {("unverifiable", "no publication time"): 1, ("unverifiable", "berth is unreadable"): 1}
    catalogue = Catalogue({"port_calls": feed.dataset})
    as_of = "2024-02-15T21:00:00Z"
    with open_at(lake.snapshot(), as_of, catalogue=catalogue) as session:
        assert session.sql("SELECT port, ship, berth FROM port_calls").rows() == [("NYC", "Ever Ours", 3)]


def test_the_documented_source_has_an_asset_with_the_usual_checks(feed):
    asset = feed_asset(feed)
    assert asset.key.path == ["port_calls"]
    assert {spec.name for spec in asset.check_specs} >= {"gate", "conservation"}
