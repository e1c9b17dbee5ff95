#!/usr/bin/env python3
"""The PIT gate for a data agent's final answer: an envelope that is valid at the cut-off, or a clean gap.

As a SubagentStop hook, it sends back an answer that isn't an envelope or breaks a rule. It does so at most
`max_retries` times (.claude/filters/rules.json), and counts the attempts. As a PostToolUse hook of the tool that starts
agents, it replaces an answer that is still invalid by a clean gap. As a UserPromptSubmit hook, it withholds such an
answer from a background or resumed agent. It ignores the answers of other agents. Standard library only, Python 3.9 or
newer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import time
from typing import Any, Iterator, Mapping

STARTERS = ("Agent", "Task")
WAIT = "the data agent runs in the background; its answer arrives in a separate prompt after it passes the gate"
NOTIFICATION = "<task-notification>"
MOST = 2
FAILED = "PIT_PARSE_ERROR: the hook itself failed, so it lets nothing pass"
SECONDS = 10.0
LATE = f"PIT_PARSE_ERROR: the answer could not be judged within {SECONDS:.0f} s"

# The heading of the list of tools an agent used, which newer versions put before its answer.
_PREAMBLE = re.compile(r"\s*<tools-used-before-summary>[\w ,.:-]*</tools-used-before-summary>\s*")
_TASK = re.compile(r"<task-id>([A-Za-z0-9_-]{1,96})</task-id>")
_RESULT = re.compile(r"<result>(.*)</result>", re.DOTALL)
_FENCED = re.compile(r"```(?:json)?\n(.*)\n```", re.DOTALL)


def main() -> int:
    """Check the message on stdin and write the answer to stdout. If the hook fails, the agent's answer is not shown."""
    started, text = time.perf_counter(), b""
    try:
        pit_call = _shared()
        text = pit_call.stdin(pit_call.MOST_BYTES, started + SECONDS)
        answer = pit_call.in_time(lambda: decide(text, os.environ, started), started + SECONDS)
    except BaseException as fault:  # noqa: BLE001  The boundary: an answer that could not be judged is not passed on.
        why = LATE if isinstance(fault, TimeoutError) else FAILED
        if why == FAILED and not text:
            with contextlib.suppress(Exception):
                text = sys.stdin.buffer.read()
        answer = json.dumps({} if b'"SubagentStop"' in text else _replaced({"status": "completed"}, why)).encode()
    os.write(1, answer)
    return 0


def decide(text: bytes, env: Mapping[str, str], started: float = 0.0) -> dict[str, Any]:
    """Return the hook's output: `{}`, an order to answer again, or a replacement for the agent's answer."""
    pit_call = _shared()
    message = pit_call.rules.strict_json(text)
    call = pit_call.Call("", {}, message if isinstance(message, dict) else {})
    event = call.message.get("hook_event_name")
    if event not in READERS and _answers_later(call, env):
        return {"continue": False, "stopReason": WAIT}
    answers = list(READERS.get(event, _handed_back)(call, env))
    broke = next(((pit, verdict) for text, pit in answers if (verdict := broken(text, pit))), None)
    if not answers:
        return {}
    pit, verdict = broke or (answers[0][1], None)
    tries = _count(call, env, verdict) if event == "SubagentStop" else 0
    entry = {"pit": pit if isinstance(pit, str) else None, "decision": "block" if verdict else "allow"}
    pit_call.audit(env, "pit_answer", call, {**entry, "code": verdict[0] if verdict else None, "tries": tries}, started)
    if verdict is None:
        return {}
    reason = f"{verdict[0]}: {verdict[1]}"
    if event == "UserPromptSubmit":
        output = {"hookEventName": event, "suppressOriginalPrompt": True}
        return {"decision": "block", "reason": f"{reason}; ask the agent again", "hookSpecificOutput": output}
    if event != "SubagentStop":
        return _replaced(call.message["tool_response"], reason)
    if tries > max_retries():
        return {}  # The last answer is replaced or withheld when Claude Code passes it back.
    return {"decision": "block", "reason": f"{reason}. Answer with only the envelope; try {tries} of {max_retries()}."}


def _shared() -> Any:
    """Import the module that the hooks share; python3 -I leaves their folder out of the path."""
    if os.path.dirname(os.path.abspath(__file__)) not in sys.path:
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import pit_call

    return pit_call


def max_retries() -> int:
    """Return how often an answer may be sent back."""
    from pit_call import PROJECT

    try:
        with open(os.path.join(PROJECT, ".claude", "filters", "rules.json"), "rb") as rules:
            retries = json.load(rules)["max_retries"]
    except (OSError, ValueError, KeyError, TypeError):
        return MOST
    return retries if isinstance(retries, int) and 0 <= retries <= MOST else MOST


def broken(answer: str, pit: Any) -> Any:
    """Return the first rule an answer breaks, or None. pit: the cut-off, or its fault; None in open mode."""
    from pit_call import rules

    if pit is not None and not isinstance(pit, str):
        return pit
    fenced = _FENCED.fullmatch(answer.strip())
    try:
        payload = rules.strict_json(fenced.group(1) if fenced else answer.strip())
    except (ValueError, RecursionError):
        return rules.Verdict("PIT_INVALID_JSON", "the answer is not exactly one JSON object")
    if isinstance(payload, dict) and not payload.keys() <= {"data", "gaps"}:
        return rules.Verdict("PIT_MISSING_ENVELOPE", "the answer has keys other than data and gaps")
    if not isinstance(payload, dict) or not all(isinstance(payload.get(name), list) for name in ("data", "gaps")):
        return rules.Verdict("PIT_MISSING_ENVELOPE", "the answer has no data and gaps arrays")
    return None if pit is None else rules.check_envelope(payload, pit)


