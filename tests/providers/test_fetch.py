"""`pitlake fetch` queries one source as of an instant. No response contains later data, even after faults."""

import json
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.fetch.answering import answer
from pipelines.fetch.operations import OPERATIONS
from pitlake import cli, clock
from pitlake.clock import instant, iso
from pitlake.gate.rules import check_envelope
from pitlake.lake.lake import Lake
from pitlake.report import site
from pitlake.session import connect
from sample import bundled
from tests.answers import poll_without_splits
from tests.every import every
from tests.providers.faults import CASES, always
from tests.providers.server import Reply

ROOT = Path(__file__).resolve().parents[2]
PIT = "2024-02-02T09:00:00-05:00"
FIRST = "2024-02-01T20:31:02Z"  # the first article's instant
VANTAGE = ("earnings", "estimates", "calendar", "daily", "weekly", "monthly")
ASKED = {
    ("benzinga", ""): {"date_from": "2024-02-01", "date_to": "2024-02-01"},
    ("perplexity", "search"): {"query": ["phones results"]},
    ("perplexity", "ask"): {"query": ["what did phones earn?"]},
    **{("alphavantage", op): {"symbol": "QACB"} for op in VANTAGE},
    **{("yahoo", op): {"symbol": "QACB"} for op in ("earnings", "upgrades")},
    ("polygon", "dividends"): {"symbol": "QAU"},
    ("alfred", ""): {"symbol": "GDP"},
    ("earningscall", "slides"): {"symbol": "NASDAQ:QACB", "quarters": "2024Q1"},
    ("sec_full_text", ""): {"query": ["hedging"], "headers": "all"},
}
VERBATIM = (
    "--source alphavantage EARNINGS symbol=QACB",
    *(f"--source alphavantage TIME_SERIES_{period} symbol=QACB" for period in ("DAILY", "WEEKLY", "MONTHLY")),
    "--source alphavantage EARNINGS_ESTIMATES symbol=QACB",
    "--source alphavantage EARNINGS_CALENDAR symbol=QACB",
    "--source yahoo consensus symbol=QACB",
    "--source bz-news-api --date-from 2024-02-01 --limit 50",
    "--source sec_full_text --query hedging",
    "--source earningscall slides symbol=NASDAQ:QACB quarters=2024Q1",
)
"""Commands as each source's users and the agents' first plan write them."""
INVALID = ("", " ", "junk", "2024-02-15", "2024-02-15T16:00:00", "2024-13-01T00:00:00Z", "null", "None", "now", "0")


def given_for(source, op, **more):
    return {"source": source, "op": op} | ASKED[source, op] | more


@pytest.fixture(scope="module")
def filled(loopback, tmp_path_factory) -> Lake:
    """A lake in which every query was run once over the network."""
    loopback.behave()
    lake = Lake(tmp_path_factory.mktemp("filled") / "lake")
    poll_without_splits(lake, "QACB", at=clock.now())
    for source, op in ASKED:
        payload, metadata = answer(given_for(source, op, live=True), lake=lake)
        assert payload["data"], (source, op, payload, metadata)
    return lake


@pytest.mark.sampled(13)
@pytest.mark.parametrize(("source", "op"), ASKED)
@pytest.mark.parametrize("pit", INVALID)
def test_an_invalid_cut_off_gives_no_data_and_sends_no_request(filled, server, source, op, pit):
    payload, _ = answer(given_for(source, op, pit=pit, live=True), lake=filled)
    assert payload["data"] == []
    assert [gap["type"] for gap in payload["gaps"]] == ["bad_input"]
    assert server.asked == []


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    which=st.sampled_from(sorted(ASKED)),
    pit=st.datetimes(datetime(2013, 1, 1), datetime(2027, 1, 1), timezones=st.just(timezone.utc)),  # noqa: DTZ001
)
def test_no_item_is_from_after_the_cut_off(filled, which, pit):
    payload, _ = answer(given_for(*which, pit=iso(pit)), lake=filled)
    assert check_envelope(payload, iso(pit)) is None
    assert [item for item in payload["data"] if instant(item["available_at"]) > pit] == []
    assert payload["data"] or payload["gaps"]


@pytest.mark.parametrize(("off", "is_visible"), [(-1, False), (0, True), (1, True)], ids=["before", "at", "after"])
def test_the_cut_off_is_exact_to_the_microsecond(filled, off, is_visible):
    pit = iso(instant(FIRST) + timedelta(microseconds=off))
    payload, _ = answer(given_for("benzinga", "", pit=pit), lake=filled)
    assert ("41000001" in {item["id"] for item in payload["data"]}) is is_visible


