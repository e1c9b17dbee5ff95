"""Mutated messages to both hooks, with each answer judged by the slow reader; `make hook` is the campaign.

Most messages are judged in this process. Every fortieth is judged by a new process, started as Claude Code starts it.
"""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.agents import messages
from tests.tally import Tally

MESSAGES = 500
HOOKS = Path(__file__).resolve().parents[2] / ".claude" / "hooks"
sys.path.insert(0, str(HOOKS))

import pit_gate  # noqa: E402
import pit_guard  # noqa: E402


def environment(folder: str, number: int) -> dict[str, str]:
    """Return the environment of a message: every third session is bound, every thirtieth to an invalid instant."""
    env = {"PITLAKE_HOOK_LOG": f"{folder}/hooks.jsonl", "PATH": "/usr/bin:/bin"}
    if number % 3 == 0:
        env["PITLAKE_AS_OF"] = "2024-05" if number % 30 == 0 else messages.PIT
    return env


def in_process(script: str, text: bytes, env: dict[str, str]) -> dict[str, Any]:
    """Return the response from a hook in a new process. The exit code is part of the contract."""
    done = subprocess.run(
        [sys.executable, "-IS", str(HOOKS / script)], input=text, env=env, capture_output=True, check=True
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def judge(seed: int, number: int, folder: str, *, own_process: bool) -> tuple[str, list[str]]:
    """Return the gate's verdict on one message, and the faults in its answer and in the guard's."""
    text = messages.mutated(random.Random(f"{seed}/{number}"))
    env = environment(folder, number)
    bound = env.get("PITLAKE_AS_OF")
    if own_process:
        answer, guarded = in_process("pit_gate.py", text, env), in_process("pit_guard.py", text, env)
    else:
        answer, guarded = pit_gate.decide(text, env), pit_guard.decide(text, env)
    wrong = messages.faults(text, answer, bound)
    if bound == "2024-05" and not answer:
        wrong.append("allows in a session bound by what is not an instant")
    if guarded and guarded["hookSpecificOutput"]["permissionDecision"] != "deny":
        wrong.append("the guard neither denies nor leaves it")
    if messages.MARK in json.dumps(guarded):
        wrong.append("the guard echoes the payload")
    return answer["reason"].split(":")[0] if answer else "allowed", wrong


def share(seed: int, folder: Path) -> Tally:
    """Judge some mutated messages."""
    tally = Tally(MESSAGES)
    for number in range(MESSAGES):
        verdict, wrong = judge(seed, number, str(folder), own_process=number % 40 == 0)
        tally.counts[verdict] += 1
        tally.failures += [f"message {number} of seed {seed}: {fault}" for fault in wrong]
    return tally
