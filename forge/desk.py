"""A PM's desk: where memory, journal, tape, settings and the PM's own skills lie, and who is made of them.

One home for all doors. Everything lies beside memory's lake, unless a variable says otherwise.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from forge.agent.agent import Agent
from forge.core.clock import LIVE, Clock, Finished, Simulated
from forge.core.config import Config, load
from forge.core.embedder import KeptVectors, Meaning
from forge.core.tape import Tape
from forge.fs import ForgeFS
from forge.memory import Memory, Remembered
from forge.memory.guardrails import Guardrails
from forge.memory.memory import of_backtest, root_of
from forge.model.routing import Routing
from forge.walk.run import Ground
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake

SETTINGS_VARIABLE = "FORGE_CONFIG"
SKILLS_VARIABLE = "FORGE_SKILLS"


@dataclass(frozen=True)
class Desk:
    """lake: memory's root; beside: what the names of files beside it begin with; settings: the file of `config`, also
    where there is none yet; skills: the PM's own folder; run: the backtest whose memory it shows,
    "" for the live memory.
    """

    lake: str
    beside: Path
    settings: Path
    config: Config
    skills: Path | None
    run: str = ""

    @property
    def guardrails(self) -> Guardrails:
        """The settings' limits, which the PM's constraints can only tighten."""
        return Guardrails(self.config.guardrails)

    @property
    def changed_skills(self) -> Path:
        """Where skills that the PM changes are put, also where there is no such folder yet."""
        return self.skills or Path(f"{self.beside}-skills")

    @property
    def routing(self) -> Routing:
        """The models of the environment and of the settings."""
        return Routing(self.config.models, self.config.executor.call_seconds)

    @property
    def tape(self) -> Tape:
        """Of all decisions, live or simulated."""
        return Tape(f"{self.beside}-tape.sqlite")

    def memory(self, clock: Clock | None = None) -> Memory:
        """Memory of a clock (default: the desk's own). The caller closes it."""
        return Memory(self.lake, clock=clock or (Finished(self.run) if self.run else None))

    def clock_of(self, decision: str) -> Clock | None:
        """Of the memory a decision was made on; None for the live one. Raises BadInput."""
        begun = self.tape.begun(decision)
        return None if begun["clock"] == LIVE else Simulated(begun["clock"].partition(":")[2], begun["as_of"])

    def files(self, memory: Memory, known: Remembered, actor: str = "agent") -> ForgeFS:
        """What is remembered, as files."""
        return ForgeFS(memory, known, self.guardrails, self.skills, actor)

    def meaning(self, vectors: KeptVectors | None = None) -> Meaning:
        """The search's meaning of words, weighted by the settings."""
        search = self.config.search
        return Meaning(vectors or KeptVectors(), (search.semantic_weight, search.recency_weight))

    def agent(self, memory: Memory, lake: str | Path | None) -> Agent:
        """The agent at this desk. lake: the market's."""
        return Agent(memory, self.tape, self.routing.model, lake, self.config, skills=self.skills)

    def ground(self, lake: str | Path | None) -> Ground:
        """What walk-forward runs stand on, beside memory. lake: the market's."""
        place = Lake(lake).root
        return Ground(Path(f"{self.beside}-walks"), place, self.routing.model, self.config, self.skills)


def desk(lake: str | Path | None = None) -> Desk:
    """The desk on a memory's lake (default $FORGE_LAKE, else ./.pitlake/forge). That of a backtest,
    `<lake>-simulated-<run>`, is shown and takes no writes.

    $FORGE_CONFIG, else `<lake>.toml`, holds its settings; $FORGE_SKILLS, else `<lake>-skills`, the PM's own skills.
    Raises BadInput for settings that can't be read and for a folder of skills that is named and missing.
    """
    root, run = of_backtest(root_of(lake))
    beside = Lake(root).root
    named = os.environ.get(SETTINGS_VARIABLE)
    settings = Path(named or f"{beside}.toml")
    config = load(settings) if named or settings.exists() else Config()
    return Desk(root, beside, settings, config, _skills(f"{beside}-skills"), run)


def _skills(beside: str) -> Path | None:
    named = os.environ.get(SKILLS_VARIABLE)
    folder = Path(named or beside)
    if folder.is_dir():
        return folder
    if named:
        raise BadInput(SKILLS_VARIABLE, f"{folder} is not a folder", "name one whose folders hold a SKILL.md each")
    return None
