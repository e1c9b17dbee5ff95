"""A PM's desk: the locations of memory, journal, tape, settings and the PM's skills, and the objects built from them.

Every entry point uses a desk. Unless an environment variable says otherwise, all files are next to memory's lake.
"""

import os
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from forge.core.clock import LIVE, Clock, Finished, Simulated
from forge.core.config import PROPOSAL, Config, load
from forge.core.tape import Tape
from forge.fs import ForgeFS
from forge.memory import Memory, Remembered
from forge.memory.cash import open_account
from forge.memory.guardrails import Guardrails
from forge.memory.memory import lake_root, parse_backtest_root
from pitlake.clock import instant
from pitlake.errors import BadInput
from pitlake.lake.storage.root import open_store
from pitlake.models import CLEAN, exposure

if TYPE_CHECKING:
    from forge.agent.agent import Agent
    from forge.core.embedder import Meaning
    from forge.model.routing import Routing
    from forge.providers.base import At
    from forge.walk.run import Ground

SETTINGS_VARIABLE = "FORGE_CONFIG"
SKILLS_VARIABLE = "FORGE_SKILLS"
WALKS = "-walks"
"""The suffix of the folder with a desk's backtests."""
BACKTEST_CAPITAL = 1_000_000.0
"""USD with which a backtest opens its account if the settings name no capital."""


@dataclass(frozen=True)
class Desk:
    """A desk.

    lake: the root of the memory lake. beside: the prefix of the files next to it. settings: the path of the settings
    file, which may be missing. skills: the PM's folder. run: the backtest of the memory, "" for the live memory.
    """

    lake: str
    beside: Path
    settings: Path
    config: Config
    skills: Path | None
    run: str = ""

    def guardrails(self, market: "At", memory: Memory) -> Guardrails:
        """Return guardrails with the settings' limits, which use a market to compute risk and to value the account's
        book. The PM's constraints can only tighten the limits.
        """
        from forge.tracking.account import book_guardrails

        return book_guardrails(self.config.guardrails, memory.hydrate(market.as_of), market)

    @property
    def changed_skills(self) -> Path:
        """The folder for skills that the PM changes; it may not exist yet."""
        return self.skills or Path(f"{self.beside}-skills")

    @property
    def routing(self) -> "Routing":
        """The models that the environment and the settings select."""
        from forge.model.routing import Routing

        chosen = self.config.models | {PROPOSAL: self.config.evolution.proposal_model}
        return Routing(chosen, self.config.executor.call_seconds)

    @property
    def tape(self) -> Tape:
        """The tape of all decisions, live or simulated."""
        walked = self.beside.with_name("tape.sqlite")
        return Tape(walked if self.run and walked.exists() else f"{self.beside}-tape.sqlite")

    def check_capital(self) -> None:
        """Raise BadInput if the settings contain no capital."""
        if self.config.account.capital is None:
            raise BadInput("account.capital", "is not set", f"write [account] capital = 1000000 to {self.settings}")

    def open_account(self, memory: Memory) -> None:
        """Open a memory's account if it is not open and the settings contain a capital."""
        if not self.run:
            settings = self.config.account
            open_account(memory, settings.capital, settings.financing_rate, settings.contracts)

    def memory(self, clock: Clock | None = None) -> Memory:
        """Return the memory of a clock (default: the desk's own). The caller closes it.

        The clock of a backtest shows the end of its last day.
        """
        memory = Memory(self.lake, clock=clock or (Finished(self.run) if self.run else None))
        if clock is None and self.run:
            memory.journal.clock = Finished(self.run, memory.last_write())
        return memory

    def clock_of(self, decision: str) -> Clock | None:
        """Return the clock of a decision's memory, None for the live one. Raises BadInput."""
        inputs = self.tape.inputs(decision)
        return None if inputs["clock"] == LIVE else Simulated(inputs["clock"].partition(":")[2], inputs["as_of"])

    def files(self, memory: Memory, remembered: Remembered, actor: str = "agent") -> ForgeFS:
        return ForgeFS(memory, remembered, Guardrails(self.config.guardrails), self.skills, actor)

    def meaning(self) -> "Meaning":
        """Return the ranking of searches, with the weights of the settings."""
        from forge.core.embedder import Meaning, VectorCache, text_model

        search = self.config.search
        vectors = VectorCache(model=text_model(search.embedding_model))
        return Meaning(vectors, (search.semantic_weight, search.recency_weight))

    def agent(self, memory: Memory, lake: str | Path | None, control: date | None = None) -> "Agent":
        """Return the agent at this desk. lake: the market's lake.

        control: the last day of the training data of the control arm's model, which then takes all roles.
        """
        from forge.agent.agent import Agent
        from forge.core.embedder import VectorCache, text_model
        from forge.providers import all_providers

        self.open_account(memory)
        # A model that can't be used raises an error before a decision is reserved.
        all_providers(self.config.own_providers)
        vectors = VectorCache(model=text_model(self.config.search.embedding_model))
        routing = self.routing if control is None else replace(self.routing, only=self.config.model.control)
        return Agent(
            memory, self.tape, routing.model, lake, self.config,
            skills=self.skills, vectors=vectors, trained_to=str(control or ""),
        )  # fmt: skip

    def control_trained_to(self, as_of: str | datetime, lake: str | Path | None) -> date:
        """Return the last day of the training data of the control arm's model.

        Raises BadInput unless the settings name a model whose training ended before the instant.
        """
        from pitlake.session.api import named_model

        settings = self.config.model
        if not settings.control:
            raise BadInput(
                "model.control", "is not set", f'write [model] control = "openai:<id>@<url>" to {self.settings}'
            )
        last_day = settings.control_trained_to
        day = date.fromisoformat(last_day) if last_day else named_model(settings.control, lake).trained_to
        if day is None:
            problem = f"the end of the training of {settings.control} is unknown"
            raise BadInput(
                "model.control_trained_to", problem, f'write control_trained_to = "2013-12-31" to {self.settings}'
            )
        if exposure([str(day)], instant(as_of)) != CLEAN:
            problem = f"{settings.control} was trained up to {day}, which is not before {as_of}"
            raise BadInput("model.control", problem, "name a model whose training ended earlier")
        return day

    def ground(self, lake: str | Path | None) -> "Ground":
        """Return the environment of walk-forward runs. lake: the market's lake."""
        from forge.walk.run import Ground

        place, account = open_store(lake).root, self.config.account
        config = replace(self.config, account=replace(account, capital=account.capital or BACKTEST_CAPITAL))
        return Ground(Path(f"{self.beside}{WALKS}"), place, self.routing.model, config, self.skills)


