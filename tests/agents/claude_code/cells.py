"""`python -m tests.agents.claude_code.cells`: data agents in every variant of `make agents`, by the real Claude Code.

One session per variant starts all agents in parallel (fan-out). Each makes its documented calls and returns an answer,
and then the session continues (resume). What the model would have seen is read from the requests.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents import harness, world
from tests.agents.claude_code import house
from tests.agents.claude_code.scripted import Call, Model, Turn, serving

MAIN, GO_ON = "CELLS MAIN;", "CELLS GO ON;"
PITS = {"clean": world.PIT, "gap": world.LONG_AGO, "contaminated": world.PIT}
SAID = "SAIDZZ"
"""What agents of the contaminated variant answer instead of an envelope."""
ENVELOPE = json.dumps({"data": [], "gaps": [{"type": "no_data", "reason": "nothing was asked for"}]})
BLOCKED = re.compile(r"PIT_[A-Z_]+: ")
SECONDS = 1800


@dataclass(frozen=True)
class Cell:
    """One agent in one variant: what the model would have read of each call, and the faults in it."""

    agent: str
    variant: str
    seen: list[str]
    faults: list[str]


def play(
    root: Path, variant: str, agents: Sequence[str], *, version: str, background: bool, calls: slice = slice(None)
) -> list[Cell]:
    """Run Claude Code in its own home: start all agents in parallel, resume one of them, and then resume the session.

    background: whether agents run in the background, so that the model waits for a resumed one by taking more turns.
    """
    outcome = house.build(root, bound=True)
    settled = house.House(root, variant == "forgotten")
    if variant == "contaminated":
        _lie(outcome)
    scripts: dict[str, Callable[..., Sequence[Turn]]] = {MAIN: lambda _: _main(agents, variant, background=background)}
    for agent in agents:
        scripts[_mark(agent)] = lambda _, agent=agent: _turns(agent, variant, calls)
    model = Model(scripts, beside="nothing")
    with serving(model, "nothing") as address:
        for question in (["-p", MAIN, "--session-id", house.SESSION], ["-p", GO_ON, "--resume", house.SESSION]):
            done = subprocess.run(
                [str(house.claude(version)), *question, "--dangerously-skip-permissions", "--output-format", "json"],
                cwd=outcome.project, env=settled.env(address), capture_output=True, text=True, timeout=SECONDS,
                check=False,
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError(
                    f"Claude Code ended with {done.returncode}: {done.stdout[-500:]} {done.stderr[-500:]}"
                )
    cells = [_cell(model, agent, variant, _turns(agent, variant, calls)) for agent in agents]
    return [*cells, _session(model, variant, agents)]


def _main(agents: Sequence[str], variant: str, *, background: bool) -> list[Turn]:
    """Start all agents in parallel, resume the first of them, and call the lake.

    A turn that resumes an agent ends, so the next step follows once the answer has arrived or the session is resumed.
    """
    pit = f" --pit {PITS[variant]}" if variant in PITS else ""
    fan_out: list[Call] = [
        ("Agent", {"description": agent, "subagent_type": agent, "prompt": f"{_mark(agent)}{pit}",
                   "run_in_background": background})
        for agent in agents
    ]  # fmt: skip
    question = {"sql": "SELECT id, title, available_at, available_at_source FROM news ORDER BY id"}
    ask: Call = ("mcp__pitlake__query", question | ({"pit": PITS[variant]} if variant in PITS else {}))
    waits: list[Turn] = [("TaskList", {})] * 3 if background else []
    return [fan_out, ("ToolSearch", {"query": "select:SendMessage,mcp__pitlake__query", "max_results": 5}),
            _resume, *waits, *[ask] * 3, "done"]  # fmt: skip


def _resume(request: str) -> Call:
    """Return a message to the agent whose ID is in the request."""
    names = re.search(r"agentId: ([A-Za-z0-9]+)", request)
    agent = names.group(1) if names else "none"
    return ("SendMessage", {"to": agent, "summary": "once more", "message": "Answer once more.", "type": "message",
                            "recipient": agent, "content": "Answer once more."})  # fmt: skip


def _turns(agent: str, variant: str, calls: slice) -> list[Turn]:
    outcome = harness.Player(agent, {}).calls[calls]
    played: list[Turn] = [(call["tool"], harness.at(call, PITS.get(variant))["input"]) for call in outcome]
    return [*played, *([f"{SAID} {world.MARK}"] * 8 if variant == "contaminated" else [ENVELOPE] * 2)]


def _mark(agent: str) -> str:
    return f"CELL {agent};"


def _lie(outcome: house.House) -> None:
    """Replace the lake's server and the fetch script with programs that return false data."""
    env = {"PYTHONPATH": str(harness.ROOT)}
    liar = {"type": "stdio", "command": sys.executable, "args": ["-m", "tests.agents.claude_code.liar"], "env": env}
    (outcome.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"pitlake": liar}}))
    script = outcome.project / ".claude/skills/earnings-orchestrator/scripts/pit_fetch.py"
    script.write_text(
        f"import os, sys\nos.chdir({str(harness.ROOT)!r})\n"
        f"os.execv({sys.executable!r}, [{sys.executable!r}, '-m', 'tests.agents.claude_code.liar', *sys.argv])\n"
    )


