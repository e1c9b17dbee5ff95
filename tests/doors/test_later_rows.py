"""Rows that became public after T change no answer as of T in any interface. Two lakes differ only in later rows."""

from pathlib import Path

import pytest

from pitlake.cli import invoke
from pitlake.clock import instant
from pitlake.lake import Lake
from pitlake.mcp.server import server
from pitlake.questions import catalogue
from pitlake.session import connect
from pitlake.web.questions import all_questions
from tests.doors.conftest import AS_OF, build_twins
from tests.doors.mcp_client import EVERY_TOOL, service, talk
from tests.doors.test_commands import options
from tests.web.browsing import BASE, TOKEN, browsing

T = instant(AS_OF)
FAILING = (
    ("query", {"sql": "SELECT version FROM lake_info"}),
    ("query", {"sql": "SELEC"}),
    ("query", {"sql": "FROM nowhere"}),
    ("query", {"sql": "SELECT error('mine')"}),
    ("query", {"sql": "SELECT 1", "pit": "2099-01-01T00:00:00Z"}),
    ("query", {"sql": "SELECT 1", "cursor": "x"}),
    ("run_query", {"name": "news_newest"}),
    ("run_query", {"name": "entity_company"}),
    ("search", {"query": "", "ticker": "QBG"}),
    ("gaps", {"dataset": "sunspots"}),
    ("describe", {"name": "sunspots"}),
)
LISTING = (
    *(("describe", {"name": name}) for name in ("news", "dividends", "news_latest")),
    ("query", {"sql": "FROM lake_info ORDER BY ALL"}),
    ("query", {"sql": "SELECT * FROM news_revisions ORDER BY ALL", "max_rows": 3}),
    ("query", {"sql": "SELECT * FROM duckdb_views() ORDER BY ALL", "max_rows": 1000}),
    ("query", {"sql": "EXPLAIN SELECT * FROM news"}),
)


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    return build_twins(tmp_path_factory.mktemp("twins"))


@pytest.mark.parametrize("calls", [EVERY_TOOL, LISTING, FAILING], ids=["every tool", "listings", "errors"])
def test_mcp_results_do_not_depend_on_later_rows(twins, calls):
    results = (talk(server(service(root, keep_receipts=True)), *calls) for root in twins)
    ends, goes_on = ([result.model_dump() for result in whole] for whole in results)
    for call, item, other in zip(calls, ends, goes_on, strict=True):
        assert item == other, call


def test_mcp_pages_do_not_depend_on_later_rows(twins):
    def pages(root):
        serving, cursor, actual = server(service(root)), None, []
        while cursor or not actual:
            more = {"sql": "SELECT id FROM news ORDER BY id", "max_rows": 50} | ({"cursor": cursor} if cursor else {})
            (result,) = talk(serving, ("query", more))
            actual.append(result.structured_content)
            cursor = result.structured_content["next_cursor"]
        return actual

    ends, goes_on = (pages(root) for root in twins)
    assert ends == goes_on
    assert len(ends) > 2


def test_server_instructions_do_not_depend_on_later_rows(twins):
    ends, goes_on = (server(service(root)) for root in twins)
    assert ends.instructions == goes_on.instructions


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", catalogue.all_queries())
def test_named_query_answers_do_not_depend_on_later_rows(twins, name):
    query = catalogue.get(name)
    values = dict(zip(*[iter(options(query))] * 2, strict=True))
    bound = query.bind({option.removeprefix("--").replace("-", "_"): value for option, value in values.items()})
    answers = []
    for root in twins:
        with connect(T, lake=root, datasets=query.reads) as session:
            answers.append(session.ask(query, bound).arrow())
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "line",
    [
        ("query", "FROM lake_info ORDER BY ALL"),
        ("query", "SELECT version FROM lake_info"),
        ("query", "SELECT id FROM news ORDER BY id", "--format", "envelope"),
        ("run", "news_latest", "--ticker", "QBG"),
        ("search", "guidance", "--ticker", "QBG"),
        ("datasets",),
        ("datasets", "--format", "json"),
        ("describe", "news"),
        ("gaps",),
        ("gaps", "--each"),
    ],
    ids=" ".join,
)
def test_command_output_does_not_depend_on_later_rows(twins, line, capfdbinary):
    message = []
    for root in twins:
        code = invoke((*line, "--as-of", AS_OF, "--lake", str(root)))
        message.append((code, *capfdbinary.readouterr()))
    assert message[0] == message[1]
    assert b"version" not in message[0][2] or line[1] == "SELECT version FROM lake_info"


