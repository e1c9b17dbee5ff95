"""The providers of fetch: data as of the instant, gaps that name empty datasets, and receipts that replay."""

import asyncio
import json
from datetime import date, timedelta

import pytest

from assets.derived import text_vectors
from forge.providers import all_providers, provider
from forge.providers.base import SUMMARY_CHARACTERS, At, moving_sessions
from pitlake.answers import receipts
from pitlake.clock import iso
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from tests.derived.conftest import OBSERVED, put_rows, utc
from tests.every import every

T = utc("2014-06-01T12:00:00Z")
LATER = T + timedelta(days=30)


def gdp(vintage, value):
    at = utc(f"{vintage}T12:30:00Z")
    names = {"series_id": "GDP", "observation_date": date(2014, 1, 1), "vintage_date": date.fromisoformat(vintage)}
    return names | {"value": value, "withdrawn": False, "available_at": at}


def quote(tenor, value, at=T):
    names = {"kind": "curve", "instrument": "USD", "tenor": tenor, "point": "outright", "measure": "zero_rate"}
    return names | {"quoted_on": date(2014, 5, 30), "value": value, "unit": "percent", "available_at": at}


def article(number, title, at=T, ticker="QBG"):
    names = {"id": f"bzNews_{number}", "ticker": ticker, "tickers": [ticker], "title": title}
    return names | {"created": at, "updated": at, "available_at": at, "channels": ["Macro"]}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    lake = Lake(tmp_path_factory.mktemp("providers") / "lake")
    vintages = (("2014-04-30", 17149.6), ("2014-05-29", 17101.3), ("2014-06-25", 17016.0))
    put_rows(lake, "macro_observations", *(gdp(day, value) for day, value in vintages))
    put_rows(lake, "market_quotes", quote("1Y", 1.0), quote("2Y", 2.0), quote("5Y", 3.0, LATER))
    put_rows(lake, "news", article(1, "Fed raises rates"), article(2, "Apple pie recipe"))
    put_rows(lake, "news", article(3, "Fed cuts", LATER))
    note = {"note": "a/x.md", "publisher": "a", "format": "markdown", "title": "Rates", "text": "duration is cheap"}
    put_rows(lake, "research_notes", note | {"available_at": T})
    page = {"url": "https://a.example", "host": "a.example", "title": "Rates", "text": "a pause", "available_at": T}
    put_rows(lake, "web_pages", page | {"claim_method": "served", "claim_quote": "date", "claims": "[]"})
    text_vectors.derive(lake, run_id="vectors", observed_at=OBSERVED)
    return lake


def fetch(lake, source, at=T, **params):
    return asyncio.run(provider(source).fetch(params, At(as_of=at, lake=lake.root)))


def test_t3_the_six_sources_are_there_by_name():
    assert set(all_providers()) == {"economic", "market", "news", "research", "web", "analytics"}
    assert every(name == each.name and each.summary for name, each in all_providers().items())
    with pytest.raises(BadInput, match="choose one of economic"):
        provider("bloomberg")


@pytest.mark.parametrize(
    ("source", "params", "column", "result"),
    [
        ("economic", {"series": ["GDP"]}, "value", [17101.3]),
        ("economic", {"op": "vintages", "series": "GDP", "period": "2014-01-01"}, "value", [17149.6, 17101.3]),
        ("economic", {"op": "release", "day": "2014-05-29"}, "previous_value", [17149.6]),
        ("market", {"kind": "curve"}, "tenor", ["1Y", "2Y"]),
        ("news", {}, "id", ["bzNews_1", "bzNews_2"]),
        ("news", {"op": "meaning", "query": "central bank lifts interest rates"}, "id", ["bzNews_1"]),
        ("news", {"op": "search", "query": "pie"}, "id", ["bzNews_2"]),
        ("research", {}, "note", ["a/x.md"]),
        ("web", {"query": "pause"}, "url", ["https://a.example"]),
    ],
)
def test_t3_a_source_answers_with_what_was_public_and_no_more(lake, source, params, column, result):
    answer = fetch(lake, source, **params)
    assert [row[column] for row in answer.rows] == result
    assert answer.gaps == ()
    assert every(row["available_at"] <= iso(T) for row in answer.rows)
    assert answer.available_at <= iso(T)
    assert answer.label.startswith(source)


def test_t3_an_answers_receipt_replays_to_the_same_value(lake):
    answer = fetch(lake, "economic", series=["GDP"])
    (receipt,) = answer.receipts
    assert (receipt.as_of, receipt.version) == (iso(T), lake.head())
    assert receipts.replay(receipt, lake=lake.root).rows()[0][5] == 17101.3
    assert answer.evidence == ("macro_observations:20140529123000:1",)


@pytest.mark.parametrize(
    ("source", "params", "empty"),
    [
        ("market", {"op": "price", "ticker": "QBG"}, "prices"),
        ("research", {"op": "estimates", "ticker": "QBG"}, "av_estimates"),
        ("research", {"op": "grades", "ticker": "QBG"}, "yahoo_upgrades"),
        ("analytics", {"op": "option", "ticker": "QBG", "strike": 1, "years": 1, "volatility": 0.2}, "prices"),
    ],
)
def test_t3_a_source_says_which_dataset_is_empty(lake, source, params, empty):
    answer = fetch(lake, source, **params)
    assert answer.rows == ()
    assert {gap["type"] for gap in answer.gaps} == {"no_data"}
    assert any(f"no rows of {empty} " in gap["reason"] for gap in answer.gaps)


def test_t3_an_empty_answer_reveals_nothing_of_the_future(lake):
    early = T - timedelta(days=400)
    assert fetch(lake, "news", early).gaps == fetch(lake, "news", early - timedelta(days=1)).gaps
    unmatched = fetch(lake, "news", ticker="ZZZ").gaps
    assert [gap["type"] for gap in unmatched] == ["no_data"]


