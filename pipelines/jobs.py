"""What is run together: every dataset of the graph by day, and the snapshots that have no day."""

import dagster as dg

from pitlake.datasets import all_datasets

GROUP = "graph"
SNAPSHOTS = [name for name, dataset in all_datasets().items() if dataset.group == GROUP and not dataset.partitioned]

graph_days = dg.define_asset_job(
    "graph_days",
    selection=dg.AssetSelection.groups(GROUP) - dg.AssetSelection.assets(*SNAPSHOTS),
    description="Every dataset of the graph for some New York days. Running days again publishes what changed.",
)

graph_snapshots = dg.define_asset_job(
    "graph_snapshots",
    selection=dg.AssetSelection.assets(*SNAPSHOTS),
    description="What the graph holds without a date: company reference, available when observed.",
)