def test_fetched_data_is_stored_in_the_lake_and_not_requested_again(filled, server):
    for source, op in ASKED:
        again, metadata = answer(given_for(source, op, live=True), lake=filled)
        assert again["data"]
        assert "version" not in "".join(metadata)
    missing = {ask.path for ask in server.asked if ask.path.endswith(".hdr.sgml")}  # a refused request is repeated
    assert {ask.path for ask in server.asked} - missing <= {"", "v1/test/getcrumb"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("line", VERBATIM)
def test_commands_in_the_spelling_of_each_source_find_data(filled, capfdbinary, line):
    pit = ["--pit", iso(datetime.now(timezone.utc))]
    assert cli.invoke(["fetch", *line.split(), *pit, "--lake", filled.location]) == 0
    payload = json.loads(capfdbinary.readouterr().out)
    assert payload["data"], payload["gaps"]
    assert check_envelope(payload, pit[1]) is None


def test_without_live_no_request_is_sent(tmp_path, server):
    for source, op in ASKED:
        payload, _ = answer(given_for(source, op), lake=Lake(tmp_path))
        assert payload["data"] == []
        assert "--live" in payload["gaps"][0]["reason"]
    assert server.asked == []


def test_without_an_api_key_stored_data_is_still_returned_with_a_gap(filled, server, monkeypatch):
    for variable in ("BENZINGANEWS_API_KEY", "BENZINGA_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    question = given_for("benzinga", "", pit="2025-01-01T00:00:00Z", live=True, tickers="QACB")
    payload, _ = answer(question, lake=filled)
    assert payload["data"]
    assert payload["gaps"][0]["type"] == "upstream_error"


@pytest.mark.parametrize("key", ["short", "a-key-that-nobody-has"])
def test_a_wrong_api_key_is_reported_as_bad_input(tmp_path, loopback, monkeypatch, key):
    loopback.behave()
    monkeypatch.setenv("PERPLEXITY_API_KEY", key)
    if key != "short":
        loopback.behave(lambda _ask, _reply: Reply(401, b"<html>no</html>", {"content-type": "text/html"}))
    payload, _ = answer(given_for("perplexity", "search", live=True), lake=Lake(tmp_path / "lake"))
    assert (payload["data"], {gap["type"] for gap in payload["gaps"]}) == ([], {"bad_input"})


def test_earnings_as_of_an_instant_always_say_that_later_earnings_are_excluded(filled):
    question = given_for("alphavantage", "earnings")
    cut, late, session = (
        answer(question | more, lake=filled)[0]
        for more in ({"pit": "2024-01-01T00:00:00Z"}, {"pit": iso(clock.now())}, {})
    )
    (gap,) = (gap for gap in cut["gaps"] if gap["type"] == "pit_excluded")
    assert cut["gaps"] == late["gaps"]
    assert gap not in session["gaps"]
    assert cut["data"]
    assert len(cut["data"]) < len(late["data"])
    assert not any(letter.isdigit() for letter in gap["reason"])


def test_an_answer_cut_by_its_limit_is_marked_as_truncated(filled):
    payload, metadata = answer(given_for("alphavantage", "earnings", limit="1"), lake=filled)
    every_item, _ = answer(given_for("alphavantage", "earnings"), lake=filled)
    assert (payload["truncated"], metadata["truncated"], "truncated" in every_item) == (True, True, False)


def test_data_as_of_its_download_is_not_shown_before_the_download(filled):
    for op in ("estimates", "calendar"):
        payload, _ = answer(given_for("alphavantage", op, pit="2025-01-01T00:00:00Z"), lake=filled)
        assert payload["data"] == []
        assert payload["gaps"][0]["type"] == "pit_excluded"


def test_prose_is_shown_only_in_open_mode(filled):
    session, _ = answer(given_for("perplexity", "ask"), lake=filled)
    cut, _ = answer(given_for("perplexity", "ask", pit="2026-11-01T00:00:00Z"), lake=filled)
    assert [item["record_type"] for item in session["data"] if "record_type" in item] == ["synthesis"]
    assert not any("answer" in item for item in cut["data"])


@pytest.mark.parametrize(
    ("more", "ids"),
    [
        ({"tickers": "qacb"}, {"41000001"}),
        ({"keywords": "three numbers"}, {"41000001"}),
        ({"themes": "macro"}, {"41000003"}),
        ({"themes": "oil"}, {"41000003"}),
        ({"channels": "nothing like it"}, set()),
        ({"limit": "1"}, None),
    ],
)
def test_filters_apply_before_the_limit(filled, more, ids):
    payload, _ = answer(given_for("benzinga", "", **more), lake=filled)
    shown_ids = {item["id"] for item in payload["data"]}
    assert len(shown_ids) == 1 if ids is None else ids <= shown_ids
    assert shown_ids or payload["gaps"]


def test_items_state_their_new_york_time_and_their_source(filled):
    [first, *_] = answer(given_for("alphavantage", "earnings"), lake=filled)[0]["data"]
    assert first["available_at"].endswith(("-04:00", "-05:00"))
    assert first["available_at_source"] == "provider_metadata"
    assert {"record_type", "fiscalDateEnding", "reportedDate", "reportedEPS", "evidence"} <= set(first)


def test_an_input_file_answers_as_the_source_would(filled, server):
    file = ROOT / "sample/external/benzinga/2024-02-01_page0.json"
    payload, _ = answer(given_for("benzinga", "", pit=FIRST, input_file=str(file)), lake=filled)
    assert "41000001" in {item["id"] for item in payload["data"]}
    assert every(instant(item["available_at"]) <= instant(FIRST) for item in payload["data"])
    assert server.asked == []


def test_items_of_an_input_file_that_may_not_be_shown_are_gaps(filled, tmp_path):
    file = tmp_path / "answer.json"
    pages = [{"url": f"https://example.com/{day}", "title": "A", "snippet": "B", "date": day} for day in (None, LATER)]
    file.write_text(json.dumps({"results": pages}))
    payload, _ = answer(given_for("perplexity", "search", pit=FIRST, input_file=str(file), query=["q"]), lake=filled)
    assert payload["data"] == []
    assert {gap["type"] for gap in payload["gaps"]} == {"unverifiable", "pit_excluded", "no_data"}


@pytest.mark.parametrize("op", ["ask", "reason", "research"])
def test_prose_of_an_input_file_is_shown_only_in_open_mode(filled, op):
    file = str(ROOT / "sample/external/perplexity/ask_phones.json")
    session, _ = answer(given_for("perplexity", "ask", input_file=file) | {"op": op}, lake=filled)
    assert [item["record_type"] for item in session["data"] if "record_type" in item] == ["synthesis"]
    assert [item["answer"] for item in session["data"] if "answer" in item] == ["They earned more than before [1]."]
    assert [item["url"] for item in session["data"] if "url" in item] == ["https://www.example.com/earned"]
    cut, _ = answer(given_for("perplexity", "ask", input_file=file, pit=PIT) | {"op": op}, lake=filled)
    assert cut["data"] == []


def test_an_input_file_may_hold_a_bare_list_or_an_object(filled, tmp_path):
    file = tmp_path / "answer.json"
    hit = {"url": "https://example.com/a", "title": "A", "snippet": "B", "date": "2024-02-01T16:30:00Z"}
    for content in ([hit, hit], {"items": [hit]}, {"results": [hit | {"snippet": "Longer"}, hit]}):
        file.write_text(json.dumps(content))
        payload, _ = answer(given_for("perplexity", "search", input_file=str(file), query=["q"]), lake=filled)
        assert [item["url"] for item in payload["data"]] == ["https://example.com/a"]


LATER = "2025-01-01"

FAULTY = [
    ["--source", "nowhere"],
    ["--source", "yahoo", "--op", "earnings"],
    ["--source", "benzinga", "--limit", "many"],
    ["--source", "benzinga", "--date-from", "yesterday"],
    ["--source", "benzinga", "--what", "is this"],
    ["--source", "benzinga", "--input-file", "/nowhere"],
    ["--source", "perplexity", "search"],
    ["--source"],
    [],
]


@pytest.mark.parametrize("arguments", FAULTY, ids=" ".join)
def test_faulty_arguments_still_give_an_envelope_on_stdout_and_exit_code_0(filled, capfdbinary, arguments):
    code = cli.invoke(["fetch", "--lake", str(filled.root), *arguments])
    output = capfdbinary.readouterr()
    payload = json.loads(output.out)
    assert code == 0
    assert set(payload) == {"data", "gaps"}
    assert payload["data"] == []
    assert {gap["type"] for gap in payload["gaps"]} == {"bad_input"}
    assert isinstance(json.loads(output.err), dict)


@pytest.mark.parametrize("series", ["DAILY", "WEEKLY", "MONTHLY"])
@pytest.mark.parametrize("pit", [[], ["--pit", "2024-05-29T17:00:00-04:00"]], ids=["open", "pit"])
def test_adjusted_prices_are_a_gap_that_says_why(filled, capfdbinary, series, pit):
    """A later split changes every earlier adjusted price, so none of them is the price that was public at the time."""
    words = ["--source", "alphavantage", f"TIME_SERIES_{series}_ADJUSTED", "symbol=QACB", *pit]
    assert cli.invoke(["fetch", "--lake", str(filled.root), *words]) == 0
    payload = json.loads(capfdbinary.readouterr().out)
    assert payload["data"] == []
    (gap,) = payload["gaps"]
    assert gap["type"] == "unverifiable"
    assert "TIME_SERIES_DAILY" in gap["reason"]


@pytest.mark.parametrize(("op", "starts"), [("weekly", "2024-07-01"), ("monthly", "2024-06-01")])
def test_weekly_and_monthly_bars_are_not_mixed(filled, op, starts):
    payload, _ = answer(given_for("alphavantage", op), lake=filled)
    assert {item["record_type"] for item in payload["data"]} == {f"{op}_bar"}
    assert {item["period"] for item in payload["data"]} == {op.removesuffix("ly")}
    assert max(item["period_start"] for item in payload["data"]) == starts


def test_of_items_with_the_same_id_the_newest_before_the_cut_off_is_shown(tmp_path):
    def article(updated, title):
        return {"id": 7, "title": title, "body": "b", "created": "2024-02-01T10:00:00-05:00", "updated": updated}

    file, at = tmp_path / "items.json", "2024-02-01T{}:00:00-05:00"
    titles = {"11": "first", "12": "second", "14": "third"}
    file.write_text(json.dumps([article(at.format(hour), title) for hour, title in titles.items()]))
    for pit, title in ((at.format("13"), "second"), (None, "third")):
        payload, _ = answer({"source": "benzinga", "input_file": str(file), "pit": pit}, lake=Lake(tmp_path / "none"))
        assert [item["title"] for item in payload["data"]] == [title]


def test_the_wrapper_script_runs_the_fetch_command(filled):
    script = ROOT / ".claude/skills/earnings-orchestrator/scripts/pit_fetch.py"
    arguments = [
        "--source",
        "alphavantage",
        "--pit",
        "2026-11-01T00:00:00Z",
        "earnings",
        "symbol=QACB",
        "--lake",
        filled.root,
    ]
    command = [sys.executable, script, *arguments]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    payload = json.loads(process.stdout)
    assert {item["symbol"] for item in payload["data"]} == {"QACB"}
    assert check_envelope(payload, "2026-11-01T00:00:00Z") is None


def test_with_known_by_nothing_is_fetched_and_later_data_is_not_shown(filled, server):
    before, after = iso(filled.entry(0).committed_at), iso(filled.entry().committed_at)
    for source, op in ASKED:
        now, _ = answer(given_for(source, op), lake=filled)
        assert answer(given_for(source, op, known_by=after, live=True), lake=filled)[0]["data"] == now["data"]
        assert answer(given_for(source, op, known_by=before, live=True), lake=filled)[0]["data"] == []
    assert server.asked == []


@pytest.mark.parametrize("known_by", ["2026-03-05", "junk", "1999-01-01T00:00:00Z", "9999-01-01T00:00:00Z"])
def test_an_invalid_known_by_instant_gives_no_data(filled, known_by):
    payload, _ = answer(given_for("benzinga", "", known_by=known_by), lake=filled)
    assert payload["data"] == []
    assert "known" in payload["gaps"][0]["reason"]


def test_an_input_file_and_known_by_are_refused_together(filled):
    payload, _ = answer(given_for("benzinga", "", known_by="2026-01-01T00:00:00Z", input_file="a.json"), lake=filled)
    assert (payload["data"], "give only one of them" in payload["gaps"][0]["reason"]) == ([], True)


def test_every_operation_uses_an_existing_feed():
    from assets.external import all_feeds

    assert {operation.dataset for operation in OPERATIONS.values()} <= set(all_feeds())
    assert set(bundled.providers()) >= {"alfred", "alpha_vantage", "benzinga", "perplexity", "yahoo"}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("pit", [None, PIT], ids=["open", "pit"])
@pytest.mark.parametrize(("source", "op"), ASKED)
def test_a_failing_source_is_an_upstream_error_and_not_no_data(tmp_path, server, source, op, pit):
    server.behave(always(next(case for case in CASES if case.name == "503")))
    question = given_for(source, op, live=True) | ({"pit": pit} if pit else {})
    payload, _ = answer(question, lake=Lake(tmp_path / "lake"), pause=lambda _: None)
    kinds = {gap["type"] for gap in payload["gaps"]}
    assert payload["data"] == []
    assert "upstream_error" in kinds
    assert "no_data" not in kinds


RESULTS = [
    {"url": "https://a.com/before", "title": "a", "snippet": "s", "date": "2024-06-13", "last_updated": "2024-06-13"},
    {
        "url": "https://a.com/rewritten",
        "title": "a",
        "snippet": "s",
        "date": "2024-06-12",
        "last_updated": "2025-06-20",
    },
    {"url": "https://a.com/day-of", "title": "b", "snippet": "s", "date": "2024-06-14", "last_updated": "2024-06-14"},
    {"url": "https://a.com/after", "title": "c", "snippet": "s", "date": "2024-06-15"},
    {"url": "https://a.com/clock", "title": "d", "snippet": "s", "date": "2024-06-14T10:00:00-04:00"},
    {"url": "https://a.com/late", "title": "e", "snippet": "s", "date": "2024-06-14T16:00:01-04:00"},
    {"url": "https://a.com/undated", "title": "f", "snippet": "s"},
]
CLAIMED_AT = "2024-06-14T16:00:00-04:00"


@pytest.fixture
def believing(monkeypatch):
    monkeypatch.setenv("PITLAKE_PROVIDER_DATES", "perplexity")


@pytest.mark.parametrize(
    ("op", "names"), [("search", "results"), ("ask", "search_results"), ("reason", "search_results")]
)
def test_provider_dates_are_trusted_if_configured(tmp_path, believing, op, names):
    file, lake = tmp_path / "answer.json", Lake(tmp_path / "none")
    file.write_text(json.dumps({names: RESULTS, "choices": [{"message": {"content": "prose"}}], "citations": []}))
    question = {"source": "perplexity", "op": op, "query": ["q"], "input_file": str(file), "pit": CLAIMED_AT}
    payload, metadata = answer(question, lake=lake)
    assert {item["url"][14:]: item["available_at"] for item in payload["data"]} == {
        "before": "2024-06-14T00:00:00-04:00",
        "clock": "2024-06-14T10:00:00-04:00",
    }, "the text of `rewritten` is dated after the cut-off by the provider itself"
    assert {item["dated_by"] for item in payload["data"]} == {"provider_claim"}
    assert [gap["type"] for gap in payload["gaps"]] == ["unverifiable", "pit_excluded"]
    assert check_envelope(payload, CLAIMED_AT) is None
    assert metadata["dated_by_provider_claim"] == 2
    assert not (tmp_path / "none").exists()


def test_provider_dates_are_not_trusted_by_default_or_together_with_known_by(tmp_path, monkeypatch, filled):
    file = tmp_path / "answer.json"
    file.write_text(json.dumps({"results": RESULTS}))
    question = {"source": "perplexity", "op": "search", "query": ["q"], "pit": CLAIMED_AT}
    assert answer(question | {"input_file": str(file)}, lake=filled)[0]["data"] == []
    monkeypatch.setenv("PITLAKE_PROVIDER_DATES", "perplexity, yahoo")
    refused = answer(question | {"input_file": str(file)}, lake=filled)[0]
    assert (refused["data"], "'yahoo'" in refused["gaps"][0]["reason"]) == ([], True)
    monkeypatch.setenv("PITLAKE_PROVIDER_DATES", "perplexity")
    assert answer(question | {"known_by": iso(clock.now())}, lake=filled)[0]["data"] == []


def test_claimed_dates_come_from_captures_stay_out_of_the_lake_and_are_counted(tmp_path, believing, filled, server):
    at = "2026-10-01T00:00:00Z"
    question = given_for("perplexity", "search", pit=at, live=True)
    with connect(at, lake=filled) as session:
        before = session.sql("SELECT count(*) FROM web_results").rows()
    noted = filled.claims().get("perplexity", 0)
    payload, _ = answer(question, lake=filled)
    assert payload["data"]
    assert every(item["dated_by"] == "provider_claim" for item in payload["data"])
    with connect(at, lake=filled) as session:
        assert session.sql("SELECT count(*) FROM web_results").rows() == before
    assert filled.claims() == {"perplexity": noted + len(payload["data"])}
    site.write(site.read(filled), tmp_path)
    assert json.loads((tmp_path / "report.json").read_text())["claims"] == filled.claims()
    assert f"perplexity: {filled.claims()['perplexity']} items" in (tmp_path / "index.html").read_text()
