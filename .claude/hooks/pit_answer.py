#!/usr/bin/env python3
"""The PIT gate for a data agent's final answer: an envelope that is valid at the cut-off, or a clean gap.

As a SubagentStop hook, it sends back an answer that isn't an envelope or breaks a rule, at most `max_retries` times
(.claude/filters/rules.json). As a PostToolUse hook of the tool that starts agents, it replaces an answer that is still
invalid by a clean gap. As a UserPromptSubmit hook, it withholds such an answer from a background or resumed agent. It
ignores the answers of other agents.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from typing import Any, Iterator, Mapping, Sequence

# python3 -I leaves the hooks' folder out of the path.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import pit_call
except BaseException:  # noqa: BLE001  Without the rules, `main` shows no answer.
    pit_call = None

WAIT = "the data agent runs in the background; its answer arrives in a separate prompt after it passes the gate"
MOST = 2
SECONDS = 10.0
FAILED = "PIT_PARSE_ERROR: the hook itself failed, so it lets nothing pass"
LATE = f"PIT_PARSE_ERROR: the answer could not be judged within {SECONDS:.0f} s"

# The heading of the list of tools an agent used, which newer versions put before its answer.
_PREAMBLE = re.compile(r"\s*<tools-used-before-summary>[\w ,.:-]*</tools-used-before-summary>\s*")
_TASK = re.compile(r"<task-id>([A-Za-z0-9_-]{1,96})</task-id>")
_RESULT = re.compile(r"<result>(.*)</result>", re.DOTALL)
_FENCED = re.compile(r"```(?:json)?\n(.*)\n```", re.DOTALL)


def main() -> int:
    """Check the message on stdin and write the answer to stdout. If the hook fails, the agent's answer is not shown."""
    if pit_call is not None:
        return pit_call.run(decide, failure, SECONDS)
    os.write(1, json.dumps(failure(sys.stdin.buffer.read() if sys.stdin else b"", False)).encode())
    return 0


def failure(text: bytes, late: bool) -> dict[str, Any]:
    return {} if b'"SubagentStop"' in text else _replacement({"status": "completed"}, LATE if late else FAILED)


def decide(text: bytes, env: Mapping[str, str], _: Sequence[str] = ()) -> dict[str, Any]:
    """Return the hook's output: `{}`, an order to answer again, or a replacement for the agent's answer."""
    message = pit_call.rules.strict_json(text)
    call = pit_call.Call("", {}, message if isinstance(message, dict) else {})
    event = call.message.get("hook_event_name")
    judge = {"SubagentStop": _last_message, "UserPromptSubmit": _notifications}.get(event, _results)
    judgements = list(judge(call, env))
    if not judgements:
        return {}
    if None in judgements:
        return {"continue": False, "stopReason": WAIT}
    pit, verdict = next((judgement for judgement in judgements if judgement[1]), judgements[0])
    tries = _count(call, env, verdict) if event == "SubagentStop" else 0
    pit_call.audit(env, "pit_answer", call, verdict, pit, tries=tries)
    if verdict is None:
        return {}
    reason = f"{verdict[0]}: {verdict[1]}"
    if event == "UserPromptSubmit":
        output = {"hookEventName": event, "suppressOriginalPrompt": True}
        return {"decision": "block", "reason": f"{reason}; ask the agent again", "hookSpecificOutput": output}
    if event != "SubagentStop":
        return _replacement(call.message["tool_response"], reason)
    if tries > max_retries():
        return {}  # The last answer is replaced or withheld when Claude Code passes it back.
    return {"decision": "block", "reason": f"{reason}. Answer with only the envelope; try {tries} of {max_retries()}."}


def max_retries() -> int:
    """Return how often an answer may be sent back."""
    retries, path = None, os.path.join(pit_call.PROJECT, ".claude", "filters", "rules.json")
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError), open(path, "rb") as file:
        retries = json.load(file)["max_retries"]
    return retries if isinstance(retries, int) and 0 <= retries <= MOST else MOST


def _judgement(answer: Any, note: Mapping[str, Any], env: Mapping[str, str]) -> tuple[Any, Any]:
    """Return the cut-off in force for an answer, None in open mode, and the first rule that the answer breaks."""
    rules, pit = pit_call.rules, pit_call.cut_off({"command": str(note.get("pits", ""))}, env)
    if pit is not None and not isinstance(pit, str):
        return None, pit
    text = answer.strip() if isinstance(answer, str) else ""
    fenced = _FENCED.fullmatch(text)
    try:
        payload = rules.strict_json(fenced.group(1) if fenced else text)
    except (ValueError, RecursionError):
        return pit, rules.Verdict("PIT_INVALID_JSON", "the answer is not exactly one JSON object")
    arrays = isinstance(payload, dict) and all(isinstance(part, list) for part in payload.values())
    if not arrays or payload.keys() != {"data", "gaps"}:
        return pit, rules.Verdict("PIT_MISSING_ENVELOPE", "the answer is not exactly the two arrays data and gaps")
    return pit, None if pit is None else rules.check_envelope(payload, pit)


