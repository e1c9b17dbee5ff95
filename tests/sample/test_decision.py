"""The demo's decision: two instants, two confidences, replays without a difference, and what time said of it."""

import pytest
from rich.console import Console

from pitlake.cli import invoke
from pitlake.lake.lake import Lake
from sample.decision import decide
from sample.outside import REVISED
from tests.derived.conftest import put_rows
from tests.forge.test_providers import gdp


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("decision")
    vintages = (("2014-04-30", REVISED.answer_before), ("2014-05-29", REVISED.answer_after), ("2014-06-25", 16_990.7))
    put_rows(Lake(home / "lake"), "macro_observations", *(gdp(day, value) for day, value in vintages))
    return home


@pytest.fixture(scope="module")
def told(home):
    console = Console(record=True, width=200, highlight=False)
    return decide(home, Lake(home / "lake"), console), console.export_text().split("\n")[1:-1]


def test_two_instants_make_two_confidences_and_time_judges_the_first(told):
    _, lines = told
    assert "no model was asked" in lines[0]
    assert [line.split("  ")[2] for line in lines[1:3]] == [
        "V-001 at 20%: The newest estimate is 17,050.2, +48.7 on the quarter before.",
        "V-001 at 50%: The newest estimate is 17,010.4, +8.9 on the quarter before.",
    ]
    assert [line.strip() for line in lines[3:5]] == [
        "replayed, from the tape alone: 2 decisions, 12 steps, 0 differences",
        "replayed, the lake asked again: 2 decisions, 12 steps, 0 differences",
    ]
    assert lines[5].endswith("V-001 came true: value < 17001.5 by 2014-06-30, and it is 16990.7")


def test_it_replays_as_the_demo_says_to_type(home, told, monkeypatch, capfd):
    monkeypatch.setenv("FORGE_LAKE", str(home / "forge"))
    monkeypatch.setenv("PITLAKE_LAKE", str(home / "lake"))
    assert invoke(("forge", "replay", told[0])) == 0
    said = capfd.readouterr()
    assert said.out.startswith("Written: /memory/views/V-001.md")
    assert told[0] in said.err
