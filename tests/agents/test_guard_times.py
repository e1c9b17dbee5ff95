"""The hooks answer in time for every input, because Claude Code ignores a hook that takes longer."""

import json
import os
import random
import re
import resource
import subprocess
import sys
import time

import pytest

from tests.agents import guard_times
from tests.agents.messages import MARK, PIT
from tests.agents.mutate import HOOKS, pit_guard

import pit_call  # isort: skip

OPERANDS = " ".join(["docs"] * 1_500)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return guard_times.project(tmp_path_factory.mktemp("times"))


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("tool", "inputs", "code"),
    [
        ("Bash", {"command": f"grep x {OPERANDS}"}, "GUARD_TOO_LARGE"),
        ("Bash", {"command": f"cat {OPERANDS}"}, "GUARD_TOO_LARGE"),
        ("Bash", {"command": "cat docs/page.md;" * 300}, "GUARD_TOO_LARGE"),
        ("Bash", {"command": "cat " + "a/" * 40_000}, "GUARD_TOO_LARGE"),
        ("Bash", {"command": "cat " + "a/" * 7_000}, "GUARD_LAKE_FILES"),
        ("Bash", {"command": "python3 " + "a/" * 7_000 + " x"}, "GUARD_SHELL"),
        ("Read", {"file_path": "a/" * 500_000}, "GUARD_LAKE_FILES"),
        ("Read", {"file_path": "a/" * 200}, "GUARD_LAKE_FILES"),
        ("Grep", {"pattern": "x", "path": "many"}, "GUARD_LAKE_FILES"),
        ("Bash", {"command": "grep x " + "docs " * 200 + "many"}, "GUARD_LAKE_FILES"),
        (guard_times.NEO4J, {"query": "/* " * 200_000}, "GUARD_RAW_TOOL"),
        (guard_times.NEO4J, {"query": "'\\'" * 200_000}, "GUARD_RAW_TOOL"),
        ("Write", {"file_path": "scratch/x.json", "content": "x" * 3_000_000}, "PIT_PARSE_ERROR"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_oversized_call_is_denied_within_the_time_limit(folder, tool, inputs, code):
    """On a busy machine the deadline may pass first, but the CPU time is still bounded."""
    before = cpu()
    _, denial = guard_times.judged(json.dumps({"tool_name": tool, "tool_input": inputs}).encode(), folder, seconds=5)
    assert denial in (code, "GUARD_TOO_LARGE")
    assert cpu() - before < guard_times.SECONDS


@pytest.mark.parametrize("number", range(0, 240, 40))
def test_generated_calls_are_judged_in_bounded_time(folder, monkeypatch, number):
    """These calls are judged in this process; `make hook` sends ten thousand of them to separate processes."""
    monkeypatch.setattr(pit_guard, "HERE", str(folder / ".claude" / "hooks"))
    monkeypatch.chdir(folder)
    for item in range(number, number + 40):
        kind, text = guard_times.message(random.Random(f"suite/{item}"))
        began = time.process_time()
        answer = pit_guard.decide(text, {"PITLAKE_HOOK_LOG": os.devnull} | ({"PITLAKE_AS_OF": PIT} if item % 4 else {}))
        assert time.process_time() - began < guard_times.SECONDS, (item, kind, answer)


@pytest.mark.parametrize("hook", ["pit_guard", "pit_gate", "pit_answer"])
def test_a_hook_that_waits_for_a_file_denies_before_claude_code_stops_waiting(tmp_path, hook):
    """The log is a pipe that no process reads, which blocks like a file system that does not respond."""
    os.mkfifo(tmp_path / "log")
    code = f"import sys; sys.path.append({str(HOOKS)!r}); import {hook}; {hook}.SECONDS = 0.3; sys.exit({hook}.main())"
    message = {
        "hook_event_name": "PostToolUse", "tool_name": "Agent", "tool_input": {"subagent_type": "neo4j-news"},
        "tool_response": {"status": "completed", "content": [{"type": "text", "text": MARK}]},
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-ISc", code], input=json.dumps(message).encode(), capture_output=True, check=True, timeout=20,
        env={"PITLAKE_HOOK_LOG": str(tmp_path / "log"), "PITLAKE_AS_OF": PIT},
    )  # fmt: skip
    answer = json.loads(done.stdout)
    assert answer["decision"] == "block"
    assert re.search("could not be judged within [0-9.]+ s", answer["reason"])
    assert MARK not in done.stdout.decode()


def test_a_hook_answers_even_if_its_input_is_never_closed(folder):
    reader, writer = os.pipe()
    command = [sys.executable, "-IS", str(HOOKS / "pit_guard.py")]
    done = subprocess.run(command, stdin=reader, capture_output=True, check=True, timeout=20, env={})
    os.close(writer)
    assert json.loads(done.stdout)["reason"].startswith("GUARD_TOO_LARGE")


def test_the_deadline_interrupts_a_slow_regular_expression():
    with pytest.raises(TimeoutError):
        pit_call.in_time(lambda: re.match("(a+)+$", "a" * 64 + "b"), time.perf_counter() + 0.1)
    assert pit_call.in_time(lambda: {"a": 1}, time.perf_counter() + 20) == b'{"a": 1}'
    with pytest.raises(ChildProcessError):
        pit_call.in_time(lambda: 1 / 0, time.perf_counter() + 20)


def test_the_guards_deadline_is_far_below_that_of_claude_code():
    settings = json.loads((HOOKS.parent / "settings.json").read_text())
    hooks = [hook for entries in settings["hooks"].values() for entry in entries for hook in entry["hooks"]]
    assert min(hook["timeout"] for hook in hooks) >= 30
    assert pit_guard.SECONDS < guard_times.SECONDS
