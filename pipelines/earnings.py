"""Releases as partitions, several in one run, for the sensor, the evening schedule and `pitlake backfill
earnings`.

A run covers a range of Dagster's list of partitions, such as a month, or names its releases if they aren't neighbours
in that list. assets/derived builds them.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import dagster as dg

from assets.derived.earnings_bundles import Event, events
from pipelines.partitions import EARNINGS_SET
from pitlake import clock
from pitlake.errors import LakeNotFound
from resources.lake import LakeResource

RANGE_START, RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
PARTITION = "dagster/partition"
SENSOR_SECONDS = 300
BUNDLES = ("earnings_snapshots", "earnings_outcomes")
OPEN_DAYS = 45  # after this time, the longest window of an outcome (twenty sessions) has ended
AGAIN_AFTER = timedelta(days=1)  # a failed release is not requested at every evaluation
ENDED = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
LOST_AFTER = timedelta(days=7)  # A run that started this long ago without ending has died.

earnings_bundles = dg.define_asset_job(
    "earnings_bundles",
    selection=dg.AssetSelection.assets(*BUNDLES),
    description="What was known around each release, and the price change after it.",
)


def register(instance: dg.DagsterInstance, releases: Sequence[Event]) -> list[str]:
    """Register releases as partitions, oldest first, and return the new keys."""
    present = frozenset(instance.get_dynamic_partitions(EARNINGS_SET))
    new = sorted({event.key for event in releases} - present)
    if new:
        instance.add_dynamic_partitions(EARNINGS_SET, new)
    return new


def one_run(instance: dg.DagsterInstance, keys_to_build: Sequence[str]) -> dict[str, Any]:
    """Return tags and run config of one run that builds these partitions: as a range if they are neighbours in
    Dagster's list, which ends with late releases, otherwise by name, as a run of the first partition.
    """
    keys, chosen = instance.get_dynamic_partitions(EARNINGS_SET), frozenset(keys_to_build)
    places = [place for place, key in enumerate(keys) if key in chosen]
    first, last = places[0], places[-1]
    if len(places) == last - first + 1:
        return {"tags": tags(keys[first], keys[last]), "run_config": {}}
    config = {"config": {"releases": [keys[place] for place in places]}}
    return {"tags": {PARTITION: keys[first]}, "run_config": {"ops": dict.fromkeys(BUNDLES, config)}}


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
    # A release is not requested again within a day, or while a run for it has not ended.
    now = clock.now()
    lately = dg.RunsFilter(created_after=now - AGAIN_AFTER)
    under_way = dg.RunsFilter(statuses=[*{*dg.DagsterRunStatus} - {*ENDED}], created_after=now - LOST_AFTER)
    runs = [*instance.get_runs(lately), *instance.get_runs(under_way)]
    keys = list(instance.get_dynamic_partitions(EARNINGS_SET))
    place = {key: number for number, key in enumerate(keys)}
    covered: set[str] = set()
    for run in runs:  # They were read before the keys, so that the keys of each are known.
        ops: Any = run.run_config.get("ops", {})
        covered.update(ops.get(BUNDLES[0], {}).get("config", {}).get("releases", ()))
        single = run.tags.get(PARTITION, "")
        first, last = (run.tags.get(tag, single) for tag in (RANGE_START, RANGE_END))
        if first in place and last in place:
            covered.update(keys[place[first] : place[last] + 1])
    return [key for key in missing if key not in covered]


def unsettled(releases: Sequence[Event], now: datetime) -> list[Event]:
    """Return recent releases, of which a snapshot or an outcome may have been in the future at the last build."""
    return [event for event in releases if now - timedelta(days=OPEN_DAYS) <= event.event_at]


@dg.sensor(
    job=earnings_bundles,
    minimum_interval_seconds=SENSOR_SECONDS,
    description="Makes new releases partitions and builds them in one run.",
)
def new_earnings(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult | dg.SkipReason:
    """Request releases that were never built, as partitions and in one run."""
    try:
        releases = events(lake.open())
    except LakeNotFound:
        return dg.SkipReason("there is no lake yet")
    register(context.instance, releases)
    missing = unbuilt(context.instance, releases)
    if not missing:
        return dg.SkipReason(f"{len(releases)} releases, none to build")
    return dg.SensorResult(run_requests=[dg.RunRequest(**one_run(context.instance, missing))])
