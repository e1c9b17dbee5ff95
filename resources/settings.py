"""Settings of extraction that affect availability, as a Dagster resource, so that all assets of a run share them.

The defaults come from the environment when a run starts.
"""

from datetime import timedelta

import dagster as dg
from pydantic import Field

from pitlake.datasets._earnings import DEFAULT_LAG, LAG_VARIABLE, LEAST_LAG, publication_lag

LEAST, MOST = (lag // timedelta(minutes=1) for lag in (LEAST_LAG, DEFAULT_LAG))


class ExtractionSettings(dg.ConfigurableResource[None]):
    """The settings of a run besides its partitions."""

    publication_lag_minutes: int | None = Field(
        default=None,
        description=(
            f"Minutes added to the start of a call to get the availability of its text, {LEAST} to {MOST}: at least an "
            f"hour after the end of a call of two hours. Blank: {LAG_VARIABLE}, else a day. A change never moves "
            f"published rows."
        ),
    )

    def publication_lag(self) -> timedelta:
        """Return the lag. Raises BadInput outside of LEAST to MOST minutes."""
        minutes = self.publication_lag_minutes
        return publication_lag(None if minutes is None else str(minutes))
