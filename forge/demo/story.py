"""The story, told as it happens: each line is read from the tape, from memory, or is what a door answered."""

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from forge.agent.agent import Agent
from forge.core.clock import Simulated
from forge.core.tape import Diverged, Mode, Step, Tape
from forge.demo.script import AGAIN, ASKED, REVISED, ROLES
from forge.fs import ForgeFS
from forge.memory import Memory, approvals
from forge.memory.book import PORTFOLIO
from forge.memory.effects import PM
from forge.memory.guardrails import Guardrails
from forge.model.scripted import Scripted
from forge.providers.base import At
from forge.records import Expression, Portfolio, View, render
from forge.tracking.calibration import calibrate
from forge.tracking.settlement import settle
from pitlake.clock import instant
from pitlake.errors import BadInput, PitlakeError
from pitlake.lake.lake import Lake

BEFORE, AFTER = "2014-05-29T08:29:59-04:00", "2014-05-29T08:30:01-04:00"
LAST, JUDGED = "2014-06-25T08:30:01-04:00", "2014-07-01T09:00:00-04:00"
REASON = "too many of us hold it"
REPLAYS: tuple[tuple[Mode, str], ...] = (("strict", "from the tape alone"), ("live-tools", "the lake asked again"))
ALTERED = "UPDATE steps SET answer = replace(answer, '; value=1', '; value=2') WHERE decision = ? AND kind = 'tool'"
SHOWN = 150
BOOK = Portfolio(id="state", gross=100.0, net=20.0, duration=2.0, factor_exposures={"rates": 5.0, "equity": 10.0})


def play(home: Path, lake: Lake, said: Callable[[str], None]) -> str:
    """Play it; the last decision's name. home: an empty folder for memory and tape; lake: one with GDP of 2014.

    Raises BadInput for a lake without it and a folder that is in use, Diverged where a replay differs.
    """
    tape = Tape(home / "forge-tape.sqlite")
    if tape.decisions():
        raise BadInput("into", f"{home} holds decisions already", "name an empty folder")
    said("Forge, as a script plays it: no model is asked. It proves plumbing, not judgement.")
    with closing(Memory(home / "forge", clock=Simulated("demo", BEFORE))) as memory:
        return _Story(memory, tape, lake, said).told()


