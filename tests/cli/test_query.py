"""`pitlake query`: its output in every format, and its refusals."""

import csv
import io
import json
import os

import pyarrow.parquet as pq
import pytest

from pitlake.session import connect
from pitlake.session.sql.reading import datasets_named
from tests.cli.conftest import AFTER, BEFORE, BETWEEN
from tests.every import every

TITLES = "SELECT title FROM news ORDER BY id"


def titles(pitlake, *arguments):
    message = pitlake("query", *arguments, "--format", "json", TITLES)
    assert message.code == 0, message.err
    return [row["title"] for row in json.loads(message.out)]


def test_an_answer_has_only_rows_public_as_of_the_instant(pitlake):
    assert titles(pitlake, "--as-of", BEFORE) == []
    assert titles(pitlake, "--as-of", BETWEEN) == ["Draft [red]headline", "Other"]
    assert titles(pitlake, "--as-of", AFTER) == ["Final headline", "Other"]


def test_rows_public_exactly_at_the_as_of_are_included(pitlake):
    assert len(titles(pitlake, "--as-of", "2024-02-14T16:30:00-05:00")) == 2
    assert titles(pitlake, "--as-of", "2024-02-14T16:29:59.999999-05:00") == []


def test_an_older_lake_version_returns_its_original_rows(pitlake):
    assert titles(pitlake, "--as-of", AFTER, "--version", "1") == ["Draft [red]headline", "Other"]


def test_open_mode_is_selected_with_the_open_option(pitlake):
    assert titles(pitlake, "--open") == ["Final headline", "Other"]


def test_a_table_does_not_interpret_markup_in_texts(pitlake):
    message = pitlake("query", "--as-of", BETWEEN, TITLES)
    assert message.out.splitlines()[0].strip() == "title"
    assert "Draft [red]headline" in message.out
    assert message.err.startswith("as of 2024-02-15T01:00:00Z, 2 rows")


def test_a_table_escapes_terminal_control_sequences(pitlake):
    message = pitlake("query", "--as-of", AFTER, "SELECT chr(27) || '[2J' || chr(10) AS evil")
    assert "\\x1b[2J\\n" in message.out
    assert "\x1b" not in message.out


def test_a_long_table_says_that_it_is_cut(pitlake):
    message = pitlake("query", "--as-of", AFTER, "SELECT * FROM range(250)")
    assert "shown: 200 of 250 rows" in message.err


def test_csv_keeps_instants_lists_and_nulls(pitlake):
    message = pitlake(
        "query", "--as-of", AFTER, "--format", "csv", "SELECT created, tickers, NULL AS n, true AS b FROM news LIMIT 1"
    )
    assert list(csv.reader(io.StringIO(message.out))) == [
        ["created", "tickers", "n", "b"],
        ["2024-02-14T21:30:00Z", '["QBG"]', "", "true"],
    ]


def test_json_output_is_strictly_valid(pitlake):
    sql = (
        "SELECT 'nan'::DOUBLE nan, 12345678901234567890::HUGEINT big, 1.5::DECIMAL(9,2) money, DATE '2024-02-14' AS day"
    )
    message = pitlake("query", "--as-of", AFTER, "--format", "json", sql)
    assert json.loads(message.out) == [{"nan": None, "big": 12345678901234567890, "money": 1.5, "day": "2024-02-14"}]


FAR = """SELECT 123456789012345.678::DECIMAL(18, 3) AS d, 'infinity'::TIMESTAMPTZ AS i, DATE '20000-01-01' AS far,
    INTERVAL 1 DAY AS span, [0.5::DECIMAL(2, 1)] AS l"""
TOLD = {
    "d": "123456789012345.678",
    "i": "outside the years 1 to 9999",
    "far": "outside the years 1 to 9999",
    "span": "P0M1DT0S",
    "l": [0.5],
}


def test_values_are_formatted_alike_in_json_csv_table_and_envelope(pitlake):
    json_said, csv_said, table, agents = (
        pitlake("query", "--as-of", AFTER, "--format", form, FAR) for form in ("json", "csv", "table", "envelope")
    )
    assert json.loads(json_said.out) == [TOLD]
    assert next(csv.DictReader(io.StringIO(csv_said.out))) == TOLD | {"l": "[0.5]"}
    assert every(text in table.out for text in list(TOLD.values())[:-1])
    (row,) = json.loads(agents.out)["data"]
    assert {name: row[name] for name in TOLD} == TOLD


