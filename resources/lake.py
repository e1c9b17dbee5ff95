"""The lake as a Dagster resource: its location. pitlake.lake implements it."""

import os

import dagster as dg
from pydantic import Field

from pitlake.lake.lake import Lake

FILINGS_VARIABLE = "PITLAKE_FILINGS_COUNT_FROM"


class LakeResource(dg.ConfigurableResource[None]):
    """The lake that assets publish into."""

    root: str = Field(default="", description="Directory or file:// URL; blank: PITLAKE_LAKE, else ./.pitlake/lake.")

    filings_count_from: str = Field(
        default="",
        description=(
            "release: filings are public when EDGAR releases them, those of the evening on the next business day. "
            "acceptance: exactly when EDGAR accepted them. Every row's release_rule states the rule. Blank: "
            f"{FILINGS_VARIABLE}, else the lake's first rule, by default release. A lake's rule never changes."
        ),
    )

    def open(self) -> Lake:
        """Open the lake. It only writes the settings here. Raises BadInput for an invalid root, and for a rule that
        differs from the lake's.
        """
        lake = Lake(self.root or None)
        rule = self.filings_count_from or os.environ.get(FILINGS_VARIABLE)
        if rule:
            lake.count_filings_from(rule)
        return lake
