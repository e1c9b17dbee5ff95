"""How long the guard takes for generated calls of up to 1 MB; `make hook` is the campaign.

If the guard exceeds its time-out, Claude Code runs the call anyway. Each call is therefore judged in a new process,
started as Claude Code starts it. It must deny the call or let it pass within SECONDS of its start.
"""

import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.agents.messages import PIT
from tests.agents.mutate import HOOKS
from tests.tally import Tally

CALLS, SECONDS = 250, 1.0
MOST = 1_000_000
FETCH = "python3 .claude/skills/earnings-orchestrator/scripts/pit_fetch.py"
MERGE = "python3 .claude/skills/earnings-bundle/scripts/merge_envelopes.py"
# Strings to repeat up to a given length, each a worst case for reading a command, a path or a query.
PIECES = (
    "a/", "./", "../", "docs/../", "x", " x", " docs", " docs/page.md", "'", '"', "\\'", '\\"', "'a'", "''", "`", "$(",
    "|", ";ls", ";cat docs/page.md", " && grep x docs", " -n", " --pit", f" --pit={PIT}", f" --pit {PIT}", "/*", "/* ",
    "/**/", "// ", "CALL ", "CALL  db.", "LOAD ", "\\u0027", "@", "! ", "!`", " ~", "~root/", "\u0301", "ﷺ", "\ud800",
    "\n", "\t", "{", "[", "loop/",
)  # fmt: skip
SHELLS = ("cat ", "grep x ", "grep -n ", "ls ", "mkdir -p ", "echo ", "head -c 9 ", f"{FETCH} --query ", f"{MERGE} ",
          "cypher-shell ", "", "cat x; ", f"{FETCH} --pit ")  # fmt: skip
NEO4J = "mcp__neo4j-cypher__read_neo4j_cypher"


def message(rng: random.Random) -> tuple[str, bytes]:
    """Return a long, unusual call to one of the guard's tools, and its kind."""
    size = int(MOST ** rng.uniform(0.5, 1.0))
    text = "".join(rng.choices(PIECES, k=rng.choice((1, 1, 2, 3))))
    text = (text * (size // len(text.encode("utf-8", "surrogatepass")) + 1))[:size]
    kind, inputs = rng.choice(list(_calls(rng, text)))
    if kind == "nested":
        return kind, b'{"tool_name": "Read", "tool_input": ' + rng.choice((b"[", b'{"a":')) * (size // 5)
    reply = {"tool_name": kind, "tool_input": inputs, "session_id": "0f3b6f0e-5a1c-4b7e-9d57-1f2a3b4c5d6e"}
    if rng.random() < 0.1:
        reply["cwd"] = "/" + text[:size]
    return kind, json.dumps(reply).encode()


def _calls(rng: random.Random, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for start in rng.sample(SHELLS, 6):
        yield "Bash", {"command": start + text}
    yield "Bash", {"command": rng.choice(SHELLS) + text, "run_in_background": True}
    yield "Read", {"file_path": text}
    yield "Write", {"file_path": rng.choice((text, "scratch/x.json")), "content": text}
    yield "Glob", {"pattern": text, "path": rng.choice((".", "docs", "many", text))}
    yield "Grep", {"pattern": text, "path": rng.choice((".", "docs", "many", text))}
    yield "Agent", {"prompt": text, "description": "x"}
    yield "SendMessage", {"to": text, "message": text}
    yield "Skill", {"skill": text, "args": text}
    yield NEO4J, {"query": text, "params": text}
    yield "mcp__pitlake__query", {"sql": text, "pit": rng.choice((PIT, text))}
    yield "Read", {f"key{number}": text[:8] for number in range(len(text) // 20)}
    yield "nested", {}


def project(root: Path) -> Path:
    """Create a project with the hooks, a folder of many files, a deep folder and circular links."""
    outcome = root / "project"
    for name in (".claude/hooks", ".claude/skills", "pitlake/gate"):
        shutil.copytree(HOOKS.parents[1] / name, outcome / name)
    (outcome / "docs").mkdir()
    (outcome / "docs" / "page.md").write_text("x")
    (outcome / "loop").symlink_to("loop2")
    (outcome / "loop2").symlink_to("loop")
    (outcome / "many").mkdir()
    for number in range(6_000):
        (outcome / "many" / f"{number}.txt").touch()
    deep = outcome
    for _ in range(120):
        deep /= "a"
    deep.mkdir(parents=True)
    return outcome


def judged(text: bytes, folder: Path, *, bound: bool = True, seconds: float = 30.0) -> tuple[float, str]:
    """Return the seconds that a guard process takes for a message, and the code of its denial ("" if there is none)."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PITLAKE_HOOK_LOG": str(folder / "hooks.jsonl")}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-IS", str(folder / ".claude" / "hooks" / "pit_guard.py")], input=text, cwd=folder,
        env=env | ({"PITLAKE_AS_OF": PIT} if bound else {}), capture_output=True, check=True, timeout=seconds,
    )  # fmt: skip
    taken = time.perf_counter() - began
    return taken, json.loads(done.stdout).get("reason", "").partition(":")[0]


def share(seed: int, folder: Path) -> Tally:
    """Time the guard on random calls. A call that takes longer than SECONDS is a failure."""
    tally, place = Tally(CALLS), project(folder)
    for number in range(CALLS):
        kind, text = message(random.Random(f"{seed}/{number}"))
        taken, code = judged(text, place, bound=number % 4 != 0)
        tally.counts[code or "left alone"] += 1
        if taken > SECONDS:
            tally.failures.append(f"{taken:.3f} s for message {number} of seed {seed}: {kind}, {len(text)} bytes")
    return tally
