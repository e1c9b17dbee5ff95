"""The MCP server's answers when files of the lake are missing or damaged reveal nothing from after T."""

import os
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pitlake.clock import instant
from pitlake.errors import GONE
from pitlake.lake import Lake
from pitlake.mcp.server import server
from pitlake.session import connect
from tests.doors.conftest import LOST, news, publish
from tests.doors.mcp_client import ALL_NEWS, EVERY_TOOL, service, talk
from tests.every import every

APRIL = "2024-04-05T00:00:00Z"


def astray(root, later):
    """Return a lake's files with rows up to APRIL, or with `later` its files with only later rows."""
    lake, looks = Lake(root), [instant("2024-04-10T00:00:00Z"), instant("2024-07-01T00:00:00Z")]
    for number, look in enumerate(looks):
        seen = [each for each in news() if (each["available_at"] < looks[0]) is (number == 0)]
        publish(lake, "news", seen, f"run-{number}", LOST[number : number + 1], look)
    files = [file for table in lake.snapshot().tables.values() for file in table.files]
    return [Path(file.path) for file in files if (file.lo > instant(APRIL)) is later]


HARMS = {
    "missing": Path.unlink,
    "damaged": lambda path: path.write_bytes(b"PAR1 no more"),
    "cut off": lambda path: os.truncate(path, path.stat().st_size // 2),
    "rewritten": lambda path: pq.write_table(pq.read_table(path, partitioning=None).slice(1), path),  # with a row less
}


@pytest.mark.parametrize("harm", HARMS)
def test_damage_to_files_from_after_the_pit_changes_no_answer(tmp_path, harm):
    later = astray(tmp_path / "lake", later=True)
    question = partial(talk, server(service(tmp_path / "lake", as_of=instant(APRIL))), *EVERY_TOOL)
    before = question()
    assert every(not each.is_error for each in before)
    assert {path.parent.name for path in later} >= {"available_month=2024-04", "available_month=2024-05"}
    for path in later:
        HARMS[harm](path)
    assert [each.content for each in question()] == [each.content for each in before]
    with connect(APRIL, lake=tmp_path / "lake") as session:
        assert session.sql("SELECT max(available_at) < $1 AS past FROM news", [instant(APRIL)]).rows() == [(True,)]


@pytest.mark.parametrize("harm", HARMS)
def test_any_damage_to_a_file_that_reaches_past_the_pit_gives_the_same_error(tmp_path, harm):
    for path in astray(tmp_path / "lake", later=False):
        HARMS[harm](path)
    reply = talk(
        server(service(tmp_path / "lake")), ("query", {"sql": ALL_NEWS, "pit": APRIL}), ("gaps", {"pit": APRIL})
    )
    assert [(each.is_error, each.content[0].text) for each in reply] == [(True, GONE)] * 2
