"""`python -m tests.agents.claude_code.campaign`: the real Claude Code, a scripted model, and what it would have read.

Runs it twice: in a bound session with the project's hooks, where no byte of the canary may reach the model, and without
either, the control, where the same calls must find it. Needs Claude Code: `make claude` installs it from npm.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents.claude_code import attempts, house
from tests.agents.claude_code.scripted import Call, Model, serving

MAIN = "CAMPAIGN MAIN"
SUB_AGENTS = ("CAMPAIGN SUB", "CAMPAIGN LANE", "CAMPAIGN OTHER")
SECONDS = 3600


@dataclass
class Seen:
    """The result of one run. offered: the main conversation's tools, including deferred ones. results: the answers to
    attempts, by the ID of the call. canary: bytes of the canary in everything sent to the model. leaks: the attempts
    whose results contained it.
    """

    offered: list[str]
    attempts: list[tuple[str, Call]]
    results: dict[str, str]
    canary: int
    leaks: list[Call]
    requests: int

    @property
    def tried(self) -> set[str]:
        """Return the tools with at least one answered attempt."""
        return {call[0] for name, call in self.attempts if name in self.results}

    def outcomes(self) -> Counter[str]:
        """Return how attempts ended: denied by the guard, replaced by the gate, refused otherwise, or answered."""
        return Counter(_outcome(self.results.get(name)) for name, _ in self.attempts)


def run(root: Path, version: str, *, bound: bool, script: Callable[..., list[Call]] = attempts.every) -> Seen:
    """Run Claude Code in its own home and project until it exits."""
    outcome = house.build(root, bound=bound)
    scripts = {MAIN: lambda tools: script(tools, outcome)}
    scripts |= {mark: lambda tools: attempts.of_sub_agent(tools, outcome) for mark in SUB_AGENTS}
    model = Model(scripts, beside="nothing" if bound else f"{house.CANARY} says the web", searching=True)
    command = [str(house.claude(version)), "-p", MAIN, "--dangerously-skip-permissions", "--output-format", "json",
               "--session-id", house.SESSION]  # fmt: skip
    with serving(model, f"<p>{house.CANARY} says the web</p>") as address:
        done = subprocess.run(command, cwd=outcome.project, env=outcome.env(address), capture_output=True, text=True,
                              timeout=SECONDS, check=False)  # fmt: skip
    if MAIN not in model.offered:
        raise RuntimeError(f"Claude Code asked nothing: {done.stdout[-500:]} {done.stderr[-500:]}")
    return _seen(model)


def _seen(model: Model) -> Seen:
    marks = (MAIN, *SUB_AGENTS)
    tried = [(f"toolu_{mark}-{turn}", call) for mark in marks for turn, call in enumerate(model.calls(mark))]
    last = {mark: body for body in model.bodies for mark in marks if mark in _first(body)}
    others = [body for body in model.bodies if not any(mark in _first(body) for mark in last)]
    leaks = [call for name, call in tried if house.canaries(model.results.get(name, ""))]
    offered = {*model.deferred[MAIN], *(tool["name"] for tool in model.offered[MAIN])}
    return Seen(
        sorted(offered), tried, model.results,
        sum(map(house.canaries, (*last.values(), *others))), leaks, len(model.bodies),
    )  # fmt: skip


def _first(body: str) -> str:
    return json.dumps(json.loads(body)["messages"][0])


def _outcome(result: str | None) -> str:
    if result is None:
        return "not answered"
    if "GUARD_" in result or "PIT_" in result:
        return "denied by guard or gate"
    return "refused otherwise" if "error" in result.lower() else "answered"


def report(name: str, seen: Seen) -> None:
    """Print a run's figures: tools, attempts, requests and bytes of the canary."""
    ended = ", ".join(f"{count} {kind}" for kind, count in seen.outcomes().most_common())
    untried = f" (not: {sorted({*seen.offered} - seen.tried)})" if {*seen.offered} - seen.tried else ""
    print(
        f"{name}: {len(seen.offered)} tools offered, {len(seen.tried & {*seen.offered})} tried{untried}; "
        f"{len(seen.attempts)} attempts: {ended}; {seen.requests} requests; {seen.canary} bytes of the canary"
    )


def main() -> int:
    """Run each version, bound and as a control. Return the number of versions with an unexpected result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", nargs="*", default=house.versions())
    question = parser.parse_args()
    if not question.versions:
        raise FileNotFoundError("Claude Code is not installed: make claude")
    return sum(map(_wrong, question.versions))


def _wrong(version: str) -> bool:
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, bound in (("bound", True), ("control", False)):
            seen = result[name] = run(Path(folder) / name, version, bound=bound)
            report(f"{version} {name}", seen)
    for call in result["bound"].leaks:
        print(f"  read the canary: {json.dumps(call)}")
    by_tool = Counter(call[0] for call in result["control"].leaks)
    print("  the control read it by " + ", ".join(f"{tool} {count}" for tool, count in by_tool.most_common()))
    untried = {*result["bound"].offered} - result["bound"].tried
    return bool(result["bound"].canary or untried or not result["control"].canary)


if __name__ == "__main__":
    sys.exit(main())
