"""`pitlake retract`: its output, and what sessions, receipts and `known_by` show afterwards."""

import json

import pytest

from pitlake.answers import receipts
from pitlake.lake import Lake
from pitlake.session import connect
from tests.cli.conftest import AFTER, CREATED, article
from tests.kit import publish

TITLES = "SELECT title FROM news ORDER BY title"


@pytest.mark.long
def test_a_retracted_run_is_visible_only_in_older_versions(tmp_path, pitlake):
    lake = Lake(tmp_path / "lake")

    def titles(**at):
        with connect(as_of=AFTER, lake=lake, isolation="in_process", **at) as session:
            result = session.sql(TITLES)
            result.keep()
            return [row["title"] for row in result.arrow().to_pylist()], result.receipt

    publish(lake, "news", [article(1, "Right", CREATED)], "good")
    publish(lake, "news", [article(2, "Wrong", CREATED), article(3, "Also seen", CREATED)], "bad")
    held_at = lake.now()
    before = titles()[1]
    publish(lake, "news", [article(3, "Also seen", CREATED)], "later")
    command = ("retract", "--lake", str(lake.root), "--run", "bad", "--reason", "a renamed label")
    dry = pitlake(*command, "--dry-run", "--format", "json")
    assert json.loads(dry.out)[0]["rows"] == {"news": 2}
    assert (lake.head(), pitlake(*command).err) == (2, "retracted in version 3\n")
    assert titles()[0] == ["Also seen", "Right"]
    existing, receipt = titles(known_by=held_at)
    assert (existing, receipt.version) == (["Right"], 3)
    assert titles(version=2)[0] == ["Also seen", "Right", "Wrong"]
    for remaining in (before, receipt):
        assert receipts.replay(remaining, lake, isolation="in_process").receipt.result_sha256 == remaining.result_sha256
    history = json.loads(pitlake("versions", "--lake", str(lake.root), "--format", "json").out)
    assert [(entry["operation"], entry["reason"]) for entry in history[:1]] == [("retract", "a renamed label")]
    assert [pitlake(*command).code, pitlake(*command[:4], "none", *command[5:]).code] == [2, 2]
