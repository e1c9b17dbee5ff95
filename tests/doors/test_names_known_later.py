"""Without hindsight, no answer depends on a name that was not public. One of the two lakes has names from after T."""

import json
import shutil
from datetime import date, datetime, timedelta, timezone
from functools import cache
from itertools import product

import pytest

from pitlake.cli import invoke
from pitlake.clock import instant
from pitlake.errors import PitlakeError
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap
from pitlake.mcp.server import server
from pitlake.questions import catalogue
from pitlake.session import connect
from tests.doors.conftest import AS_OF, START, build, prices, publish
from tests.doors.mcp_client import service, talk
from tests.doors.test_commands import VALUES
from tests.every import every

T = instant(AS_OF)
LATER = datetime(2025, 3, 1, tzinfo=timezone.utc)
RENAMED, REUSED, NEW, NEVER = "NEWN", "QZP", "ZZZ", "QQQQ"
TICKERS = ("QBG", REUSED, RENAMED, NEW, NEVER)


def ticker(cik, *tickers, at=START, source="dei"):
    return {
        "cik": cik.zfill(10), "kind": "ticker", "name": tickers[0], "all_names": list(tickers), "source": source,
        "statement": f"{cik}/{at}", "available_at": at, "evidence": f"{source}/{cik}",
    }  # fmt: skip


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    ends, goes_on = folder / "ends", folder / "goes on"
    lake = build(ends)
    publish(lake, "names", [ticker("1", "QBG"), ticker("2", "QZP")], "names")
    backfilled = {"symbol": RENAMED, "entity_id": "0000000007", "evidence": "neo4j:HAS_PRICE:7"}
    publish(lake, "prices", [*prices(), *({**row, **backfilled} for row in prices() if row["symbol"] == "QBG")], "bars")
    dividend = {
        "ticker": RENAMED, "declaration_date": date(2024, 2, 1), "dividend_type": "Regular", "cash_amount": 0.4,
        "dividend_id": f"{RENAMED}_2024-02-01_Regular", "available_at": START + timedelta(days=30), "evidence": "d",
    }  # fmt: skip
    lost = StagedGap("unverifiable", "amount is missing or zero", f"x#item={RENAMED}", START)
    publish(lake, "dividends", [dividend], "dividends", (lost,))
    shutil.copytree(ends, goes_on)
    later = Lake(goes_on)
    existing = [ticker("1", "QBG"), ticker("2", "QZP"), ticker("1", RENAMED, at=LATER), ticker("2", NEW, at=LATER)]
    publish(later, "names", [*existing, ticker("9", REUSED, at=LATER)], "later")
    companies = [("1", RENAMED), ("2", NEW), ("9", REUSED)]
    seen = [{"cik": cik.zfill(10), "ticker": name, "available_at": LATER, "evidence": cik} for cik, name in companies]
    publish(later, "companies", seen, "companies")
    yield ends, goes_on
    for root, hindsight in product((ends, goes_on), ("show", "omit")):
        session_of(root, hindsight).close()


def answer_text(root, name, request, hindsight):
    """Return everything in an answer: columns, rows, notes, marks and parameters, or the error."""
    query = catalogue.get(name)
    values = {
        parameter.name: VALUES[parameter.name]
        for parameter in query.parameters
        if parameter.required or parameter.name == "seed_id"
    }
    values |= {"ticker": request} if any(parameter.name == "ticker" for parameter in query.parameters) else {}
    values |= {"pairs": [(request, T), (request, T - timedelta(days=9))]} if "pairs" in values else {}
    try:
        answer = session_of(root, hindsight).run(name, **values)
    except PitlakeError as error:
        return repr(error)
    return answer.arrow(), answer.notes, answer.hindsight, answer.receipt.question.parameters


@cache
def session_of(root, hindsight):
    return connect(T, lake=root, hindsight=hindsight, isolation="in_process")


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", catalogue.all_queries())
def test_no_named_query_depends_on_names_from_after_t(twins, name):
    takes = {parameter.name for parameter in catalogue.get(name).parameters}
    for question in TICKERS if takes & {"ticker", "pairs"} else TICKERS[:1]:
        ends, goes_on = (answer_text(root, name, question, "omit") for root in twins)
        assert ends == goes_on, question
        if question in (RENAMED, NEW):
            assert str(ends).replace(question, NEVER) == str(answer_text(twins[1], name, NEVER, "omit")), question


