"""A lake's fixed settings: the rules for when filings and bars become available, which every receipt states, and the
instant at which its data ends.
"""

import json
import re
from datetime import date, datetime, timedelta, timezone
from types import SimpleNamespace

import neo4j
import pytest

from assets.drops.own_bars import DROP
from assets.external.alpha_vantage.av_daily_bars import FEED as DAILY
from assets.external.alpha_vantage.av_period_bars import FEED as PERIODS
from assets.feeds.feed import Scope
from assets.feeds.runs import run_once
from assets.graph import all_extractors
from pipelines.alerts import stale_datasets
from pitlake import cli, clock
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from pitlake.report import site
from pitlake.session import connect
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from resources.lake import BARS_VARIABLE, FILINGS_VARIABLE, LakeResource
from tests.answers import captured
from tests.assets.records import report
from tests.cli.conftest import CREATED, article
from tests.kit import publish
from tests.partitions import run_partitions

EVENING, MORNING = "2024-05-24T18:00:00-04:00", "2024-05-28T07:30:00-04:00"


def extracted(lake, *days):
    """Extract from a graph with one filing, which was accepted on the evening before a long weekend."""

    def stream(_cypher, params, *, fetch_size):
        if "lo" in params and params["lo"] <= EVENING < params["hi"]:
            yield [neo4j.Record(report(created=EVENING, entities=None, exhibits=None))]

    graph, extractor = SimpleNamespace(stream=stream), all_extractors()["reports"]
    return run_partitions(extractor, [*map(date.fromisoformat, days)], graph, lake, run_id="r")


def seen(lake, as_of):
    with connect(as_of, lake=lake, datasets=["reports"]) as session:
        answer = session.sql("SELECT release_rule FROM reports")
        return answer.rows(), answer.receipt.question.filings_count_from


def test_an_evening_filing_appears_at_its_release_and_not_before(tmp_path):
    lake = Lake(tmp_path / "lake")
    assert extracted(lake, "2024-05-24", "2024-05-25", "2024-05-27").total.extracted == 0
    assert extracted(lake, "2024-05-28").total.published == 1
    assert seen(lake, "2024-05-28T07:29:59-04:00") == ([], "release")
    assert seen(lake, MORNING) == ([("form_and_clock",)], "release")
    with pytest.raises(BadInput, match="filings become available at: release"):
        lake.count_filings_from("acceptance")
    assert lake.filings_count_from == "release"


def test_filings_count_from_acceptance_when_so_configured_and_receipts_say_so(tmp_path, monkeypatch):
    monkeypatch.setenv(FILINGS_VARIABLE, "acceptance")
    lake = LakeResource(root=str(tmp_path / "lake")).open()
    assert extracted(lake, "2024-05-24").total.published == 1
    assert seen(lake, EVENING) == ([("acceptance",)], "acceptance")
    with pytest.raises(BadInput):
        lake.count_filings_from("release")
    assert LakeResource(root=str(tmp_path / "lake"), filings_count_from="acceptance").open().filings_count_from


def test_an_unknown_rule_for_filings_is_refused(tmp_path):
    with pytest.raises(BadInput, match="give release or acceptance"):
        Lake(tmp_path / "lake").count_filings_from("filing date")


RULES = ("close", "close + 15 minutes", "next day")
CLOSES = datetime(2024, 7, 3, 17, tzinfo=timezone.utc)  # the early close before Independence Day
ENDS = datetime(2024, 7, 4, 4, tzinfo=timezone.utc)
OVER = datetime(2024, 7, 5, 20, tzinfo=timezone.utc)
COUNTED = dict(zip(RULES, (CLOSES, CLOSES + timedelta(minutes=15), ENDS), strict=True))
AV_HEAD = "timestamp,open,high,low,close,volume\n"


def publish_bars(lake, feed, text, fetched_at, **scope):
    """Publish the bars of one response or file, and return the earliest instant at which a bar is available."""
    store = CaptureStore.of(lake.root)

    def fetch(request):
        return store.put(captured(feed.provider, request, text.encode(), headers={}, fetched_at=fetched_at))

    [unit] = feed.units(Scope(**scope))
    list(feed.collect(unit, fetch))
    store.flush()
    with HttpClient(feed.provider, store, "replay", until=fetched_at) as client:
        run_once(feed, Scope(**scope), client, lake, run_id=f"bars-{fetched_at:%H%M%S}")
    name = feed.dataset.name
    with connect(lake=lake, open_mode=True, datasets=[name]) as session:
        return session.sql(f"SELECT min(available_at) FROM {name}").rows()[0][0]


