"""Views over all sources of bars, facts, filings, articles and calls, in every interface."""

import pyarrow as pa
import pytest

import pitlake
from pitlake import cli
from pitlake.errors import BadInput, QueryFailed
from pitlake.lake.lake import Lake
from pitlake.questions import catalogue
from tests.doors.conftest import AS_OF
from tests.doors.mcp_client import ask

NAMES = ["articles", "bars", "calls", "facts", "filings"]


@pytest.fixture(scope="module")
def session(market_lake):
    with pitlake.connect(AS_OF, lake=market_lake, isolation="in_process") as handle:
        yield handle


def test_every_union_has_the_columns_in_its_description(session):
    assert sorted(catalogue.unions()) == sorted(session.unions) == NAMES
    for name, union in session.unions.items():
        assert tuple(session.sql(f"FROM {name} LIMIT 0").columns) == union.columns
        assert set(session[name]["source"]) <= set(union.reads)


@pytest.mark.parametrize(("view", "query"), [("articles", "news_latest"), ("bars", "entity_price_series")])
def test_a_union_includes_the_rows_of_the_named_query(session, view, query):
    names = session.run(query, "QBG")
    owner = "symbol = 'QBG'" if view == "bars" else "list_contains(tickers, 'QBG')"
    answer = session.sql(f"SELECT evidence, source FROM {view} WHERE {owner}")
    assert len(names)
    assert {*zip(names["evidence"], names["source"], strict=True)} <= {*answer.rows()}


def test_rows_of_a_union_have_provenance_and_mark_their_hindsight_columns(session):
    bars = session.sql("FROM bars")
    assert (bars.reading.rows_of, bars.reading.views) == ("bars", ("av_daily_bars", "own_bars", "prices"))
    assert "symbol" in bars.hindsight["prices"]
    assert session.sql("SELECT symbol, max(close) FROM bars GROUP BY ALL").reading.rows_of is None


def test_agents_can_query_and_describe_unions(market_lake):
    (row,) = ask(market_lake, "query", sql="FROM bars WHERE symbol = 'QBG' ORDER BY date LIMIT 1")["data"]
    assert (row["source"], row["available_at"] <= AS_OF) == ("prices", True)
    assert "computed" not in row
    (described,) = ask(market_lake, "describe", name="bars")["unions"]
    assert described["reads"] == ["prices", "own_bars", "av_daily_bars"]
    assert [column for column in described["columns"] if not column["meaning"]] == []
    assert [union["name"] for union in ask(market_lake, "describe")["unions"]] == NAMES


def test_the_command_line_lists_describes_and_queries_unions(market_lake, capfd):
    at = ("--lake", str(market_lake))
    assert cli.invoke(["datasets", *at]) == 0
    assert "bars (prices, own_bars, av_daily_bars)" in capfd.readouterr().err
    assert cli.invoke(["describe", "facts", *at]) == 0
    assert "| source | The dataset of the row. |" in capfd.readouterr().out
    assert cli.invoke(["query", "SELECT count(*) AS bars FROM bars", "--as-of", AS_OF, *at]) == 0
    assert int(capfd.readouterr().out.splitlines()[-1]) > 3


def test_datasets_on_a_folder_without_a_lake_names_the_commands_that_make_a_lake(tmp_path, capfd):
    assert cli.invoke(["datasets", "--lake", str(tmp_path)]) == 0
    output = capfd.readouterr().err
    assert "`pitlake demo` shows one, `pitlake mount TABLE`" in output
    assert "`pitlake sync`" in output


def test_a_session_opened_with_a_union_has_its_sources(market_lake):
    with pitlake.connect(AS_OF, lake=market_lake, isolation="in_process", datasets=["bars"]) as session:
        assert session.datasets == ("av_daily_bars", "own_bars", "prices")
        assert len(session.bars)
        with pytest.raises(BadInput, match="name of a view"):
            session.load("bars", [{"a": 1}])
    with (
        pitlake.connect(AS_OF, lake=market_lake, isolation="in_process", hindsight="omit") as session,
        pytest.raises(QueryFailed, match="known only with hindsight"),
    ):
        session.sql("FROM bars")


def test_a_mounted_table_replaces_the_union_of_the_same_name(tmp_path, capfd):
    rows = [{"id": 1, "at": "2024-01-02T10:00:00Z", "price": 3.0}]
    lake = Lake(tmp_path / "lake")
    lake.mount(pa.Table.from_pylist(rows), "bars", key="id", available_at="at")
    with pitlake.connect(AS_OF, lake=lake, isolation="in_process") as session:
        assert (session["bars"]["price"], "bars" in session.unions) == ([3.0], False)
        assert session["facts"].rows() == []
    for sql in ("FROM bars", "SELECT price FROM bars"):
        assert cli.invoke(["query", sql, "--as-of", AS_OF, "--lake", str(lake.root)]) == 0
        assert "3.0" in capfd.readouterr().out
