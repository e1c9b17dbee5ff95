"""The data docs and the report as people get them: by a command and as a Dagster asset."""

import dagster as dg
import pytest

from assets.runs import attempt_partitions
from checks import docs
from checks.quality import quality_report
from pitlake.datasets import all_datasets
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from resources.lake import LakeResource
from tests.every import every
from tests.toys import NOTES, OBSERVED, TOY, ToyGraph, between


@pytest.fixture
def lake(tmp_path):
    toy, lake = ToyGraph(), Lake(tmp_path / "lake")
    toy.write("a", "2024-03-10T12:00:00-04:00", '{"canary": 1}')
    attempt_partitions(TOY, between("2024-03-10", "2024-03-10"), toy, lake, run_id="r", observed_at=OBSERVED)
    return lake


def test_data_docs_show_the_suite_and_how_the_lake_stands_to_it_without_values(lake, tmp_path):
    page = docs.build(lake, tmp_path / "docs", [NOTES])
    pages = {path.parts[len(page.parent.parts)]: path.read_text() for path in page.parent.rglob("*.html")}
    assert "notes" in pages["index.html"]
    assert "Succeeded" in pages["validations"]
    assert "said" in pages["expectations"]
    assert every("canary" not in text for text in pages.values())


def test_data_docs_replace_their_own_folder_and_no_other(lake, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    with pytest.raises(BadInput, match="holds other files"):
        docs.build(lake, tmp_path / "mine", [NOTES])


def test_the_report_is_an_asset_after_every_dataset(lake, tmp_path):
    settings = {"ops": {"quality_report": {"config": {"folder": str(tmp_path / "report")}}}}
    result = dg.materialize(
        [quality_report], resources={"lake": LakeResource(root=str(lake.root))}, run_config=settings
    )
    (shown,) = result.asset_materializations_for_node("quality_report")
    assert shown.metadata["report"].value == str(tmp_path / "report" / "index.html")
    assert (tmp_path / "report" / "index.html").is_file()
    assert shown.metadata["lake version"].value == 1
    upstream = {key.to_user_string() for key in next(iter(quality_report.asset_deps.values()))}
    assert upstream == set(all_datasets())
