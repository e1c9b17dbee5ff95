"""The output of the demo: each line comes from the tape, from memory, or from a command's output."""

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
from forge.core.tape import Diverged, Mode, Tape
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
REASON = "too many of our positions depend on it"
REPLAYS: tuple[tuple[Mode, str], ...] = (
    ("strict", "from the tape alone"),
    ("live-tools", "with the lake queried again"),
)
ALTERED = "UPDATE steps SET answer = replace(answer, '; value=1', '; value=2') WHERE decision = ? AND kind = 'tool'"
SHOWN = 150
SUBJECTS = ("id", "target", "output", "path", "source")
BOOK = Portfolio(id="state", gross=100.0, net=20.0, duration=2.0, factor_exposures={"rates": 5.0, "equity": 10.0})


def play(home: Path, lake: Lake, on_line: Callable[[str], None]) -> str:
    """Run the story and return the last decision's name. home: an empty folder for memory and tape. lake: a lake with
    the GDP of 2014.

    Raises BadInput for a lake without this GDP or a folder in use, Diverged if a replay differs.
    """
    tape = Tape(home / "forge-tape.sqlite")
    if tape.decisions():
        raise BadInput("into", f"{home} already contains decisions", "name an empty folder")
    on_line(
        "Forge with scripted answers in place of a model. It shows that the parts work together, not good judgement."
    )
    with closing(Memory(home / "forge", clock=Simulated("demo", BEFORE))) as memory:
        return _Story(memory, tape, lake, on_line).play()


@dataclass
class _Story:
    memory: Memory
    tape: Tape
    lake: Lake
    on_line: Callable[[str], None]

    def play(self) -> str:
        self._files(PM).write_file(PORTFOLIO, render(BOOK), call_id="book")
        self._ask(BEFORE, ASKED)
        self.on_line("\nThe portfolio manager")  # No tool of a model can approve.
        for candidate in approvals.pending(self.memory, Guardrails()):
            review = f"the review says {candidate.review.verdict}" if candidate.review else ""
            self.on_line(f"  {candidate.expression.id} waits: {'; '.join(candidate.problems) or review}")
            if not candidate.problems:
                self.on_line(f"  confirmed as claimed: {'; '.join(map(str, candidate.claims))}")
                approvals.approve(
                    self.memory, candidate.expression.id, candidate.sha256, "pm", Guardrails(), confirmed=True
                )
            else:
                approvals.reject(self.memory, candidate.expression.id, REASON, "pm", Guardrails())
        self._print_records()
        for path in self._files().remembered.paths("/memory/counterfactuals/"):
            text = self._files().read_file(path)
            reason = next(line for line in text.splitlines() if line.startswith("reason: "))
            self.on_line(f"  {path.rpartition('/')[2].removesuffix('.md')}: {reason}")
        self._ask(AFTER, REVISED)
        last = self._ask(LAST, AGAIN)
        self._clock.move(JUDGED)
        self.on_line(f"\nas of {JUDGED}, the day is over")
        for settlement in settle(self.memory, At(as_of=instant(JUDGED), lake=self.lake.root), lambda _: ()):
            self.on_line(
                f"  {settlement.view} {settlement.status.replace('_', ' ')}: {settlement.rule} by {settlement.by}, "
                f"and it is {settlement.value}"
            )
        for mark in calibrate(self.memory, instant(JUDGED)):
            self.on_line(f"  calibration of {mark.id}: {mark.status}, of {mark.forecasts} settled")
        self.memory.flush()
        self.on_line("\nDecided again")
        decisions = self.tape.decisions()
        steps = sum(len(self.tape.steps(decision)) for decision in decisions)
        for mode, how in REPLAYS:
            for decision in decisions:
                asyncio.run(self._agent(self.tape).replay(decision, mode))
            self.on_line(f"  {how}: {len(decisions)} decisions, {steps} steps, 0 differences")
        self._alter(last)
        return last

    def _ask(self, at: str, question: str) -> str:
        self._clock.move(at)
        self.on_line(f"\nas of {at}: {question}")
        decided = asyncio.run(self._agent(self.tape).ask(question, at))
        steps = [step for step in self.tape.steps(decided.decision) if (step.lane, step.kind) == ("agent", "tool")]
        for step in steps:
            name, arguments = json.loads(step.request)
            subject = next((arguments[key] for key in SUBJECTS if key in arguments), "")
            lines = [line for line in step.answer.splitlines() if line.strip()]
            if name == "collect":
                lines = [line for line in lines if line.startswith(("── ", "FAILED", "LEDGER"))]
            elif name == "review":
                lines = lines[-1:]
            elif not lines[0].startswith("GUARDRAIL"):
                lines = lines[:1]
            self.on_line(f"  {name} {subject}: {lines[0][:SHOWN]}")
            for line in lines[1:]:
                self.on_line(f"    {line.strip()[:SHOWN]}")
        if not any(answer.startswith("Written: ") for answer in (step.answer for step in steps)):
            raise BadInput("lake", f"has no GDP for 2014 as of {at}", "give --lake a lake that `make demo` filled")
        self._print_records()
        return decided.decision

    def _print_records(self) -> None:
        """Print the current Views and Expressions."""
        for record in self._records("views"):
            view = cast("View", record)
            self.on_line(f"  {view.id} {view.status}, {view.confidence:.0%}: {view.body.splitlines()[-1]}")
        for record in self._records("expressions"):
            expression = cast("Expression", record)
            summary = f"{expression.direction} {expression.instrument}, loss {expression.max_loss_pct:g} %"
            self.on_line(f"  {expression.id} {expression.status}: {summary}")

    def _alter(self, decision: str) -> None:
        """Alter a tool's result on a copy of the tape. Raises PitlakeError if a replay does not notice."""
        copy = self.tape.place.with_name("forge-tape-altered.sqlite")
        shutil.copyfile(self.tape.place, copy)
        with closing(sqlite3.connect(copy)) as connection, connection:
            connection.execute("DROP TRIGGER steps_UPDATE")
            connection.execute(ALTERED, (decision,))
        try:
            asyncio.run(self._agent(Tape(copy)).replay(decision, "live-tools"))
        except Diverged as divergence:
            self.on_line(f"  a tool's result altered on a copy of the tape: {divergence}")
        else:
            raise PitlakeError("an altered tape replayed without a difference")
        finally:
            copy.unlink()

    def _agent(self, tape: Tape) -> Agent:
        return Agent(self.memory, tape, lambda role: Scripted(ROLES[role], role), self.lake.root)

    def _files(self, actor: str = "agent") -> ForgeFS:
        remembered = self.memory.hydrate(self.memory.read_instant(self.memory.journal.clock.now()), session="demo")
        return ForgeFS(self.memory, remembered, actor=actor)

    def _records(self, kind: str) -> Iterator[object]:
        remembered = self._files().remembered
        return map(remembered.record, remembered.rows(kind))

    @property
    def _clock(self) -> Simulated:
        return cast("Simulated", self.memory.journal.clock)