def test_json_refuses_duplicate_column_names(pitlake):
    message = pitlake("query", "--as-of", AFTER, "--format", "json", 'SELECT 1 AS a, 2 AS "a"')
    assert (message.code, message.out) == (2, "")


@pytest.mark.parametrize("form", ["parquet", "json", "csv", "table"])
def test_output_to_a_file_writes_only_that_file_and_nothing_to_stdout(pitlake, tmp_path, form):
    target = tmp_path / "answer"
    message = pitlake("query", "--as-of", AFTER, "--format", form, "--output", str(target), TITLES)
    assert (message.code, message.out) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["answer"]
    if form == "parquet":
        assert pq.read_table(target)["title"].to_pylist() == ["Final headline", "Other"]


@pytest.mark.parametrize("whole", [True, False], ids=["there", "not yet there"])
def test_output_to_a_symlink_writes_its_target_and_preserves_the_link(pitlake, tmp_path, whole):
    target, link = tmp_path / "answer", tmp_path / "link"
    if whole:
        target.write_text("earlier")
    link.symlink_to("answer")
    assert pitlake("query", "--as-of", AFTER, "--format", "csv", "-o", str(link), "SELECT 1 AS a").code == 0
    assert (link.is_symlink(), target.read_text()) == (True, "a\n1\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer", "link"]


@pytest.mark.parametrize("linked", [True, False])
def test_output_to_a_named_pipe_preserves_the_pipe(pitlake, tmp_path, linked):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        target = str(link if linked else pipe)
        assert pitlake("query", "--as-of", AFTER, "--format", "csv", "-o", target, "SELECT 1 AS a").code == 0
        assert os.read(reader, 100) == b"a\n1\n"
    finally:
        os.close(reader)
    assert (pipe.is_fifo(), link.is_symlink()) == (True, True)


def test_a_failed_query_leaves_an_earlier_file_alone(pitlake, tmp_path):
    target = tmp_path / "answer"
    target.write_text("earlier")
    assert pitlake("query", "--as-of", AFTER, "-o", str(target), "SELECT nothing FROM news").code == 2
    assert target.read_text() == "earlier"


REFUSED = {
    "no instant": (["query", "SELECT 1"], ["--as-of", "--open"]),
    "both doors": (["query", "--as-of", AFTER, "--open", "SELECT 1"], ["--as-of", "--open"]),
    "a day": (["query", "--as-of", "2024-02-14", "SELECT 1"], ["--as-of", "a date without time", "2024-02-15T16:00"]),
    "no offset": (["query", "--as-of", "2024-02-14T00:00:00", "SELECT 1"], ["--as-of", "the offset is missing"]),
    "no such day": (["query", "--as-of", "2024-02-30T00:00:00Z", "SELECT 1"], ["--as-of", "no such day"]),
    "no day in New York": (["query", "--as-of", "0001-01-01T00:00:00Z", "SELECT 1"], ["--as-of", "before the year 1"]),
    "no SQL": (["query", "--as-of", AFTER, " "], ["SQL"]),
    "broken SQL": (["query", "--as-of", AFTER, "SELEC 1"], ["syntax"]),
    "unknown form": (["query", "--as-of", AFTER, "--format", "xml", "SELECT 1"], ["--format", "envelope"]),
    "unknown dataset": (["query", "--as-of", AFTER, "--dataset", "nws", "SELECT 1"], ["nws", "news"]),
    "gaps of no dataset": (["gaps", "--as-of", AFTER, "--dataset", ""], ["dataset", "pitlake datasets"]),
    "outcomes as of": (["query", "--as-of", AFTER, "SELECT * FROM event_returns"], ["event_returns", "--open"]),
    "no such directory": (["query", "--as-of", AFTER, "-o", "/nowhere/at/all", "SELECT 1"], ["--output", "/nowhere"]),
    "no file": (["query", "--as-of", AFTER, "-o", "", "SELECT 1"], ["--output", "no file"]),
    "parquet of a span": (
        ["query", "--as-of", AFTER, "--format", "parquet", "SELECT INTERVAL 1 DAY"], ["--format", "cast"],
    ),
    "a union": (["query", "--as-of", AFTER, "--format", "parquet", "SELECT union_value(a := 1)"], ["UNION", "cast"]),
    "no UTF-8": (["query", "--as-of", AFTER, "SELECT '\udcff'"], ["query", "UTF-8"]),
    "too many versions": (["versions", "--limit", "9" * 30], ["--limit"]),
    "too many days": (["vacuum", "--keep-days", "9999999"], ["--keep-days"]),
    "days beyond number": (["vacuum", "--keep-days", "99999999999"], ["--keep-days"]),
    "a number beyond floats": (
        ["run", "vector_news", "--as-of", AFTER, "--embedding", f"[1{'0' * 400}]"], ["embedding", "finite"],
    ),
    "unknown option": (["query", "--asof", AFTER, "SELECT 1"], ["--asof", "--help"]),
    "unknown command": (["qury"], ["qury", "did you mean query?"]),
    "help as a command": (["help"], ["did you mean --help"]),
    "version as a command": (["version"], ["--version"]),
    "a file of SQL": (["query", "--as-of", AFTER, "eps.sql"], ["eps.sql", "- reads it from stdin"]),
    "dataset to describe": (["describe", "nws"], ["nws", "news"]),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "names"), REFUSED.values(), ids=REFUSED)
