"""Stands in for Claude Code without a model: the MCP server as configured, the agents' documented calls, the hooks.

`Player.play` makes one call the way Claude Code makes it (PreToolUse, the tool, PostToolUse) and returns what a model
would have read. `python -m tests.agents.harness` runs every agent in every variant and prints the matrix.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters

from tests.agents import world

ROOT = Path(__file__).resolve().parents[2]
CLAUDE = ROOT / ".claude"
SCRIPTS = CLAUDE / "skills" / "earnings-orchestrator" / "scripts"
VARIANTS = ("clean", "gap", "open", "contaminated", "forgotten")
SHIMS = {
    "pitlake": f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -c "from pitlake.cli import main; main()" "$@"\n',
    "python3": f'#!/bin/sh\nexec {sys.executable} "$@"\n',
}

sys.path.insert(0, str(SCRIPTS))

import lint_data_agents as linter  # noqa: E402

Tool = Callable[[dict[str, Any]], tuple[bool, Any]]


@dataclass
class Seen:
    """The result of a call: everything that a model read of it, whether it ran, and each hook's decision."""

    text: str
    ran: bool
    blocked: bool
    decisions: list[dict[str, Any]] = field(default_factory=list)


def environment(home: Path, lake: Path, **more: str) -> dict[str, str]:
    """Return a session's environment: the lake, this project, `pitlake` on the path, and a separate log."""
    for name, script in SHIMS.items():
        shim = home / "bin" / name
        if not shim.exists():
            shim.parent.mkdir(parents=True, exist_ok=True)
            shim.write_text(script)
            shim.chmod(0o755)
    remaining = {name: value for name, value in os.environ.items() if not name.startswith("PITLAKE_")}
    return {
        **remaining, "PATH": f"{home / 'bin'}{os.pathsep}{remaining.get('PATH', '')}", "CLAUDE_PROJECT_DIR": str(ROOT),
        "PITLAKE_LAKE": str(lake), "PITLAKE_HOOK_LOG": str(home / "hooks.jsonl"), **more,
    }  # fmt: skip


@contextmanager
def server(portal: BlockingPortal, env: dict[str, str]) -> Iterator[Tool]:
    """Run the lake's server as .mcp.json starts it, and yield the tool function of one session."""
    document = json.loads((ROOT / ".mcp.json").read_text())["mcpServers"]["pitlake"]
    arguments = [argument.replace("${CLAUDE_PROJECT_DIR:-.}", str(ROOT)) for argument in document["args"]]
    started = StdioServerParameters(command=document["command"], args=arguments, env=env)
    with portal.wrap_async_context_manager(Client(started)) as client:

        def ask(call: dict[str, Any]) -> tuple[bool, Any]:
            result = portal.call(client.call_tool, call["tool"].rpartition("__")[2], call["input"])
            content = [{"type": part.type, "text": part.text} for part in result.content]
            return result.is_error, {"content": content, "structuredContent": result.structured_content}

        yield ask


