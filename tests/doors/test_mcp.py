"""The MCP server's tools, called by the SDK's own client: their answers and their refusals."""

import json

import anyio
import pytest
from mcp import Client

from pitlake.answers import receipts
from pitlake.gate.rules import check_envelope
from pitlake.mcp.server import server
from tests.doors.conftest import AS_OF, small
from tests.doors.mcp_client import ALL_NEWS, EVERY_TOOL, GATED_TOOLS, ask, refusal, service, talk


def test_every_tool_lists_its_description_and_schemas(lake):
    async def listed():
        async with Client(server(service(lake))) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools = anyio.run(listed)
    assert set(tools) == {name for name, _ in EVERY_TOOL}
    for tool in tools.values():
        assert tool.description
        assert tool.input_schema["additionalProperties"] is False
        assert tool.annotations.read_only_hint
    assert set(tools["query"].output_schema["required"]) >= {"data", "gaps", "truncated", "receipt"}


@pytest.mark.parametrize(("tool", "arguments"), GATED_TOOLS, ids=[name for name, _ in GATED_TOOLS])
def test_every_answer_is_an_envelope_the_gate_passes(lake, tool, arguments):
    reply = ask(lake, tool, **arguments)
    assert check_envelope(reply, AS_OF) is None
    assert reply["data"] or reply["gaps"]


def test_the_text_of_an_answer_is_its_structured_content(lake):
    (result,) = talk(server(service(lake)), EVERY_TOOL[0])
    assert json.loads(result.content[0].text) == result.structured_content


def test_a_pit_may_be_any_instant_up_to_the_servers_own(lake):
    early = ask(lake, "query", sql=ALL_NEWS, pit="2024-01-03T10:00:00-05:00")
    assert [row["id"] for row in early["data"]] == ["bzNews_0", "bzNews_1"]
    assert ask(lake, "query", sql=ALL_NEWS, pit=AS_OF) == ask(lake, "query", sql=ALL_NEWS)


@pytest.mark.parametrize(
    ("pit", "complaint"),
    [
        ("2024-05-01T00:00:00.000001Z", "later than"),
        ("2099-01-01T00:00:00Z", "later than"),
        ("2024-04-01", "a date without time and offset"),
        ("2024-04-01T00:00:00", "the offset is missing"),
        ("now", "expected YYYY-MM-DD"),
        ("", "no timestamp text"),
        ("0001-01-01T00:00:00Z", "pit: before the year 1"),
    ],
)
@pytest.mark.parametrize(("tool", "arguments"), GATED_TOOLS, ids=[name for name, _ in GATED_TOOLS])
def test_a_later_or_invalid_pit_is_refused(lake, tool, arguments, pit, complaint):
    assert complaint in refusal(lake, tool, pit=pit, **arguments)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("query", {}, "sql"),
        ("query", {"sql": 7}, "sql"),
        ("query", {"sql": "SELEC 1"}, "Parser Error"),
        ("query", {"sql": "SELECT * FROM nowhere"}, "nowhere"),
        ("query", {"sql": "SELECT * FROM event_returns"}, "event_returns"),
        ("query", {"sql": ALL_NEWS, "as_of": "2024-01-01T00:00:00Z"}, "as_of"),
        ("query", {"sql": ALL_NEWS, "max_rows": 0}, "max_rows"),
        ("query", {"sql": ALL_NEWS, "max_rows": 100000}, "max_rows"),
        ("query", {"sql": "SELECT $x AS x", "params": {"y": 1}}, "parameter"),
        ("query", {"sql": "SELECT id, available_at FROM news"}, "available_at_source"),
        ("query", {"sql": "SELECT 1 AS daily_return"}, "forward returns"),
        ("query", {"sql": "SELECT 1 AS a, 2 AS a"}, "same name"),
        ("run_query", {"name": "news_newest"}, "there is no query"),
        ("run_query", {"name": "entity_company"}, "ticker"),
        ("run_query", {"name": "news_latest", "params": {"ticker": "QBG", "pit": AS_OF}}, "no such parameter"),
        ("run_query", {"name": "vector_news", "params": {"seed_id": "bzNews_149"}}, "seed_id"),
        ("search", {"query": " "}, "query"),
        ("search", {"query": "oil", "within": "dreams"}, "within"),
        ("search", {"query": "oil", "within": "concepts"}, "ticker"),
        ("gaps", {"dataset": "sunspots"}, "sunspots"),
        ("gaps", {"dataset": ""}, "dataset"),
        ("search", {"query": "!!!"}, "query: no word"),
        ("run_query", {"name": "transcript_search_qa", "params": {"ticker": "QBG", "query": "OR"}}, "query: no word"),
        ("describe", {"name": "sunspots"}, "sunspots"),
        ("no_such_tool", {}, "Unknown tool"),
    ],
    ids=lambda value: value if isinstance(value, str) else json.dumps(value)[:60],
)
def test_bad_input_is_an_error_that_says_what_to_do(lake, monkeypatch, tool, arguments, complaint):
    monkeypatch.delenv("PITLAKE_EMBEDDER", raising=False)
    assert complaint in refusal(lake, tool, **arguments)


