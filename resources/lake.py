"""The lake as a Dagster resource: its location. pitlake.lake implements it."""

import dagster as dg
from pydantic import Field

from pitlake.lake.lake import Lake
from pitlake.lake.storage.conventions import AFTER_CLOSE, BARS_VARIABLE, CLOSE, FILINGS_VARIABLE, NEXT_DAY


class LakeResource(dg.ConfigurableResource[None]):
    """The lake that assets publish into."""

    root: str = Field(default="", description="Directory or file:// URL; blank: PITLAKE_LAKE, else ./.pitlake/lake.")

    filings_count_from: str = Field(
        default="",
        description=(
            "release: filings are public when EDGAR releases them, evening filings on the next business day. "
            "acceptance: exactly when EDGAR accepted them. Every row's release_rule contains the rule. Blank: "
            f"{FILINGS_VARIABLE}, else the lake's first rule, by default release. A lake's rule never changes."
        ),
    )

    bars_count_from: str = Field(
        default="",
        description=(
            f"{CLOSE}: bars of outside sources are public at the close of their day. {AFTER_CLOSE}: once the closing "
            f"auction is reported. {NEXT_DAY}: at the end of their day, when late trades are counted. Blank: "
            f"{BARS_VARIABLE}, else the lake's first rule, by default {CLOSE}. A lake's rule never changes."
        ),
    )

    allow_drift: str = Field(
        default="",
        description=(
            "The reason to let this run pass although its rows differ from the lake's more than the contract allows "
            "(check drift). The lake's log records it. Blank: such a run is refused."
        ),
    )

    def open(self) -> Lake:
        """Open the lake, and write only the settings. Raises BadInput for an invalid root, or for a rule that differs
        from the lake's.
        """
        lake = Lake(self.root or None, allow_drift=self.allow_drift)
        lake.settle(self.filings_count_from, self.bars_count_from)
        return lake
