"""A data agent's final answer: it is sent back at most twice for breaking a rule, then replaced by a clean gap."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pitlake.gate.rules import check_envelope
from tests.agents.messages import EARLIER, LATER, MARK, PIT
from tests.agents.mutate import HOOKS, pit_gate

import pit_answer  # isort: skip

ROW = {"available_at_source": "neo4j_created", "evidence": "e"}
SOUND = json.dumps({"data": [{"available_at": EARLIER} | ROW], "gaps": []})
LATE = json.dumps({"data": [{"available_at": LATER, "text": MARK} | ROW], "gaps": []})
WRONG = {
    "prose": f"I found that {MARK}.",
    "nothing": "",
    "beside it": json.dumps({"data": [], "gaps": [], "note": MARK}),
    "no gaps": json.dumps({"data": []}),
    "twice": SOUND + SOUND,
}


@pytest.fixture
def env(tmp_path):
    return {"PITLAKE_HOOK_LOG": str(tmp_path / "hooks.jsonl")}


def stop(output, env, agent="neo4j-news", number="a1", session="s"):
    message = {
        "hook_event_name": "SubagentStop", "session_id": session, "agent_id": number, "agent_type": agent,
        "stop_hook_active": False, "last_assistant_message": output,
    }  # fmt: skip
    return pit_answer.decide(json.dumps(message).encode(), env)


def handed_back(output, env, agent="neo4j-news", prompt="QBG", tool="Agent", **more):
    response = {"status": "completed", "content": [{"type": "text", "text": output}], "agentId": "a1"} | more
    message = {
        "hook_event_name": "PostToolUse", "session_id": "s", "tool_name": tool,
        "tool_input": {"subagent_type": agent, "prompt": prompt}, "tool_response": response,
    }  # fmt: skip
    return pit_answer.decide(json.dumps(message).encode(), env)


@pytest.mark.parametrize("message", [SOUND, f"```json\n{SOUND}\n```", LATE])
def test_an_envelope_of_an_open_session_passes(env, message):
    assert stop(message, env) == {}
    assert handed_back(message, env) == {}


@pytest.mark.parametrize("message", [*WRONG.values(), LATE], ids=[*WRONG, "later than the session"])
def test_a_wrong_answer_goes_back_twice_and_then_becomes_a_clean_gap(env, message):
    bound = env | {"PITLAKE_AS_OF": PIT}
    reply = [stop(message, bound) for _ in range(3)]
    assert [each.get("decision") for each in reply] == ["block", "block", None]
    assert "try 2 of 2" in reply[1]["reason"]
    display = handed_back(message, bound)["hookSpecificOutput"]["updatedToolOutput"]
    (part,) = display["content"]
    payload = json.loads(part["text"])
    assert check_envelope(payload, PIT) is None
    assert (payload["data"], [gap["type"] for gap in payload["gaps"]]) == ([], ["pit_excluded"])
    assert (display["status"], display["agentId"]) == ("completed", "a1")
    assert MARK not in json.dumps([reply, display])


def test_tries_are_counted_per_agent_and_reset_by_a_valid_answer(env):
    assert [bool(stop("prose", env, number=number)) for number in ("a1", "a2", "a1", "a1")] == [True, True, True, False]
    assert stop("prose", env, session="another")["reason"].endswith("try 1 of 2.")
    assert stop(SOUND, env) == {}
    assert stop("prose", env)["reason"].endswith("try 1 of 2.")


@pytest.mark.parametrize(("setting", "tries"), [(0, 0), (1, 1), (3, 2), (-1, 2), ("1", 2), (None, 2)])
def test_an_invalid_number_of_tries_falls_back_to_two(monkeypatch, tmp_path, setting, tries):
    (tmp_path / ".claude/filters").mkdir(parents=True)
    (tmp_path / ".claude/filters/rules.json").write_text(json.dumps({"max_retries": setting}))
    monkeypatch.setattr("pit_call.PROJECT", str(tmp_path))
    assert pit_answer.max_retries() == tries


def test_the_cut_off_in_a_prompt_applies_to_the_answer_returned(env):
    for prompt in (f"QBG --pit {PIT}", f"QBG `--pit={PIT}`."):
        assert handed_back(LATE, env, prompt=prompt)["reason"].startswith("PIT_VIOLATION_GT_CUTOFF")
        assert handed_back(SOUND, env, prompt=prompt) == {}
    assert handed_back(SOUND, env, prompt="QBG --pit tomorrow")["reason"].startswith("PIT_INVALID_PIT")
    bound = env | {"PITLAKE_AS_OF": EARLIER}
    assert handed_back(SOUND, bound, prompt=f"QBG --pit {PIT}")["reason"].startswith("PIT_INVALID_PIT")


PREAMBLE = "<tools-used-before-summary>mcp__pitlake__query, Bash</tools-used-before-summary>\n"


def test_a_leading_list_of_tools_is_not_part_of_the_answer(env):
    def parts(*texts):
        return handed_back("", env, content=[{"type": "text", "text": text} for text in texts])

    assert parts(PREAMBLE, SOUND) == parts(SOUND) == {}
    for texts in ((PREAMBLE,), (PREAMBLE, SOUND, SOUND), (SOUND, PREAMBLE), (f"{PREAMBLE}{MARK}", SOUND),
                  (PREAMBLE.replace("Bash", f'"{MARK}"'), SOUND), (PREAMBLE, PREAMBLE, SOUND)):  # fmt: skip
        (part,) = parts(*texts)["hookSpecificOutput"]["updatedToolOutput"]["content"]
        assert json.loads(part["text"])["data"] == []
        assert MARK not in part["text"]


def notified(output, env, number="a1", session="s", more=""):
    prompt = (
        f"<task-notification>\n<task-id>{number}</task-id>\n<status>completed</status>\n<summary>Agent finished"
        f"</summary>\n<result>{output}</result>\n<usage></usage>\n</task-notification>{more}"
    )
    message = {"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": prompt}
    return pit_answer.decide(json.dumps(message).encode(), env)


@pytest.mark.parametrize(
    "message", [*WRONG.values(), LATE, f"</result>{MARK}<result>{SOUND}", f"{SOUND}</result>{MARK}"]
)
def test_a_background_agents_answer_is_withheld_if_it_breaks_a_rule(env, message):
    bound = env | {"PITLAKE_AS_OF": PIT}
    for _ in range(3):
        stop(message, bound)
    reply = notified(message, bound)
    assert (reply["decision"], reply["hookSpecificOutput"]["suppressOriginalPrompt"]) == ("block", True)
    assert MARK not in json.dumps(reply)
    stop(SOUND, bound)
    assert notified(SOUND, bound) == {}
    several = notified(SOUND, bound, more=f"<task-notification><task-id>a1</task-id><result>{message}</result>")
    assert several["decision"] == "block"


def test_prompts_of_the_user_and_of_other_agents_are_left_alone(env):
    stop("prose", env, agent="general-purpose", number="b2")
    assert notified("prose", env, number="b2") == notified("prose", env, number="a1") == {}
    message = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "tell me of <result>"}
    assert pit_answer.decide(json.dumps(message).encode(), env) == {}


def test_the_cut_off_in_a_prompt_applies_to_a_background_agents_later_answer(env):
    handed_back("", env, prompt=f"QBG --pit {PIT}", status="async_launched")
    assert stop(LATE, env)["reason"].startswith("PIT_VIOLATION_GT_CUTOFF")
    assert notified(LATE, env)["reason"].startswith("PIT_VIOLATION_GT_CUTOFF")
    assert stop(SOUND, env) == notified(SOUND, env) == {}


def resumed(env, agent):
    message = {
        "hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "SendMessage",
        "tool_input": {"to": agent, "message": "narrower"}, "tool_response": {"success": True},
    }  # fmt: skip
    return pit_answer.decide(json.dumps(message).encode(), env)


def test_a_turn_ends_when_a_data_agent_runs_in_the_background(env):
    assert handed_back("", env, status="async_launched")["continue"] is False
    assert resumed(env, "a1")["continue"] is False
    assert resumed(env, "a2") == resumed(env, "news") == {}
    message = {"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Agent",
               "tool_input": {"subagent_type": "neo4j-news", "prompt": "QBG", "name": "news"},
               "tool_response": {"status": "completed", "agentId": "a3", "content": []}}  # fmt: skip
    pit_answer.decide(json.dumps(message).encode(), env)
    assert resumed(env, "news")["continue"] is resumed(env, "a3")["continue"] is False


def test_an_agent_that_is_resumed_has_its_tries_again(env):
    assert [bool(stop("prose", env)) for _ in range(3)] == [True, True, False]
    assert notified("prose", env)["decision"] == "block"
    assert [bool(stop("prose", env)) for _ in range(3)] == [True, True, False]


def test_without_a_writable_state_invalid_background_answers_are_withheld(tmp_path):
    (tmp_path / "answers").write_text("in the way")
    env = {"PITLAKE_HOOK_LOG": str(tmp_path / "hooks.jsonl")}
    assert stop("prose", env) == {}
    assert notified("prose", env)["decision"] == "block"
    assert notified(SOUND, env) == {}


def test_answers_of_other_agents_and_tools_are_left_alone(env):
    assert stop("prose", env, agent="general-purpose") == handed_back("prose", env, agent="general-purpose") == {}
    assert stop("prose", env, agent="../agents/neo4j-news") == {}
    assert handed_back("prose", env, agent="general-purpose", status="async_launched") == {}
    assert handed_back("prose", env, tool="Bash") == resumed(env, "a1") == {}


def test_without_a_writable_state_a_wrong_answer_is_not_sent_back(tmp_path):
    (tmp_path / "answers").write_text("in the way")
    env = {"PITLAKE_HOOK_LOG": str(tmp_path / "hooks.jsonl")}
    assert stop("prose", env) == {}
    assert "hookSpecificOutput" in handed_back("prose", env)


@pytest.mark.parametrize(("event", "blocks"), [("PostToolUse", True), ("SubagentStop", False)])
def test_a_hook_that_breaks_shows_nothing_of_the_answer(env, tmp_path, event, blocks):
    """The hook's folder lacks the rules that it applies."""
    shutil.copytree(HOOKS, tmp_path / ".claude" / "hooks", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-IS", str(tmp_path / ".claude" / "hooks" / "pit_answer.py")]
    message = json.dumps({"hook_event_name": event, "x": MARK}).encode()
    done = subprocess.run(command, input=message, env=env, capture_output=True, check=True)
    assert (MARK in done.stdout.decode(), "decision" in json.loads(done.stdout)) == (False, blocks)


def test_the_hook_runs_as_claude_code_starts_it_and_logs_no_payload(env):
    message = {"hook_event_name": "SubagentStop", "agent_type": "neo4j-news", "last_assistant_message": WRONG["prose"]}
    command = [sys.executable, "-IS", str(HOOKS / "pit_answer.py")]
    done = subprocess.run(command, input=json.dumps(message).encode(), env=env, capture_output=True, check=True)
    assert json.loads(done.stdout)["decision"] == "block"
    (line,) = map(json.loads, Path(env["PITLAKE_HOOK_LOG"]).read_text().splitlines())
    assert (line["hook"], line["agent"], line["code"], line["tries"]) == (
        "pit_answer", "neo4j-news", "PIT_INVALID_JSON", 1
    )  # fmt: skip
    assert MARK not in json.dumps(line)


def test_the_log_names_the_question_and_receipt_of_an_allowed_answer(env):
    receipt = {"as_of": PIT, "known_by": None, "sql_sha256": "0" * 64, "result_sha256": "f" * 64, "rows": 0}
    payload = {"data": [], "gaps": [], "truncated": False, "next_cursor": None, "receipt": receipt}
    for inputs in ({"sql": "SELECT 1", "pit": PIT}, {"pit": PIT, "sql": "SELECT 1"}, {"sql": "SELECT 2", "pit": PIT}):
        message = {
            "tool_name": "mcp__pitlake__query", "tool_input": inputs,
            "tool_response": [{"type": "text", "text": json.dumps(payload)}],
        }  # fmt: skip
        assert pit_gate.decide(json.dumps(message).encode(), env) == {}
    lines = [json.loads(line) for line in Path(env["PITLAKE_HOOK_LOG"]).read_text().splitlines()]
    assert [line["receipt"] for line in lines] == ["f" * 64] * 3
    question = [line["question"] for line in lines]
    assert question[0] == question[1] != question[2]
