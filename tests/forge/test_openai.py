"""The real OpenAI client against a server on loopback that speaks Chat Completions. Nothing leaves the machine."""

import asyncio
import json

import pytest

from forge.agent.tools.read import SPEC
from forge.model import Answer, Call, ModelFailed, Request, Results, Returned
from forge.model.routing import Routing


def chunks(*deltas, finish="stop", used=None):
    """Return the server-sent events of one answer. used: the token counts of the request."""
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "local-1"}
    choices = [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    usage = {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19} | (used or {})
    reply = [base | {"choices": [choice]} for choice in choices] + [base | {"choices": [], "usage": usage}]
    return "".join(f"data: {json.dumps(each)}\n\n" for each in reply) + "data: [DONE]\n\n"


def called(index, **function):
    return {"tool_calls": [{"index": 0, "function": function} | ({} if index else {"id": "t1", "type": "function"})]}


def ask(server, *script, messages=("go",)):
    server.script = [(each if isinstance(each, tuple) else (200, each, 0)) for each in script]
    name = f"openai:local@http://127.0.0.1:{server.server_address[1]}/v1"
    return asyncio.run(Routing({"agent": name}).model("agent").ask(Request("You are Forge.", messages, (SPEC,), 100)))


def test_a3_an_openai_compatible_server_answers_a_role(server):
    reply = ask(server, chunks({"content": "Growth "}, {"content": "slows."}))
    assert reply == Answer("Growth slows.", (), "stop", "local-1", 12, 7)
    (question,) = server.asked
    assert [each["role"] for each in question["messages"]] == ["system", "user"]
    assert (question["model"], question["stream"]) == ("local", True)
    assert [each["function"]["name"] for each in question["tools"]] == ["read"]


def test_tool_calls_and_their_results_round_trip(server):
    streamed = called(0, name="read", arguments='{"path": '), called(1, arguments='"/memory/views/"}')
    reply = ask(server, chunks(*streamed, finish="tool_calls"))
    assert (reply.calls, reply.finish) == ((Call("read", {"path": "/memory/views/"}, "t1"),), "tools")
    ask(server, chunks({"content": "ok"}), messages=("go", reply, Results((Returned(reply.calls[0], "none"),))))
    sent = server.asked[-1]["messages"]
    assert [each["role"] for each in sent] == ["system", "user", "assistant", "tool"]
    assert (sent[3]["tool_call_id"], sent[3]["content"]) == ("t1", "none")


def test_the_api_key_is_not_sent_to_a_custom_server(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    ask(server, chunks({"content": "ok"}))
    (headers,) = server.keys
    assert "sk-secret" not in headers


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_retried_and_a_persistent_failure_gives_one_clear_error(server, status):
    busy = (status, json.dumps({"error": {"message": "busy"}}), 0)
    assert ask(server, busy, chunks({"content": "ok"})).text == "ok"
    with pytest.raises(ModelFailed, match=r"openai:local gave no answer .*--resume"):
        ask(server, *[busy] * 9)


@pytest.mark.parametrize(("finish", "kind"), [("length", "length"), ("content_filter", "refused")])
def test_an_answer_reports_a_token_limit_or_a_refusal(server, finish, kind):
    assert ask(server, chunks({"content": "half of"}, finish=finish)).finish == kind