@pytest.mark.parametrize("about", [(), ("--ticker", "QBG")], ids=["all", "a company"])
def test_diff_output_does_not_depend_on_later_rows(twins, about, capfdbinary):
    message = []
    for root in twins:
        line = ("diff", "--from", "2024-04-01T00:00:00Z", "--to", AS_OF, *about, "--lake", str(root))
        message.append((invoke(line), *capfdbinary.readouterr()))
    assert message[0] == message[1]
    assert b"news" in message[0][1]


def test_a_receipts_version_does_reflect_later_rows(twins):
    versions = []
    for root in twins:
        with connect(T, lake=root, datasets=["news"]) as session:
            versions.append(session.sql("SELECT 1").receipt.version)
    assert versions[0] < versions[1]


REVENUE = (
    "of=xbrl_facts.value_number&k_cik=0000000001&k_concept=us-gaap:Revenues&k_unit=iso4217:USD&k_period_type=duration"
)
PERIOD = "k_period_start=2023-10-01&k_period_end=2023-12-31&k_dimensions=&k_members="


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "page",
    [
        f"/at?as_of={AS_OF}&ticker=QBG",
        f"/at?as_of={AS_OF}&ticker=QZP",
        f"/at?as_of={AS_OF}&ticker=LATER",
        f"/compare?as_of=2024-02-01T00:00:00Z&with={AS_OF}&ticker=QBG",
        f"/history?as_of={AS_OF}&ticker=QBG&{REVENUE}&{PERIOD}",
        f"/history?as_of={AS_OF}&ticker=QBG&of=prices.close&k_entity_kind=company&k_entity_id=0000000001&k_date=2024-04-30",
        *(f"/ask?as_of={AS_OF}&ticker=QBG&question={name}" for name in all_questions()),
    ],
)
def test_pages_are_byte_identical_whatever_came_after_t(twins, page):
    reply = []
    for root in twins:
        with browsing(root) as client:
            reply.append(client.get(page))
    assert reply[0].status_code == 200
    assert reply[0].content == reply[1].content
    assert reply[0].headers == reply[1].headers


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """Twin lakes. The one with later rows has a damaged file from after T."""
    ends, goes_on = build_twins(tmp_path_factory.mktemp("damaged"))
    damage(goes_on, "prices", after=True)
    return ends, goes_on


def damage(root, table, *, after):
    """Overwrite the start of one file of a table whose rows are all after T, or all up to T."""
    files = Lake(root).snapshot().files(table)
    file = next(file for file in files if (file.lo > T if after else file.hi <= T))
    with Path(file.path).open("r+b") as session:
        session.write(bytes(64))


def test_a_damaged_file_of_after_t_changes_no_page(damaged):
    for page in (f"/at?as_of={AS_OF}&ticker=QBG", f"/ask?as_of={AS_OF}&ticker=QBG&question=bars"):
        reply = []
        for root in damaged:
            with browsing(root) as client:
                reply.append(client.get(page))
        assert reply[0].status_code == 200
        assert reply[0].content == reply[1].content


def test_an_error_page_reveals_no_file_or_version(tmp_path, capsys):
    reply = []
    for root in build_twins(tmp_path):
        damage(root, "prices", after=False)
        with browsing(root) as client:
            reply.append(client.get(f"/at?as_of={AS_OF}&ticker=QBG"))
        output = capsys.readouterr().err
        assert "damaged" in output, "the operator is told"
        assert str(root) in output
    assert reply[0].status_code == 500
    assert reply[0].content == reply[1].content
    assert "can&#39;t be read" in reply[0].text
    assert "parquet" not in reply[0].text


def test_a_receipt_page_counts_no_row_from_after_t(twins):
    reply = []
    for root in twins:
        with browsing(root) as client:
            form = {"as_of": AS_OF, "ticker": "QBG", "question": "bars"}
            headers = {"origin": BASE, "cookie": f"pitlake_token={TOKEN}"}
            response = client.post("/receipts", data=form, headers=headers).headers["location"]
            reply.append(client.get(response).text.replace(response.removeprefix("/r/"), "ID"))
    assert reply[0] == reply[1]