LATER = datetime(2024, 7, 9, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize("rule", RULES)
def test_bars_of_outside_sources_count_by_the_rule_of_their_lake(tmp_path, monkeypatch, capfd, rule):
    monkeypatch.setenv(BARS_VARIABLE, rule)
    lake = LakeResource(root=str(tmp_path / "lake")).open()
    bar, own = "2024-07-03,1,1,1,1,5\n", "date,ticker,open,high,low,close,volume\n2024-07-03,QAU,1,1,1,1,5\n"
    late = OVER + (COUNTED[rule] - CLOSES) if rule != "next day" else datetime(2024, 7, 6, 4, tzinfo=timezone.utc)
    assert publish_bars(lake, DAILY, AV_HEAD + bar, LATER, tickers=("QAU",)) == COUNTED[rule]
    assert publish_bars(lake, DROP, own, LATER, queries=("qau.csv",)) == COUNTED[rule]
    week = AV_HEAD + bar.replace("07-03", "07-05")
    assert publish_bars(lake, PERIODS, week, LATER, tickers=("QAU",), options={"period": "week"}) == late
    with connect(COUNTED[rule], lake=lake, datasets=["own_bars"]) as session:
        answer = session.sql("SELECT count(*) FROM own_bars")
        assert (answer.rows(), answer.receipt.question.bars_count_from) == ([(1,)], rule)
    for other in set(RULES) - {rule}:
        with pytest.raises(BadInput, match=rf"in this lake, bars become available at: {re.escape(rule)}"):
            lake.count_bars_from(other)
    assert cli.invoke(["describe", "own_bars", "--lake", str(lake.root), "--format", "json"]) == 0
    assert json.loads(capfd.readouterr().out)["counts_from"] == rule


def test_the_bar_rule_of_a_lake_with_bars_is_fixed_and_unknown_rules_are_refused(tmp_path):
    lake = Lake(tmp_path / "lake")
    with pytest.raises(BadInput, match="give close, close \\+ 15 minutes or next day"):
        lake.count_bars_from("open")
    assert publish_bars(lake, DAILY, f"{AV_HEAD}2024-07-03,1,1,1,1,5\n", LATER, tickers=("QAU",)) == CLOSES
    with pytest.raises(BadInput, match="bars become available at: close"):
        lake.count_bars_from("next day")
    assert lake.bars_count_from == "close"


@pytest.mark.parametrize(
    ("fetched_at", "expected"), [(CLOSES + timedelta(minutes=14), None), (LATER, COUNTED[RULES[1]])]
)
def test_a_bar_is_published_only_if_fetched_after_the_instant_it_counts_from(tmp_path, fetched_at, expected):
    lake = Lake(tmp_path / "lake")
    lake.count_bars_from(RULES[1])
    assert publish_bars(lake, DAILY, f"{AV_HEAD}2024-07-03,1,1,1,1,5\n", fetched_at, tickers=("QAU",)) == expected


FUND, SHARE = "2024-07-03,1,1,1,1,0\n", "2024-07-02,1,1,1,1,7\n"


@pytest.mark.parametrize(
    ("before", "answer", "expected"),
    [("", FUND, ENDS), ("", FUND + SHARE, datetime(2024, 7, 2, 20, tzinfo=timezone.utc)), (SHARE, FUND, CLOSES)],
    ids=["no volume", "a volume in the answer", "a volume in the lake"],
)
def test_bars_without_any_volume_count_at_the_end_of_their_day(tmp_path, before, answer, expected):
    lake = Lake(tmp_path / "lake")
    if before:
        publish_bars(lake, DAILY, AV_HEAD + before, CLOSES - timedelta(hours=1), tickers=("VFINX",))
    publish_bars(lake, DAILY, AV_HEAD + answer, LATER, tickers=("VFINX",))
    with connect(lake=lake, open_mode=True, datasets=["av_daily_bars"]) as session:
        last = (
            "SELECT available_at FROM av_daily_bars WHERE volume = 0"
            if before
            else "SELECT min(available_at) FROM av_daily_bars"
        )
        assert session.sql(last).rows() == [(expected,)]


def test_funds_and_shares_in_one_file_are_dated_by_their_own_volume_histories(tmp_path):
    lake = Lake(tmp_path / "lake")
    bars = ("2024-07-03,VFINX,1,1,1,1,0", "2024-07-03,qau,1,1,1,1,0", "2024-07-02,qau,1,1,1,1,9")
    lines = "\n".join(("date,ticker,open,high,low,close,volume", *bars, ""))
    publish_bars(lake, DROP, lines, LATER, queries=("mine.csv",))
    with connect(lake=lake, open_mode=True, datasets=["own_bars"]) as session:
        counted = dict(session.sql("SELECT ticker, max(available_at) FROM own_bars GROUP BY ticker").rows())
    assert counted == {"VFINX": ENDS, "QAU": CLOSES}


@pytest.mark.parametrize(("after", "fresh"), [(None, False), (timedelta(days=2), True), (timedelta(days=4), False)])
def test_freshness_is_measured_against_the_end_of_the_lakes_world_when_set(tmp_path, after, fresh):
    lake = Lake(tmp_path / "lake")
    if after is not None:
        lake.end_at(CREATED + after)
    published = publish(lake, "news", [article(1, "Title", CREATED)])
    (check,) = (check for check in published.checks if check.name == "freshness")
    assert check.passed is fresh
    assert ("news" not in dict(stale_datasets(lake, clock.now()))) is fresh
    (news,) = (each for each in site.read(lake).shown if each.dataset.name == "news")
    assert news.freshness.passed is fresh


def test_the_end_of_a_lakes_world_cannot_be_changed_once_set(tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.end_at(CREATED)
    lake.end_at(CREATED)
    with pytest.raises(BadInput, match="the world of this lake ends at 2024-02-14T21:30:00Z"):
        lake.end_at(CREATED + timedelta(days=1))
