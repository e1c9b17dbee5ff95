"""`cut_off` on Python functions, also as tools of frameworks that derive a schema from a function."""

import inspect
from datetime import datetime, timezone

import anyio
import pytest

import pitlake
from pitlake.errors import BadInput
from pitlake.gate.rules import check_answer
from pitlake.proxy.policy import load, parse
from tests.proxy.worlds import AS_OF

MEMBERS = {"items": "[]", "published": "at", "fields": ["title"], "bind": {"until": "{date}"}, "timezone": "UTC"}
OLD = {"title": "old", "at": "2024-02-14T10:00:00Z"}
LATER = {"title": "FUTURE", "at": "2024-02-16T10:00:00Z"}


def test_a_function_returns_an_envelope_and_is_called_with_the_cut_off():
    question = []

    @pitlake.cut_off(AS_OF, **MEMBERS)
    def search(query: str, until: str, limit: int = 3) -> list:
        """Search."""
        question.append((query, until, limit))
        return [OLD, LATER]

    answer = search("oil", limit=2)
    assert question == [("oil", "2024-02-15", 2)]
    assert [row["title"] for row in answer["data"]] == ["old"]
    assert check_answer(answer, AS_OF) is None
    assert list(inspect.signature(search).parameters) == ["query", "limit"]
    assert (search.__name__, search.__doc__) == ("search", "Search.")
    with pytest.raises(TypeError):
        search("oil", until="2026-01-01")


def test_async_functions_are_cut_off_and_exceptions_become_a_gap():
    @pitlake.cut_off(AS_OF, **MEMBERS)
    async def search(until: str) -> list:
        return [OLD]

    @pitlake.cut_off(AS_OF, **MEMBERS)
    def broken(until: str) -> list:
        raise ValueError("FUTURE")

    assert [row["title"] for row in anyio.run(search)["data"]] == ["old"]
    assert broken()["gaps"][0]["type"] == "no_data"
    assert "FUTURE" not in str(broken())


@pytest.mark.parametrize(
    "answer", [None, 7, "FUTURE", b"FUTURE", {"FUTURE": 1}, [object()], iter([LATER]), [["FUTURE"]]]
)
def test_a_result_that_is_not_a_list_of_dated_items_is_a_gap(answer):
    search = pitlake.cut_off(AS_OF, **MEMBERS)(lambda until: answer)
    assert search()["data"] == []
    assert len(search()["gaps"]) == 1
    assert "FUTURE" not in str(search())


def test_a_function_may_answer_with_datetimes():
    later = datetime(2024, 2, 16, tzinfo=timezone.utc)
    rows = [{"title": "old", "at": datetime(2024, 2, 14, 10, tzinfo=timezone.utc)}, {"title": "x", "at": later}]
    assert len(pitlake.cut_off(AS_OF, **MEMBERS)(lambda until: rows)()["data"]) == 1


def test_a_policy_file_applies_to_a_function_with_a_tools_name():
    text = 'server = "own"\nreviewed = true\n[tools.search]\nitems = "[]"\npublished = "at"\nfields = ["title"]\n'

    def search() -> list:
        return [OLD, LATER]

    assert len(pitlake.cut_off(AS_OF, parse(text))(search)()["data"]) == 1
    with pytest.raises(BadInput, match=r"has no tools\.search"):
        pitlake.cut_off(AS_OF, load("alpaca"))(search)


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (lambda query: [], "binds 'until'"),
        (lambda until, **more: [], "without names"),
        (lambda *until: [], "without names"),
    ],
)
def test_a_function_whose_cut_off_could_be_overridden_is_refused(function, complaint):
    with pytest.raises(BadInput, match=complaint):
        pitlake.cut_off(AS_OF, **MEMBERS)(function)


def test_a_missing_policy_or_a_future_cut_off_is_refused():
    with pytest.raises(BadInput, match="exactly once"):
        pitlake.cut_off(AS_OF)
    with pytest.raises(BadInput, match="future"):
        pitlake.cut_off("2099-01-01T00:00:00Z", **MEMBERS)


@pitlake.cut_off(AS_OF, **MEMBERS)
def search_news(query: str, until: str = "") -> list:
    """Search the news.

    Args:
        query: What to search for.
    """
    return [OLD, LATER]


async def called_by_langchain():
    from langchain_core.tools import tool

    framework_tool = tool(search_news)
    return framework_tool.args, framework_tool.invoke({"query": "oil"})


async def called_by_llama_index():
    from llama_index.core.tools import FunctionTool

    framework_tool = FunctionTool.from_defaults(search_news)
    return framework_tool.metadata.get_parameters_dict()["properties"], framework_tool.call(query="oil").raw_output


async def called_by_openai_agents():
    from agents import function_tool
    from agents.tool_context import ToolContext

    framework_tool = function_tool(search_news)
    arguments = '{"query": "oil"}'
    context = ToolContext(None, tool_name="search_news", tool_call_id="1", tool_arguments=arguments)
    answer = await framework_tool.on_invoke_tool(context, arguments)
    return framework_tool.params_json_schema["properties"], answer


async def called_by_pydantic_ai():
    from pydantic_ai import Agent
    from pydantic_ai.messages import ToolReturnPart
    from pydantic_ai.models.test import TestModel

    model = TestModel()
    run = await Agent(model, tools=[search_news]).run("oil")
    [answer] = [part for message in run.new_messages() for part in message.parts if isinstance(part, ToolReturnPart)]
    [framework_tool] = model.last_model_request_parameters.function_tools
    return framework_tool.parameters_json_schema["properties"], answer.content


@pytest.mark.parametrize(
    "called", [called_by_langchain, called_by_llama_index, called_by_openai_agents, called_by_pydantic_ai]
)
def test_a_frameworks_tool_is_cut_off_and_hides_the_time_argument(called):
    shown_parameters, answer = anyio.run(called)
    assert list(shown_parameters) == ["query"]
    assert [row["title"] for row in answer["data"]] == ["old"]
    assert check_answer(answer, AS_OF) is None
