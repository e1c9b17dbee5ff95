"""Forge as a Dagster resource: the locations of its memory and tape. The package `forge` implements Forge."""

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
    """The desk that schedules use."""

    memory: str = Field(default="", description="Root of memory's lake; blank: FORGE_LAKE, else ./.pitlake/forge.")

    @property
    def desk(self) -> Desk:
        """Return its locations and settings. Raises dg.Failure with the fault of the settings."""
        try:
            return desk(self.memory or None)
        except BadInput as problem:
            raise dg.Failure(f"Forge: {problem}", allow_retries=False) from None

    def opened(self) -> Memory:
        """Return live memory. The caller closes it."""
        return self.desk.memory()

    def tape(self) -> Tape:
        """Return the tape next to it."""
        return self.desk.tape

    def agent(self, memory: Memory, lake: Lake) -> Agent:
        return self.desk.agent(memory, lake.root)

    def ground(self, lake: Lake) -> Ground:
        """Return the environment of walk-forward runs."""
        return self.desk.ground(lake.root)
