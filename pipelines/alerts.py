"""What people are told without asking: runs that failed, and datasets that grew stale. Sensors only.

How a message travels is resources/notifier.py; what stale means is each contract's `freshness`.
"""

import json
from collections.abc import Iterator
from datetime import datetime

import dagster as dg

from pitlake import clock
from pitlake.datasets import all_datasets
from pitlake.errors import LakeNotFound
from pitlake.lake.lake import Lake
from resources.lake import LakeResource
from resources.notifier import Notifier

STALE_SECONDS = 15 * 60


@dg.run_failure_sensor(default_status=dg.DefaultSensorStatus.RUNNING, monitor_all_code_locations=False)
def tell_of_failures(context: dg.RunFailureSensorContext, notifier: Notifier) -> None:
    """Each failed run: which steps, and why if it was a refusal of ours. Other errors' texts may hold anything."""
    run = context.dagster_run
    notifier.send(f"pitlake: {run.job_name} failed", "\n".join([*_reasons(context), f"run {run.run_id}"]))


def _reasons(context: dg.RunFailureSensorContext) -> Iterator[str]:
    events = context.get_step_failure_events()
    if not events:
        yield "the run ended before a step could say why"
    for event in events:
        data = event.step_failure_data
        described = data.user_failure_data.description if data.user_failure_data else None
        error = data.error.cause or data.error if data.error else None
        name = error.cls_name if error else "unknown error"
        yield f"{event.step_key}: {described or name}"


@dg.sensor(
    minimum_interval_seconds=STALE_SECONDS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Tells once of each dataset whose newest row is older than its contract allows.",
)
def tell_of_stale_datasets(
    context: dg.SensorEvaluationContext, lake: LakeResource, notifier: Notifier
) -> dg.SkipReason:
    """Datasets with a freshness limit, compared with the newest lake version. Forgets those that are fresh again."""
    told: dict[str, str] = json.loads(context.cursor or "{}")
    try:
        stale = {name: clock.iso(newest) for name, newest in stale_datasets(lake.open(), clock.now())}
    except LakeNotFound:
        return dg.SkipReason("there is no lake yet")
    news = {name: newest for name, newest in stale.items() if told.get(name) != newest}
    if news:
        lines = [f"{name}: newest row of {newest}" for name, newest in sorted(news.items())]
        notifier.send(f"pitlake: {len(news)} stale datasets", "\n".join(lines))
    context.update_cursor(json.dumps(stale))
    return dg.SkipReason(f"{len(stale)} stale, {len(news)} told")


def stale_datasets(lake: Lake, now: datetime) -> Iterator[tuple[str, datetime]]:
    """Datasets whose newest row is older than their contract allows, each with that row's instant."""
    snapshot = lake.snapshot()
    for name, dataset in all_datasets().items():
        newest = max((file.hi for file in snapshot.files(name)), default=None)
        if dataset.freshness is not None and newest is not None and now - newest > dataset.freshness:
            yield name, newest