def test_no_sql_or_mcp_answer_depends_on_names_from_after_t(twins):
    answers = []
    for root in twins:
        with connect(T, lake=root, hindsight="omit") as session:
            tables = [session.sql(f"FROM {each} ORDER BY ALL").arrow() for each in (*session.datasets, "gaps")]
            assert RENAMED not in str(tables)
        serving = server(service(root, hindsight="omit"))
        calls = [("run_query", {"name": "news_latest", "params": {"ticker": question}}) for question in TICKERS]
        calls += [("search", {"query": "oil", "ticker": question}) for question in TICKERS]
        message = [each.model_dump() for each in talk(serving, *calls, ("gaps", {}))]
        answers.append((tables, message))
    assert answers[0] == answers[1]


def test_diff_of_a_company_uses_only_names_public_at_the_time(twins, capfdbinary):
    def counted(root, request, hindsight):
        line = ["diff", "--from", "2023-01-01T00:00:00Z", "--to", AS_OF, "--ticker", request, "--lake", str(root)]
        code = invoke([*line, "--hindsight", hindsight, "--format", "json"])
        return code, *capfdbinary.readouterr()

    for question in (RENAMED, NEVER):
        ends, goes_on = (counted(root, question, "omit") for root in twins)
        assert ends == goes_on, question
        assert ends[0] == 0
    assert b"read as CIK 0000000001, with hindsight" in counted(twins[1], RENAMED, "show")[2]
    assert b"no company is known by it as of" in counted(twins[1], RENAMED, "omit")[2]
    assert json.loads(counted(twins[1], RENAMED, "omit")[1]) == []
    assert json.loads(counted(twins[1], "QBG", "omit")[1]) != []


BY_TICKER = [
    name
    for name, query in catalogue.all_queries().items()
    if {parameter.name for parameter in query.parameters} & {"ticker", "pairs"}
]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", BY_TICKER)
def test_every_query_says_how_it_read_a_ticker(twins, name):
    for question, words in (
        (RENAMED, "read as CIK 0000000001, with hindsight"),
        (NEVER, "no company is known by it as of"),
    ):
        message = answer_text(twins[1], name, question, "show")
        assert isinstance(message, tuple), message
        notes = [note for note in message[1] if words in note]
        assert notes == list(dict.fromkeys(notes)) != []
        assert every(note.startswith(f"{question}: ") for note in notes)
    assert [note for note in answer_text(twins[0], name, "QBG", "show")[1] if " days before, " not in note] == []


def test_bars_of_a_reused_ticker_are_those_of_a_single_company(twins):
    with connect(T, lake=twins[1], isolation="in_process") as session:
        for sql in (f"FROM bars_of('{RENAMED}')", f"FROM adjusted_bars('{RENAMED}')"):
            assert {row[0] for row in session.sql(f"SELECT entity_id {sql}").rows()} == {"0000000007"}
        assert {row[0] for row in session.sql("SELECT entity_id FROM bars_of('QBG')").rows()} == {"0000000001"}
        by_cik = session.run("bars_adjusted", ticker=RENAMED)
        assert set(by_cik.arrow()["entity_id"].to_pylist()) == {"0000000001"}


@pytest.mark.parametrize("hindsight", ["show", "omit"])
@pytest.mark.parametrize(("hyphen", "dot"), [("TWO-PC", "TWO.PC"), ("BRK-B", "BRK.B")])
def test_a_share_class_resolves_alike_with_a_hyphen_or_a_dot(tmp_path, hindsight, hyphen, dot):
    lake = Lake(tmp_path / "lake")
    publish(lake, "names", [ticker("1465740", "TWO", "TWO-PC"), ticker("1067983", "BRK-A", "BRK-B")], "names")
    with connect(T, lake=lake.root, hindsight=hindsight, isolation="in_process") as session:
        as_filed, as_quoted = (session.run("names_of_company", ticker=name).rows() for name in (hyphen, dot))
    assert as_filed == as_quoted != []
