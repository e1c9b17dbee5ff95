"""Decisions that are killed with SIGKILL at random steps and resumed: `python -m tests.forge.killed --kills 100`.

A decision writes eight observations to real files, journal and tape, and reads each back. Wherever it was killed, it
must end with the transcript of an undisturbed decision, and with each observation once.
"""

import asyncio
import multiprocessing
import os
import random
import re
import signal
from pathlib import Path
from typing import Any

from forge.agent.conversation import Conversation, LoopLimits
from forge.agent.loop import loop
from forge.agent.tools.read import ReadTool
from forge.agent.tools.toolset import Writes
from forge.core.tape import Step, Tape
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.model import Answer, Call, Request
from forge.model.scripted import Scripted
from forge.model.taped import Taped
from forge.records import Observation, render
from pitlake.clock import instant
from tests.tally import Tally

T = instant("2014-05-29T12:29:59Z")
WRITES, DECISIONS = 8, 5
KILLED = -signal.SIGKILL

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["forge.agent.tools.toolset", "forge.model.scripted"])


class Dice:
    """Dice that kill their process with a given probability at every roll."""

    def __init__(self, seed: int, chance: float) -> None:
        self._random, self._chance = random.Random(seed), chance

    def roll(self) -> None:
        if self._random.random() < self._chance:
            os.kill(os.getpid(), signal.SIGKILL)


class Mortal(Tape):
    """A tape whose process may be killed just before or after any step is stored."""

    def __init__(self, place: Path, dice: Dice) -> None:
        super().__init__(place)
        self._dice = dice

    def add_step(self, decision: str, step: Step) -> None:
        self._dice.roll()
        super().add_step(decision, step)
        self._dice.roll()


def brain(request: Request) -> Answer:
    """Write eight observations and read each back, then answer."""
    turn = sum(isinstance(each, Answer) for each in request.messages)
    path = f"/memory/observations/O-{turn // 2 + 1:03d}.md"
    if turn == 2 * WRITES:
        return Answer("done")
    if turn % 2:
        return Answer("", (Call("read", {"path": path, "depth": "full"}, f"c{turn}"),), "tools")
    body = f"## SUMMARY\n\nFigure {turn // 2 + 1}."
    text = render(Observation(id="new", scope="us_growth", status="active", body=body))
    return Answer("", (Call("write", {"path": "/memory/observations/new.md", "content": text}, f"c{turn}"),), "tools")


def decide(root: str, seed: int, chance: float, journal: str | None = None) -> None:
    """Run the decision, or resume it where its tape ends."""
    dice = Dice(seed, chance)
    memory, tape = Memory(Path(root) / "forge", journal), Mortal(Path(root) / "tape.sqlite", dice)
    existing = memory.hydrate(T, session="s")
    existing.take(memory.written_by("s", "d"))
    fs, lane = ForgeFS(memory, existing), tape.lane("d")
    tools = {tool.spec.name: tool for tool in (ReadTool(fs), Writes(fs))}

    def asked(request: Request) -> Answer:
        dice.roll()
        return brain(request)

    talk = Conversation("You are Forge.", ["go"])
    asyncio.run(loop(Taped(Scripted(asked), lane), lane, talk, tools, LoopLimits(), lambda line: None))
    memory.close()


def outcome(root: Path, journal: str | None = None) -> dict[str, Any]:
    """Return a decision's steps, results and writes, and the faults of its journal."""
    memory = Memory(root / "forge", journal)
    rows = memory.journal.rows()
    left = {
        "steps": [(step.step, step.kind, _undated(step.request)) for step in Tape(root / "tape.sqlite").steps("d")],
        "results": [_undated(step.answer) for step in Tape(root / "tape.sqlite").steps("d")],
        "written": [(row.path, _undated(row.content)) for row in rows],
        "faults": memory.audit(),
    }
    memory.close()
    return left


def _undated(text: str) -> str:
    return re.sub(r"updated: [-0-9T:.Z+]+", "updated:", text)


def killed(root: Path, seed: int, chance: float, journal: str | None = None) -> int:
    """Restart a decision until it ends; return how often it was killed."""
    root.mkdir(parents=True, exist_ok=True)
    for times in range(1000):
        process = _context.Process(target=decide, args=(str(root), seed * 1000 + times, chance, journal))
        process.start()
        process.join()
        if process.exitcode == 0:
            return times
        assert process.exitcode == KILLED, process.exitcode
    raise AssertionError("it never ended")


def share(seed: int, folder: Path) -> Tally:
    """Kill and restart decisions until they end, and compare them with an undisturbed decision."""
    killed(folder / "whole", 0, 0.0)
    due, tally = outcome(folder / "whole"), Tally()
    for number in range(seed * DECISIONS + 1, (seed + 1) * DECISIONS + 1):
        tally.compared += killed(folder / str(number), number, 0.08)
        if outcome(folder / str(number)) != due:
            tally.failures.append(f"decision {number} came out otherwise")
    return tally
