"""Help pages on record kinds and on sources as of an instant. Writes and fetches accept what the pages show."""

import asyncio
import json
import re
from dataclasses import fields
from datetime import date

import pytest

from forge.agent.help import HelpBackend, page_names, page_path, record_page, source_page
from forge.agent.prompt import forms
from forge.agent.tools.base import tokens
from forge.agent.tools.read import ReadTool
from forge.agent.tools.write import WriteTool
from forge.fs import ForgeFS
from forge.providers import all_providers, provider
from forge.providers.base import At
from forge.records import KINDS
from forge.records.drafts import read_draft
from forge.records.examples import EXAMPLES
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_providers import LATER, T, article, gdp, quote
from tests.forge.world import desk

CALL = re.compile(r"^call: fetch\('(\w+)', (.+)\)$", re.MULTILINE)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    lake = Lake(tmp_path_factory.mktemp("help") / "lake")
    earlier = (
        {**gdp("2014-04-30", 17000.0 + year), "observation_date": date(year, 1, 1)} for year in range(2009, 2014)
    )
    put_rows(lake, "macro_observations", *earlier, gdp("2014-05-29", 17101.3))
    put_rows(lake, "macro_observations", {**gdp("2014-06-25", 1.0), "series_id": "PAYEMS"})
    put_rows(
        lake, "market_quotes", quote("1Y", 1.0), quote("2Y", 2.0), {**quote("5Y", 3.0, LATER), "instrument": "EUR"}
    )
    put_rows(lake, "news", article(1, "Fed raises rates"))
    return lake


def page(name, lake, at=T):
    return source_page(provider(name), At(as_of=at, lake=lake.root))


def test_a_page_names_what_the_lake_has_at_the_instant_and_nothing_later(lake):
    assert "macro_observations: 6 rows, newest of 2014-05-29 12:30:00+00:00: GDP\n" in page("economic", lake)
    assert "GDP, PAYEMS" in page("economic", lake, LATER)
    assert "curve USD" in page("market", lake)
    assert "EUR" not in page("market", lake)


@pytest.mark.parametrize("name", all_providers())
def test_every_call_that_a_page_shows_is_accepted(lake, name):
    calls = CALL.findall(page(name, lake))
    assert len(calls) >= 1
    for source, params in calls:
        result = asyncio.run(provider(source).fetch(json.loads(params), At(as_of=T, lake=lake.root)))
        assert result.rows or result.gaps


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_help_page_lists_every_agent_field_and_an_accepted_example(name):
    text = record_page(KINDS[name])
    names = {field.name for field in fields(KINDS[name].cls)} - {"id", "body", "updated"}
    left_out = {name for name in names if f"\n- {name}" not in text}
    assert left_out <= {
        "pnl", "exit_details", "rejection_reason", "status", "entry_price", "total_return", "exit_reason", "problem",
        "version", "answer", "marks", "verdict", "capped_from",
    }  # fmt: skip
    assert read_draft(KINDS[name], text.partition("## Example\n\n")[2], "new").checked() == EXAMPLES[name]


def test_help_pages_are_readable_files_that_agents_cannot_write(memory, lake):
    desk(memory)
    files = ForgeFS(memory, memory.hydrate(memory.journal.clock.now(), session="s"),
                    help_pages=HelpBackend(At(as_of=T, lake=lake.root)))  # fmt: skip
    read = ReadTool(files)
    listing = asyncio.run(read.execute("1", "/help/"))
    assert [line.split()[0] for line in listing.split("\n")[1:]] == [f"{name}.md" for name in page_names()]
    for name in page_names():
        assert len(asyncio.run(read.execute("1", page_path(name)))) > 300
    assert WriteTool(files).execute("/help/views.md", "x", call_id="1").startswith("Not written. path: ")
    answer = WriteTool(files).execute("/memory/views/new.md", "x", call_id="2")
    assert answer.endswith("How to write one: read('/help/views.md')")


def test_the_forms_block_of_the_prompt_is_constant_and_short():
    assert tokens(forms()) <= 1_500
    assert forms() is forms()