def _last_message(call: Any, env: Mapping[str, str]) -> Iterator[tuple[Any, Any]]:
    """Yield the judgement of a data agent's last message at the cut-off in force when it was started."""
    if pit_call.is_data_agent(call.message.get("agent_type")):
        note = _remembered(call, env, call.message.get("agent_id"))
        yield _judgement(call.message.get("last_assistant_message"), note, env)


def _results(call: Any, env: Mapping[str, str]) -> Iterator[tuple[Any, Any] | None]:
    """Yield the judgement of a data agent's answer at the cut-off of its prompt or session; None if it answers later.

    If so, the session's turn ends. Versions before 2.1.332 pass an answer that arrives within a turn to the model
    without any hook; an answer after the turn arrives in a prompt, which a hook judges.
    """
    tool, inputs, response = map(call.message.get, ("tool_name", "tool_input", "tool_response"))
    if not isinstance(inputs, dict) or not isinstance(response, dict):
        return
    if tool == "SendMessage" and _remembered(call, env, inputs.get("to")):
        yield None
    if tool not in pit_call.STARTERS or not pit_call.is_data_agent(inputs.get("subagent_type")):
        return
    prompt = inputs.get("prompt")
    instants = re.findall(r"--pit[= ]\s*(\S+)", prompt) if isinstance(prompt, str) else []
    note = {"pits": " ".join("--pit " + instant.strip("\"'`.,;)") for instant in instants), "tries": 0}
    for agent in {response.get("agentId"), inputs.get("name")} - {None}:
        _remember(call, env, agent, note)
    if response.get("status", "completed") != "completed":
        yield None
        return
    parts = response.get("content")
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    if len(texts) == 2 and isinstance(texts[0], str) and _PREAMBLE.fullmatch(texts[0]):
        del texts[0]
    yield _judgement(texts[0] if len(texts) == 1 else None, note, env)


def _notifications(call: Any, env: Mapping[str, str]) -> Iterator[tuple[Any, Any]]:
    """Yield the judgements of background data agents' final answers, which Claude Code passes back in a prompt."""
    prompt = call.message.get("prompt")
    for notification in prompt.split("<task-notification>")[1:] if isinstance(prompt, str) else ():
        task, result = _TASK.search(notification), _RESULT.search(notification)
        agent = task.group(1) if task else None
        note = _remembered(call, env, agent)
        if note:
            _remember(call, env, agent, {"tries": 0})
        if note and "<result>" in notification:
            yield _judgement(result.group(1) if result else None, note, env)


def _replacement(response: dict[str, Any], reason: str) -> dict[str, Any]:
    gap = json.dumps({"data": [], "gaps": [{"type": "pit_excluded", "reason": reason}]})
    replacement = {**response, "content": [{"type": "text", "text": gap}]}
    output = {"hookEventName": "PostToolUse", "updatedToolOutput": replacement}
    return {"decision": "block", "reason": reason, "hookSpecificOutput": output}


def _count(call: Any, env: Mapping[str, str], verdict: Any) -> int:
    """Return how often this agent's answers were invalid, with this one; over every limit if it can't be stored."""
    agent = call.message.get("agent_id")
    tries = _remembered(call, env, agent).get("tries", 0) + 1 if verdict else 0
    return tries if _remember(call, env, agent, {"tries": tries}) else MOST + 1


def _remembered(call: Any, env: Mapping[str, str], agent: Any) -> dict[str, Any]:
    """Return the note about a data agent; it is empty for other agents, unless notes can't be stored."""
    path = _note_path(call, env, agent)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "rb") as note:
            return json.load(note)
    except FileNotFoundError:
        return {} if os.access(os.path.dirname(path), os.W_OK) else {"tries": 0}
    except (OSError, ValueError):
        return {"tries": 0}


def _remember(call: Any, env: Mapping[str, str], agent: Any, more: Mapping[str, Any]) -> bool:
    path, state = _note_path(call, env, agent), {**_remembered(call, env, agent), **more}
    with contextlib.suppress(OSError):
        with open(f"{path}.part", "w", encoding="utf-8") as note:
            json.dump(state, note)
        os.replace(f"{path}.part", path)
        return True
    return False


def _note_path(call: Any, env: Mapping[str, str], agent: Any) -> str:
    name = hashlib.sha256(json.dumps([str(call.message.get("session_id")), str(agent)]).encode()).hexdigest()[:32]
    folder = os.path.dirname(env[pit_call.LOG]) if env.get(pit_call.LOG) else os.path.join(pit_call.PROJECT, ".pitlake")
    return os.path.join(folder, "answers", name)


if __name__ == "__main__":
    sys.exit(main())
