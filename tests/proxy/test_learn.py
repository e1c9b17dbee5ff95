"""`--learn` drafts a policy for a person to review, from the tools and the answers to sample calls."""

import json
import sys
import tomllib

import pytest

from pitlake.cli import invoke
from pitlake.clock import instant
from pitlake.errors import BadInput
from pitlake.proxy.cutting import cut_answer
from pitlake.proxy.learn import complaint, draft
from pitlake.proxy.policy import parse
from tests.proxy.test_policies import RECORDED
from tests.proxy.worlds import AS_OF, hostile

TEXT = {"type": "string"}


def tool(name, **properties):
    return {"name": name, "title": None, "description": "", "schema": {"type": "object", "properties": properties}}


def text_answer(document):
    return {"content": [{"type": "text", "text": json.dumps(document)}]}


def test_a_draft_is_refused_until_reviewed_and_then_cuts_off():
    answer = text_answer({"total": 2, "results": [
        {"id": 1, "title": "old", "created_at": "2024-02-14T10:00:00Z"},
        {"id": 2, "title": "FUTURE", "created_at": "2024-02-16T10:00:00Z"}]})  # fmt: skip
    text = draft([tool("search", query=TEXT, end_date=TEXT), tool("delete")], [("search", answer)])
    with pytest.raises(BadInput, match="is a draft"):
        parse(text)
    policy = parse(text.replace("reviewed = false", "reviewed = true"))
    own = policy.tools["search"]
    assert [*policy.tools] == ["search"]
    assert (own.arguments, own.bind, own.items) == (("query",), {"end_date": "{date}"}, "results[]")
    assert (own.published, own.key) == (("created_at",), ("id",))
    rows = cut_answer(answer, own, instant(AS_OF), name="n").envelope(instant(AS_OF))["data"]
    assert [row["title"] for row in rows] == ["old"]
    assert "FUTURE" not in text
    assert "# delete" in text


@pytest.mark.parametrize(
    "name", ["position", "rank", "row_number", "index", "result_no", "search_rank", "totalHits", "total"]
)
def test_position_and_total_members_are_left_out_of_a_draft(name):
    answer = text_answer([{"title": "x", "date": "2024-02-14", "item": "pen", name: 24}])
    text = draft([tool("search")], [("search", answer)])
    assert f"# {name} is left out" in text
    assert tomllib.loads(text)["tools"]["search"]["fields"] == ["title", "date", "item"]


@pytest.mark.parametrize(
    ("spelled", "form"),
    [
        ("2024-02-14", "iso"),
        (1708000000, "epoch"),
        (1708000000000, "epoch_ms"),
        ("Thu, 15 Feb 2024 10:00:00 GMT", "rfc2822"),
    ],
)
def test_the_format_of_times_is_found(spelled, form):
    text = draft([tool("search")], [("search", text_answer([{"date": spelled, "name": "x"}]))])
    members = tomllib.loads(text)["tools"]["search"]
    assert members.get("format", "iso") == form
    assert members["published"] == ["date"]


def as_text(document):
    """Return FastMCP's answer for a tool that returns JSON as a string."""
    return text_answer(document) | {"structuredContent": {"result": json.dumps(document)}}


