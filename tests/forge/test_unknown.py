"""A View on a series or ticker that the lake does not know is refused with the nearest names."""

import asyncio
from dataclasses import replace
from datetime import date

import pytest

from forge.agent.tools.toolset import Writes
from forge.fs import ForgeFS
from forge.records import Settles, render
from forge.tracking.followable import Followable
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_providers import gdp
from tests.forge.test_untaken import DAYS, at, bar, memory, standing
from tests.forge.world import NEW_VIEW

__all__ = ["memory"]

FUNDS = [f"ZZ{number}" for number in range(9)]
PRICE, SERIES = "entity_latest_price", "macro_series"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    outcome = Lake(tmp_path_factory.mktemp("unknown") / "lake")
    funds = (bar(DAYS[4], 50.0, entity_kind="index", symbol=name, entity_id=name) for name in FUNDS)
    put_rows(outcome, "prices", *funds, *(bar(day, 100.0) for day in DAYS[:5]))
    put_rows(outcome, "macro_observations", gdp("2014-04-30", 17_149.6))
    return outcome


@pytest.mark.parametrize(
    ("query", "params", "rule", "refused"),
    [
        (PRICE, {"ticker": "QBG"}, "close > 110", ""),
        (SERIES, {"series": "GDP"}, "value > 17000", ""),
        (PRICE, {"ticker": "NOGG"}, "close > 110", "'NOGG' has neither daily bars nor quotes"),
        (SERIES, {"series": "GDPP"}, "value > 17000", "series: 'GDPP' has no value as of "),
        (SERIES, {"series": "GDP, CPI"}, "value > 1", "and a rule compares one series"),
    ],
)
def test_a_view_on_an_unknown_series_or_ticker_is_refused(memory, lake, query, params, rule, refused):
    now = at(memory, lake, DAYS[4])
    writes = Writes(ForgeFS(memory, standing(memory).remembered, followed=Followable(now).fault))
    view = replace(NEW_VIEW, settles=Settles(query=query, params=params, rule=rule, by=date(2024, 12, 1)))
    answer = asyncio.run(writes.execute("1", "/memory/views/new.md", render(view)))
    assert answer.startswith("Not written." if refused else "Written: "), answer
    assert refused in answer
    if "NOGG" in refused:
        assert len(answer.partition("a ticker with daily bars: ")[2].splitlines()[0].split(", ")) == 5
    if "series" in refused:
        assert "give a series of the lake: GDP" in answer
