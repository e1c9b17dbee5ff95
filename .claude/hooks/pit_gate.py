#!/usr/bin/env python3
"""The PIT gate as Claude Code's PostToolUse hook: a tool's answer is shown only if it passes the lake's rules.

Reads the hook message on stdin and writes `{}`, or a block with `CODE: detail`. A block also replaces the answer by a
clean gap that contains nothing of the answer. The exit code is 0, or 2 if the hook's own answer can't be written. With
`--wrapper` it ignores shell commands that do not call pit_fetch.py.
"""

from __future__ import annotations

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
    from pit_tools import UNGATED
except BaseException:  # noqa: BLE001  Without the rules, `main` blocks every answer.
    pit_call = None

WRAPPER = "pit_fetch.py"
# The keys under which a wrapper contains an answer.
PAYLOADS = ("stdout", "result", "content", "structuredContent", "structured_content")
STRINGS, LAYERS = 3, 12
# Claude Code passes an answer on unchanged if its hook takes 30 seconds.
SECONDS = 10.0
FAILED = ("PIT_PARSE_ERROR", "the gate itself failed, so it lets nothing pass")
LATE = ("PIT_PARSE_ERROR", f"the answer could not be judged within {SECONDS:.0f} s; ask for less")

_FLAG = re.compile(r"_?[a-z][A-Za-z_]{0,40}")
_TOOL = re.compile(rb'"tool_name"\s*:\s*"([A-Za-z0-9_.:-]{1,96})"')
_RECEIPT = re.compile(rb'"result_sha256\\*"\s*:\s*\\*"([0-9a-f]{64})\\*"')


class Refused(Exception):
    """The answer of a tool cannot be judged as one envelope. The exception's arguments are a code and a detail."""


def main() -> int:
    """Check the message on stdin and write the answer to stdout; any failure results in a block or the exit code 2."""
    if pit_call is not None:
        return pit_call.run(decide, failure, SECONDS)
    os.write(1, json.dumps(failure(b"", False)).encode())
    return 0


def failure(text: bytes, late: bool) -> dict[str, Any]:
    return blocked(LATE if late else FAILED, "mcp__" if b'"mcp__' in text else "", None)


def decide(text: bytes, env: Mapping[str, str], flags: Sequence[str] = ()) -> dict[str, Any]:
    """Return the hook's output: `{}`, or a block with a replacement. Log one line."""
    call, question = pit_call.read(text), None
    if isinstance(call, pit_call.Call):
        tool, response = call.tool, call.message.get("tool_response")
        pit, verdict = judge(call, env, flags)
        inputs = json.dumps([call.tool, call.input], sort_keys=True).encode("utf-8", "backslashreplace")
        question = hashlib.sha256(inputs).hexdigest()[:32]
    else:
        match = _TOOL.search(text)
        tool, response, pit, verdict = match[1].decode() if match else "", None, None, call
    receipt = None if verdict else _RECEIPT.search(text)
    pit_call.audit(env, "pit_gate", call, verdict, pit, question=question, receipt=receipt and receipt[1].decode())
    return blocked(verdict, tool, response) if verdict else {}


def judge(call: Any, env: Mapping[str, str], flags: Sequence[str]) -> tuple[str | None, tuple[str, str] | None]:
    """Return the cut-off in force for a call, and the first rule its answer breaks; None, None in open mode."""
    if call.tool in UNGATED or ("--wrapper" in flags and WRAPPER not in str(call.input.get("command"))):
        return None, None
    pit = pit_call.cut_off(call.input, env)
    if not isinstance(pit, str):
        return None, pit
    verdicts = (pit_call.rules.check_answer(payload, pit) for payload in payloads(call.message.get("tool_response")))
    try:
        return pit, next(filter(None, verdicts), None)
    except Refused as refused:
        return pit, refused.args


def payloads(answered: Any, strings: int = STRINGS, layers: int = LAYERS) -> Iterator[Any]:
    """Yield the envelopes in the text parts, JSON strings and wrappers of an answer. Raises Refused for all else."""
    if layers == 0:
        raise Refused("PIT_MISSING_ENVELOPE", "the answer has too many nested wrappers")
    if isinstance(answered, str):
        if strings == 0:
            raise Refused("PIT_INVALID_JSON", "the answer is a JSON string inside a JSON string")
        try:
            parsed = pit_call.rules.strict_json(answered)
        except (ValueError, RecursionError):
            raise Refused("PIT_INVALID_JSON", "the answer is not strict JSON") from None
        yield from payloads(parsed, strings - 1, layers - 1)
    elif isinstance(answered, list):
        if len(answered) != 1 or not isinstance(answered[0], dict):
            raise Refused("PIT_MISSING_ENVELOPE", "the answer is not one record or one part of text")
        yield from payloads(answered[0], strings, layers - 1)
    elif not isinstance(answered, dict):
        raise Refused("PIT_INVALID_JSON", "the answer is empty or not a JSON object")
    elif "data" in answered:
        yield answered
    else:
        for key, payload in _held(answered):
            try:
                yield from payloads(payload, strings, layers - 1)
            except Refused as refused:
                if key != "result" or refused.args[0] != "PIT_INVALID_JSON":
                    raise
                raise Refused("PIT_MISSING_ENVELOPE", "the answer has no data array") from None


def _held(wrapper: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the payload of a wrapper, by key: the text of a text part, or the value of a key in PAYLOADS."""
    if wrapper.get("type") == "text" and "text" in wrapper:
        contents, own = [("text", wrapper["text"])], ("type", "text")
    else:
        contents, own = [(key, wrapper[key]) for key in PAYLOADS if not _blank(wrapper.get(key))], PAYLOADS
    if not all(_says_nothing(key, value) for key, value in wrapper.items() if key not in own):
        raise Refused("PIT_MISSING_ENVELOPE", "the answer has content outside its envelope")
    if not contents:
        raise Refused("PIT_MISSING_ENVELOPE", "the answer has no data array")
    return contents


def _says_nothing(key: str, value: Any) -> bool:
    """Return whether a key outside the payload has no data, like the flags and empty lists that Claude Code adds."""
    return key == "durationMs" or (_FLAG.fullmatch(key) is not None and _blank(value))


def _blank(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_says_nothing(key, inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(_blank, value))
    return value is None or isinstance(value, bool) or value in ("", 0)


def blocked(verdict: Sequence[str], tool: str, response: Any) -> dict[str, Any]:
    """Return a block, and a clean gap in the shape of the tool's own answers, which the model reads instead."""
    code, detail = verdict
    if code == "PIT_FORBIDDEN_FIELD":
        detail = "the answer contains a forbidden key, or a part that cannot be searched"
    reason = f"{code}: {detail}"
    gap = json.dumps({"data": [], "gaps": [{"type": "pit_excluded", "reason": reason}]})
    output: dict[str, Any] = {"hookEventName": "PostToolUse"}
    if tool.startswith("mcp__"):
        replacement: Any = gap if isinstance(response, str) else [{"type": "text", "text": gap}]
        output["updatedMCPToolOutput"] = replacement
    else:
        replacement = {"stdout": gap, "stderr": "", "interrupted": False, "isImage": False}
    return {"decision": "block", "reason": reason, "hookSpecificOutput": {**output, "updatedToolOutput": replacement}}


if __name__ == "__main__":
    sys.exit(main())
