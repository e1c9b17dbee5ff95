"""The jobs: the graph's datasets by day, its snapshots without a day, the outside feeds, and the releases."""

from collections.abc import Iterable
from typing import Any

import dagster as dg

from assets.external import all_feeds
from pitlake.datasets import all_datasets

GROUP = "graph"
BLANK: dict[type, Any] = {tuple: [], dict: {}, str: ""}
SNAPSHOTS = [name for name, dataset in all_datasets().items() if dataset.group == GROUP and not dataset.partitioned]


def blank(names: Iterable[str]) -> dict[str, Any]:
    """Return the run config of feeds with blank values for their required fields, for Dagster's launchpad."""
    return {
        "ops": {
            name: {
                "config": {"mode": "live"}
                | {
                    field: BLANK[type(value)]
                    for field, value in all_feeds()[name].example.as_json().items()
                    if value and type(value) in BLANK
                }
            }
            for name in names
        }
    }


graph_days = dg.define_asset_job(
    "graph_days",
    selection=dg.AssetSelection.groups(GROUP) - dg.AssetSelection.assets(*SNAPSHOTS),
    description="Every dataset of the graph for some New York days. Running the days again publishes the changes.",
)

graph_snapshots = dg.define_asset_job(
    "graph_snapshots",
    selection=dg.AssetSelection.assets(*SNAPSHOTS),
    description="The graph's data without a date: company reference, available when observed.",
)

edgar_watch = dg.define_asset_job(
    "edgar_watch",
    selection=dg.AssetSelection.assets("sec_filings"),
    config=blank(["sec_filings"]),
    description="New filings of the companies in the run's config.",
)

macro_watch = dg.define_asset_job(
    "macro_watch",
    selection=dg.AssetSelection.assets("macro_observations"),
    config=blank(["macro_observations"]),
    description="New vintages of the series in the run's config.",
)

external_feeds = dg.define_asset_job(
    "external_feeds",
    selection=dg.AssetSelection.groups("external"),
    config=blank(all_feeds()),
    description="Feeds of outside sources. The run config sets the scope of each, and whether it may use the network.",
)

dropped_files = dg.define_asset_job(
    "dropped_files",
    selection=dg.AssetSelection.groups("drops"),
    description="Files dropped into the folders of PITLAKE_DROPS.",
)

quality = dg.define_asset_job(
    "quality",
    selection=dg.AssetSelection.groups("quality"),
    description="The quality report: how far each dataset can be trusted.",
)
