"""The Dagster assets built per event: partitions are releases, and one run covers many of them.

The other modules of this folder make a release's rows.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import dagster as dg
from pydantic import Field

from assets.derived import earnings_bundles, earnings_outcomes
from assets.derived.earnings_bundles import ANCHORS, Event
from assets.factory import dagster_events, dataset_asset, refused_records, run_metadata
from assets.runs import RunReport
from assets.splits import DATASETS as SPLITS
from checks.audit import check_results
from checks.expectations import expected
from pitlake.contract import Dataset
from pitlake.datasets import get
from pitlake.errors import CheckFailed
from pitlake.lake.lake import Lake
from pitlake.questions import catalogue
from resources.lake import LakeResource


class SnapshotConfig(dg.Config):
    """The instants at which snapshots are built."""

    anchors: list[str] = Field(
        default_factory=lambda: list(ANCHORS),
        description="before_release, at_release, next_open, or minutes from the release such as -60 or +30.",
    )


Build = Callable[[Lake, Sequence[Event], str, SnapshotConfig], RunReport]


def bundle_assets(partitions: dg.PartitionsDefinition[str]) -> list[dg.AssetsDefinition]:
    """Return the assets of snapshots and outcomes of earnings releases."""
    reads = ("earnings_events", *catalogue.get(earnings_bundles.QUERY).reads)
    with warnings.catch_warnings(action="ignore", category=dg.BetaWarning):  # backfill_policy, for years
        return [
            event_asset(get("earnings_snapshots"), partitions, reads, _snapshots),
            event_asset(get("earnings_outcomes"), partitions, ("earnings_events", "prices", *SPLITS), _outcomes),
        ]


def _snapshots(lake: Lake, events: Sequence[Event], run_id: str, config: SnapshotConfig) -> RunReport:
    return earnings_bundles.build(lake, events, run_id=run_id, anchors=config.anchors, audits=(expected,))


def _outcomes(lake: Lake, events: Sequence[Event], run_id: str, _config: SnapshotConfig) -> RunReport:
    return earnings_outcomes.build(lake, events, run_id=run_id, audits=(expected,))


def _dep(name: str) -> dg.AssetDep:
    """Declare a dependency on any day of an input."""
    return dg.AssetDep(name, partition_mapping=dg.AllPartitionMapping() if get(name).partitioned else None)


def event_asset(
    dataset: Dataset, partitions: dg.PartitionsDefinition[str], reads: Sequence[str], build: Build
) -> dg.AssetsDefinition:
    """Return the asset of a dataset that is built per release, with the dataset's name."""

    @dataset_asset(
        dataset,
        "duckdb",
        partitions_def=partitions,
        backfill_policy=dg.BackfillPolicy.single_run(),
        deps=[_dep(name) for name in reads],
    )
    def materialise(
        context: dg.AssetExecutionContext, config: SnapshotConfig, lake: LakeResource
    ) -> Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]:
        lake_now, keys = lake.open(), frozenset(context.partition_keys)
        events = [event for event in earnings_bundles.events(lake_now) if event.key in keys]
        unknown = keys - {event.key for event in events}
        if unknown:
            raise dg.Failure(f"the lake has no release of {', '.join(sorted(unknown)[:5])}", allow_retries=False)
        report = build(lake_now, events, context.run.run_id, config)
        if isinstance(report.outcome, CheckFailed):
            yield from dagster_events(context, dataset, report)
            return
        for note in (*report.notes, *refused_records(report)):
            context.log.warning(note)
        whole = run_metadata(report, report.outcome)
        for key in context.partition_keys:  # Only the last partition has the facts of the whole run.
            facts = whole if key == context.partition_keys[-1] else {"lake version": report.outcome.version}
            context.add_asset_metadata(facts, partition_key=key)
        yield dg.MaterializeResult(check_results=list(check_results(dataset, report.checks)))

    return materialise
