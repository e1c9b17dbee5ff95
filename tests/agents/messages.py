"""Valid and mutated hook messages, and the verdict of a separate, slow reader.

`message` and `mutated` generate them at random; `faults` returns what is wrong with a hook's answer to a message. The
reader shares only `pitlake.gate.rules` with the hooks, and tries every possible reading of a message.
"""

import json
import random
import shlex
from base64 import b64encode
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pitlake.gate import rules

MARK = "CANARYZZ"
PIT = "2024-05-29T17:00:00-04:00"
EARLIER, LATER = "2024-05-01T00:00:00Z", "2024-06-15T12:00:00+09:00"
INSTANTS = (PIT, EARLIER, "2024-05-29T21:00:00Z", "2024-05-29T21:00:00.000001Z", LATER, "2024-05-29",
            "2024-05-29T10:00:00", "1990-01-01T00:00:00-05:00", "", "now", None, 7)  # fmt: skip
TOOLS = ("mcp__pitlake__query", "mcp__pitlake__run_query", "mcp__perplexity__perplexity_ask", "Bash",
         "mcp__neo4j-cypher__read_neo4j_cypher")  # fmt: skip
CURSOR = b64encode(json.dumps([100, "0" * 32, "f" * 64, "a" * 64], separators=(",", ":")).encode()).decode()
_KNOWN = (
    "type", "text", "stdout", "stderr", "interrupted", "isImage", "result", "content", "structuredContent", "isError",
)  # fmt: skip
_FETCH = "python3 .claude/skills/earnings-orchestrator/scripts/pit_fetch.py --source yahoo"
_NOISE = ('"', "{", "}", "[", "]", ",", ":", "\\", "null", "NaN", "1e999", '"data":[]', '"data"', "\x00", "\ud800", "é",
          '"available_at":"2024-05-29T17:00:00-04:00"', '{"a":', "[" * 400,
          '"pit":"2024-06-15T12:00:00Z",', "\\u0064")  # fmt: skip


def item(rng: random.Random) -> Any:
    """Return a data item, usually valid."""
    outcome = {
        "available_at": rng.choice((PIT, EARLIER)),
        "available_at_source": rng.choice(rules.SOURCES),
        "text": MARK,
    }
    if rng.random() < 0.25:
        outcome["available_at"] = rng.choice(INSTANTS)
    if rng.random() < 0.1:
        outcome["available_at_source"] = rng.choice(("coarse_pit", None, 5))
    if rng.random() < 0.1:
        outcome[rng.choice(("deep", "raw"))] = rng.choice(
            ([{"Daily_Return": 1}], '{"hourly_stock": 2}', {"daily": {"x": 1}})
        )
    return rng.choice(([], 5, None)) if rng.random() < 0.04 else outcome


def envelope(rng: random.Random) -> Any:
    """Return a tool's answer before it is wrapped, usually an envelope."""
    outcome: dict[str, Any] = {"data": [item(rng) for _ in range(rng.randrange(4))], "gaps": []}
    if rng.random() < 0.3:
        outcome["gaps"] = [
            {"type": "no_data", "reason": MARK} | ({"available_at": rng.choice(INSTANTS)} if rng.random() < 0.5 else {})
        ]
    if rng.random() < 0.4:
        receipt = {
            "as_of": rng.choice(INSTANTS[:5]),
            "known_by": rng.choice((None, *INSTANTS[:2])),
            "sql_sha256": "0" * 64,
            "result_sha256": "f" * 64,
            "rows": 2,
        }
        outcome |= {"truncated": rng.random() < 0.5, "next_cursor": rng.choice((None, CURSOR)), "receipt": receipt}
    if rng.random() < 0.08:
        outcome[rng.choice(("note", "stdout", "receipt", "next_cursor"))] = rng.choice((MARK, {"x": MARK}, [MARK]))
    return rng.choice(([outcome, outcome], MARK, {}, [], None, {"data": {}})) if rng.random() < 0.06 else outcome


def wrapped(rng: random.Random, payload: Any) -> Any:
    """Return a payload in one of the wrappers that tools use, sometimes with something next to it."""
    text = json.dumps(payload)
    part = {"type": "text", "text": text}
    beside = {"stderr": rng.choice(("", "", "", MARK)), "interrupted": False, "isImage": False}
    shapes = (
        payload, text, json.dumps(text), [part], json.dumps([part]), json.dumps([payload]), [payload],
        {"stdout": text, **beside}, {"result": [part]}, {"content": [part], "isError": False},
        {"content": [part], "structuredContent": payload}, {"stdout": json.dumps([part]), **beside},
        [part, part], [part, {"type": "text", "text": MARK}], json.dumps(json.dumps(json.dumps(text))), "", MARK, None,
        [part | {"note": MARK}], {"content": [part], "note": MARK},
    )  # fmt: skip
    return shapes[min(int(rng.random() ** 1.5 * len(shapes)), len(shapes) - 1)]


