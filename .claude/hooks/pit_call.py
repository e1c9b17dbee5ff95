"""The parts that the hooks share: the rules, the cut-off in force for a call, and the audit log.

The rules are loaded from the kernel's own file by its path, so that no copy can differ. In a project with the installed
kit, the rules are the copy next to this file, which `pitlake agents check` compares with the original. Standard library
only, Python 3.9 or newer. `pit_gate` (after a tool) and `pit_guard` (before a tool) use this module, which makes no
decisions itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import select
import signal
import sys
import time
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any, Callable, Iterator, Mapping, NamedTuple

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_COPY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pit_rules.py")
RULES = _COPY if os.path.exists(_COPY) else os.path.join(PROJECT, "pitlake", "gate", "rules.py")
BOUND = "PITLAKE_AS_OF"
LOG = "PITLAKE_HOOK_LOG"
LOG_BYTES = 1 << 20
MOST_BYTES = 8 << 20
# Splitting a shell command into words takes time quadratic in its longest word.
MOST_COMMAND = 16 << 10

CONTRACT = "pit-envelope"

_AGENT = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,96}")
_RECEIPT = re.compile(rb'"result_sha256\\*"\s*:\s*\\*"([0-9a-f]{64})\\*"')
_TOOL = re.compile(rb'"tool_name"\s*:\s*"([A-Za-z0-9_.:-]{1,96})"')


def _load_rules() -> Any:
    loader = SourceFileLoader("pit_rules", RULES)
    module = sys.modules["pit_rules"] = ModuleType("pit_rules")
    loader.exec_module(module)
    return module


rules = _load_rules()


class Call(NamedTuple):
    """A hook message: the tool, its input, and the whole message."""

    tool: str
    input: dict[str, Any]
    message: dict[str, Any]


def stdin(most: int, deadline: float) -> bytes:
    """Read stdin to its end and return its first `most` bytes, plus one if there are more. Raises TimeoutError if the
    end has not been reached by `deadline`, an instant of time.perf_counter.
    """
    if not hasattr(os, "fork"):
        return sys.stdin.buffer.read(most + 1)
    text = bytearray()
    while True:
        part = _read(0, deadline)
        if not part:
            return bytes(text)
        text += part[: most + 1 - len(text)]


def in_time(judge: Callable[[], Any], deadline: float) -> bytes:
    """Return what `judge` returns, as JSON. Raises TimeoutError at `deadline`, even if `judge` is still running.

    `judge` runs in a child process, so that the parent need not wait for it. A signal handler or a thread would have to
    wait for a slow regular expression or an unresponsive file system. On systems without fork there is no time limit.
    """
    if not hasattr(os, "fork"):
        return json.dumps(judge()).encode()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for other in {0, 1, 2, reader} - {writer}:
                with contextlib.suppress(OSError):
                    # Close stdin, stdout and stderr, because Claude Code waits until every process has closed them.
                    os.close(other)
            _write(writer, json.dumps(judge()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    output = bytearray()
    try:
        while True:
            part = _read(reader, deadline)
            if not part:
                break
            output += part
    except TimeoutError:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(reader)
    os.waitpid(child, 0)
    if not output:
        raise ChildProcessError("the child process gave no answer")
    return bytes(output)


def _read(file: int, deadline: float) -> bytes:
    if not select.select([file], [], [], max(0.0, deadline - time.perf_counter()))[0]:
        raise TimeoutError
    return os.read(file, 1 << 20)


def _write(file: int, text: bytes) -> None:
    while text:
        text = text[os.write(file, text) :]


def read(text: bytes, most: int = MOST_BYTES) -> Call | Any:
    """Return the call of a hook message, or a Verdict if it is not a strict JSON object or repeats a key."""
    if len(text) > most:
        return rules.Verdict("PIT_PARSE_ERROR", f"the call is longer than the {most} bytes that can be judged")
    message = rules.read_call(text)
    if not isinstance(message, dict):
        return message
    tool, tool_input = message.get("tool_name"), message.get("tool_input")
    if not isinstance(tool, str):
        return rules.Verdict("PIT_PARSE_ERROR", "the call does not name a tool")
    if tool_input is not None and not isinstance(tool_input, dict):
        return rules.Verdict("PIT_PARSE_ERROR", "the call's tool_input is not an object")
    return Call(tool, tool_input or {}, message)


def tool_of(text: bytes) -> str:
    """Return the tool that a message names, even if the message can't be parsed; "" if it names none."""
    match = _TOOL.search(text)
    return match.group(1).decode() if match else ""


