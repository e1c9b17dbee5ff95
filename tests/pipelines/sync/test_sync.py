"""`pitlake sync` against a fake EDGAR on a local server: what it requests, publishes, stores and refuses."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import date, timedelta

import pytest

from pitlake import clock
from pitlake.clock import new_york_day
from pitlake.lake.storage.watch_list import WatchList
from pitlake.session import connect
from tests.cli.conftest import ROOT
from tests.loopback import Answer

FACTS, SUBMISSIONS = "/api/xbrl/companyfacts/CIK{:010d}.json", "/submissions/CIK{:010d}.json"


def rows(lake, question, as_of=None):
    with connect(as_of, open_mode=as_of is None, lake=lake, isolation="in_process") as session:
        return session.sql(question).rows()


def test_a_sync_fills_a_lake_that_answers_as_of_any_instant(sync, edgar, lake):
    done = sync("--tickers", "TKA,TKB", "--since", "2015")
    assert done.code == 0, done.err
    assert rows(lake, "SELECT count(*) FROM sec_facts")[0] == (48,)
    assert rows(lake, "SELECT count(*) FROM sec_filings")[0] == (16,)
    existing = "SELECT max(value_number) FROM sec_facts WHERE cik = '0000001000'"
    assert rows(lake, existing, "2017-01-10T16:00:00-05:00") == [(2016032.0,)]
    assert rows(lake, existing, "2017-01-11T00:00:00-05:00") == [(2016042.0,)]
    names = rows(lake, "SELECT cik, name FROM names WHERE kind = 'ticker' ORDER BY ALL")
    assert names == [("0000001000", "TKA"), ("0000001001", "TKB")]
    assert rows(lake, "SELECT count(*) FROM universe_events")[0][0] > 0


def test_the_plan_comes_first_and_says_what_is_skipped_and_why(sync, edgar):
    done = sync("--tickers", "TKA", "--since", "2016")
    lines = done.err.splitlines()
    assert lines[0] == "plan: 1 company (TKA) since 2016-01-01"
    assert "requests" in lines[1]
    assert lines[1].endswith(" minute")
    assert any("alfred: skipped; set FRED_API_KEY to use it" in line for line in lines)
    assert any("is at version" in line for line in lines)
    assert "sec_facts" in done.out


def test_a_second_sync_requests_each_company_once_and_publishes_nothing(sync, edgar, lake):
    sync("--tickers", "TKA,TKB")
    version = lake.head()
    again = sync()
    assert again.code == 0, again.err
    assert sorted(edgar.asked) == [SUBMISSIONS.format(1000), SUBMISSIONS.format(1001)]
    assert rows(lake, "SELECT count(*) FROM sec_facts")[0] == (48,)
    assert lake.head() - version <= 1  # only names may change, because they are derived at each poll


@pytest.mark.parametrize("days", [pytest.param(1, id="a day"), pytest.param(9, id="days after its date")])
def test_a_new_filing_loads_only_the_facts_of_its_company(sync, edgar, lake, days):
    sync("--tickers", "TKA,TKB")
    filed = new_york_day(clock.now()) - timedelta(days=days)
    accession = edgar.companies[0].reports(2018, 1, concepts=5, filed=filed.isoformat())
    edgar.publish()
    done = sync()
    assert done.code == 0, done.err
    assert edgar.asked.count(FACTS.format(1000)) == 1
    assert FACTS.format(1001) not in edgar.asked
    assert "-submissions-001.json" not in " ".join(edgar.asked)
    assert rows(lake, f"SELECT count(*) FROM sec_facts WHERE accession_no = '{accession}'") == [(5,)]


def test_since_leaves_older_facts_out_without_gaps(sync, edgar, lake):
    done = sync("--tickers", "TKA", "--since", "2017-06-01")
    assert done.code == 0, done.err
    assert rows(lake, "SELECT min(filing_date) FROM sec_facts")[0] == (date(2017, 7, 10),)
    assert "acceptance of the filing is unknown" not in done.err


@pytest.mark.parametrize("spelling", ["BRK.B", "brk-b", "BRK/A"])
def test_share_class_tickers_resolve_to_a_single_company_however_spelled(sync, edgar, lake, spelling):
    done = sync("--tickers", spelling)
    assert done.code == 0, done.err
    assert list(lake.watch_list().companies) == ["0000001002"]


def test_the_watch_list_grows_and_is_remembered(sync, edgar, lake):
    sync("--tickers", "TKA", "--since", "2016")
    sync("--ciks", "1001")
    watched = lake.watch_list()
    assert watched.companies == {"0000001000": ("TKA",), "0000001001": ("TKB",)}
    assert watched.since == date(2016, 1, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--tickers", "TKA,NOPE,NADA"), "EDGAR lists no company under NOPE, NADA"),
        (("--ciks", "12x"), "--ciks: one of them is not a CIK"),
        (("--tickers", "TKA", "--since", "soon"), "--since: 'soon' is neither a year nor a day"),
        (("--tickers", "TKA", "--since", "2999"), "--since: 2999 is out of range"),
        (("--tickers", "TKA", "--sources", "sec_edgra"), "--sources: there is no source 'sec_edgra'"),
        ((), "--tickers: this lake watches nothing yet"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(sync, edgar, tmp_path, arguments, message):
    done = sync(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "lake/_lake/watch_list.json").exists()


@pytest.mark.parametrize("arguments", [("--tickers", "TKA"), ()], ids=["a new company", "a watched company"])
def test_a_missing_user_agent_is_refused_before_any_request(sync, edgar, lake, monkeypatch, arguments):
    monkeypatch.delenv("SEC_EDGAR_USER_AGENT")
    monkeypatch.delenv("EDGAR_IDENTITY", raising=False)
    if not arguments:
        lake.watch(WatchList(companies={"0000001001": ("TKB",)}))
    done = sync(*arguments)
    assert done.code == 2
    assert done.err.startswith("pitlake: SEC_EDGAR_USER_AGENT: sec_edgar demands a User-Agent")
    assert edgar.asked == []


def test_a_company_without_facts_does_not_stop_the_others(sync, edgar, lake):
    edgar.server.plays(FACTS.format(1000), Answer(b"", 404))
    done = sync("--tickers", "TKA,TKB")
    assert done.code == 0, done.err
    assert rows(lake, "SELECT DISTINCT cik FROM sec_facts") == [("0000001001",)]
    assert "sec_facts: 1 × " in done.err


def test_an_unanswered_company_fails_the_sync_with_an_alert_but_others_load(sync, edgar, lake, monkeypatch, caplog):
    monkeypatch.setenv("PITLAKE_NOTIFY", "log")
    edgar.server.plays(SUBMISSIONS.format(1000), Answer(b"", 500))
    done = sync("--tickers", "TKA,TKB")
    assert done.code == 1
    assert "no answer: CIK 0000001000: " in done.err
    assert "pitlake: 1 failures of a sync" in caplog.text
    assert rows(lake, "SELECT DISTINCT cik FROM sec_facts") == [("0000001001",)]
    edgar.publish()
    assert sync().code == 0
    assert rows(lake, "SELECT count(DISTINCT cik) FROM sec_facts") == [(2,)]


def test_a_killed_sync_continues_without_lost_or_duplicate_rows(sync, edgar, lake):
    edgar.server.plays(FACTS.format(1001), Answer(b"", fault="hang"))
    with subprocess.Popen(
        [sys.executable, "-c", "from pitlake.cli import main; main()", "sync", "--tickers", "TKA,TKB"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as running:
        deadline = time.monotonic() + 120
        while FACTS.format(1001) not in edgar.asked and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGKILL)
    assert FACTS.format(1000) in edgar.asked
    edgar.publish()
    done = sync()
    assert done.code == 0, done.err
    assert FACTS.format(1000) not in edgar.asked  # it was captured before
    counted = "SELECT count(*), count(DISTINCT (cik, concept, unit, period_end, accession_no)) FROM sec_facts_revisions"
    assert rows(lake, counted) == [(48, 48)]


def changed_main(edgar, change):
    """Serve a changed main response about the first company."""
    main = edgar.companies[0].submissions()["CIK0000001000.json"]
    change(main)
    edgar.server.plays(SUBMISSIONS.format(1000), Answer(main, headers={"content-type": "application/json"}))


def test_an_answer_with_uneven_columns_does_not_break_later_syncs(sync, edgar, lake):
    changed_main(edgar, lambda main: main["filings"]["recent"]["filingDate"].pop())
    done = sync("--tickers", "TKA,TKB")
    assert done.code == 1, done.err
    assert "no answer: CIK 0000001000: the answer is unreadable; the next sync asks again" in done.err
    assert "names: 1 × the answer is unreadable" in done.err
    edgar.publish()
    assert sync().code == 0
    assert rows(lake, "SELECT count(DISTINCT cik) FROM sec_facts") == [(2,)]
    names = rows(lake, "SELECT cik, name FROM names WHERE kind = 'ticker' ORDER BY ALL")
    assert names == [("0000001000", "TKA"), ("0000001001", "TKB")]


@pytest.mark.parametrize(
    ("change", "names"),
    [({"tickers": [None, "TKA", ""]}, ["Company 0", "TKA"]), ({"name": None}, []), ({"name": " "}, [])],
)
def test_a_missing_name_is_not_the_name_none(sync, edgar, lake, change, names):
    changed_main(edgar, lambda main: main.update(change))
    done = sync("--tickers", "TKA")
    assert done.code == 0, done.err
    assert rows(lake, "SELECT DISTINCT name FROM names ORDER BY ALL") == [(name,) for name in names]
    assert ("names: 1 × the answer is unreadable" in done.err) == (not names)


def test_a_stopped_sync_says_how_to_continue(sync, lake, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr("pipelines.sync.edgar.EdgarSync.run", stop)
        stop_text = sync("--tickers", "TKA")
    assert stop_text.code == 130
    assert "stopped; the same command continues" in stop_text.err.splitlines()
    assert sync("--tickers", "TKA").code == 0
    assert lake.watch_list().companies


WELL = ("sec_filings", "sec_facts", "universe_events")
DISORDERS = {
    "submissions {}": (SUBMISSIONS, b"{}", 1),
    "submissions of another company": (SUBMISSIONS, lambda main: main.update(cik="0000001001"), 1),
    "an acceptance": (SUBMISSIONS, lambda main: main["filings"]["recent"]["acceptanceDateTime"].__setitem__(0, "?"), 0),
    "all acceptances": (
        SUBMISSIONS,
        lambda main: main["filings"]["recent"].update(
            acceptanceDateTime=["?"] * len(main["filings"]["recent"]["form"])
        ),
        1,
    ),
    "a page {}": ("/submissions/CIK{:010d}-submissions-001.json", b"{}", 1),
    "facts {}": (FACTS, b"{}", 1),
    "facts 404": (FACTS, 404, 0),
    "a page 404": ("/submissions/CIK{:010d}-submissions-001.json", 404, 1),
    "a value": (FACTS, lambda facts: facts["facts"]["us-gaap"]["Concept0"]["units"]["USD"][0].update(val="many"), 0),
    "a name": (SUBMISSIONS, lambda main: main.update(name=None), 0),
}


@pytest.mark.parametrize("disorder", DISORDERS)
def test_the_next_sync_recovers_from_a_malformed_answer(sync, edgar, lake, disorder):
    path, change, code = DISORDERS[disorder]
    path = path.format(1000)
    edgar.companies[0].older = 0 if disorder == "all acceptances" else 2
    edgar.publish()
    answer = json.loads(edgar.server.script[path][0].content)
    if callable(change):
        change(answer)
    body, status = (answer, 200) if callable(change) else (change, 200) if isinstance(change, bytes) else (b"", change)
    edgar.server.plays(path, Answer(body, status, headers={"content-type": "application/json"}))
    done = sync("--tickers", "TKA")
    assert done.code == code, done.err
    edgar.publish()
    assert sync().code == 0
    counts = [rows(lake, f"SELECT count(*) FROM {dataset}")[0][0] for dataset in WELL]
    assert counts == [8, 24, 8]
    assert rows(lake, "SELECT DISTINCT name FROM names ORDER BY ALL") == [("Company 0",), ("TKA",)]
    sync()
    assert edgar.asked == [SUBMISSIONS.format(1000)]


def test_a_missing_file_that_edgar_does_not_list_is_requested_only_once(sync, edgar):
    for filing in edgar.companies[0].filings:
        filing["isXBRL"] = 0
    edgar.publish()
    edgar.server.plays(FACTS.format(1000), Answer(b"", 404))
    sync("--tickers", "TKA")
    assert FACTS.format(1000) in edgar.asked
    sync()
    assert FACTS.format(1000) not in edgar.asked
