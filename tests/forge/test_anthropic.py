"""The real Anthropic client against a server on loopback that speaks the Messages API. Nothing leaves the machine."""

import asyncio
import json
from dataclasses import replace

import pytest
from pydantic_ai import models

from forge.agent.tools.read import SPEC
from forge.model import Answer, Call, ModelFailed, NoModel, Request, Results, Returned
from forge.model.messages import dump_answer, load_answer
from forge.model.routing import ROLES, Routing
from pitlake.errors import BadInput


def events(*blocks, stop="end_turn", whole=True, used=None):
    """Return the server-sent events of one answer. used: the token counts of the request."""
    usage = (used or {"input_tokens": 12}) | {"output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x-1", "content": [], "usage": usage}
    reply = [{"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}]
    for index, (start, deltas) in enumerate(blocks):
        reply.append({"type": "content_block_start", "index": index, "content_block": start})
        reply += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        reply.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": stop, "stop_sequence": None}
    reply.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}})
    reply.append({"type": "message_stop"})
    if not whole:
        reply = reply[:-3]
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in reply)


def text(*parts):
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in parts]


def use(arguments, name="read", call_id="toolu_1"):
    start = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    return start, [{"type": "input_json_delta", "partial_json": part} for part in (arguments[:7], arguments[7:])]


def thought(message, signature):
    deltas = [{"type": "thinking_delta", "thinking": message}, {"type": "signature_delta", "signature": signature}]
    return {"type": "thinking", "thinking": "", "signature": ""}, deltas


def ask(server, *script, request=None, seconds=20.0, retries=2):
    server.script = [(each if isinstance(each, tuple) else (200, each, 0)) for each in script]
    url = f"http://127.0.0.1:{server.server_address[1]}"
    model = Routing({"agent": f"anthropic:claude-x@{url}"}, seconds, retries).model("agent")
    return asyncio.run(model.ask(request or Request("You are Forge.", ("go",), (SPEC,), 100)))


def failure(kind):
    return json.dumps({"type": "error", "error": {"type": kind, "message": kind}})


def test_an_answer_is_streamed(server):
    assert ask(server, events(text("growth ", "slowed"))) == Answer("growth slowed", (), "stop", "claude-x-1", 12, 7)
    (question,) = server.asked
    assert (question["stream"], question["max_tokens"], question["model"]) == (True, 100, "claude-x")
    assert [tool["name"] for tool in question["tools"]] == ["read"]


def test_tool_calls_and_their_results_round_trip(server):
    answer = ask(server, events(text("look"), use('{"path": "/memory/"}'), stop="tool_use"))
    assert answer.calls == (Call("read", {"path": "/memory/"}, "toolu_1"),)
    results = Results((Returned(answer.calls[0], "Directory: /memory/ (0 items)"),))
    ask(server, events(text("done")), request=Request("You are Forge.", ("go", answer, results)))
    used, inputs = server.asked[-1]["messages"][1:]
    assert used["content"][-1]["input"] == {"path": "/memory/"}
    assert (inputs["content"][0]["type"], inputs["content"][0]["tool_use_id"]) == ("tool_result", "toolu_1")


def test_only_failed_calls_are_sent_back_as_errors(server):
    calls = (Call("read", {"path": "/memory/"}, "toolu_1"), Call("write", {}, "toolu_2"))
    answer = Answer("", calls, "tools", "claude-x-1")
    texts = ("Directory: /memory/ (0 items)", "[write FAILED] path: is missing; give path, content")
    results = Results(tuple(Returned(call, text) for call, text in zip(calls, texts, strict=True)))
    ask(server, events(text("done")), request=Request("You are Forge.", ("go", answer, results)))
    assert [bool(part.get("is_error")) for part in server.asked[-1]["messages"][2]["content"]] == [False, True]


def test_a_lone_surrogate_in_an_answer_does_not_end_the_conversation(server):
    answer = ask(server, events(text("look \ud800"), use('{"path": "/memory/\\ud800"}'), stop="tool_use"))
    results = Results((Returned(answer.calls[0], "missing"),))
    assert ask(server, events(text("done")), request=Request("You are Forge.", ("go", answer, results))).text == "done"
    message, used = server.asked[-1]["messages"][1]["content"]
    assert (message["text"], used["input"]) == ("look ?", {"path": "/memory/?"})