def message(rng: random.Random) -> dict[str, Any]:
    """Return a PostToolUse message to a hook."""
    tool = rng.choice(TOOLS)
    pit = rng.choice((PIT, PIT, PIT, EARLIER, rng.choice(INSTANTS)))
    inputs: dict[str, Any] = {"query": "MATCH (n) RETURN n"}
    if tool == "Bash":
        inputs = {"command": rng.choice((f"{_FETCH} --pit {pit}", f"{_FETCH} --pit={pit}", f"{_FETCH}", "ls"))}
    elif rng.random() < 0.85:
        place = rng.choice(("parameters", "params", None))
        inputs |= {"pit": pit} if place is None else {place: {"pit": pit}}
    if rng.random() < 0.1:
        inputs["pit"] = rng.choice(INSTANTS)
    return {"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": inputs,
            "tool_response": wrapped(rng, envelope(rng))}  # fmt: skip


def mutated(rng: random.Random) -> bytes:
    """Return a message as bytes, after up to five mutations of its text."""
    text = json.dumps(message(rng), ensure_ascii=rng.random() < 0.5)
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 5))):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + int(rng.expovariate(0.2)))
        cut = text[start:end]
        text = rng.choice((
            text[:start] + text[end:], text[:start] + cut + text[start:],
            text[:start] + rng.choice(_NOISE) + text[end:],
            text[:start], text[:start] + cut[::-1] + text[end:], text.replace(PIT, rng.choice(_NOISE), 1),
            text.replace('"', "'", rng.randrange(3)), text[:start] + text[end:] + cut,
        ))  # fmt: skip
    return text.encode("utf-8", "surrogatepass" if rng.random() < 0.5 else "replace")


def faults(text: bytes, answer: dict[str, Any], bound: str | None) -> list[str]:
    """Return the faults in the gate's answer to a message, in a session bound by `bound` (None if unbound)."""
    if answer:
        return _bad_block(answer)
    try:
        document = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return ["allows what is not JSON, or says a thing twice"]
    if not isinstance(document, dict) or not isinstance(document.get("tool_input") or {}, dict):
        return ["allows what is not a call"]
    pits = [pit for pit in _pits(document.get("tool_input") or {}) if pit is not None]
    if not pits and bound is None:
        return []
    try:
        cutoffs = {rules.parse_instant(pit) for pit in pits}
    except rules.InstantFault:
        return ["allows a cut-off that is not an instant"]
    if len(cutoffs) > 1 or (bound and cutoffs and max(cutoffs) > rules.parse_instant(bound)):
        return ["allows cut-offs that disagree or widen"]
    cutoff = pits[0] if pits else bound
    result, rest = [], []
    _gather(document.get("tool_response"), result, rest)
    wrong = [f"allows what the kernel refuses: {v}" for each in result if (v := rules.check_envelope(each, cutoff))]
    return (
        wrong
        + (["allows what holds no envelope"] if not result else [])
        + [f"allows {each!r} beside it" for each in rest]
    )


def _bad_block(answer: dict[str, Any]) -> list[str]:
    if answer.get("decision") != "block" or answer.get("reason", "").split(":")[0] not in rules.CODES:
        return ["neither allows nor blocks with a code"]
    if MARK in json.dumps(answer):
        return ["echoes the payload"]
    display = answer["hookSpecificOutput"]["updatedToolOutput"]
    text = (
        display if isinstance(display, str) else display["stdout"] if isinstance(display, dict) else display[0]["text"]
    )
    clean = json.loads(text)
    sound = clean["data"] == [] and [gap["type"] for gap in clean["gaps"]] == ["pit_excluded"]
    return [] if sound else ["shows something else than a clean gap"]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("twice")
    return dict(pairs)


def _pits(inputs: dict[str, Any]) -> Iterator[Any]:
    for name in ("parameters", "params"):
        if isinstance(inputs.get(name), dict):
            yield inputs[name].get("pit")
    yield inputs.get("pit")
    if isinstance(inputs.get("command"), str):
        words = shlex.split(inputs["command"]) if "--pit" in inputs["command"] else []
        yield from (after for word, after in pairwise([*words, ""]) if word == "--pit")
        yield from (word[6:] for word in words if word.startswith("--pit="))


def _gather(value: Any, result: list[Any], rest: list[str]) -> None:
    """Collect every envelope in a response, including those inside strings, and every text next to one."""
    if isinstance(value, dict) and "data" in value:
        result.append(value)
    elif isinstance(value, dict):
        for name, content in value.items():
            if name not in _KNOWN:
                rest.append(name)
            if not (name == "type" and content == "text"):
                _gather(content, result, rest)
    elif isinstance(value, list):
        for content in value:
            _gather(content, result, rest)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        rest.append(str(value))
    elif isinstance(value, str) and value:
        try:
            _gather(json.loads(value), result, rest)
        except ValueError:
            rest.append(value[:20])
