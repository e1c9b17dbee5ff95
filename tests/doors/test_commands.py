"""run, search, receipts, replay and shell, with output for a person and for a pipe."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pitlake import cli
from pitlake.questions import catalogue
from tests.doors.conftest import AS_OF
from tests.every import every

PAIRS = '[{"ticker": "QBG", "at": "2024-03-01T00:00:00Z"}]'
VALUES = {
    "ticker": "QBG", "start_date": "2024-01-01", "query": "oil", "channel": "Earnings",
    "concept_qname": "us-gaap:Revenues", "member_qnames": "a:OneMember", "pairs": PAIRS, "concepts": "us-gaap:Revenues",
    "seed_id": "bzNews_0", "series": "GDP", "day": "2024-03-01", "period": "2024-01-01", "kind": "fx",
    "instrument": "EURUSD",
}  # fmt: skip


@pytest.fixture
def pitlake(lake, capfdbinary, monkeypatch):
    """A function that runs a command line in this process and returns exit code, stdout and stderr."""
    monkeypatch.setenv("PITLAKE_LAKE", str(lake))

    def run(*arguments):
        code = cli.invoke(arguments)
        output = capfdbinary.readouterr()
        return code, output.out.decode(), output.err.decode()

    return run


def options(query):
    expected = [parameter for parameter in query.parameters if parameter.required or parameter.name == "seed_id"]
    return [part for each in expected for part in (f"--{each.name.replace('_', '-')}", VALUES[each.name])]


def test_run_alone_lists_the_queries(pitlake):
    code, out, _ = pitlake("run")
    assert code == 0
    assert every(name in out for name in catalogue.all_queries())


def test_the_help_of_a_query_names_its_parameters_and_columns(pitlake):
    _, out, _ = pitlake("run", "news_by_channel", "--help")
    assert every(part in out for part in ("--start-date", "--channel", "[required]", "available_at_source"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "news_newest", "--as-of", AS_OF), "'pitlake run news_newest'; did you mean news_latest"),
        (("quarry",), "there is no command 'pitlake quarry'; did you mean query?"),
        (("describe", "nws"), "there is no dataset 'nws'; did you mean news?"),
        (("describe", "zzzz"), "there is no dataset 'zzzz'; choose one of av_daily_bars, av_earnings"),
        (("run", "entity_company", "--as-of", AS_OF), "ticker"),
        (("run", "news_latest", "--ticker", "QBG"), "--as-of"),
        (("run", "news_latest", "--ticker", "QBG", "--as-of", "2024-05-01"), "a date without time and offset"),
        (("run", "news_latest", "--ticker", "QBG", "--limit", "few", "--as-of", AS_OF), "limit"),
        (("run", "vector_news", "--as-of", AS_OF), "exactly one"),
        (("run", "vector_news", "--seed-id", "bzNews_9999", "--as-of", AS_OF), "seed_id"),
        (("run", "panel", "--pairs", '[["QBG", "2025-01-01T00:00:00Z"]]', "--as-of", AS_OF), "after as_of"),
        (("run", "news_latest", "--ticker", "QBG", "--as-of", AS_OF, "--open"), "--open"),
        (("search", " ", "--as-of", AS_OF), "query"),
        (("search", "oil", "--in", "dreams", "--as-of", AS_OF), "--in"),
        (("search", "oil", "--in", "concepts", "--as-of", AS_OF), "ticker"),
        (("search", "oil", "--in", "sections", "--by", "meaning", "--as-of", AS_OF), "--in"),
        (("replay", "0000000000000000"), "RECEIPT"),
        (("receipts", "--forget", "0000000000000000"), "RECEIPT"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_bad_input_is_one_line_and_exit_code_2(pitlake, monkeypatch, arguments, complaint):
    monkeypatch.delenv("PITLAKE_EMBEDDER", raising=False)
    code, out, err = pitlake(*arguments)
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1


def test_search_finds_what_was_public_best_first(pitlake):
    code, out, _ = pitlake(
        "search", '"gross margin"', "--ticker", "QZP", "--limit", "3", "--as-of", AS_OF, "--format", "json"
    )
    assert code == 0
    document = json.loads(out)
    assert {row["title"] for row in document} == {"gross margin fell"}
    assert every(row["available_at"] <= AS_OF for row in document)


def test_search_by_meaning_asks_the_configured_model(pitlake, monkeypatch):
    monkeypatch.setenv("PITLAKE_EMBEDDER", "tests.doors.test_commands:margin")
    _, out, err = pitlake("search", "profitability", "--by", "meaning", "--as-of", AS_OF, "--format", "json")
    assert {row["title"] for row in json.loads(out)} == {"gross margin fell"}, err


def margin(text):
    assert text == "profitability"
    return [0.0, 1.0, 0.0, 0.0, 0.0]


def test_the_envelope_is_one_json_text_that_passes_the_gate(pitlake):
    from pitlake.gate.rules import check_text

    _, out, _ = pitlake("run", "news_latest", "--ticker", "QBG", "--as-of", AS_OF, "--format", "envelope")
    assert check_text(out, AS_OF) is None
    assert len(json.loads(out)["data"]) == 10


def test_computed_rows_are_marked_and_state_their_newest_input(pitlake):
    sql = "SELECT count(*) AS n FROM news"
    _, out, _ = pitlake("query", sql, "--dataset", "news", "--as-of", AS_OF, "--format", "envelope")
    (row,) = json.loads(out)["data"]
    assert row == {"n": row["n"], "computed": True, "newest_input_at": "2024-04-30T15:00:00Z"}


def test_an_empty_answer_is_a_gap(pitlake):
    _, out, _ = pitlake("run", "news_latest", "--ticker", "ZZZ", "--as-of", AS_OF, "--format", "envelope")
    envelope = json.loads(out)
    assert (envelope["data"], [gap["type"] for gap in envelope["gaps"]]) == ([], ["no_data"])


def test_receipts_are_listed_newest_first_without_those_cited_by_datasets(pitlake):
    def kept(*line):
        code, _, err = pitlake(*line, "--as-of", AS_OF, "--receipt")
        assert code == 0, err
        return err.split()[-1]

    def listed(*more):
        code, out, err = pitlake("receipts", "--format", "json", *more)
        assert code == 0
        return [each["id"] for each in json.loads(out)], err

    outcome = [
        kept("query", "SELECT count(*) FROM news"),
        kept("run", "earnings_snapshot", "--ticker", "QBG"),
        kept("run", "news_latest", "--ticker", "QZP"),
    ]
    for second, name in enumerate(outcome):  # set the receipts' times one second apart
        (path,) = Path(os.environ["PITLAKE_LAKE"]).glob(f"_lake/receipts/{name}.json")
        os.utime(path, (1_700_000_000 + second, 1_700_000_000 + second))
    display, err = listed()
    assert [each for each in display if each in outcome] == [outcome[2], outcome[0]]
    assert "not listed: 1 receipts that the dataset earnings_snapshots cites" in err
    assert [each for each in listed("--all")[0] if each in outcome] == outcome[::-1]
    assert [each for each in listed("--matching", "qzp")[0] if each in outcome] == [outcome[2]]
    assert "run news_latest company=0000000002 QZP limit=10" in pitlake("receipts")[1]
    for name in outcome:
        pitlake("receipts", "--forget", name)


@pytest.mark.parametrize(
    ("reference", "complaint"),
    [("ab", "'ab' is too short; give at least 4 characters"), ("abcdef", "has an id that begins with 'abcdef'")],
)
def test_a_reference_that_matches_no_receipt_is_refused_with_the_reason(pitlake, reference, complaint):
    code, _, err = pitlake("replay", reference)
    assert code == 2
    assert complaint in err


def test_a_kept_receipt_is_listed_replayed_and_forgotten(pitlake):
    _, first, err = pitlake("run", "news_latest", "--ticker", "QBG", "--as-of", AS_OF, "--format", "csv", "--receipt")
    receipt = err.split()[-1]
    assert receipt in pitlake("receipts")[1]
    assert receipt in [remaining["id"] for remaining in json.loads(pitlake("receipts", "--format", "json")[1])]
    code, again, err = pitlake("replay", receipt[:8], "--format", "csv")
    assert (code, again) == (0, first)
    assert "the same answer" in err
    assert pitlake("receipts", "--forget", receipt)[0] == 0
    assert receipt not in pitlake("receipts")[1]


def test_a_damaged_receipt_is_reported_alongside_the_valid_receipts(pitlake, lake):
    receipt = pitlake("query", "SELECT 1 AS a", "--as-of", AS_OF, "--receipt")[2].split()[-1]
    bad = lake / "_lake" / "receipts" / f"{'0' * 16}.json"
    bad.write_text("{}")
    try:
        code, out, err = pitlake("receipts")
        assert (code, receipt in out, str(bad) in err) == (1, True, True)
    finally:
        assert pitlake("receipts", "--forget", bad.stem)[0] == 0
        assert pitlake("receipts", "--forget", receipt)[0] == 0


def shell(pitlake, monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    return pitlake("shell", "--as-of", AS_OF)


def test_the_shell_answers_statement_after_statement_in_one_session(pitlake, monkeypatch):
    code, out, err = shell(pitlake, monkeypatch, "CREATE TEMP TABLE t AS\nSELECT 41 AS n;\nSELECT n + 1 AS m FROM t;\n")
    assert (code, err) == (0, "")
    assert "42" in out


def test_a_failed_statement_sets_the_exit_code_but_does_not_end_the_shell(pitlake, monkeypatch):
    code, out, err = shell(pitlake, monkeypatch, "SELEC 1;\nSELECT 42 AS n")
    assert code == 2
    assert "42" in out
    assert "Parser Error" in err


def test_a_value_beyond_the_calendar_does_not_end_the_shell(pitlake, monkeypatch):
    code, out, _ = shell(pitlake, monkeypatch, "SELECT 'infinity'::TIMESTAMPTZ AS t;\nSELECT 42 AS n;\n")
    assert (code, "outside the years" in out, "42" in out) == (0, True, True)


def test_the_shells_dot_commands_work(pitlake, monkeypatch):
    code, out, err = shell(
        pitlake, monkeypatch, ".help\n.receipt\n.datasets\nSELECT 1;\n.receipt\n.what\n.quit\nSELEC;\n"
    )
    assert code == 0
    assert "news" in out
    assert every(part in err for part in (".quit", "there is no answer yet", "receipt ", ".what is not a command"))
    pitlake("receipts", "--forget", err.split("receipt ")[-1].split()[0])


def test_a_pipe_reads_nothing_but_the_rows(lake):
    line = [
        sys.executable,
        "-c",
        "from pitlake.cli import main; main()",
        "run",
        "entity_latest_price",
        "--ticker",
        "QBG",
    ]
    line += ["--as-of", AS_OF, "--lake", str(lake), "--format", "json"]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=240)
    assert [row["date"] for row in json.loads(done.stdout)] == ["2024-04-30"]
