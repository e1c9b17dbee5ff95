"""Forge as a Dagster resource: where its memory and its tape are. What it can do is `forge`."""

import dagster as dg
from pydantic import Field

from forge.agent.agent import Agent
from forge.core.tape import Tape
from forge.desk import Desk, desk
from forge.memory import Memory
from forge.walk.run import Ground
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake


class ForgeResource(dg.ConfigurableResource[None]):
    """The desk that schedules ask."""

    memory: str = Field(default="", description="Root of memory's lake; blank: FORGE_LAKE, else ./.pitlake/forge.")

    @property
    def desk(self) -> Desk:
        """Its places and its settings. Raises dg.Failure saying what is wrong with the settings."""
        try:
            return desk(self.memory or None)
        except BadInput as problem:
            raise dg.Failure(f"Forge: {problem}", allow_retries=False) from None

    def opened(self) -> Memory:
        """Live memory. The caller closes it."""
        return self.desk.memory()

    def tape(self) -> Tape:
        """Return the tape next to it."""
        return self.desk.tape

    def agent(self, memory: Memory, lake: Lake) -> Agent:
        """The agent on it."""
        return self.desk.agent(memory, lake.root)

    def ground(self, lake: Lake) -> Ground:
        """What walk-forward runs stand on."""
        return self.desk.ground(lake.root)
