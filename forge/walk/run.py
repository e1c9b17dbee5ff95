"""Running a walk-forward: its own memory, tape and clock in one folder; killed anywhere, it goes on where it was.

Before each question, and once at the end, time does its work (`pm`); each is kept on the tape once it is done, as a
decision is. The lake is asked at the version of the first start, so that filling it further changes nothing.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from forge.agent.agent import Agent
from forge.agent.loop import unsaid
from forge.agent.occasions import asked
from forge.core.clock import Simulated
from forge.core.config import Config
from forge.core.skill_loader import SkillLoader
from forge.core.tape import Tape
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.guardrails import Guardrails
from forge.model import Model
from forge.model.budget import Spent, of_all
from forge.providers.base import At
from forge.tracking.receipts import recorded_cut_offs
from forge.walk.mask import mask_of, masked
from forge.walk.plan import Walk
from forge.walk.pm import between
from pitlake.clock import iso
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake

Models = Callable[[str], Model]
WORK = "T-"
"""How the names of time's work begin on the tape."""


@dataclass(frozen=True)
class Ground:
    """What runs stand on. folder: in which each has its own; lake: the market's; skills: the PM's."""

    folder: Path
    lake: str | Path
    models: Models
    config: Config = field(default_factory=Config)
    skills: Path | None = None

    def place(self, walk: Walk) -> Path:
        """A run's folder."""
        return self.folder / walk.name

    def memory(self, walk: Walk, at: datetime) -> Memory:
        """A run's memory, with its clock at an instant. The caller closes it."""
        return Memory(self.place(walk) / "memory", clock=Simulated(walk.name, at))

    def tape(self, walk: Walk) -> Tape:
        """A run's tape."""
        return Tape(self.place(walk) / "tape.sqlite")


@dataclass(frozen=True)
class Walked:
    """What a run came to. decisions: how many; ends: how they ended, by word; spent: on models."""

    name: str
    decisions: int
    ends: Mapping[str, int]
    spent: Spent


def run(walk: Walk, ground: Ground, said: Callable[[str], None] = unsaid) -> Walked:
    """Run, or go on with, a walk. said: is told of each decision with what is spent so far.

    Raises BadInput where a run of this name was begun otherwise, LakeNotFound, NoModel, ModelFailed.
    """
    return asyncio.run(_run(walk, ground, said))


def run_all(walks: list[Walk], ground: Ground, jobs: int, said: Callable[[str], None] = unsaid) -> list[Walked]:
    """Run independent walks, so many at once. Raises what `run` raises."""
    if jobs == 1 or len(walks) == 1:
        return [run(one, ground, said) for one in walks]
    with ProcessPoolExecutor(jobs, mp_context=get_context("forkserver")) as pool:
        return list(pool.map(partial(run, ground=ground, said=said), walks))


async def _run(walk: Walk, ground: Ground, said: Callable[[str], None]) -> Walked:
    steps, tape = walk.occasions(), ground.tape(walk)
    version = _pinned(walk, ground)
    models = masked(ground.models, mask_of(ground.lake, version)) if walk.masked else ground.models
    with closing(ground.memory(walk, steps[0][0])) as memory:
        agent = Agent(memory, tape, models, ground.lake, ground.config, skills=ground.skills, version=version)
        for number, (at, occasion) in enumerate(steps, start=1):
            decision = f"D-{occasion}-{at:%Y%m%dT%H%M%SZ}"
            if tape.receipt(decision) is None:
                _time_passes(agent, at, version)
                text = "" if decision in tape.decisions() else asked(occasion, _files(agent, at), at, walk.plan)
                decided = await agent.ask(text, at, decision=decision, trigger="schedule")
                spent = of_all(tape, ground.config)
                said(f"{walk.name} {number}/{len(steps)} {decision}: {decided.end}, {spent.told()} so far")
        _time_passes(agent, walk.ends, version)
    ends = [str(one["end"]) for one in receipts(tape)]
    return Walked(
        walk.name, len(ends), {one: ends.count(one) for one in sorted(set(ends))}, of_all(tape, ground.config)
    )


def receipts(tape: Tape) -> list[dict[str, Any]]:
    """The receipts of a run's decisions, in their order."""
    kept = [tape.receipt(one) for one in tape.decisions() if not one.startswith(WORK)]
    return [json.loads(one) for one in kept if one]


def _files(agent: Agent, at: datetime) -> ForgeFS:
    return ForgeFS(agent.memory, agent.memory.hydrate(agent.memory.standing(at)), skills=agent.skills)


def _time_passes(agent: Agent, at: datetime, version: int) -> None:
    """Move the clock, and do what is due, once."""
    name, clock = f"{WORK}{at:%Y%m%dT%H%M%SZ}", agent.memory.journal.clock
    if isinstance(clock, Simulated):
        clock.move(at)
    if agent.tape.receipt(name) is None:
        agent.tape.begin(name, {"as_of": iso(at)})
        guardrails = Guardrails(agent.config.guardrails)
        done = between(
            agent.memory, At(as_of=at, lake=agent.lake, version=version), guardrails, recorded_cut_offs(agent.tape)
        )
        agent.tape.keep_receipt(name, json.dumps(done, sort_keys=True))


def _pinned(walk: Walk, ground: Ground) -> int:
    """The lake's version of the first start; what a run was begun with is kept beside it and may not change."""
    place = ground.place(walk) / "run.json"
    told = {**asdict(walk), "since": str(walk.since), "until": str(walk.until), "triggers": list(walk.triggers)}
    told |= {"skills": SkillLoader(ground.skills).sha256()}
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        made = place.with_suffix(".new")
        made.write_text(json.dumps(told | {"version": Lake(ground.lake).head()}, indent=1) + "\n")
        made.replace(place)
    kept = json.loads(place.read_text())
    if other := [name for name, value in told.items() if kept[name] != value]:
        raise BadInput(
            other[0], f"the run {walk.name} was begun with another value", "go on as it was begun, or give --name"
        )
    version: int = kept["version"]
    return version
