"""The report on row expectations, by a command and as a Dagster asset."""

import json
import re
from dataclasses import replace

import dagster as dg
import pytest
from markupsafe import escape

from assets.runs import attempt_partitions
from checks import quality
from checks.quality import quality_report
from checks.standing import standing
from pitlake.datasets import all_datasets
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.expectations import rules
from pitlake.report import site
from resources.lake import LakeResource
from tests.every import every
from tests.toys import NOTES, OBSERVED, TOY, ToyGraph, between


@pytest.fixture
def lake(tmp_path):
    toy, lake = ToyGraph(), Lake(tmp_path / "lake")
    toy.write("a", "2024-03-10T12:00:00-04:00", '{"canary": 1}')
    attempt_partitions(TOY, between("2024-03-10", "2024-03-10"), toy, lake, run_id="r", observed_at=OBSERVED)
    return lake


def test_the_report_lists_every_expectation_without_values_or_network_links(lake, tmp_path):
    site.write(site.read(lake, contracts={"notes": NOTES}, judge=standing), tmp_path / "site")
    page = (tmp_path / "site" / "notes.html").read_text()
    listing = rules(NOTES, (None, None))
    assert every(escape(each.name) in page for each in listing)
    assert "canary" not in page
    assert not re.search(r"(src|href)=.?(https?:)?//", page)
    document = json.loads((tmp_path / "site" / site.NUMBERS).read_text())["datasets"]["notes"]["expectations"]
    assert document == {"rows": 1, "broken": {each.name: 0 for each in listing}}


def test_the_report_counts_newest_rows_that_break_an_expectation(lake, tmp_path):
    stricter = replace(
        NOTES,
        columns=tuple(replace(column, pattern="z+") if column.name == "id" else column for column in NOTES.columns),
    )
    report = site.read(lake, contracts={"notes": stricter}, judge=standing)
    assert [(each.name, each.severity, each.broken) for each in report.standing["notes"].expected if each.broken] == [
        ("id is like z+", "warning", 1)
    ]


def test_the_report_command_fails_when_there_is_no_lake(lake, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PITLAKE_REPORT", str(tmp_path / "site"))
    monkeypatch.setenv("PITLAKE_LAKE", str(tmp_path / "none"))
    assert quality.main() == 1
    assert "there is no lake" in capsys.readouterr().err


def test_the_report_is_an_asset_after_every_dataset(lake, tmp_path):
    settings = {"ops": {"quality_report": {"config": {"folder": str(tmp_path / "report")}}}}
    result = dg.materialize(
        [quality_report], resources={"lake": LakeResource(root=str(lake.root))}, run_config=settings
    )
    (display,) = result.asset_materializations_for_node("quality_report")
    assert display.metadata["report"].value == str(tmp_path / "report" / "index.html")
    assert (tmp_path / "report" / "index.html").is_file()
    assert display.metadata["lake version"].value == 1
    upstream = {key.to_user_string() for key in next(iter(quality_report.asset_deps.values()))}
    assert upstream == set(all_datasets())
