"""Upkeep as a job and as commands: closed months are merged, nothing is removed unasked, and kept receipts replay."""

from datetime import timedelta

import pytest

from pipelines.maintenance import maintenance
from pitlake.answers import receipts
from pitlake.cli import invoke
from pitlake.lake.lake import Lake
from pitlake.session import connect
from resources.lake import LakeResource
from tests.cli.conftest import AFTER, CREATED, article
from tests.kit import publish


@pytest.fixture
def lake(tmp_path):
    lake = Lake(tmp_path / "lake")
    for number in range(3):
        publish(lake, "news", [article(number, "Title", CREATED + timedelta(days=number))], f"run-{number}")
    publish(lake, "news", [article(9, "Title", CREATED + timedelta(days=40))], "next-month")
    return lake


def upkeep(lake, **vacuum):
    result = maintenance.execute_in_process(
        resources={"lake": LakeResource(root=str(lake.root))}, run_config={"ops": {"vacuum": {"config": vacuum}}}
    )
    assert result.success
    return files(lake)


def files(lake):
    """Return the number of data files of all versions of a lake."""
    return sum("_delta_log" not in path.parts for path in lake.root.rglob("*.parquet"))


def test_upkeep_compacts_months_and_removes_nothing_in_a_dry_run(lake):
    before = files(lake)
    assert upkeep(lake, keep_days=0) == before + 2  # the compacted file and its observation times
    assert upkeep(lake, keep_days=0, dry_run=False) == 3
    assert sum(file.rows for file in lake.snapshot().files("news")) == 4


def test_upkeep_leaves_what_a_kept_receipt_needs(lake):
    with connect(AFTER, lake=lake) as session:
        answer = session.sql("SELECT id, title FROM news ORDER BY id")
        answer.keep(lake)
    upkeep(lake, keep_days=0, dry_run=False)
    again = receipts.replay(answer.receipt, lake)
    assert again.arrow().equals(answer.arrow())


def test_the_compact_and_vacuum_commands_remove_files_only_with_apply(lake, capfd):
    assert invoke(["compact", "--lake", lake.location, "news"]) == 0
    assert invoke(["vacuum", "--lake", lake.location, "--keep-days", "0"]) == 0
    output = capfd.readouterr().out
    assert "no, add --apply" in output
    files = len(list(lake.root.rglob("*.parquet")))
    assert invoke(["vacuum", "--lake", lake.location, "--keep-days", "0", "--apply", "--format", "json"]) == 0
    assert len(list(lake.root.rglob("*.parquet"))) == files - 3


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (["compact", "--before", "2024"], "before"),
        (["compact", "nonsense"], "there is no dataset"),
        (["vacuum", "--keep-days", "-1"], "keep-days"),
    ],
)
def test_bad_options_are_refused_and_the_error_names_them(lake, capfd, command, complaint):
    assert invoke([command[0], "--lake", lake.location, *command[1:]]) == 2
    assert complaint in capfd.readouterr().err
