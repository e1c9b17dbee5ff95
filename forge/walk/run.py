"""Walk-forward runs: each has a separate memory, tape and clock in one folder, and can be resumed after a kill.

The work in `pm` runs before each question and once at the end. Like decisions, it is recorded on the tape. The lake is
read at its version of the first start, so that later publications change nothing.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from forge.agent.agent import Agent
from forge.agent.loop import no_progress
from forge.agent.occasions import RETROSPECTIVE, occasion_text
from forge.core.clock import Simulated
from forge.core.config import Config
from forge.core.embedder import VectorCache, text_model
from forge.core.skill_loader import SkillLoader
from forge.core.stops import forget_stop, stop_reason
from forge.core.tape import WORK, Tape
from forge.evolution.proposing import PREFIX, propose
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.cash import cash
from forge.model import Model
from forge.model.budget import Meter, Spent, total_spent
from forge.providers.base import At, moving_sessions
from forge.tracking.receipts import recorded_cut_offs
from forge.tracking.risk import guardrails, stops
from forge.walk.mask import mask_models, mask_of
from forge.walk.plan import Walk
from forge.walk.pm import advance
from pitlake.clock import iso
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from pitlake.recorder import write_whole

Models = Callable[[str], Model]
TAPE = "tape.sqlite"


@dataclass(frozen=True)
class Ground:
    """The environment of runs.

    folder: the folder that contains the folder of each run. lake: the market's lake. skills: the PM's folder of skills.
    together: the names of the runs that share a backtest's budget.
    """

    folder: Path
    lake: str | Path
    models: Models
    config: Config = field(default_factory=Config)
    skills: Path | None = None
    together: tuple[str, ...] = ()

    def place(self, walk: Walk) -> Path:
        """Return a run's folder."""
        return self.folder / walk.name

    def memory(self, walk: Walk, at: datetime) -> Memory:
        """Return a run's memory, with its clock at an instant. The caller closes it."""
        return Memory(self.place(walk) / "memory", clock=Simulated(walk.name, at))

    def tape(self, walk: Walk) -> Tape:
        return Tape(self.place(walk) / TAPE)


@dataclass(frozen=True)
class Walked:
    """The result of a run.

    decisions: the number of decisions. ends: the counts of their ends. spent: the spending on models. stopped: the
    reason for an early stop, or "".
    """

    name: str
    decisions: int
    ends: Mapping[str, int]
    spent: Spent
    stopped: str = ""


def run(walk: Walk, ground: Ground, on_progress: Callable[[str], None] = no_progress) -> Walked:
    """Run a walk, or resume it. on_progress: called with each decision and the spending so far.

    Raises BadInput if a run of this name has different settings, LakeNotFound, NoModel, ModelFailed.
    """
    return asyncio.run(_run(walk, ground, on_progress))


def run_all(
    walks: list[Walk], ground: Ground, jobs: int, on_progress: Callable[[str], None] = no_progress
) -> list[Walked]:
    """Run independent walks, `jobs` at a time, on one backtest's budget. Raises the errors of `run`."""
    ground = replace(ground, together=tuple(walk.name for walk in walks))
    if jobs == 1 or len(walks) == 1:
        return [run(walk, ground, on_progress) for walk in walks]
    with ProcessPoolExecutor(jobs, mp_context=get_context("forkserver")) as pool:
        return list(pool.map(partial(run, ground=ground, on_progress=on_progress), walks))


