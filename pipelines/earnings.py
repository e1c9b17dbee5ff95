"""Releases as partitions, and how many of them become few runs: used by the sensor, the evening's schedule and by
`pitlake backfill earnings`.

A run covers a range of neighbouring partitions, in the order in which Dagster keeps them: oldest release first, as far
as they came together. What is built is assets/derived.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

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
OPEN_DAYS = 45  # twenty sessions after a release, the longest window of an outcome, have passed by then
AGAIN_AFTER = timedelta(days=1)  # what failed is not asked for at every look
LOST_AFTER = timedelta(days=7)  # a run that began so long ago and never ended died without saying so

earnings_bundles = dg.define_asset_job(
    "earnings_bundles",
    selection=dg.AssetSelection.assets(*BUNDLES),
    description="What was known beside each release, and what the price did after it.",
)


def register(instance: dg.DagsterInstance, known: Sequence[Event]) -> list[str]:
    """Make releases partitions, oldest first; returns the keys that are new."""
    present = frozenset(instance.get_dynamic_partitions(EARNINGS_SET))
    new = list(dict.fromkeys(event.key for event in sorted(known) if event.key not in present))
    if new:
        instance.add_dynamic_partitions(EARNINGS_SET, new)
    return new


def ranges(
    instance: dg.DagsterInstance, wanted: Sequence[str], also: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """The wanted partitions as ranges of neighbours: (first, last) of each, in Dagster's order.

    With `also`, a few ranges rather than many: the smallest holes between them are covered too, if `also` holds all
    that lies in them.
    """
    keys = instance.get_dynamic_partitions(EARNINGS_SET)
    chosen, free = frozenset(wanted), frozenset(also)
    places = [place for place, key in enumerate(keys) if key in chosen]
    holes = [(end - begin, number) for number, (begin, end) in enumerate(pairwise(places), 1) if end - begin > 1]
    shut = {number for _, number in holes if not free.issuperset(keys[places[number - 1] + 1 : places[number]])}
    widest = sorted((hole for hole in holes if hole[1] not in shut), reverse=True)
    cuts = shut.union(number for _, number in widest[: max(FEW_RUNS - 1 - len(shut), 0)])
    for begin, end in pairwise([0, *sorted(cuts), len(places)]):
        if places:
            yield keys[places[begin]], keys[places[end - 1]]


def tags(first: str, last: str) -> dict[str, str]:
    """The tags that make one run cover a range."""
    return {RANGE_START: first, RANGE_END: last}


def unbuilt(instance: dg.DagsterInstance, known: Sequence[Event]) -> list[str]:
    """Keys of releases of which something was never built, without those that a run was asked for lately."""
    built = frozenset.intersection(
        *(frozenset(instance.get_materialized_partitions(dg.AssetKey(name))) for name in BUNDLES)
    )
    missing = [event.key for event in known if event.key not in built]
    if not missing:
        return []
    asked = _asked(instance, clock.now())
    return [key for key in missing if key not in asked]


def unsettled(known: Sequence[Event], now: datetime) -> list[Event]:
    """Releases so recent that a snapshot or an outcome may have been in the future when they were built last."""
    return [event for event in known if now - timedelta(days=OPEN_DAYS) <= event.event_at]


def _asked(instance: dg.DagsterInstance, now: datetime) -> frozenset[str]:
    """Keys that a run of the last day covers, or one that has not ended."""
    keys = list(instance.get_dynamic_partitions(EARNINGS_SET))
    place = {key: number for number, key in enumerate(keys)}
    found: set[str] = set()
    for record in instance.get_run_records(dg.RunsFilter(created_after=now - LOST_AFTER)):
        run = record.dagster_run
        if run.is_finished and record.create_timestamp < now - AGAIN_AFTER:
            continue
        single = run.tags.get(PARTITION, "")
        first, last = (run.tags.get(tag, single) for tag in (RANGE_START, RANGE_END))
        if first in place and last in place:
            found.update(keys[place[first] : place[last] + 1])
    return frozenset(found)


@dg.sensor(job=earnings_bundles, minimum_interval_seconds=SENSOR_SECONDS)
def new_earnings(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult | dg.SkipReason:
    """Releases of which nothing was built yet, as partitions and as few runs."""
    try:
        known = events(lake.open())
    except LakeNotFound:
        return dg.SkipReason("there is no lake yet")
    register(context.instance, known)
    wanted = unbuilt(context.instance, known)
    if not wanted:
        return dg.SkipReason(f"{len(known)} releases, none to build")
    spans = ranges(context.instance, wanted, {event.key for event in known})
    return dg.SensorResult(run_requests=[dg.RunRequest(tags=tags(first, last)) for first, last in spans])
