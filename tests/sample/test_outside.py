"""The demo's external sources: bundled captures replay without a network and give the expected answers."""

import json

import pytest

from assets.drops import all_drops
from assets.drops.factory import DropConfig
from assets.drops.receiving import publish, receive
from assets.external import feed
from assets.feeds.factory import FeedConfig
from assets.feeds.runs import run_feed
from assets.order import in_order
from pipelines.definitions import build_definitions
from pipelines.earnings import BUNDLES
from pitlake import cli
from pitlake.datasets import all_datasets
from pitlake.errors import NotCaptured
from pitlake.gate.rules import check_envelope
from pitlake.lake.lake import Lake
from pitlake.session import connect
from resources.http.capture import CaptureStore, Request
from resources.http.client import HttpClient
from sample import demo, outside
from sample.bundled import captured, find, providers
from tests.every import every

PIT = "2024-02-15T16:00:00-05:00"
TYPED = ("alphavantage EARNINGS symbol=AAPL", "yahoo consensus symbol=AAPL", "bz-news-api --themes macro --limit 50")
HOSTS = {"alphavantage": "www.alphavantage.co", "yahoo": "query2.finance.yahoo.com"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A lake into which the bundled captures were replayed."""
    lake = Lake(tmp_path_factory.mktemp("outside") / "lake")
    assert outside.unpack(lake) > len(outside.SCOPES)
    for name in in_order(outside.SCOPES):
        item = feed(name)
        with HttpClient(item.provider, CaptureStore.of(lake.root), "replay") as client:
            report = run_feed(item, outside.SCOPES[name], client, lake, run_id="demo")
        assert report.outcome.total.published
    return lake


@pytest.mark.parametrize("question", outside.QUESTIONS, ids=lambda question: question.concept)
def test_a_question_has_different_answers_as_of_its_two_instants(lake, question, capsys):
    demo.show(lake, question)
    output = capsys.readouterr().out
    assert question.answer_before != question.answer_after
    assert output.count(f"from {question.told_by}") == 2


@pytest.mark.parametrize("dataset", ["av_earnings", "yahoo_earnings"])
def test_with_polls_of_splits_figures_per_share_are_available_from_their_report(lake, dataset):
    question = f"SELECT reported_eps FROM {dataset} WHERE ticker = 'QACB' ORDER BY available_at DESC"
    with connect("2024-05-29T17:00:00-04:00", lake=lake, datasets=[dataset], isolation="in_process") as session:
        assert session.sql(question).rows()[0] == (1.53,)


@pytest.mark.parametrize("words", TYPED)
def test_a_fetch_command_finds_real_figures_and_none_after_the_cut_off(lake, capfdbinary, words):
    line = ["fetch", "--source", *words.split(), "--pit", PIT, "--lake", lake.location]
    assert cli.invoke(line) == 0
    payload = json.loads(capfdbinary.readouterr().out)
    assert check_envelope(payload, PIT) is None
    assert payload["data"], payload["gaps"]
    if "AAPL" in words:
        newest = max(payload["data"], key=lambda item: item["available_at"])
        assert (newest["reportedEPS"], newest["evidence"].split("/")[2]) == (2.18, HOSTS[words.split()[0]])


def test_the_run_config_requests_the_same_scopes(lake):
    configs = outside.run_config()
    for name, scope in outside.SCOPES.items():
        assert FeedConfig(**configs[name]["config"]).scope() == scope
        assert configs[name]["config"]["mode"] == "replay"
    assert set(configs) == {*outside.SCOPES, *all_drops()}


def test_the_bundled_drop_files_become_rows_of_every_drop_dataset(tmp_path):
    lake = Lake(tmp_path / "lake")
    store = CaptureStore.of(lake.root)
    for name, dropped in all_drops().items():
        assert receive(dropped, DropConfig(**outside.run_config()[name]["config"]).path(name), store, settled=0)
        reports = list(publish(dropped, store, lake, run_id="demo"))
        assert every(report.outcome.total.published for report in reports)
    assert len(lake.snapshot().files("market_quotes")) >= 1


def test_the_demo_runs_every_dataset_that_has_an_asset():
    assert len(set(demo.chosen())) == len(demo.chosen())
    assets = {spec.key.to_user_string() for spec in build_definitions().resolve_all_asset_specs()}
    assert {*demo.chosen(), *BUNDLES} == assets & set(all_datasets())


def test_a_request_without_a_bundled_answer_is_not_captured():
    assert find("alfred", "GET", "series/observations", {"series_id": "nowhere"}) is None
    assert {"alfred", "sec_edgar"} <= set(providers())
    with pytest.raises(NotCaptured):
        captured(feed("macro_panels").provider, Request("1900-01-md.csv"), outside.FETCHED_AT)
