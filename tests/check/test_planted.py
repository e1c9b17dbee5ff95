"""Every planted leak is found, and no clean pipeline raises an alarm."""

import ast
from pathlib import Path

import pytest

from pitlake.check import check

HERE = Path(__file__).parent
SINCE, UNTIL = "2024-02-15", "2024-05-31"
WHAT = {
    "in_open_mode": "session",
    "later": "session",
    "today": "session",
    "from_a": "file",
    "age": "clock",
    "cached": "cache",
}
HELPERS = {"bars", "wide", "statements", "true_range"}


def functions(name: str) -> list[str]:
    nodes = ast.parse((HERE / name).read_text()).body
    takes = {node.name: node.args.args[0].arg for node in nodes if isinstance(node, ast.FunctionDef)}
    return [f for f, first in takes.items() if first == "session" and f not in HELPERS]


LEAKS, CLEAN = functions("leaks.py"), functions("clean.py")
SAMPLE = {"next_close", "cached_by_symbol", "from_a_scan", "newest_in_open_mode", "outcome_joined_by_key"}


def marked(names: list[str], sample: set[str]) -> list[object]:
    return [name if name in sample else pytest.param(name, marks=pytest.mark.long) for name in names]


def test_there_are_enough_planted_leaks_and_clean_pipelines():
    assert len(LEAKS) >= 35
    assert len(CLEAN) >= 12


@pytest.mark.parametrize("name", marked(LEAKS, SAMPLE))
def test_a_planted_leak_is_found(name, lake):
    report = check(f"{HERE / 'leaks.py'}::{name}", SINCE, UNTIL, trials=1, lake=lake)
    expected = next((kind for part, kind in WHAT.items() if part in name), "future")
    assert expected in {finding.kind for finding in report.findings}, str(report)


@pytest.mark.parametrize("name", marked(CLEAN, {"news_joined_backward"}))
def test_a_clean_pipeline_raises_no_alarm(name, lake):
    before_the_last_article = "2024-05-24"
    report = check(f"{HERE / 'clean.py'}::{name}", SINCE, before_the_last_article, trials=2, lake=lake)
    assert report.findings == []
    # The facts of this lake end before the last instant.
    assert report.skipped.keys() <= {"the lake has no later rows of xbrl_facts"}
    assert report.compared >= 5
