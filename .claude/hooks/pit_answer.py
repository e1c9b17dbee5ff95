#!/usr/bin/env python3
"""The PIT gate over what a data agent says at its end: an envelope that holds at the cut-off, or a clean gap.

As a SubagentStop hook it sends an answer back that isn't an envelope or breaks a rule, `max_retries` times at most
(.claude/filters/rules.json), counted here. As a PostToolUse hook of the tool that starts agents it puts a clean gap in
the place of an answer that is still so. Other agents' answers are not its business, nor those of agents in the
background, whose last word no hook can replace. Standard library only, Python 3.9 or newer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import time
from typing import Any, Mapping

STARTERS = ("Agent", "Task")
CONTRACT = "pit-envelope"
MOST = 2
FAILED = "PIT_PARSE_ERROR: the hook itself failed, so nothing passes"
SECONDS = 10.0
LATE = f"PIT_PARSE_ERROR: the answer could not be judged within {SECONDS:.0f} s"

_FENCED = re.compile(r"```(?:json)?\n(.*)\n```", re.DOTALL)
_AGENT = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def main() -> int:
    """Judge the message on stdin and answer on stdout. Where it breaks, what an agent hands back is not shown."""
    started, text = time.perf_counter(), b""
    try:
        pit_call = _shared()
        text = pit_call.stdin(pit_call.MOST_BYTES, started + SECONDS)
        answer = pit_call.in_time(lambda: decide(text, os.environ, started), started + SECONDS)
    except BaseException as fault:  # noqa: BLE001  The boundary: what could not be judged is not passed on.
        why = LATE if isinstance(fault, TimeoutError) else FAILED
        if why == FAILED and not text:
            with contextlib.suppress(Exception):
                text = sys.stdin.buffer.read()
        answer = json.dumps({} if b'"SubagentStop"' in text else _replaced({"status": "completed"}, why)).encode()
    os.write(1, answer)
    return 0


def decide(text: bytes, env: Mapping[str, str], started: float = 0.0) -> dict[str, Any]:
    """The hook's answer to a message: `{}`, or what sends an agent back, or what is shown instead of its answer."""
    pit_call = _shared()
    try:
        message = pit_call.rules.strict_json(text)
    except (ValueError, RecursionError):
        return {}
    call = pit_call.Call("", {}, message if isinstance(message, dict) else {})
    stopping = call.message.get("hook_event_name") == "SubagentStop"
    agent, said, pit = _stopped(call, env) if stopping else _handed_back(call, env)
    if not is_data_agent(agent) or said is None:
        return {}
    verdict = broken(said, pit)
    tries = 0
    if stopping:
        tries = _tried(call, env) if verdict else _forget(call, env)
    told = {"pit": pit if isinstance(pit, str) else None, "decision": "block" if verdict else "allow"}
    pit_call.audit(env, "pit_answer", call, {**told, "code": verdict[0] if verdict else None, "tries": tries}, started)
    if verdict is None:
        return {}
    reason = f"{verdict[0]}: {verdict[1]}"
    if not stopping:
        return _replaced(call.message["tool_response"], reason)
    if tries > max_retries():
        return {}  # what is said now is replaced where it is handed back
    return {"decision": "block", "reason": f"{reason}. Answer with the envelope alone; try {tries} of {max_retries()}."}


def _shared() -> Any:
    """Import what the hooks share: by python3 -I their folder is not on the path."""
    if os.path.dirname(os.path.abspath(__file__)) not in sys.path:
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import pit_call

    return pit_call


def is_data_agent(name: Any) -> bool:
    """Whether the project's agent of that name promises the envelope."""
    from pit_call import PROJECT

    if not isinstance(name, str) or not _AGENT.fullmatch(name):
        return False
    try:
        with open(os.path.join(PROJECT, ".claude", "agents", name + ".md"), encoding="utf-8") as page:
            return f"- {CONTRACT}\n" in page.read()
    except (OSError, ValueError):
        return False