def test_bad_input_gets_one_line_that_names_the_fault(pitlake, arguments, names):
    message = pitlake(*arguments)
    assert message.code == 2
    assert message.out == ""
    assert len(message.err.splitlines()) == 1
    assert message.err.startswith("pitlake: ")
    assert every(word in message.err for word in names), message.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "--as-of", AFTER, "--lake", "/nowhere", "SELECT 1"),
        ("query", "--as-of", AFTER, "--version", "99", "SELECT 1"),
        ("query", "--as-of", AFTER, "--version", "-1", "SELECT 1"),
        ("versions", "--lake", "/nowhere"),
        ("receipts", "--lake", "/nowhere"),
        ("receipts", "--lake", "/nowhere", "--forget", "0123456789abcdef"),
        ("replay", "--lake", "/nowhere", "0123456789abcdef"),
    ],
    ids=["no lake", "no version", "negative version", "no versions", "no receipts", "nothing to forget", "no replay"],
)
def test_a_missing_lake_version_or_receipt_exits_with_1(pitlake, arguments):
    message = pitlake(*arguments)
    assert (message.code, message.out) == (1, "")
    assert len(message.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT title FROM news", ["news"]),
        ('SELECT * FROM "NEWS_revisions" JOIN prices USING (ticker)', ["news", "prices"]),
        ("SELECT count(*) FROM news, lake_info", []),
        ("SELECT count(*) FROM news, gaps", []),
        ("SELECT count(*) FROM news, duckdb_views()", []),
        ("FROM news; SHOW TABLES", []),
        ("SELECT * FROM prices_of('QBG'), news", []),
        ("SELECT 1", []),
    ],
)
def test_datasets_named_in_plain_sql_are_recognized(sql, names):
    assert datasets_named(sql) == names


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT title FROM query_table('ne' || 'ws') ORDER BY title",
        "SELECT (SELECT count(*) FROM query_table('pri' || 'ces')) AS bars, title FROM news ORDER BY title",
        "SELECT title FROM news ORDER BY title",
    ],
)
def test_a_query_answers_like_a_session_with_all_datasets(pitlake, lake, sql):
    with connect(AFTER, lake=lake) as session:
        expected = session.sql(sql).arrow().to_pylist()
    message = pitlake("query", "--as-of", AFTER, "--format", "json", sql)
    assert (message.code, json.loads(message.out)) == (0, expected)


def test_a_failed_query_suggests_names_from_all_datasets(pitlake):
    message = pitlake("query", "--as-of", AFTER, "SELECT * FROM news, pricess")
    assert message.code == 2
    assert '"prices"' in message.err