def desk(lake: str | Path | None = None) -> Desk:
    """Return the desk of a memory's lake (default $FORGE_LAKE, else ./.pitlake/forge).

    The memory of a backtest, `<lake>-simulated-<run>`, is read-only. The settings are in $FORGE_CONFIG, else
    `<lake>.toml`. The PM's skills are in $FORGE_SKILLS, else `<lake>-skills`. A backtest uses those of the live memory.
    Raises BadInput for unreadable settings, and for a missing folder named by $FORGE_SKILLS.
    """
    root, run = parse_backtest_root(lake_root(lake))
    beside = open_store(root).root
    walks = beside.parent.parent
    owner = walks.with_name(walks.name.removesuffix(WALKS)) if run and walks.name.endswith(WALKS) else beside
    settings_file = os.environ.get(SETTINGS_VARIABLE)
    settings = Path(settings_file or f"{owner}.toml")
    config = load(settings) if settings_file or settings.exists() else Config()
    skills_folder = os.environ.get(SKILLS_VARIABLE)
    skills = Path(skills_folder or f"{owner}-skills")
    if skills_folder and not skills.is_dir():
        raise BadInput(SKILLS_VARIABLE, f"{skills} is not a folder", "give a folder of skills, each with a SKILL.md")
    return Desk(root, beside, settings, config, skills if skills.is_dir() else None, run)


def memories(lake: str | Path | None = None) -> dict[str, str]:
    """Return the roots of all memories of a desk by name: `live`, backtests, and questions as of a past instant."""
    own = desk(lake)
    of_walks = Path(f"{own.beside}{WALKS}").glob("*/memory-simulated-*")
    places = [*own.beside.parent.glob(f"{own.beside.name}-simulated-*"), *of_walks]
    simulated = {parse_backtest_root(str(place))[1]: str(place) for place in sorted(places) if place.is_dir()}
    return {LIVE: own.lake} | simulated
