"""The Dagster assets built per event: each partition is a release, and one run covers many partitions.

The other modules of this folder make a release's rows.
"""

import warnings
from collections.abc import Callable, Sequence

import dagster as dg
from pydantic import Field

from assets.derived import earnings_bundles, earnings_outcomes
from assets.derived.earnings_bundles import ANCHORS, Event
from assets.factory import AssetEvents, dagster_events, dataset_asset, log_report, not_retried, run_metadata
from assets.runs import RunReport
from assets.splits import DATASETS as SPLITS
from checks.audit import check_results
from checks.expectations import expected
from pitlake.contract import Dataset
from pitlake.datasets import get
from pitlake.errors import BadInput, CheckFailed, LakeNotFound
from pitlake.lake.lake import Lake
from pitlake.questions import catalogue
from resources.lake import LakeResource

MOST_UNKNOWN = 5


class BundleConfig(dg.Config):
    """The releases to build, and the instants of their snapshots."""

    releases: list[str] = Field(
        default_factory=list,
        description=(
            "Partitions to build instead of the run's own, anywhere in Dagster's list, such as "
            "2024-05-22T20:20:04Z|QBRY."
        ),
    )

    anchors: list[str] = Field(
        default_factory=lambda: list(ANCHORS),
        description="before_release, at_release, next_open, or minutes from the release such as -60 or +30.",
    )


Build = Callable[[Lake, Sequence[Event], str, BundleConfig], RunReport]


def bundle_assets(partitions: dg.PartitionsDefinition[str]) -> list[dg.AssetsDefinition]:
    """Return the assets of snapshots and outcomes of earnings releases."""
    reads = ("earnings_events", *catalogue.get(earnings_bundles.QUERY).reads)
    with warnings.catch_warnings(action="ignore", category=dg.BetaWarning):  # backfill_policy has been beta for years
        return [
            event_asset(get("earnings_snapshots"), partitions, reads, _snapshots),
            event_asset(get("earnings_outcomes"), partitions, ("earnings_events", "prices", *SPLITS), _outcomes),
        ]


def _snapshots(lake: Lake, events: Sequence[Event], run_id: str, config: BundleConfig) -> RunReport:
    return earnings_bundles.build(lake, events, run_id=run_id, anchors=config.anchors, audits=(expected,))


def _outcomes(lake: Lake, events: Sequence[Event], run_id: str, _config: BundleConfig) -> RunReport:
    return earnings_outcomes.build(lake, events, run_id=run_id, audits=(expected,))


def event_asset(
    dataset: Dataset, partitions: dg.PartitionsDefinition[str], reads: Sequence[str], build: Build
) -> dg.AssetsDefinition:
    """Return the asset of a dataset that is built per release. The asset has the dataset's name."""

    @dataset_asset(
        dataset,
        "duckdb",
        partitions_def=partitions,
        backfill_policy=dg.BackfillPolicy.single_run(),
        deps=[
            dg.AssetDep(name, partition_mapping=dg.AllPartitionMapping() if get(name).partitioned else None)
            for name in reads
        ],
    )
    def materialise(context: dg.AssetExecutionContext, config: BundleConfig, lake: LakeResource) -> AssetEvents:
        lake_now, keys = lake.open(), config.releases or context.partition_keys
        with not_retried():
            partition_keys = frozenset(keys)
            try:
                chosen = [event for event in earnings_bundles.events(lake_now) if event.key in partition_keys]
            except LakeNotFound:
                raise BadInput("partition", "there is no lake yet", "publish earnings_events first") from None
            unknown = sorted(partition_keys - {event.key for event in chosen})
            if unknown:
                some = ", ".join(map(repr, unknown[:MOST_UNKNOWN]))
                raise BadInput("partition", f"{some}: this lake has no such release", "pick others")
        report = build(lake_now, chosen, context.run.run_id, config)
        if isinstance(report.outcome, CheckFailed):
            yield from dagster_events(context, dataset, report)
            return
        log_report(context, report)
        whole, checks = run_metadata(report, report.outcome), list(check_results(dataset, report.checks))
        # Only the last partition gets the metadata of the whole run.
        facts = {key: {"lake version": report.outcome.version} for key in keys} | {keys[-1]: whole}
        if config.releases:
            for key in keys:
                context.log_event(dg.AssetMaterialization(context.asset_key, partition=key, metadata=facts[key]))
            yield from checks
            return
        for key in keys:
            context.add_asset_metadata(facts[key], partition_key=key)
        yield dg.MaterializeResult(check_results=checks)

    return materialise