def test_thinking_blocks_are_sent_back_unchanged_and_stay_out_of_the_answer(server):
    hidden = {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"}
    blocks = (thought("Prices first.", "s1gn"), (hidden, []), text("look"), thought("Then read.", "3d"))
    answer = ask(server, events(*blocks, use('{"path": "/memory/"}'), stop="tool_use"))
    assert (answer.text, [call.name for call in answer.calls]) == ("look", ["read"])
    results = Results((Returned(answer.calls[0], "Directory: /memory/ (0 items)"),))
    remaining = load_answer(dump_answer(answer))
    assert remaining == answer
    ask(server, events(text("done")), request=Request("You are Forge.", ("go", remaining, results)))
    sent = server.asked[-1]["messages"][1]["content"]
    assert [(each["type"], each.get("thinking") or each.get("data"), each.get("signature")) for each in sent] == [
        ("thinking", "Prices first.", "s1gn"), ("redacted_thinking", "ZW5jcnlwdGVk", None), ("text", None, None),
        ("thinking", "Then read.", "3d"), ("tool_use", None, None),
    ]  # fmt: skip
    silent = replace(answer, carried=())
    assert Request("", ("go", answer, results)).canonical() == Request("", ("go", silent, results)).canonical()


def test_a_stored_answer_without_carried_blocks_still_loads():
    reply = {"text": "ok", "calls": [], "finish": "stop", "model": "m", "input_tokens": 1, "output_tokens": 2}
    assert load_answer(json.dumps(reply)) == Answer("ok", (), "stop", "m", 1, 2)


@pytest.mark.parametrize(("status", "kind"), [(429, "rate_limit_error"), (529, "overloaded_error"), (500, "api_error")])
def test_a_request_to_a_busy_server_is_retried(server, status, kind):
    assert ask(server, (status, failure(kind), 0), events(text("now"))).text == "now"
    assert len(server.asked) == 2


@pytest.mark.parametrize("status", [429, 529, 400, 401])
def test_a_server_that_keeps_failing_gives_one_clear_error(server, status):
    with pytest.raises(ModelFailed, match=r"anthropic:claude-x gave no answer .*resume later"):
        ask(server, (status, failure("overloaded_error"), 0), retries=1)
    assert len(server.asked) == (2 if status in (429, 529) else 1)


def test_a_server_that_does_not_answer_in_time_gives_an_error(server):
    with pytest.raises(ModelFailed, match="gave no answer"):
        ask(server, (200, events(text("late")), 1.0), seconds=0.2, retries=0)


def test_an_unreachable_server_gives_one_clear_error():
    with models.override_allow_model_requests(True), pytest.raises(ModelFailed, match="gave no answer"):
        asyncio.run(Routing({"agent": "anthropic:x@http://127.0.0.1:9"}, 5, 0).model("agent").ask(Request("", ("go",))))


def test_a_truncated_answer_is_an_error(server):
    with pytest.raises(ModelFailed):
        ask(server, events(text("half of"), whole=False))


def test_an_answer_reports_a_token_limit_or_a_refusal(server):
    assert ask(server, events(text("half of"), stop="max_tokens")).finish == "length"
    assert ask(server, events(text("no"), stop="refusal")).finish == "refused"


def test_arguments_that_are_not_json_are_passed_on_unparsed(server):
    answer = ask(server, events(use('{"path": '), stop="tool_use"))
    assert not isinstance(answer.calls[0].arguments, dict)


def test_the_api_key_is_not_sent_to_a_custom_server(server, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    ask(server, events(text("ok")))
    (headers,) = server.keys
    assert "sk-secret" not in headers


def test_model_requests_are_not_allowed_in_tests():
    assert not models.ALLOW_MODEL_REQUESTS
    with pytest.raises(ModelFailed, match="not allowed"):
        asyncio.run(Routing({"agent": "anthropic:x@http://127.0.0.1:9"}).model("agent").ask(Request("", ("go",))))


def test_a3_each_role_has_a_default_model_that_settings_override(monkeypatch):
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    sizes = [Routing().model_name(role).split("-")[1] for role in ROLES]
    assert sizes == ["opus", "sonnet", "sonnet", "opus", "opus", "opus", "haiku"]
    monkeypatch.setenv("FORGE_MODEL_COMPACT", "openai:tiny@http://127.0.0.1:1/v1")
    assert Routing().model_name("compact") == "openai:tiny@http://127.0.0.1:1/v1"
    assert Routing().model("compact").id == "openai:tiny"
    assert Routing({"compact": "anthropic:y"}).model_name("compact") == "openai:tiny@http://127.0.0.1:1/v1"
    assert Routing({"review": "anthropic:y"}).model_name("review") == "anthropic:y"
    with pytest.raises(NoModel, match=r"model: none is configured for the role agent; set ANTHROPIC_API_KEY"):
        Routing().model("agent")
    with pytest.raises(BadInput, match="role: 'boss' is not a role"):
        Routing({"boss": "opus"})