@pytest.mark.parametrize(
    ("answer", "lines"),
    [
        (
            as_text({"results": [{"id": 1, "created_at": "2024-02-14T10:00:00Z"}]}),
            {"answer": "json_blocks", "items": "[].results[]", "published": ["created_at"]},
        ),
        (as_text([{"date": "Feb 14, 2024"}]), {"answer": "json_blocks", "items": "[][]", "format": "%b %d, %Y"}),
        (text_answer({"Close": {"2024-02-13": 1.0}, "Open": {"2024-02-13": 2.0}}), {"items": "{column}.{date}"}),
        (text_answer({"Close": {"1707782400000": 1.0}}), {"items": "{column}.{date}", "format": "epoch_ms"}),
        (text_answer({"Daily (raw)": {"2024-02-13": {"open": "1"}}}), {"items": "Daily (raw).{date}"}),
        (text_answer([{"content": {"pubDate": "2024-02-14T10:00:00Z"}}]), {"published": ["content.pubDate"]}),
        (
            text_answer({"count": 1, "items": [{"date": "2024-02-14"}], "next_cursor": "x"}),
            {"pages": {"argument": "cursor", "next": "next_cursor"}, "limit": {"argument": "limit", "most": 7}},
        ),
        (text_answer({"items": [{"date": "2024-02-14"}], "next_cursor": {"id": "x"}}), {"pages": None}),
    ],
)
def test_common_answer_formats_are_drafted_and_let_items_pass(answer, lines):
    count = {"type": "integer", "maximum": 7}
    text = draft([tool("search", query=TEXT, limit=count, cursor=TEXT)], [("search", answer)])
    members = tomllib.loads(text)["tools"]["search"]
    assert {name: members.get(name) for name in lines} == lines
    policy = parse(text.replace("reviewed = false", "reviewed = true"))
    assert cut_answer(answer, policy.tools["search"], instant(AS_OF), name="n").rows


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ([{"name": "x", "price": 1}], "no member of an item can be read as its publication"),
        ([{"date": "2024-02-14", "daily_return": 0.1}], "no item of the sample would pass"),
        ({"found": "nothing"}, "no member of an item"),
        ({"query": "x", "results": []}, "the answer has an empty list: draft from a call that finds items."),
        (
            [{"realtime_start": "2024-02-13", "realtime_end": "9000-01-01", "date": "2024-01-01"}],
            "no item of the sample would pass (realtime_end states a later time: is it one of business_dates?)",
        ),
        ([{"date": "2024-02-14", "edited": "some day"}], "no item of the sample would pass (edited can't be read"),
        ([{"date": "2024-02-14", "note": "due in May 2030"}], "no item of the sample would pass (the text of note"),
    ],
)
def test_a_tool_that_lets_nothing_pass_is_commented_out_with_the_reason(document, reason):
    text = draft(
        [tool("search"), tool("good")],
        [("search", text_answer(document)), ("good", text_answer([{"date": "2024-02-14"}]))],
    )
    assert [*parse(text.replace("reviewed = false", "reviewed = true")).tools] == ["good"]
    assert f"# Commented out: {reason}" in text


def test_control_characters_in_names_of_a_server_add_no_line_to_a_draft():
    member, line = "total_\x7f", 'x_time\n[tools.any]\nfields = ["a"]'
    answer = text_answer({"rows": [{"date": "2024-02-14", member: 1, "ok": 2, line: "?"}, {"date": "2024-02-14"}]})
    text = draft([tool("search"), tool(line)], [("search", answer)])
    policy = parse(text.replace("reviewed = false", "reviewed = true"))
    assert [*policy.tools] == ["search"]
    assert member in policy.tools["search"].fields


def test_doubly_encoded_json_is_read():
    answer = text_answer(json.dumps([{"date": "2024-02-14", "title": "old"}]))
    policy = parse(draft([tool("search")], [("search", answer)]).replace("reviewed = false", "reviewed = true"))
    assert len(cut_answer(answer, policy.tools["search"], instant(AS_OF), name="n").rows) == 1


def test_only_arguments_that_limit_the_time_are_bound_to_it():
    names = ("max_count", "max_chars", "to_currency", "end_user", "end_timestamp", "maxTime")
    log = tool("log", **{name: {"type": "integer"} for name in names})
    text = draft([log], [("log", text_answer([{"date": "2024-02-14"}] * 2))])
    members = tomllib.loads(text)["tools"]["log"]
    assert (members["bind"], members["limit"]["argument"]) == ({"end_timestamp": "{epoch}"}, "max_count")


