"""Settings of extraction that decide availability, as a Dagster resource, so that every asset of a run has the same.

Called by the assets; the defaults come from the environment when a run starts.
"""

import os
from datetime import timedelta

import dagster as dg
from pydantic import Field

from pitlake.errors import BadInput

LAG_VARIABLE = "PITLAKE_PUBLICATION_LAG_MINUTES"
MINUTES_A_DAY = 24 * 60


class ExtractionSettings(dg.ConfigurableResource[None]):
    """What a run may be told beside its partitions."""

    publication_lag_minutes: int | None = Field(
        default=None,
        description=(
            "Minutes added to the start of a call to get the availability of its transcript, 0 to 1440. The text "
            "follows the start by half an hour or more, so less than 30 shows calls before they could be read. Blank: "
            f"{LAG_VARIABLE}, else 0. Changing it never moves rows that are published."
        ),
    )

    def publication_lag(self) -> timedelta:
        """The lag. Raises BadInput outside of 0 to 1440 minutes."""
        minutes = self.publication_lag_minutes
        return parsed_lag(os.environ.get(LAG_VARIABLE) or "0" if minutes is None else str(minutes))


def parsed_lag(text: str) -> timedelta:
    """The setting's text as a lag. Raises BadInput outside of 0 to 1440 minutes."""
    if not (text.isascii() and text.isdigit()) or int(text) > MINUTES_A_DAY:
        raise BadInput(LAG_VARIABLE, "is no number of minutes within a day", "give 0 to 1440, such as 30")
    return timedelta(minutes=int(text))