@dataclass
class _Story:
    memory: Memory
    tape: Tape
    lake: Lake
    said: Callable[[str], None]

    def told(self) -> str:
        self._files(PM).write_file(PORTFOLIO, render(BOOK), call_id="book")
        self._ask(BEFORE, ASKED)
        self._approve()
        self._ask(AFTER, REVISED)
        last = self._ask(LAST, AGAIN)
        self._judge()
        self._replay()
        self._alter(last)
        return last

    def _ask(self, at: str, question: str) -> str:
        self._clock.move(at)
        self.said(f"\nas of {at}: {question}")
        decided = asyncio.run(self._agent(self.tape).ask(question, at))
        steps = [step for step in self.tape.steps(decided.decision) if (step.lane, step.kind) == ("agent", "tool")]
        for line in (line for step in steps for line in _lines(step)):
            self.said(f"  {line}")
        if not any(one.startswith("Written: ") for one in (step.answer for step in steps)):
            raise BadInput("lake", f"has no GDP of 2014 as of {at}", "give --lake a lake that `make demo` filled")
        self._standing()
        return decided.decision

    def _standing(self) -> None:
        """How Views and Expressions stand now."""
        for one in self._records("views"):
            view = cast("View", one)
            self.said(f"  {view.id} {view.status}, {view.confidence:.0%}: {view.body.splitlines()[-1]}")
        for one in self._records("expressions"):
            expression = cast("Expression", one)
            told = f"{expression.direction} {expression.instrument}, loss {expression.max_loss_pct:g} %"
            self.said(f"  {expression.id} {expression.status}: {told}")

    def _approve(self) -> None:
        """The PM's own door, which no tool leads to."""
        self.said("\nThe portfolio manager")
        for one in approvals.pending(self.memory, Guardrails()):
            review = f"the review says {one.review.verdict}" if one.review else ""
            self.said(f"  {one.expression.id} waits: {'; '.join(one.problems) or review}")
            if not one.problems:
                approvals.approve(self.memory, one.expression.id, one.sha256, "pm", Guardrails())
            else:
                approvals.reject(self.memory, one.expression.id, REASON, "pm", Guardrails())
        self._standing()
        for path in self._files().remembered.paths("/memory/counterfactuals/"):
            text = self._files().read_file(path)
            reason = next(line for line in text.splitlines() if line.startswith("reason: "))
            self.said(f"  {path.rpartition('/')[2].removesuffix('.md')}: {reason}")

    def _judge(self) -> None:
        self._clock.move(JUDGED)
        self.said(f"\nas of {JUDGED}, the day is over")
        for one in settle(self.memory, At(as_of=instant(JUDGED), lake=self.lake.root), lambda _: ()):
            self.said(f"  {one.view} {one.status.replace('_', ' ')}: {one.rule} by {one.by}, and it is {one.value}")
        for mark in calibrate(self.memory, instant(JUDGED)):
            self.said(f"  calibration of {mark.id}: {mark.status}, of {mark.forecasts} settled")
        self.memory.flush()

    def _replay(self) -> None:
        """Raises Diverged where a decision comes to something else."""
        self.said("\nDecided again")
        made = self.tape.decisions()
        steps = sum(len(self.tape.steps(decision)) for decision in made)
        for mode, how in REPLAYS:
            for decision in made:
                asyncio.run(self._agent(self.tape).replay(decision, mode))
            self.said(f"  {how}: {len(made)} decisions, {steps} steps, 0 differences")

    def _alter(self, decision: str) -> None:
        """Alter a tool's result on a copy of the tape. Raises PitlakeError where a replay takes it for the true one."""
        copy = self.tape.place.with_name("forge-tape-altered.sqlite")
        shutil.copyfile(self.tape.place, copy)
        with closing(sqlite3.connect(copy)) as connection, connection:
            connection.execute("DROP TRIGGER steps_UPDATE")
            connection.execute(ALTERED, (decision,))
        try:
            asyncio.run(self._agent(Tape(copy)).replay(decision, "live-tools"))
        except Diverged as found:
            self.said(f"  a tool's result altered on a copy of the tape: {found}")
        else:
            raise PitlakeError("an altered tape replayed without a difference")
        finally:
            copy.unlink()

    def _agent(self, tape: Tape) -> Agent:
        return Agent(self.memory, tape, lambda role: Scripted(ROLES[role], role), self.lake.root)

    def _files(self, actor: str = "agent") -> ForgeFS:
        known = self.memory.hydrate(self.memory.standing(self.memory.journal.clock.now()), session="demo")
        return ForgeFS(self.memory, known, actor=actor)

    def _records(self, kind: str) -> Iterator[object]:
        known = self._files().remembered
        for row in filter(None, map(known.newest, known.paths(f"/memory/{kind}/"))):
            yield known.record(row)

    @property
    def _clock(self) -> Simulated:
        return cast("Simulated", self.memory.journal.clock)


def _lines(step: Step) -> Iterator[str]:
    """A call and what it came to."""
    name, given = json.loads(step.asked)
    subject = next((given[key] for key in ("id", "target", "output", "path", "source") if key in given), "")
    told = [line for line in step.answer.splitlines() if line.strip()]
    if name == "collect":
        told = [line for line in told if line.startswith(("── ", "FAILED", "LEDGER"))]
    elif name == "review":
        told = told[-1:]
    elif not told[0].startswith("GUARDRAIL"):
        told = told[:1]
    yield f"{name} {subject}: {told[0][:SHOWN]}"
    yield from (f"  {line.strip()[:SHOWN]}" for line in told[1:])
