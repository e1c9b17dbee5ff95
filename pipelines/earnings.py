"""Releases as partitions, and how many of them become few runs: used by the sensor and by `pitlake backfill earnings`.

A run covers a range of neighbouring partitions, in the order in which Dagster keeps them. What is built is
assets/derived.
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from assets.derived.earnings_bundles import Event, events
from pipelines.partitions import EARNINGS_SET
from pitlake.errors import LakeNotFound
from resources.lake import LakeResource

RANGE_START, RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
SENSOR_SECONDS = 300

earnings_bundles = dg.define_asset_job(
    "earnings_bundles",
    selection=dg.AssetSelection.assets("earnings_snapshots", "earnings_outcomes"),
    description="What was known beside each release, and what the price did after it.",
)


def register(instance: dg.DagsterInstance, known: Sequence[Event]) -> list[str]:
    """Make every release a partition, by company and instant; returns the keys that are new."""
    present = frozenset(instance.get_dynamic_partitions(EARNINGS_SET))
    ordered = sorted(known, key=lambda event: (event.ticker, event.event_at))
    new = list(dict.fromkeys(event.key for event in ordered if event.key not in present))
    if new:
        instance.add_dynamic_partitions(EARNINGS_SET, new)
    return new


def ranges(instance: dg.DagsterInstance, wanted: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The wanted partitions as ranges of neighbours: (first, last) of each, in Dagster's order."""
    chosen = frozenset(wanted)
    first = last = ""
    for key in instance.get_dynamic_partitions(EARNINGS_SET):
        if key in chosen:
            first, last = first or key, key
        elif first:
            yield first, last
            first = ""
    if first:
        yield first, last


def tags(first: str, last: str) -> dict[str, str]:
    """The tags that make one run cover a range."""
    return {RANGE_START: first, RANGE_END: last}


@dg.sensor(job=earnings_bundles, minimum_interval_seconds=SENSOR_SECONDS)
def new_earnings(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult | dg.SkipReason:
    """Releases that came into the lake since, as partitions and as few runs."""
    try:
        known = events(lake.open())
    except LakeNotFound:
        return dg.SkipReason("there is no lake yet")
    new = register(context.instance, known)
    if not new:
        return dg.SkipReason(f"{len(known)} releases, none new")
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(run_key=last, tags=tags(first, last)) for first, last in ranges(context.instance, new)
        ]
    )