def test_a_limit_declared_as_any_number_is_recognised():
    answer = text_answer([{"date": "2024-02-14"}] * 2)
    for kind in ({"type": "number"}, {"anyOf": [{"type": "number"}, {"type": "null"}]}):
        text = draft([tool("search", limit=kind)], [("search", answer)])
        assert tomllib.loads(text)["tools"]["search"]["limit"]["argument"] == "limit"


@pytest.mark.parametrize(
    "properties",
    [
        {"sql": TEXT},
        {"query": TEXT | {"description": "SELECT SQL query to execute"}},
        {"query": TEXT | {"description": "A GraphQL document"}},
        {"cypher_query": TEXT},
    ],
)
def test_a_tool_that_takes_a_query_language_is_commented_out(properties):
    text = draft([tool("run", **properties)], [("run", text_answer([{"date": "2024-02-14"}]))])
    (name,) = properties
    assert f"# Commented out: with a {name} of its own a caller can date the items as it likes" in text
    assert f'Write your own: fixed = {{ {name} = "…" }}.' in text
    assert "tools" not in tomllib.loads(text)


def test_a_draft_states_how_many_sample_items_would_not_pass_and_why():
    vintages = [
        {"realtime_start": "2024-02-13", "realtime_end": end, "date": "2024-01-01"}
        for end in ("2024-02-15", "9999-12-31")
    ]
    text = draft([tool("observations")], [("observations", text_answer(vintages))])
    reason = (
        "1 of 2 items of the sample would not pass (realtime_end states a later time: is it one of business_dates?)"
    )
    assert f"[tools.observations]\n# {reason}.\n" in text


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("All is well", "the answer is prose"),
        ("[{'date': '2024-02-14'}]", "the answer is in Python's notation"),
        ('["a", "b"]', "the answer is JSON without objects"),
        (None, "the answer has no text"),
    ],
)
def test_the_form_of_an_answer_without_items_is_named_in_the_draft(text, shape):
    content = [{"type": "image", "data": ""} if text is None else {"type": "text", "text": text}]
    assert f"# Commented out: {shape}: no item can be found." in draft([tool("a")], [("a", {"content": content})])


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "there was no answer: the server ended, or the call took longer than --timeout"),
        ({"isError": True}, "it did not say why"),
        ({"isError": True, "content": [{"type": "text", "text": "HTTP\n 503"}]}, "HTTP 503"),
        (
            {"content": [{"type": "text", "text": "Error: the host\ncan't be reached"}]},
            "Error: the host can't be reached",
        ),
        (text_answer({"error": True, "error_type": "unknown", "message": "no such host"}), "no such host"),
        (text_answer({"title": "Northwind", "summary": None, "error": "HTTP 503"}), "HTTP 503"),
        (text_answer({"success": False, "error": {"code": 503}}), '{"code": 503}'),
        (text_answer({"status": "error", "results": [], "message": "timed out"}), "timed out"),
        (as_text("API error 429"), "API error 429"),
        (as_text({"success": False, "error": "no key"}), "no key"),
        (text_answer({"errors": [], "error": None, "results": [{"date": "2024-02-14"}]}), ""),
        (text_answer({"error": "one source of two failed", "results": [{"date": "2024-02-14"}]}), ""),
        (text_answer([{"date": "2024-02-14", "error": "none"}]), ""),
        ({"content": [{"type": "text", "text": "Northwind sees no error"}]}, ""),
    ],
)
def test_an_error_is_one_line_however_a_server_reports_it(answer, words):
    assert complaint(answer) == words
    assert ("because the sample call failed:\n# a" in draft([tool("a")], [("a", answer)])) == bool(words)


def test_an_answer_that_is_one_item_has_no_pages():
    offset = {"type": "integer"}
    text = draft(
        [tool("page", offset=offset, limit=offset)], [("page", text_answer({"date": "2024-02-14", "text": "x"}))]
    )
    assert tomllib.loads(text)["tools"]["page"].keys() == {"arguments", "items", "published", "timezone", "fields"}