def _cell(model: Model, agent: str, variant: str, turns: Sequence[Turn]) -> Cell:
    mark = _mark(agent)
    count = sum(isinstance(turn, tuple) for turn in turns)
    reply = [_beside(model, f"toolu_{mark}-{number}") for number in range(count)]
    seen = [harness.Seen(text or "", ran=True, blocked=BLOCKED.search(text or "") is not None) for text in reply]
    faults = harness.faults(variant, seen)
    faults += [f"{reply.count(None)} calls were not answered"] if None in reply else []
    if variant == "contaminated":
        back = sum("Answer with only the envelope" in body for body in _conversation(model, mark)[-1:])
        faults += [] if back else ["was not sent back at its end"]
    return Cell(agent, variant, [text or "" for text in reply], faults)


def _session(model: Model, variant: str, agents: Sequence[str]) -> Cell:
    """Check the main conversation: the agents' answers, also of the resumed one, and what it then read of the lake."""
    bodies = _conversation(model, MAIN)
    question = [number for number, turn in enumerate(model.turns(MAIN)) if turn[0] == "mcp__pitlake__query"]
    seen = [text for number in question if (text := _beside(model, f"toolu_{MAIN}-{number}"))]
    faults = [] if seen else ["did not go on when resumed"]
    if not any("Answer once more" in body for agent in agents for body in _conversation(model, _mark(agent))):
        faults.append("could not resume an agent")
    joined_text = "\n".join(bodies)
    if SAID in joined_text:
        faults.append("reads an answer that is no envelope")
    if (world.MARK in joined_text) != (variant == "open"):
        faults.append("reads the future" if variant != "open" else "does not see the outcomes it may see")
    return Cell("the session", variant, seen, faults)


def _conversation(model: Model, mark: str) -> list[str]:
    return [body for body in model.bodies if mark in json.dumps(json.loads(body)["messages"][0])]


def _beside(model: Model, name: str) -> str | None:
    """Return the message with the answer to a call, and the message after it; None without an answer."""
    for body in reversed(model.bodies):
        messages: list[dict[str, Any]] = json.loads(body)["messages"]
        for place, message in enumerate(messages):
            parts = message["content"] if isinstance(message["content"], list) else []
            if any(part.get("tool_use_id") == name for part in parts):
                following = [message for message in messages[place + 1 : place + 2] if message["role"] != "assistant"]
                return json.dumps([message, *following])
    return None


def main() -> int:
    """Run all cells, print the matrix, and return how many are wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", nargs="*", default=sorted(harness.linter.PIT_DONE))
    parser.add_argument("--variants", nargs="*", default=harness.VARIANTS)
    parser.add_argument("--versions", nargs="*", default=house.versions())
    question = parser.parse_args()
    if not question.versions:
        raise FileNotFoundError("Claude Code is not installed: make claude")
    return sum(
        _played(question, version, background=background)
        for version in question.versions
        for background in (False, True)
    )


def _played(question: argparse.Namespace, version: str, *, background: bool) -> int:
    """Run the cells of one version and print them. Return 1 if any of them is wrong."""
    cells: list[Cell] = []
    for variant in question.variants:
        with tempfile.TemporaryDirectory() as folder:
            cells += play(Path(folder) / "house", variant, question.agents, version=version, background=background)
        for cell in cells[-len(question.agents) - 1 :]:
            print(f"{variant:14}{cell.agent:24}{', '.join(cell.faults) or f'ok ({len(cell.seen)})'}", flush=True)
    wrong = sum(bool(cell.faults) for cell in cells)
    planted = sum(
        text.count(world.MARK) * len(world.MARK) for cell in cells if cell.variant != "open" for text in cell.seen
    )
    agents = [cell for cell in cells if cell.agent != "the session"]
    right = sum(not cell.faults for cell in agents)
    name = f"Claude Code {version}, agents asked for in the {'background' if background else 'foreground'}"
    print(f"{name}: {right} of {len(agents)} cells as they should be; {planted} planted bytes read where none may be")
    return int(bool(wrong or planted))


if __name__ == "__main__":
    sys.exit(main())
