"""Sessions without hindsight: it is in no view, macro or answer, and named queries still work."""

import json
from datetime import datetime, timezone

import pytest

from pitlake.answers import receipts
from pitlake.cli import invoke
from pitlake.datasets import all_datasets
from pitlake.errors import BadInput, QueryFailed
from pitlake.lake.publishing.stage import StagedGap
from pitlake.mcp.query_service import QueryService
from pitlake.mcp.tools import Toolbox
from pitlake.questions import catalogue
from pitlake.session import Viewpoint, connect
from tests.doors.conftest import AS_OF as T
from tests.doors.conftest import START, build, publish

SEEN = "2025-02-01T00:00:00Z"
SHOWN = [name for name, dataset in all_datasets().items() if not dataset.open_only]


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    lake = build(tmp_path_factory.mktemp("hindsight") / "lake")
    seen = datetime(2025, 1, 1, tzinfo=timezone.utc)
    company = {"cik": "0000000001", "ticker": "QBG", "name": "Later Name", "sector": "Energy", "available_at": seen}
    publish(lake, "companies", [company | {"evidence": "neo4j:Company:1"}], "companies")
    cover_page = {"cik": "0000000001", "kind": "ticker", "name": "QBG", "all_names": ["QBG"], "source": "dei"}
    publish(lake, "names", [cover_page | {"statement": "1", "available_at": START, "evidence": "x"}], "names")
    events = ({"source": "reports"}, {"source": "yahoo_earnings", "yahoo_date": START.date()})
    event = {"accession_no": "0000000001-24-000000", "cik": "0000000001", "ticker": "QBG", "event_at": START}
    more = {"event_day": START.date(), "session": "during", "available_at": START}
    rows = [event | more | each | {"statement": f"QBG/{number}", "evidence": "x"} for number, each in enumerate(events)]
    lost = StagedGap("unverifiable", "no release near the stated day", "earnings:QBG/2024-02-15", START)
    publish(lake, "earnings_events", rows, "events", (lost,))
    return lake


@pytest.fixture(scope="module", params=["process", "in_process"])
def session(request, lake):
    with connect(T, lake=lake, hindsight="omit", isolation=request.param) as handle:
        yield handle


def columns(session, relation):
    return set(session.sql(f"SELECT * FROM {relation} LIMIT 0").columns)


def test_no_view_of_any_dataset_has_a_column_of_hindsight(session):
    for name in SHOWN:
        contract = all_datasets()[name]
        for relation in (name, f"{name}_revisions", f"lake.{name}"):
            assert not columns(session, relation) & contract.hindsight, relation
        assert columns(session, name) == set(contract.agent_columns) - contract.hindsight


def test_gaps_keep_all_but_their_locators(session):
    gaps = session.sql("SELECT reason, locator FROM gaps WHERE dataset = 'earnings_events'").rows()
    assert gaps == [("no release near the stated day", None)]


def test_omitting_hindsight_leaves_the_other_columns_of_the_rows_unchanged(session, lake):
    with connect(T, lake=lake) as display:
        for name in SHOWN:
            text = ", ".join(sorted(columns(session, name)))
            sql = f"SELECT {text} FROM {name} ORDER BY ALL"
            assert session.sql(sql).rows() == display.sql(sql).rows(), name


@pytest.mark.parametrize("sql", ["SELECT ticker FROM news", "SELECT symbol FROM prices", "FROM news_of('QBG')"])
def test_reading_a_hindsight_column_is_refused_with_the_reason(session, sql):
    with pytest.raises(QueryFailed, match="known only with hindsight, which this session leaves out"):
        session.sql(sql)


def test_named_queries_answer_the_same_without_hindsight_columns(session, lake):
    with connect(T, lake=lake) as display:
        for name, values in {
            "news_latest": {"ticker": "QBG"},
            "entity_price_series": {"ticker": "QBG"},
            "report_latest": {"ticker": "QBG"},
            "transcript_latest": {"ticker": "QBG"},
            "earnings_snapshot": {"ticker": "QBG"},
        }.items():
            left = set(catalogue.get(name).hindsight)
            reply = display.run(name, **values).arrow()
            remaining = [column for column in reply.column_names if column not in left]
            assert session.run(name, **values).arrow().equals(reply.select(remaining)), name
            assert session.run(name, **values).hindsight == {}


def test_a_query_that_rests_on_hindsight_is_refused(session):
    with pytest.raises(BadInput, match="hindsight: vector_news needs columns that are known only with hindsight"):
        session.run("vector_news", embedding=[1.0], ticker="QBG")


def test_a_receipt_records_the_omission_of_hindsight_and_replays(lake):
    with connect(T, lake=lake, hindsight="omit") as session:
        remaining = [session.sql("SELECT * FROM news ORDER BY id"), session.run("news_latest", ticker="QBG")]
    for result in remaining:
        assert result.receipt.question.hindsight == "omit"
        assert len(result)
        actual = receipts.find(result.keep(lake), lake.location)
        assert receipts.replay(actual, lake).arrow().equals(result.arrow())


@pytest.mark.parametrize(
    ("question", "problem"),
    [({"hindsight": "hide"}, "not 'hide'"), ({"hindsight": "omit", "open_mode": True}, "together with open_mode")],
)
def test_an_invalid_hindsight_option_is_refused(lake, question, problem):
    as_of = None if question.get("open_mode") else T
    with pytest.raises(BadInput, match=f"hindsight: .*{problem}"):
        connect(as_of, lake=lake, **question)


def test_entity_company_and_company_today_answer_with_hindsight_omitted(lake, capfdbinary):
    question = ["--as-of", SEEN, "--lake", str(lake.location)]
    for name in ("entity_company", "company_today"):
        options = [*question, "--hindsight", "omit", "--format", "json", "--receipt"]
        assert invoke(["run", name, "--ticker", "QBG", *options]) == 0
        [row] = json.loads(capfdbinary.readouterr().out)
        assert (row["cik"], row["name"]) == ("0000000001", "Later Name")
    assert invoke(["receipts", "--matching", "entity_company", "--lake", str(lake.location)]) == 0
    assert b"run entity_company company=0000000001" in capfdbinary.readouterr().out
    serving = Toolbox(QueryService(viewpoint=Viewpoint.parse(SEEN, lake=lake.location, hindsight="omit")))
    reply = serving.run_query("entity_company", {"ticker": "QBG"})
    assert not reply.is_error
    assert reply.structured_content["data"][0]["name"] == "Later Name"


def test_later_company_reference_data_is_hidden_at_an_earlier_as_of(lake):
    with connect(T, lake=lake) as session:
        assert len(session.run("company_today", ticker="QBG")) == 0
    with connect(lake=lake, open_mode=True) as session:
        assert session.run("company_today", ticker="QBG").arrow()["name"].to_pylist() == ["Later Name"]


def test_no_gap_shows_its_locator(session):
    assert session.sql("SELECT locator FROM gaps").rows() == [(None,)] * 2


def test_the_command_line_omits_hindsight(lake, capfdbinary):
    question = ["--as-of", T, "--lake", str(lake.location), "--hindsight", "omit"]
    assert invoke(["query", "SELECT ticker FROM news", *question]) == 2
    assert b"known only with hindsight" in capfdbinary.readouterr().err
    assert invoke(["run", "news_latest", "--ticker", "QBG", "--format", "json", *question]) == 0
    assert json.loads(capfdbinary.readouterr().out)
