"""The parts that the hooks share: how they run, the rules, the cut-off in force for a call, and the audit log.

The rules are loaded from the kernel's own file by its path, so that no copy can differ. In a project with the installed
kit, the rules are the copy next to this file, which `pitlake agents check` compares with the original. All hooks use
only the standard library and run on Python 3.9 or newer.
"""

from __future__ import annotations

import contextlib
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

STARTED = time.perf_counter()
PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_COPY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pit_rules.py")
RULES = _COPY if os.path.exists(_COPY) else os.path.join(PROJECT, "pitlake", "gate", "rules.py")
BOUND = "PITLAKE_AS_OF"
LOG = "PITLAKE_HOOK_LOG"
LOG_BYTES = 1 << 20
MOST_BYTES = 8 << 20
# Splitting a shell command into words takes time quadratic in its longest word.
MOST_COMMAND = 16 << 10
UNSAID = b"PIT_PARSE_ERROR: the hook could not write its answer\n"

STARTERS = ("Agent", "Task")

_AGENT = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,96}")

rules = sys.modules["pit_rules"] = ModuleType("pit_rules")
SourceFileLoader("pit_rules", RULES).exec_module(rules)


class Call(NamedTuple):
    """A hook message: the tool, its input, and the whole message."""

    tool: str
    input: dict[str, Any]
    message: dict[str, Any]


def run(decide: Callable[..., Any], failure: Callable[[bytes, bool], Any], seconds: float) -> int:
    """Write what `decide` returns about the message on stdin to stdout; if it fails or is late, what `failure` returns.

    Return the exit code: 0, or 2 if nothing can be written.
    """
    deadline, text = STARTED + seconds, b""
    try:
        text = _read(0, deadline, MOST_BYTES) if hasattr(os, "fork") else sys.stdin.buffer.read(MOST_BYTES + 1)
        output = in_time(lambda: decide(text, os.environ, sys.argv[1:]), deadline)
    except BaseException as fault:  # noqa: BLE001  The boundary: a hook that fails lets nothing pass, and says so.
        output = json.dumps(failure(text, isinstance(fault, TimeoutError))).encode()
    # Write without Python's buffers, which would fail again at exit, with an exit code that does not block.
    for channel, answer, code in ((1, output, 0), (2, UNSAID, 2)):
        with contextlib.suppress(OSError):
            os.write(channel, answer)
            return code
    return 2


def in_time(judge: Callable[[], Any], deadline: float) -> bytes:
    """Return what `judge` returns, as JSON. Raises TimeoutError at `deadline`, an instant of time.perf_counter.

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
            with open(writer, "wb") as pipe:
                pipe.write(json.dumps(judge()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    try:
        output = _read(reader, deadline, sys.maxsize)
    except TimeoutError:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(reader)
    os.waitpid(child, 0)
    if not output:
        raise ChildProcessError("the child process gave no answer")
    return output


def _read(file: int, deadline: float, most: int) -> bytes:
    """Read a file to its end; return its first `most` bytes, plus one if it has more. Raises TimeoutError."""
    text = bytearray()
    while select.select([file], [], [], max(0.0, deadline - time.perf_counter()))[0]:
        part = os.read(file, 1 << 20)
        if not part:
            return bytes(text)
        text += part[: most + 1 - len(text)]
    raise TimeoutError


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


def cut_off(tool_input: Mapping[str, Any], env: Mapping[str, str]) -> Any:
    """Return the cut-off in force; None in open mode; a Verdict if it is invalid, contradictory or too late.

    It is read from parameters.pit, params.pit, pit and --pit of a shell command. In a session bound by PITLAKE_AS_OF, a
    call without a cut-off has the session's, and it may give an earlier one.
    """
    texts: dict[Any, str] = {}
    try:
        for pit in _pits(tool_input):
            texts.setdefault(rules.parse_instant(pit), pit)
        bound = rules.parse_instant(env[BOUND]) if BOUND in env else None
    except rules.InstantFault as fault:
        return rules.Verdict("PIT_INVALID_PIT", f"a cut-off is {fault.fault}")
    if len(texts) > 1:
        return rules.Verdict("PIT_INVALID_PIT", "the call gives contradictory cut-offs")
    if bound and any(instant > bound for instant in texts):
        return rules.Verdict("PIT_INVALID_PIT", "the call's cut-off is later than the session's")
    return next(iter(texts.values()), env.get(BOUND))


def _pits(tool_input: Mapping[str, Any]) -> Iterator[Any]:
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
        yield from _shell_pits(command)


def _shell_pits(command: str) -> list[str | None]:
    """Return the values of --pit in a shell command; the value is None if the flag is there but can't be parsed."""
    import shlex

    try:
        words: list[Any] = shlex.split(command) if len(command) <= MOST_COMMAND else []
    except ValueError:
        words = []
    values = [word[len("--pit=") :] for word in words if word.startswith("--pit=")]
    values += [[*words, None][place] for place, word in enumerate(words, start=1) if word == "--pit"]
    return values or [None]


def is_data_agent(name: Any) -> bool:
    """Return whether the project's agent of that name must answer with an envelope."""
    if not isinstance(name, str) or not _AGENT.fullmatch(name):
        return False
    path = os.path.join(PROJECT, ".claude", "agents", name + ".md")
    with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as page:
        return "- pit-envelope\n" in page.read()
    return False


def audit(env: Mapping[str, str], hook: str, call: Any, verdict: Any, pit: Any = None, **more: Any) -> None:
    """Log a decision without its payload, if the log can be written; at LOG_BYTES the file is rotated."""
    message = call.message if isinstance(call, Call) else {}
    fields = {"tool": "tool_name", "agent": "agent_type", "session": "session_id"}
    names = {name: message.get(field) for name, field in fields.items()}
    line = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "hook": hook,
        **{name: text if isinstance(text, str) and _NAME.fullmatch(text) else None for name, text in names.items()},
        "pit": pit,
        "decision": "block" if verdict else "allow",
        "code": verdict[0] if verdict else None,
        **more,
        "ms": round((time.perf_counter() - STARTED) * 1000, 1),
    }
    path = env.get(LOG) or os.path.join(PROJECT, ".pitlake", "hooks.jsonl")
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab") as log:
            log.write(json.dumps(line).encode() + b"\n")
            full = log.tell() >= LOG_BYTES
        if full:
            os.replace(path, path + ".1")
