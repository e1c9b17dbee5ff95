"""Every documented call of pit_fetch.py works with a cut-off, and without one in open mode."""

import json
import re
import shlex
from pathlib import Path

import pytest

from pitlake import cli
from pitlake.gate.rules import check_envelope

ROOT = Path(__file__).resolve().parents[2]
CALL = re.compile(r"python3 \.claude/skills/earnings-orchestrator/scripts/pit_fetch\.py (--source [a-z][^\n\"`…\[]+)")
PAGES = sorted({*(ROOT / ".claude").rglob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"})
CALLS = sorted({match.strip() for page in PAGES for match in CALL.findall(page.read_text())})
NOT_BUNDLED = {"HTTP 404", "acceptance of the filing is unknown"}
"""Reasons of gaps for requests that the sample cannot answer, and for filings whose header it does not have."""
PIT = "2024-05-29T17:00:00-04:00"


@pytest.fixture(scope="module")
def lake(loopback, tmp_path_factory):
    loopback.behave()
    return str(tmp_path_factory.mktemp("documented") / "lake")


def test_the_documentation_contains_fetch_calls_of_several_sources():
    assert {shlex.split(call)[1] for call in CALLS} >= {"alphavantage", "benzinga", "perplexity", "yahoo"}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("pit", [["--pit", PIT], []], ids=["pit", "open"])
@pytest.mark.parametrize("call", CALLS)
def test_a_documented_call_is_understood_and_answered(lake, capfdbinary, call, pit):
    words = shlex.split(call)
    if "--pit" in words:
        place = words.index("--pit")
        words = words[:place] + words[place + 2 :]
    assert cli.invoke(["fetch", *words, *pit, "--live", "--lake", lake]) == 0
    payload = json.loads(capfdbinary.readouterr().out)
    assert not pit or check_envelope(payload, PIT) is None
    assert "bad_input" not in {gap["type"] for gap in payload["gaps"]}, payload["gaps"]
    if not pit and not payload["data"]:
        assert NOT_BUNDLED & {gap["reason"] for gap in payload["gaps"]}, payload["gaps"]


@pytest.mark.parametrize("call", ["--source yahoo --op guesses --symbol QACB", "--source yahoo --op earnings"])
def test_an_invalid_call_sends_no_request(server, lake, capfdbinary, call):
    assert cli.invoke(["fetch", *call.split(), "--live", "--lake", lake]) == 0
    payload = json.loads(capfdbinary.readouterr().out)
    assert [gap["type"] for gap in payload["gaps"]] == ["bad_input"]
    assert (payload["data"], server.asked) == ([], [])