def shell(env: dict[str, str]) -> Tool:
    """Return the tool function of Bash."""

    def run(call: dict[str, Any]) -> tuple[bool, Any]:
        done = subprocess.run(
            ["sh", "-c", call["input"]["command"]], cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
        reply = {"stdout": done.stdout, "stderr": done.stderr, "interrupted": False, "isImage": False}
        return done.returncode != 0, reply

    return run


@dataclass
class Player:
    """One agent in one session. `hooks`: the hooks of the settings and the agent, combined as in Claude Code."""

    agent: str
    env: dict[str, str]
    turn: int = 0

    def __post_init__(self) -> None:
        front, self.body = linter.frontmatter((CLAUDE / "agents" / f"{self.agent}.md").read_text())
        settings = json.loads((CLAUDE / "settings.json").read_text())["hooks"]
        self.hooks = [*linter._entries(settings), *linter._entries(front["hooks"])]
        self.calls = list(linter.calls(linter.Page(self.agent, front, self.body)))

    def play(self, call: dict[str, Any], tool: Tool) -> Seen:
        """Make one call. The tool runs only if no hook denies it."""
        message = {
            "session_id": "s-1", "cwd": str(ROOT), "permission_mode": "dontAsk", "agent_type": self.agent,
            "tool_name": call["tool"], "tool_input": call["input"], "tool_use_id": "toolu_1",
        }  # fmt: skip
        before = self._ask("PreToolUse", message)
        reasons = [reply["hookSpecificOutput"]["permissionDecisionReason"] for reply in before if "decision" in reply]
        if reasons:
            return Seen("\n".join(reasons), ran=False, blocked=True, decisions=before)
        failed, result = tool(call)
        if failed:
            return Seen(json.dumps(result), ran=True, blocked=False, decisions=before)
        response = self._shaped(call["tool"], result)
        after = self._ask("PostToolUse", message | {"tool_response": response})
        text = [json.dumps(response)]
        for reply in after:
            answer = reply.get("hookSpecificOutput", {}).get("updatedToolOutput")
            if answer is not None and _fits(call["tool"], answer):
                text = [json.dumps(answer)]
        text += [reply["reason"] for reply in after if "decision" in reply]
        blocked = any("decision" in reply for reply in after)
        return Seen("\n".join(text), ran=True, blocked=blocked, decisions=[*before, *after])

    def _ask(self, event: str, message: dict[str, Any]) -> list[dict[str, Any]]:
        covering = [entry for kind, entry in self.hooks if kind == event]
        commands = dict.fromkeys(
            command
            for entry in covering
            if linter.matches(entry.get("matcher"), message["tool_name"])
            for command in linter._commands_of(entry)
        )
        return [self._run(command, message | {"hook_event_name": event}) for command in commands]

    def _run(self, command: str, message: dict[str, Any]) -> dict[str, Any]:
        done = subprocess.run(
            ["sh", "-c", command], input=json.dumps(message).encode(), cwd=ROOT, env=self.env, capture_output=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def _shaped(self, tool: str, result: Any) -> Any:
        """Return a tool's answer in one of the shapes that Claude Code passes to hooks, in rotation."""
        if not tool.startswith("mcp__"):
            return result
        self.turn += 1
        text = result["content"][0]["text"]
        if len(result["content"]) > 1:
            return result["content"]
        return [result["content"], text, result, [{"type": "text", "text": json.dumps(text)}]][self.turn % 4]


def _fits(tool: str, display: Any) -> bool:
    """Return whether Claude Code accepts a replacement: for built-in tools it must have the tool's own shape."""
    if tool.startswith("mcp__"):
        return isinstance(display, str) or all(part.keys() == {"type", "text"} for part in display)
    kinds = {"stdout": str, "stderr": str, "interrupted": bool, "isImage": bool}
    return isinstance(display, dict) and {name: type(value) for name, value in display.items()} == kinds


def at(call: dict[str, Any], pit: str | None) -> dict[str, Any]:
    """Return a documented call with a different cut-off, or without one."""
    inputs = dict(call["input"])
    if call["tool"] == "Bash":
        command = inputs["command"].split(" --pit ")[0]
        inputs["command"] = command if pit is None else f"{command} --pit {pit}"
    else:
        inputs.pop("pit")
        inputs |= {} if pit is None else {"pit": pit}
    return {"tool": call["tool"], "input": inputs}


def lying(session: Tool, turn: int) -> Tool:
    """Return a tool that claims to answer as of T but returns future data, in a new form each turn."""

    def ask(call: dict[str, Any]) -> tuple[bool, Any]:
        if call["tool"] == "Bash":
            item = {"available_at": "2025-01-01T00:00:00Z", "available_at_source": "provider_metadata", "x": world.MARK}
            reply = {"data": [item], "gaps": []}
        else:
            reply = session(at(call, None))[1]["structuredContent"] or {"data": [], "gaps": []}
        text = _lie(reply, turn)
        if call["tool"] == "Bash":
            beside = world.MARK if turn % 5 == 4 else ""
            return False, {"stdout": text, "stderr": beside, "interrupted": False, "isImage": False}
        more = [{"type": "text", "text": world.MARK}] if turn % 5 == 4 else []
        return False, {"content": [{"type": "text", "text": text}, *more], "isError": False}

    return ask


def _lie(reply: dict[str, Any], turn: int) -> str:
    past = {"available_at": world.PIT, "available_at_source": "neo4j_created"}
    return json.dumps(
        [
            reply | {"data": [*reply["data"], past | {"available_at": "2024-05-29T21:00:00.000001Z", "x": world.MARK}]},
            {"data": [past | {"note": json.dumps({"daily_return": world.MARK})}], "gaps": []},
            {"data": [], "gaps": [], "note": world.MARK},
            {"data": [], "gaps": [{"type": "no_data", "reason": world.MARK, "available_at": "2024-06-01T00:00:00Z"}]},
            {"data": [], "gaps": []},
        ][turn % 5]
    )


@dataclass
class Stage:
    """The environment of all agents: the free and the bound session, and their servers."""

    free: dict[str, str]
    bound: dict[str, str]
    open_server: Tool
    bound_server: Tool

    def play(self, agent: str, variant: str, *, calls: slice = slice(None)) -> list[Seen]:
        """Run an agent's documented calls, or a slice of them, in a variant."""
        player = Player(agent, self.bound if variant == "forgotten" else self.free)
        pit = {"clean": world.PIT, "gap": world.LONG_AGO, "contaminated": world.PIT}.get(variant)
        seen = []
        for turn, call in enumerate(player.calls[calls]):
            command = call["tool"] == "Bash"
            if variant == "contaminated":
                tool = lying(self.open_server, turn + len(agent))
            elif variant == "forgotten":
                tool = shell(self.bound) if command else self.bound_server
            else:
                tool = shell(self.free) if command else self.open_server
            seen.append(player.play(at(call, pit), tool))
        return seen


@contextmanager
def stage(home: Path, lake: Path) -> Iterator[Stage]:
    """Start both servers, and stop them at the end."""
    free, bound = environment(home, lake), environment(home, lake, PITLAKE_AS_OF=world.PIT)
    with ExitStack() as running:
        portal = running.enter_context(start_blocking_portal())
        servers = [running.enter_context(server(portal, env)) for env in (free, bound)]
        yield Stage(free, bound, *servers)


def faults(variant: str, seen: list[Seen]) -> list[str]:
    """Return the faults in what a model would have read in a variant."""
    joined_text = "\n".join(each.text for each in seen)
    wrong = []
    if world.marked(joined_text) != (variant == "open"):
        wrong.append("reads the future" if variant != "open" else "does not see the outcomes it may see")
    if any(each.blocked for each in seen) if variant != "contaminated" else not all(each.blocked for each in seen):
        wrong.append("is blocked" if variant != "contaminated" else "is not blocked")
    rows = re.search(r'available_at_source[\\"]+:', joined_text) is not None
    if rows != (variant in ("clean", "open", "forgotten")):
        wrong.append("reads no rows" if not rows else "reads rows")
    return wrong


def hook_times(env: dict[str, str], count: int = 50) -> dict[str, float]:
    """Return the milliseconds from start to verdict of both hooks on a page of 100 rows: the median of `count` runs."""
    item = {"available_at": world.PIT, "available_at_source": "neo4j_created", "title": "guidance " * 20}
    page = json.dumps({"data": [item] * 100, "gaps": []})
    call = {"tool_name": "mcp__pitlake__query", "tool_input": {"sql": "SELECT 1", "pit": world.PIT}, "cwd": str(ROOT)}
    message = json.dumps(call | {"tool_response": [{"type": "text", "text": page}]}).encode()
    result = {}
    for script in ("pit_gate.py", "pit_guard.py"):
        taken = []
        for _ in range(count):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-IS", str(CLAUDE / "hooks" / script)], input=message, env=env, check=True,
                           capture_output=True)  # fmt: skip
            taken.append((time.perf_counter() - began) * 1000)
        result[script] = statistics.median(taken)
    return result


def main() -> int:
    """Run every agent in every variant, print the matrix, and return how many cells are wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", nargs="*", default=sorted(linter.PIT_DONE))
    question = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        lake = world.build(home / "lake")
        with stage(home, lake.root) as played:
            print(f"{'agent':24}" + "".join(f"{variant:>15}" for variant in VARIANTS))
            for agent in question.agents:
                cells = []
                for variant in VARIANTS:
                    seen = played.play(agent, variant)
                    result = faults(variant, seen)
                    wrong += bool(result)
                    cells.append(", ".join(result) or f"ok ({len(seen)})")
                print(f"{agent:24}" + "".join(f"{cell:>15}" for cell in cells), flush=True)
            times = hook_times(played.free)
    print("start to verdict, median of 50: " + ", ".join(f"{name} {ms:.0f} ms" for name, ms in times.items()))
    return wrong


if __name__ == "__main__":
    sys.exit(main())
