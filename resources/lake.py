"""The lake as a Dagster resource: where it is, nothing else. What it can do is pitlake.lake.

Called by the assets that publish; tests and the command line open `pitlake.Lake` themselves.
"""

import dagster as dg
from pydantic import Field

from pitlake.lake.lake import Lake


class LakeResource(dg.ConfigurableResource[None]):
    """The lake that assets publish into."""

    root: str = Field(default="", description="Directory or file:// URL; blank: PITLAKE_LAKE, else ./.pitlake/lake.")

    def open(self) -> Lake:
        """The lake. Opening touches nothing. Raises BadInput for a root that is none."""
        return Lake(self.root or None)