def test_a_list_of_one_item_is_a_list():
    answer = text_answer({"as_of": "2024-02-14", "results": [{"date": "2024-02-14", "title": "x"}]})
    assert tomllib.loads(draft([tool("search")], [("search", answer)]))["tools"]["search"]["items"] == "results[]"


def test_failed_sample_calls_are_listed_apart_from_missing_sample_calls():
    text = draft([tool("a"), tool("b"), tool("c")], [("a", {"isError": True}), ("b", None)])
    assert text.endswith("the sample call failed:\n# a\n# b\n\n# Not drafted, because there was no sample call:\n# c\n")


@pytest.mark.parametrize("answer", [None, {"isError": True}, {"content": [{"type": "text", "text": "prose"}]}])
def test_an_unreadable_answer_is_not_drafted(answer):
    text = draft([tool("search", query=TEXT)], [("search", answer)])
    assert "published" not in tomllib.loads(text).get("tools", {}).get("search", {})


def test_a_draft_from_a_recorded_answer_has_its_form_items_and_key():
    text = draft(
        [tool("brave_news_search", query=TEXT)], [("brave_news_search", RECORDED["brave-search"]["brave_news_search"])]
    )
    members = tomllib.loads(text)["tools"]["brave_news_search"]
    assert (members["answer"], members["items"], members["key"]) == ("json_blocks", "[]", ["url"])


def test_the_command_writes_a_draft(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    line = ["proxy", "--learn", "draft.toml", "--call", "get_recent_filings", '{"identifier": "AAPL"}']
    assert invoke([*line, "--", *hostile("sec-edgar", 3)]) == 0
    assert "reviewed = false" in (tmp_path / "draft.toml").read_text()
    assert "is a draft" in capsys.readouterr().err
    assert invoke([*line, "--", *hostile("sec-edgar", 3)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert invoke(["proxy", "--learn", "b.toml", "--call", "no", "{}", "--", *hostile("sec-edgar", 3)]) == 2
    assert "the server has no tool 'no'" in capsys.readouterr().err


def test_the_error_of_a_server_that_dies_at_start_is_shown_without_secrets(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEWS_API_KEY", "planted-f00dfeed")
    program = "import os\nraise SystemExit('no licence for ' + os.environ['NEWS_API_KEY'])"
    assert invoke(["proxy", "--learn", "draft.toml", "--", sys.executable, "-c", program]) == 2
    output = capsys.readouterr().err
    assert "did not answer as an MCP server: no licence for [redacted NEWS_API_KEY]" in output
    assert output.count("\n") == 1


def test_only_the_error_line_of_a_servers_output_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    program = "raise SystemExit('Usage: server\\nError: a licence is required.\\nOptions:\\n  - buy one')"
    assert invoke(["proxy", "--learn", "draft.toml", "--", sys.executable, "-c", program]) == 2
    assert "did not answer as an MCP server: Error: a licence is required. (" in capsys.readouterr().err


NOISY = """
import sys
print("FUTURE: a line that is no message", flush=True)
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
tools = MCPServer("noisy")

@tools.tool()
def search() -> dict:
    raise ToolError("set the variable NEWS_PLAN first")

tools.run("stdio")
"""


@pytest.mark.long
def test_a_server_that_prints_to_stdout_is_read_and_its_error_reported(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    line = ["proxy", "--learn", "draft.toml", "--call", "search", "{}", "--", sys.executable, "-c", NOISY]
    assert invoke(line) == 0
    output = capfd.readouterr().err
    assert "search: the sample call failed: Error executing tool search: set the variable NEWS_PLAN first" in output
    assert "FUTURE" not in output
    assert "# Not drafted, because the sample call failed:\n# search" in (tmp_path / "draft.toml").read_text()