def _stopped(call: Any, env: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Return a data agent's last message and the cut-off in force when it was started."""
    if _shared().is_data_agent(call.message.get("agent_type")):
        text = call.message.get("last_assistant_message")
        yield text if isinstance(text, str) else "", _cut_off(_remembered(call, env, call.message.get("agent_id")), env)


def _handed_back(call: Any, env: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Return a data agent's answer, if it has finished, and the cut-off of its prompt or of the session."""
    tool_input, response = call.message.get("tool_input"), call.message.get("tool_response")
    if (
        call.message.get("tool_name") not in STARTERS
        or not isinstance(tool_input, dict)
        or not isinstance(response, dict)
    ):
        return
    if not _shared().is_data_agent(tool_input.get("subagent_type")):
        return
    pits = _note_start(call, env)
    parts = response.get("content")
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    if len(texts) == 2 and isinstance(texts[0], str) and _PREAMBLE.fullmatch(texts[0]):
        del texts[0]
    yield texts[0] if len(texts) == 1 and isinstance(texts[0], str) else "", _cut_off({"pits": pits}, env)


def _answers_later(call: Any, env: Mapping[str, str]) -> bool:
    """Return whether a call left a data agent running in the background.

    If so, the session's turn ends. Versions before 2.1.332 pass an answer that arrives within a turn to the model
    without any hook; an answer after the turn arrives in a prompt, which a hook judges.
    """
    tool_input, response = call.message.get("tool_input"), call.message.get("tool_response")
    if not isinstance(tool_input, dict) or not isinstance(response, dict):
        return False
    if call.message.get("tool_name") == "SendMessage":
        return bool(_remembered(call, env, tool_input.get("to")))
    started = _shared().is_data_agent(tool_input.get("subagent_type")) and call.message.get("tool_name") in STARTERS
    if not started or response.get("status", "completed") == "completed":
        return False
    _note_start(call, env)
    return True


def _note_start(call: Any, env: Mapping[str, str]) -> str:
    """Store a note about a data agent, by id and name, with the cut-offs of its prompt; return the cut-offs."""
    tool_input, response = call.message["tool_input"], call.message["tool_response"]
    prompt = tool_input.get("prompt")
    instants = re.findall(r"--pit[= ]\s*(\S+)", prompt) if isinstance(prompt, str) else []
    pits = " ".join("--pit " + instant.strip("\"'`.,;)") for instant in instants)
    for agent in {response.get("agentId"), tool_input.get("name")} - {None}:
        _remember(call, env, agent, {"pits": pits, "tries": 0})
    return pits


def _notified(call: Any, env: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Return the final answers of background data agents, which Claude Code passes back in a prompt."""
    prompt = call.message.get("prompt")
    for notification in prompt.split(NOTIFICATION)[1:] if isinstance(prompt, str) else ():
        agent, result = _TASK.search(notification), _RESULT.search(notification)
        state = _remembered(call, env, agent.group(1) if agent else None)
        if state:
            _remember(call, env, agent.group(1) if agent else None, {"tries": 0})
        if state and "<result>" in notification:
            yield result.group(1) if result else "", _cut_off(state, env)


READERS = {"SubagentStop": _stopped, "UserPromptSubmit": _notified}


def _cut_off(state: Mapping[str, Any], env: Mapping[str, str]) -> Any:
    return _shared().cut_off({"command": str(state.get("pits", ""))}, env)


def _replaced(response: dict[str, Any], reason: str) -> dict[str, Any]:
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
    """Return the note about a data agent of this session.

    It is empty for other agents, and also for an unknown agent if notes can't be stored.
    """
    path = _note(call, env, agent)
    try:
        with open(path, "rb") as note:
            state: dict[str, Any] = json.load(note)
            return state
    except FileNotFoundError:
        return {} if os.access(_nearest(path), os.W_OK) else {"tries": 0}
    except (OSError, ValueError):
        return {"tries": 0}


def _remember(call: Any, env: Mapping[str, str], agent: Any, more: Mapping[str, Any]) -> bool:
    path = _note(call, env, agent)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        state = {**_remembered(call, env, agent), **more}
        with open(f"{path}.part", "w", encoding="utf-8") as note:
            json.dump(state, note)
        os.replace(f"{path}.part", path)
    except OSError:
        return False
    return True


def _nearest(path: str) -> str:
    while not os.path.exists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


def _note(call: Any, env: Mapping[str, str], agent: Any) -> str:
    from pit_call import LOG, PROJECT

    name = hashlib.sha256(json.dumps([str(call.message.get("session_id")), str(agent)]).encode()).hexdigest()[:32]
    folder = os.path.dirname(env[LOG]) if env.get(LOG) else os.path.join(PROJECT, ".pitlake")
    return os.path.join(folder, "answers", name)


if __name__ == "__main__":
    sys.exit(main())
