"""Creates all Definitions: assets, jobs, schedules and their resources.

`build_definitions` accepts other resources, so that tests and benchmarks run the same assets against their own graph
and lake. Loaded by `dg dev`, `dagster definitions validate` and the command line.
"""

from collections.abc import Mapping

import dagster as dg

from assets.derived.bundle_assets import bundle_assets
from assets.derived.factory import derived_assets, follow_inputs
from assets.drops.factory import drop_assets
from assets.external import all_feeds
from assets.factory import SOURCE, graph_asset
from assets.feeds.factory import feed_asset, source_of
from assets.graph import all_extractors
from checks.quality import quality_report
from pipelines import alerts, earnings, forge, lineage, schedules
from pipelines.jobs import dropped_files, edgar_watch, external_feeds, graph_days, graph_snapshots, macro_watch, quality
from pipelines.maintenance import maintenance
from pipelines.partitions import DAYS, EARNINGS
from resources.forge import ForgeResource
from resources.graph.resource import GraphResource
from resources.lake import LakeResource
from resources.notifier import Notifier
from resources.settings import ExtractionSettings


def build_definitions(*, resources: Mapping[str, object] | None = None) -> dg.Definitions:
    """Return all definitions. resources: replacements by name: graph, lake, settings, notifier, forge."""
    standard: dict[str, object] = {
        "graph": GraphResource(),
        "lake": LakeResource(),
        "settings": ExtractionSettings(),
        "notifier": Notifier(),
        "forge": ForgeResource(),
    }
    return dg.Definitions(
        assets=[
            SOURCE,
            *(graph_asset(extractor, DAYS) for extractor in all_extractors().values()),
            *{feed.provider.name: source_of(feed) for feed in all_feeds().values()}.values(),
            *(feed_asset(feed) for feed in all_feeds().values()),
            *drop_assets(),
            *derived_assets(earnings.register),
            *bundle_assets(EARNINGS),
            quality_report,
            forge.forge_settlements,
            forge.forge_outcomes,
            forge.forge_counterfactuals,
            forge.forge_calibration,
            forge.forge_backtest,
        ],
        jobs=[
            graph_days,
            graph_snapshots,
            external_feeds,
            edgar_watch,
            macro_watch,
            dropped_files,
            earnings.earnings_bundles,
            maintenance,
            quality,
            forge.tracking,
            forge.forge_turn,
            forge.forge_brief,
        ],
        schedules=[*schedules.ALL, *forge.schedules()],
        sensors=[
            alerts.tell_of_failures,
            alerts.tell_of_missing_answers,
            alerts.tell_of_stale_datasets,
            earnings.new_earnings,
            follow_inputs,
            forge.forge_alerts,
            *lineage.sensors(),
        ],
        resources=standard | dict(resources or {}),
        executor=dg.in_process_executor,
    )


@dg.definitions
def defs() -> dg.Definitions:
    """Return the definitions with the standard resources."""
    return build_definitions()
