"""docs/asking.md: every command and program on the page works unchanged."""

import io
import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from assets.external import feed
from assets.feeds.factory import FeedConfig
from pitlake import cli
from pitlake.mcp import query_service

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "asking.md").read_text()
FENCED = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
BLOCKS = dict(FENCED)
TYPED = re.findall(r"^pitlake .*", "".join(re.findall(r"(?<!-->\n)```sh\n(.*?)```", PAGE, re.DOTALL)), re.MULTILINE)


def test_the_python_on_the_page_runs(lake, monkeypatch):
    monkeypatch.setenv("PITLAKE_LAKE", str(lake))
    outcome = {}
    for language, text in FENCED:
        if language == "python":
            exec(text, outcome)
    assert len(outcome["latest"]) == 10
    assert len(outcome["bars"]) > 20
    assert {"cik", "status"} <= set(outcome["alive"].columns)
    assert outcome["screen"].columns == ["cik", "accession_no", "filing_date", "exchange"]


def test_the_run_config_on_the_page_is_valid_for_its_asset():
    [(name, run)] = yaml.safe_load(BLOCKS["yaml"])["ops"].items()
    assert len(feed(name).units(FeedConfig(**run["config"]).scope())) == 4


@pytest.mark.parametrize("line", TYPED, ids=lambda line: line.split()[1])
def test_the_commands_on_the_page_run(lake, monkeypatch, capfdbinary, line):
    monkeypatch.setenv("PITLAKE_LAKE", str(lake))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert cli.invoke(shlex.split(line)[1:]) == 0


def test_the_client_settings_are_json_that_starts_pitlake_mcp():
    (server,) = json.loads(BLOCKS["json"])["mcpServers"].values()
    assert (server["command"], server["args"][0]) == ("pitlake", "mcp")


def test_the_limits_on_the_page_are_those_of_the_server():
    assert (query_service.ROWS, query_service.MOST_ROWS, query_service.PAGE_BYTES) == (100, 1000, 256 << 10)
    assert (query_service.LIMITS.rows, query_service.LIMITS.bytes) == (100_000, 64 << 20)