def cut_off(tool_input: Mapping[str, Any], env: Mapping[str, str]) -> Any:
    """Return the cut-off in force; None in open mode; a Verdict if it is invalid, contradictory or wider than the
    session's.

    It is read from parameters.pit, params.pit, pit and --pit of a shell command. In a session bound by PITLAKE_AS_OF, a
    call needs no cut-off, because the session's own applies. A call may give an earlier cut-off; a later one is
    refused.
    """
    instants = []
    for pit in [*_given(tool_input), *([env[BOUND]] if BOUND in env else [])]:
        try:
            instants.append((rules.parse_instant(pit), pit))
        except rules.InstantFault as fault:
            return rules.Verdict("PIT_INVALID_PIT", f"a cut-off is {fault.fault}")
    bound = instants.pop() if BOUND in env else None
    if any(instant != instants[0][0] for instant, _ in instants[1:]):
        return rules.Verdict("PIT_INVALID_PIT", "the call gives contradictory cut-offs")
    if bound and instants and instants[0][0] > bound[0]:
        return rules.Verdict("PIT_INVALID_PIT", "the call's cut-off is later than the session's")
    chosen = instants[0] if instants else bound
    return chosen[1] if chosen else None


def _given(tool_input: Mapping[str, Any]) -> Iterator[Any]:
    for holder in (tool_input.get("parameters"), tool_input.get("params"), tool_input):
        fields = holder
        if isinstance(holder, str):
            try:
                fields = rules.strict_json(holder)
            except (ValueError, RecursionError):
                fields = {"pit": "unreadable"} if "pit" in holder.lower() else None
        if isinstance(fields, dict) and fields.get("pit") is not None:
            yield fields["pit"]
    command = tool_input.get("command")
    if isinstance(command, str) and "--pit" in command:
        yield from shell_pits(command)


def shell_pits(command: str) -> list[str | None]:
    """Return the values of --pit in a shell command; the value is None if the flag is there but can't be parsed."""
    import shlex

    if len(command) > MOST_COMMAND:
        return [None]
    try:
        words = shlex.split(command)
    except ValueError:
        return [None]
    values: list[str | None] = [word[len("--pit=") :] for word in words if word.startswith("--pit=")]
    for place, word in enumerate(words):
        if word == "--pit":
            values.append(words[place + 1] if place + 1 < len(words) else None)
    return values or [None]


def is_data_agent(name: Any) -> bool:
    """Return whether the project's agent of that name must answer with an envelope."""
    if not isinstance(name, str) or not _AGENT.fullmatch(name):
        return False
    try:
        with open(os.path.join(PROJECT, ".claude", "agents", name + ".md"), encoding="utf-8") as page:
            return f"- {CONTRACT}\n" in page.read()
    except (OSError, ValueError):
        return False


def question(call: Any) -> str | None:
    """Return the hash of a tool and its whole input, which identifies a question."""
    if not isinstance(call, Call):
        return None
    canonical = json.dumps([call.tool, call.input], sort_keys=True)
    return hashlib.sha256(canonical.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def receipt(text: bytes) -> str | None:
    """Return the hash of the answer in a message, from its receipt; `pitlake replay` takes this hash."""
    match = _RECEIPT.search(text)
    return match.group(1).decode() if match else None


def audit(env: Mapping[str, str], hook: str, call: Any, decision: Mapping[str, Any], started: float) -> None:
    """Log a decision in one line that contains nothing of the payload. The file is rotated at LOG_BYTES. If it cannot
    be written, the decision still applies.
    """
    message = call.message if isinstance(call, Call) else {}
    line = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "hook": hook,
        "tool": _name(message.get("tool_name")),
        "agent": _name(message.get("agent_type")),
        "session": _name(message.get("session_id")),
        **decision,
        "ms": round((time.perf_counter() - started) * 1000, 1),
    }
    path = env.get(LOG) or os.path.join(PROJECT, ".pitlake", "hooks.jsonl")
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab") as log:
            log.write(json.dumps(line).encode() + b"\n")
            full = log.tell() >= LOG_BYTES
        if full:
            os.replace(path, path + ".1")
    except OSError:
        pass


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and _NAME.fullmatch(value) else None
