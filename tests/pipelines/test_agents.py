"""Every documented call of the data agents and every named query returns rows on the sample world."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assets.derived import names
from assets.drops import all_drops
from assets.drops.factory import DropConfig
from assets.drops.receiving import publish, receive
from assets.external import feed
from assets.feeds.runs import run_feed
from assets.order import in_order
from pitlake import clock
from pitlake.lake.lake import Lake
from pitlake.questions import catalogue
from pitlake.session import Session, connect
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from sample import outside
from scripts.skill_pages import PIT, example
from tests.agents.harness import ROOT, linter
from tests.pipelines.conftest import TOLD_ON

pytestmark = [pytest.mark.timeout(1200), pytest.mark.parametrize("story", TOLD_ON[:1], indirect=True)]

BY_DESIGN = {
    "mcp__pitlake__gaps": "there need not be a gap",
    "entity_company": "nothing dates reference data before it was observed",
}
"""Documented calls that may return nothing, and the reason."""
UNLIKE_THE_PAGES = {
    "entity_splits": {"ticker": "QBRY"},
    "estimates_latest": {"ticker": "QACB"},
    "grades_latest": {"ticker": "QACB"},
    "research_search": {"query": "growth"},
    "xbrl_concept_search": {"query": "revenues"},
    "web_search": {"query": "phones"},
}


@pytest.fixture(scope="session")
def filled(story, tmp_path_factory) -> Lake:
    """The story's lake with external sources, dropped files and names."""
    lake = Lake(shutil.copytree(story.lake.root, tmp_path_factory.mktemp("filled") / "lake"))
    outside.unpack(lake)
    store = CaptureStore.of(lake.location)
    for name in in_order([*outside.SCOPES, *all_drops(), names.DATASET.name]):
        if name in outside.SCOPES:
            with HttpClient(feed(name).provider, store, "replay") as client:
                run_feed(feed(name), outside.SCOPES[name], client, lake, run_id="filled")
        elif name in all_drops():
            dropped = all_drops()[name]
            receive(dropped, DropConfig(**outside.run_config()[name]["config"]).path(name), store, settled=0)
            list(publish(dropped, store, lake, run_id="filled"))
        else:
            names.derive(lake, run_id="filled")
    return lake


@pytest.fixture(scope="session")
def session(filled) -> Iterator[Session]:
    with connect(clock.now(), lake=filled) as handle:
        yield handle


def test_the_sample_lake_answers_every_documented_call(filled):
    assert linter.made(ROOT, str(filled.root)) == []


@pytest.mark.parametrize("agent", linter.agent_files(ROOT), ids=lambda path: path.stem)
def test_every_call_an_agent_documents_returns_rows(filled, agent):
    result = {}
    for call in linter.calls(linter._page(ROOT, Path(agent))):
        if call["tool"] != "Bash" and not {call["tool"], call["input"].get("name")} & BY_DESIGN.keys():
            assert call["input"]["pit"] == PIT
            result[str(call)] = len(linter.answered(call, str(filled.root))[0].get("data", ()))
    assert result
    assert [call for call, rows in result.items() if rows == 0] == []


@pytest.mark.parametrize("name", sorted(catalogue.all_queries()))
def test_every_named_query_row_has_evidence_a_unique_id_and_units(session, name):
    query = catalogue.get(name)
    rows = session.run(name, **(example(query) | UNLIKE_THE_PAGES.get(name, {}))).arrow().to_pylist()
    assert rows
    for row in rows:
        assert row.get("evidence") or row.get("evidence_ids"), row
        for field in query.columns:
            if field.unit in row and _is_number(row[field.name]):
                assert row[field.unit], (field.name, row)
    ids = [tuple(str(row[each]) for each in query.ids) for row in rows]
    assert len({*ids}) == len(ids)


def _is_number(value: Any) -> bool:
    try:
        return value is not None and float(value) is not None
    except ValueError:
        return False
