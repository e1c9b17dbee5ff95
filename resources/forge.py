"""Forge as a Dagster resource: where its memory and its tape are. What it can do is `forge`."""

from pathlib import Path

import dagster as dg
from pydantic import Field

from forge.agent import Agent
from forge.memory import Memory
from forge.model.routing import Routing
from forge.tape import Tape
from pitlake.lake.lake import Lake


class ForgeResource(dg.ConfigurableResource[None]):
    """The desk that schedules ask."""

    memory: str = Field(default="", description="Root of memory's lake; blank: FORGE_LAKE, else ./.pitlake/forge.")

    def opened(self) -> Memory:
        """Live memory. The caller closes it."""
        return Memory(self.memory or None)

    def tape(self, memory: Memory) -> Tape:
        """The tape beside it."""
        return Tape(Path(f"{memory.lake.root}-tape.sqlite"))

    def agent(self, memory: Memory, lake: Lake) -> Agent:
        """The agent on it, with the models that the environment names."""
        return Agent(memory, self.tape(memory), Routing().model, lake.root)