@pytest.mark.parametrize(
    ("source", "params"),
    [
        ("market", {"op": "price"}),
        ("news", {}),
        ("analytics", {"op": "option", "strike": 1, "years": 1, "volatility": 0.2}),
    ],
)
def test_t3_an_answer_notes_how_a_ticker_was_read(lake, source, params):
    answer = fetch(lake, source, ticker="ZZZ", **params)
    note = "ZZZ: no company is known by it as of 2014-06-01"
    assert note in answer.format_summary()
    assert note in json.loads(answer.format_full())["notes"][0]
    assert answer.notes == tuple(dict.fromkeys(answer.notes))
    assert "notes" not in json.loads(fetch(lake, "economic", series=["GDP"]).format_full())


def test_t3_a_summary_is_length_limited_and_the_full_text_has_every_row(lake):
    answer = fetch(lake, "news")
    assert "2 rows" in answer.format_summary()
    assert "Fed raises rates" in answer.format_summary()
    assert len(answer.format_summary()) <= SUMMARY_CHARACTERS
    document = json.loads(answer.format_full())
    assert len(document["data"]) == 2
    assert [set(each) for each in document["receipts"]] == [{"question", "answer"}]


@pytest.mark.parametrize(
    ("source", "params", "complaint"),
    [
        ("economic", {"op": "guess"}, "choose from latest"),
        ("economic", {}, "series"),
        ("economic", {"series": ["GDP"], "pit": "2030-01-01T00:00:00Z"}, "pit"),
        ("news", {"op": "meaning"}, "query"),
        ("news", {"op": "meaning", "query": "x", "as_of": "2030"}, "as_of"),
        ("analytics", {"op": "kelly", "probability": 0.6, "win": 1, "as_of": "x"}, "it takes probability, win, loss"),
        ("analytics", {"op": "kelly", "probability": "0.6", "win": 1}, "probability"),
        ("analytics", {"op": "payoff", "legs": [{"strike": 1, "quantity": 1, "x": 1}]}, "x"),
        ("analytics", {"op": "duration", "coupon": float("nan"), "years": 1, "yield": 0.1}, "coupon"),
    ],
)
def test_t3_invalid_parameters_of_a_source_are_refused_by_name(lake, source, params, complaint):
    with pytest.raises(BadInput, match=complaint):
        fetch(lake, source, **params)


def test_k2_a_curve_uses_public_quotes_with_their_dates_and_evidence(lake):
    answer = fetch(lake, "analytics", op="curve", instrument="USD")
    assert [(row["years"], row["zero"]) for row in answer.rows] == [(1, 0.01), (2, 0.02)]
    assert answer.rows[1]["forward"] == pytest.approx(0.03)
    assert {row["available_at"] for row in answer.rows} == {iso(T)}
    assert (len(answer.evidence), len(answer.receipts)) == (2, 1)
    assert len(fetch(lake, "analytics", LATER, op="curve", instrument="USD").rows) == 3


def test_k2_figures_computed_from_the_callers_numbers_cite_no_evidence(lake):
    stake = fetch(lake, "analytics", op="kelly", probability=0.6, win=1.0)
    assert [row["stake"] for row in stake.rows] == [pytest.approx(0.2)]
    assert (stake.evidence, stake.receipts, stake.available_at) == ((), (), iso(T))
    legs = [{"kind": "call", "strike": 100, "quantity": 1, "premium": 5}]
    (row,) = fetch(lake, "analytics", op="payoff", legs=legs).rows
    assert (row["most"], row["least"], row["breakevens"]) == (None, -5, [105])
    tree = [{"name": "a", "probability": 0.5, "value": 1}, {"name": "b", "probability": 0.5, "value": 3}]
    assert fetch(lake, "analytics", op="scenario_tree", branches=tree).rows[-1]["value"] == 2
    (bond,) = fetch(lake, "analytics", op="duration", coupon=0.05, years=10, **{"yield": 0.05}).rows
    assert bond["price"] == pytest.approx(1)
    (option,) = fetch(lake, "analytics", op="option", kind="put", spot=100, strike=100, years=1, volatility=0.2).rows
    assert option["price"] == pytest.approx(7.965567, abs=1e-6)


def test_k2_a_z_score_needs_a_history(lake):
    with pytest.raises(BadInput, match="values"):
        fetch(lake, "analytics", op="zscore", series="GDP")


def test_moving_sessions_in_a_backtest_answer_like_newly_opened_sessions(lake):
    instants = [utc("2014-05-01T12:00:00Z"), T, LATER]
    question = [("economic", {"op": "series", "series": "GDP"}), ("news", {"op": "latest", "ticker": "QBG"})]
    handle = [fetch(lake, source, at, **params) for at in instants for source, params in question]
    with moving_sessions():
        moved = [fetch(lake, source, at, **params) for at in instants for source, params in question]
        with At(as_of=LATER, lake=lake.root).open(("macro_observations",)) as session:
            process = session._backend.pid
        with At(as_of=LATER + timedelta(days=1), lake=lake.root).open(("macro_observations",)) as session:
            assert session.as_of == LATER + timedelta(days=1)
            moved_process = session._backend.pid
        pinned = At(as_of=LATER, lake=lake.root).pinned()
        again = [asyncio.run(provider(source).fetch(params, pinned)) for source, params in question * 2]
        assert [fetched.rows for fetched in again] == [fetched.rows for fetched in handle[-2:]] * 2
        assert again[0].rows is again[2].rows
    assert moved == handle
    assert len({answer.format_full() for answer in handle}) == len(handle)
    assert process == moved_process
