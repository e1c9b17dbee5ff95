"""Answers whose format changes: if a field is missing, renamed, retyped or repeated, each record is still a row or a
gap.
"""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.buckets import rows_table
from assets.extraction import Gap, Row
from pitlake.datasets import get
from tests.every import every

TICKERS = {"polygon_dividends": "KO", "polygon_splits": "NVDA"}
FEEDS = (
    "av_daily_bars", "av_period_bars", "av_intraday_bars", "av_earnings", "av_estimates", "yahoo_earnings",
    "yahoo_upgrades", "polygon_dividends", "polygon_splits",
)  # fmt: skip
STRANGE = (None, True, 0, -1, 7.5, 10**30, "", "x", "2024-02-30", "20240501", " 2024-05-01 ", [], ["x"], {}, {"raw": 1})


def places(node, path=()):
    """Return every place in an answer below its top."""
    members = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, member in members:
        yield (*path, name)
        yield from places(member, (*path, name))


def drifted(answer, draw):
    answer = copy.deepcopy(answer)
    for _ in range(draw(st.integers(1, 3))):
        fields = list(places(answer))
        if not fields:
            break
        *above, last = draw(st.sampled_from(fields))
        node = answer
        for name in above:
            node = node[name]
        change = draw(st.sampled_from(("gone", "renamed", "retyped", "stated twice")))
        if change == "retyped":
            node[last] = copy.deepcopy(draw(st.sampled_from(STRANGE)))
        elif isinstance(node, list):
            node.insert(0, copy.deepcopy(node[last])) if change == "stated twice" else node.pop(last)
        elif change != "stated twice":
            moved = node.pop(last)
            if change == "renamed":
                node[f"{last}_new"] = moved
    return answer


def check(name, feed, outcomes):
    rows = [outcome for outcome in outcomes if isinstance(outcome, Row)]
    assert outcomes
    assert every(isinstance(outcome, Row | Gap) for outcome in outcomes)
    rows_table(feed, rows)
    values = {}
    for row in rows:
        identity = (*(row.values[column] for column in get(name).identity), row.available_at)
        assert values.setdefault(identity, row.values) == row.values


@pytest.mark.parametrize("name", FEEDS)
@settings(max_examples=50, deadline=None)
@given(st.data())
@pytest.mark.sampled(3)
def test_an_answer_that_drifts_loses_nothing_and_breaks_nothing(answers, name, data):
    source = answers(name, tickers=(TICKERS.get(name, "AAPL"),), max_pages=1)
    [unit] = source.feed.units(source.scope)
    [capture] = list(source.feed.collect(unit, source.captures()))[:1]
    answer = drifted(json.loads(capture.body), data.draw)
    if source.verdict(answer or "{}").outcome == "ok":
        check(name, source.feed, source.outcomes(answer))


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_calendar_that_is_torn_anywhere_breaks_nothing(answers, data):
    calendar = answers("av_earnings_calendar")
    [unit] = calendar.feed.units(calendar.scope)
    [capture] = calendar.feed.collect(unit, calendar.captures())
    text = capture.body.decode()
    cut, length = data.draw(st.integers(1, len(text) - 1)), data.draw(st.integers(1, 12))
    torn = text[:cut] + data.draw(st.sampled_from(("", ",", "\n", '"', "x"))) + text[cut + length :]
    if calendar.verdict(torn).outcome == "ok":
        check("av_earnings_calendar", calendar.feed, calendar.outcomes(torn))