async def _run(walk: Walk, ground: Ground, on_progress: Callable[[str], None]) -> Walked:
    steps, tape = walk.occasions(), ground.tape(walk)
    version = pinned_version(walk, ground)
    models = mask_models(ground.models, mask_of(ground.lake, version)) if walk.masked else ground.models
    with tape.claim(f"{WORK}{walk.name}"), closing(ground.memory(walk, steps[0][0])) as memory, moving_sessions():
        forget_stop(tape, walk.name)
        agent = Agent(
            memory,
            tape,
            models,
            ground.lake,
            ground.config,
            skills=ground.skills,
            vectors=VectorCache(model=text_model(ground.config.search.embedding_model)),
            version=version,
            states_cut_off=not walk.masked,
            backtest=tuple(Tape(ground.folder / name / TAPE) for name in ground.together or (walk.name,)),
        )
        meter, stopped = Meter(tape, "", walk.ends, ground.config, backtest=agent.backtest), ""
        for number, (at, occasion) in enumerate(steps, start=1):
            decision = f"D-{occasion}-{at:%Y%m%dT%H%M%SZ}"
            following = steps[number][0] if number < len(steps) else walk.ends
            new = tape.receipt(decision) is None
            if new:
                _advance(agent, at, version)
                if stopped := meter.backtest_exceeded() or stop_reason(tape, walk.name):
                    on_progress(f"{walk.name} stops before {decision}: {stopped}")
                    break
                text = ""
                if decision not in tape.decisions():
                    remembered = memory.hydrate(memory.read_instant(at))
                    text = occasion_text(occasion, ForgeFS(memory, remembered, skills=agent.skills), at, walk.plan)
                decided = await agent.ask(text, at, decision=decision, trigger="schedule")
                spent = total_spent(tape, ground.config)
                on_progress(f"{walk.name} {number}/{len(steps)} {decision}: {decided.end}, {spent.describe()} so far")
            if occasion == RETROSPECTIVE and (new or _work_name(following) not in tape.decisions()):
                _move_clock(agent, at)
                await propose(agent, f"{PREFIX}{occasion}-{at:%Y%m%dT%H%M%SZ}", trigger="schedule")
        if not stopped:
            _advance(agent, walk.ends, version)
    ends = [str(receipt["end"]) for receipt in receipts(tape)]
    counts = {end: ends.count(end) for end in sorted(set(ends))}
    return Walked(walk.name, len(ends), counts, total_spent(tape, ground.config), stopped)


def receipts(tape: Tape) -> list[dict[str, Any]]:
    """Return the receipts of a run's decisions, in order."""
    recorded = [tape.receipt(decision) for decision in tape.decisions() if not decision.startswith((WORK, PREFIX))]
    return [json.loads(receipt) for receipt in recorded if receipt]


def _work_name(at: datetime) -> str:
    return f"{WORK}{at:%Y%m%dT%H%M%SZ}"


def _move_clock(agent: Agent, at: datetime) -> None:
    clock = agent.memory.journal.clock
    if isinstance(clock, Simulated):
        clock.move(at)


def _advance(agent: Agent, at: datetime, version: int) -> None:
    """Move the clock and do the PM's work of that instant, once."""
    name = _work_name(at)
    _move_clock(agent, at)
    if agent.tape.receipt(name) is None:
        agent.tape.begin(name, {"as_of": iso(at)})
        now, remembered = At(as_of=at, lake=agent.lake, version=version), agent.memory.hydrate(at)
        limits = guardrails(agent.config.guardrails, now, cash(remembered), stops(remembered))
        done = advance(agent.memory, now, limits, recorded_cut_offs(agent.tape), agent.config)
        agent.tape.add_receipt(name, json.dumps(done, sort_keys=True))


def pinned_version(walk: Walk, ground: Ground) -> int:
    """Return the lake's version at the first start. The run's settings are stored, and they may not change."""
    place = ground.place(walk) / "run.json"
    settings = {**asdict(walk), "since": str(walk.since), "until": str(walk.until), "triggers": list(walk.triggers)}
    settings |= {"skills": SkillLoader(ground.skills).sha256()}
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(settings | {"version": Lake(ground.lake).head()}, indent=1) + "\n"
        write_whole(place, text.encode())
    pinned = json.loads(place.read_text())
    pinned.setdefault("again", False)
    if other := [name for name, value in settings.items() if pinned[name] != value]:
        raise BadInput(
            other[0], f"the run {walk.name} was started with a different value", "resume it unchanged, or give --name"
        )
    version: int = pinned["version"]
    return version