def test_a_forged_watermark_is_not_trusted(lake):
    forged = "CREATE OR REPLACE VIEW lake_info AS SELECT 'news' AS dataset, TIMESTAMPTZ '1999-01-01' AS watermark"
    assert ask(lake, "query", sql=f"{forged}; SELECT 1 AS n")["data"] == [
        {"n": 1, "computed": True, "newest_input_at": "2024-04-30T21:00:00Z"}
    ]


def test_describe_returns_a_datasets_columns_and_a_querys_parameters(lake):
    (dataset,) = ask(lake, "describe", name="news")["datasets"]
    assert {column["name"] for column in dataset["columns"]} >= {"id", "title", "available_at"}
    (query,) = ask(lake, "describe", name="news_latest")["queries"]
    assert [parameter["name"] for parameter in query["parameters"]] == ["ticker", "limit"]


def test_an_empty_answer_explains_itself_as_a_gap(lake):
    reply = ask(lake, "run_query", name="news_latest", params={"ticker": "ZZZ"})
    assert (reply["data"], reply["gaps"][0]["type"]) == ([], "no_data")


def test_a_pit_before_all_data_returns_a_gap_and_no_row(lake):
    reply = ask(lake, "query", sql="SELECT count(*) AS n FROM news", pit="1990-01-01T00:00:00Z")
    assert reply["data"] == []
    assert [gap["type"] for gap in reply["gaps"]] == ["no_data"]
    assert "1990-01-01T00:00:00Z" in reply["gaps"][0]["reason"]
    assert check_envelope(reply, "1990-01-01T00:00:00Z") is None


def test_a_server_with_keep_receipts_stores_its_receipts(tmp_path):
    lake = small(tmp_path / "lake")
    (result,) = talk(server(service(lake.root, keep_receipts=True)), EVERY_TOOL[1])
    remaining = receipts.find(result.structured_content["receipt"]["result_sha256"], lake.root)
    assert len(receipts.replay(remaining, lake)) == len(result.structured_content["data"])


def test_an_open_mode_server_shows_outcomes_and_refuses_them_with_a_pit(lake):
    session = server(service(lake, as_of=None))
    outcomes, narrowed, refused = talk(
        session,
        ("query", {"sql": "SELECT count(*) AS n FROM event_returns"}),
        ("query", {"sql": ALL_NEWS, "pit": "2024-01-02T23:00:00Z"}),
        ("query", {"sql": "SELECT count(*) AS n FROM event_returns", "pit": AS_OF}),
    )
    assert outcomes.structured_content["data"][0]["n"] == 0
    assert [row["id"] for row in narrowed.structured_content["data"]] == ["bzNews_0"]
    assert refused.is_error