def max_retries() -> int:
    """How often an answer is sent back."""
    from pit_call import PROJECT

    try:
        with open(os.path.join(PROJECT, ".claude", "filters", "rules.json"), "rb") as rules:
            told = json.load(rules)["max_retries"]
    except (OSError, ValueError, KeyError, TypeError):
        return MOST
    return told if isinstance(told, int) and 0 <= told <= MOST else MOST


def broken(said: str, pit: Any) -> Any:
    """The first rule an answer breaks, or None. pit: the cut-off or what is wrong with it, None in open mode."""
    from pit_call import rules

    if pit is not None and not isinstance(pit, str):
        return pit
    fenced = _FENCED.fullmatch(said.strip())
    try:
        payload = rules.strict_json(fenced.group(1) if fenced else said.strip())
    except (ValueError, RecursionError):
        return rules.Verdict("PIT_INVALID_JSON", "the answer is not one JSON object and nothing beside it")
    if isinstance(payload, dict) and not payload.keys() <= {"data", "gaps"}:
        return rules.Verdict("PIT_MISSING_ENVELOPE", "something stands beside data and gaps")
    if not isinstance(payload, dict) or not all(isinstance(payload.get(name), list) for name in ("data", "gaps")):
        return rules.Verdict("PIT_MISSING_ENVELOPE", "the answer has no data and gaps arrays")
    return None if pit is None else rules.check_envelope(payload, pit)


def _stopped(call: Any, env: Mapping[str, str]) -> tuple[Any, str | None, Any]:
    """Who stops, what it said, and the cut-off in force, which for a session that is not bound nobody knows here."""
    from pit_call import cut_off

    said = call.message.get("last_assistant_message")
    return call.message.get("agent_type"), said if isinstance(said, str) else "", cut_off({}, env)


def _handed_back(call: Any, env: Mapping[str, str]) -> tuple[Any, str | None, Any]:
    """Which agent was started, what it answered if it is done, and the cut-off: the prompt's or the session's."""
    from pit_call import cut_off

    given, answered = call.message.get("tool_input"), call.message.get("tool_response")
    if call.message.get("tool_name") not in STARTERS or not isinstance(given, dict) or not isinstance(answered, dict):
        return None, None, None
    if answered.get("status", "completed") != "completed":
        return None, None, None
    parts = answered.get("content")
    texts = [one.get("text") for one in parts if isinstance(one, dict)] if isinstance(parts, list) else []
    said = texts[0] if len(texts) == 1 and isinstance(texts[0], str) else ""
    return given.get("subagent_type"), said, cut_off({"command": _pits(given.get("prompt"))}, env)


def _pits(prompt: Any) -> str:
    """The cut-offs a prompt names, as a command would."""
    found = re.findall(r"--pit[= ]\s*(\S+)", prompt) if isinstance(prompt, str) else []
    return " ".join("--pit " + one.strip("\"'`.,;)") for one in found)


def _replaced(response: dict[str, Any], reason: str) -> dict[str, Any]:
    gap = json.dumps({"data": [], "gaps": [{"type": "pit_excluded", "reason": reason}]})
    shown = {**response, "content": [{"type": "text", "text": gap}]}
    output = {"hookEventName": "PostToolUse", "updatedToolOutput": shown}
    return {"decision": "block", "reason": reason, "hookSpecificOutput": output}


def _tried(call: Any, env: Mapping[str, str]) -> int:
    """How often this agent was wrong, this time included; past all tries where that cannot be kept."""
    path = _count(call, env)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab") as count:
            count.write(b".")
            return count.tell()
    except OSError:
        return MOST + 1


def _forget(call: Any, env: Mapping[str, str]) -> int:
    with contextlib.suppress(OSError):
        os.unlink(_count(call, env))
    return 0


def _count(call: Any, env: Mapping[str, str]) -> str:
    from pit_call import LOG, PROJECT

    named = [str(call.message.get(name)) for name in ("session_id", "agent_id", "agent_type")]
    name = hashlib.sha256(json.dumps(named).encode()).hexdigest()[:32]
    folder = os.path.dirname(env[LOG]) if env.get(LOG) else os.path.join(PROJECT, ".pitlake")
    return os.path.join(folder, "answers", name)


if __name__ == "__main__":
    sys.exit(main())
