"""Releases as partitions, combined into few runs: used by the sensor, the evening's schedule and `pitlake backfill
earnings`.

A run covers a range of neighbouring partitions, in Dagster's order. assets/derived builds them.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby

import dagster as dg

from assets.derived.earnings_bundles import Event, events
from pipelines.partitions import EARNINGS_SET
from pitlake import clock
from pitlake.errors import LakeNotFound
from resources.lake import LakeResource

RANGE_START, RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
PARTITION = "dagster/partition"
SENSOR_SECONDS = 300
FEW_RUNS = 10
BUNDLES = ("earnings_snapshots", "earnings_outcomes")
OPEN_DAYS = 45  # after this the longest window of an outcome, twenty sessions, has ended
AGAIN_AFTER = timedelta(days=1)  # a failed release is not requested at every evaluation
ENDED = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
LOST_AFTER = timedelta(days=7)  # A run that began this long ago and has not ended has died.

earnings_bundles = dg.define_asset_job(
    "earnings_bundles",
    selection=dg.AssetSelection.assets(*BUNDLES),
    description="What was known around each release, and the price change after it.",
)


def register(instance: dg.DagsterInstance, releases: Sequence[Event]) -> list[str]:
    """Make releases partitions, company by company, as a user in the UI would select them; return new keys."""
    present = frozenset(instance.get_dynamic_partitions(EARNINGS_SET))
    ordered = sorted(releases, key=lambda event: (event.ticker, event.event_at))
    new = list(dict.fromkeys(event.key for event in ordered if event.key not in present))
    if new:
        instance.add_dynamic_partitions(EARNINGS_SET, new)
    return new


def ranges(instance: dg.DagsterInstance, keys_to_build: Sequence[str]) -> list[tuple[str, str]]:
    """Return the wanted partitions as few ranges of neighbours: (first, last) of each, in Dagster's order.

    Scattered partitions are moved next to each other at the end of Dagster's list, unless a run uses one of them.
    """
    spans = _neighbours(instance, keys_to_build)
    if len(spans) > FEW_RUNS and not _covered(instance, _under_way(instance)).intersection(keys_to_build):
        chosen, keys = frozenset(keys_to_build), instance.get_dynamic_partitions(EARNINGS_SET)
        for key in chosen:
            instance.delete_dynamic_partition(EARNINGS_SET, key)  # The parts of it that were built remain.
        instance.add_dynamic_partitions(EARNINGS_SET, [key for key in keys if key in chosen])
        spans = _neighbours(instance, keys_to_build)
    return spans


def _neighbours(instance: dg.DagsterInstance, keys_to_build: Sequence[str]) -> list[tuple[str, str]]:
    keys, chosen = instance.get_dynamic_partitions(EARNINGS_SET), frozenset(keys_to_build)
    runs = [list(run) for inside, run in groupby(keys, chosen.__contains__) if inside]
    return [(run[0], run[-1]) for run in runs]


def tags(first: str, last: str) -> dict[str, str]:
    """Return the tags that make one run cover a range."""
    return {RANGE_START: first, RANGE_END: last}


def unbuilt(instance: dg.DagsterInstance, releases: Sequence[Event]) -> list[str]:
    """Return the keys of releases that were never completely built, except recently requested ones."""
    built = frozenset.intersection(
        *(frozenset(instance.get_materialized_partitions(dg.AssetKey(name))) for name in BUNDLES)
    )
    missing = [event.key for event in releases if event.key not in built]
    if not missing:
        return []
    requested = _asked(instance, clock.now())
    return [key for key in missing if key not in requested]


def unsettled(releases: Sequence[Event], now: datetime) -> list[Event]:
    """Return releases so recent that a snapshot or an outcome may have been in the future at their last build."""
    return [event for event in releases if now - timedelta(days=OPEN_DAYS) <= event.event_at]


def _asked(instance: dg.DagsterInstance, now: datetime) -> frozenset[str]:
    """Return the keys that a run of the last day covers, or a run that has not ended."""
    lately = instance.get_runs(dg.RunsFilter(created_after=now - AGAIN_AFTER))
    return _covered(instance, [*lately, *_under_way(instance)])


def _under_way(instance: dg.DagsterInstance) -> Sequence[dg.DagsterRun]:
    unfinished = [status for status in dg.DagsterRunStatus if status not in ENDED]
    return instance.get_runs(dg.RunsFilter(statuses=unfinished, created_after=clock.now() - LOST_AFTER))


def _covered(instance: dg.DagsterInstance, runs: Iterable[dg.DagsterRun]) -> frozenset[str]:
    keys = list(instance.get_dynamic_partitions(EARNINGS_SET))
    place = {key: number for number, key in enumerate(keys)}
    covered: set[str] = set()
    for run in runs:
        single = run.tags.get(PARTITION, "")
        first, last = (run.tags.get(tag, single) for tag in (RANGE_START, RANGE_END))
        if first in place and last in place:
            covered.update(keys[place[first] : place[last] + 1])
    return frozenset(covered)


@dg.sensor(
    job=earnings_bundles,
    minimum_interval_seconds=SENSOR_SECONDS,
    description="Makes new releases partitions and builds them in few runs.",
)
def new_earnings(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult | dg.SkipReason:
    """Request releases that were never built, as partitions and in few runs."""
    try:
        releases = events(lake.open())
    except LakeNotFound:
        return dg.SkipReason("there is no lake yet")
    register(context.instance, releases)
    missing = unbuilt(context.instance, releases)
    if not missing:
        return dg.SkipReason(f"{len(releases)} releases, none to build")
    spans = ranges(context.instance, missing)
    return dg.SensorResult(run_requests=[dg.RunRequest(tags=tags(first, last)) for first, last in spans])
