"""Alert sensors for failed runs, missing answers and stale datasets.

resources/notifier.py sends messages; each contract's `freshness` defines staleness. Incidents are also stored in the
lake for the quality report.
"""

import errno
import json
import logging
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Literal

import dagster as dg

from checks.warnings import ANSWERED
from pitlake import clock
from pitlake.datasets import all_datasets
from pitlake.errors import LakeNotFound, PitlakeError
from pitlake.lake.lake import Lake
from pitlake.lake.storage.incidents import Incident
from pitlake.lake.tables.newest import newest_record
from resources.lake import LakeResource
from resources.notifier import Notifier

STALE_SECONDS = 15 * 60
REPORTED = "pitlake/reported"
"""The tag of a reported run, with the time of the report, so that no run is reported twice."""
DISK_FULL = os.strerror(errno.ENOSPC)
_logger = logging.getLogger("pitlake.alerts")


@dg.run_failure_sensor(
    default_status=dg.DefaultSensorStatus.RUNNING,
    monitor_all_code_locations=True,  # This includes runs of `dg launch`, which have no code location.
    description="Reports each failed run: its steps, and the reason if pitlake refused it.",
)
def tell_of_failures(context: dg.RunFailureSensorContext, lake: LakeResource, notifier: Notifier) -> None:
    """Report each failed run: its steps, and pitlake's reason if it refused. Other texts may contain anything."""
    title = f"pitlake: {context.dagster_run.job_name} failed"
    events = context.get_step_failure_events()
    reasons = [] if events else ["the run ended before a step could say why"]
    for event in events:
        data = event.step_failure_data
        described = data.user_failure_data.description if data.user_failure_data else None
        error = data.error.cause or data.error if data.error else None
        name = (error.cls_name if error else None) or "unknown error"
        full = f" ({DISK_FULL})" if error and DISK_FULL in error.message else ""
        reasons.append(f"{event.step_key}: {described or name}{full}")
    _tell(context, title, _incident(context, "failed", tuple(reasons)), lake, notifier)


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.SUCCESS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    monitor_all_code_locations=True,  # This includes runs of `dg launch`, which have no code location.
    description="Reports runs that published although a provider gave no usable answer to some requests.",
)
def tell_of_missing_answers(context: dg.RunStatusSensorContext, lake: LakeResource, notifier: Notifier) -> None:
    """Report each run whose check `answered` failed: the datasets with missing data, by the provider's reason."""
    reasons = []
    evaluations = context.instance.all_logs(
        context.dagster_run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION
    )
    for entry in evaluations:
        check = entry.get_dagster_event().asset_check_evaluation_data
        if check.check_name == ANSWERED and not check.passed:
            facts = check.metadata.items()
            counts = {name: fact.value for name, fact in facts if isinstance(fact, dg.IntMetadataValue)}
            text = ", ".join(f"{name} × {count}" for name, count in counts.items())
            reasons.append(f"{check.asset_key.to_user_string()}: {text}")
    if reasons:
        title = f"pitlake: {context.dagster_run.job_name} got no answer to some questions"
        _tell(context, title, _incident(context, "unanswered", tuple(reasons)), lake, notifier)


def _incident(
    context: dg.RunStatusSensorContext, kind: Literal["failed", "unanswered"], reasons: tuple[str, ...]
) -> Incident:
    """Return the run's incident, dated by the run's end, so that a second report does not create a second incident."""
    run = context.dagster_run
    record = context.instance.get_run_record_by_id(run.run_id)
    seconds = record.end_time if record else None
    ended = clock.from_micros(round(seconds * 1_000_000)) if seconds else clock.now()
    return Incident(happened_at=ended, run_id=run.run_id, job=run.job_name, kind=kind, reasons=reasons)


def _tell(
    context: dg.RunStatusSensorContext, title: str, incident: Incident, lake: LakeResource, notifier: Notifier
) -> None:
    """Report an incident to the lake and to people, once. The alert is sent even if the lake can't be written."""
    # Read the current run, because the context's copy may be out of date.
    run = context.instance.get_run_by_id(incident.run_id)
    if run and REPORTED in run.tags:
        return
    try:
        lake.open().keep_incident(incident)
    except PitlakeError as problem:
        _logger.warning("the report will not show run %s: %s", incident.run_id, problem)
    notifier.send(title, "\n".join([*incident.reasons, f"run {incident.run_id}"]))
    context.instance.add_run_tags(incident.run_id, {REPORTED: clock.iso(clock.now())})


def tell_of_untold(instance: dg.DagsterInstance, lake: LakeResource, notifier: Notifier) -> int:
    """Report each failed run of the last day that no daemon reported, and return the number of these runs."""
    lately = dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], created_after=clock.now() - timedelta(days=1))
    runs = [run for run in instance.get_runs(lately) if REPORTED not in run.tags]
    resources = {"lake": lake, "notifier": notifier}
    for run in runs:
        (entry, *_) = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.RUN_FAILURE)
        event = entry.get_dagster_event()
        context = dg.build_run_status_sensor_context(tell_of_failures.name, event, instance, run, resources=resources)
        tell_of_failures(context.for_run_failure())
    return len(runs)


@dg.sensor(
    minimum_interval_seconds=STALE_SECONDS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Reports once each dataset whose newest row is older than its contract allows.",
)
def tell_of_stale_datasets(
    context: dg.SensorEvaluationContext, lake: LakeResource, notifier: Notifier
) -> dg.SkipReason:
    """Report datasets with a freshness limit, compared with the newest lake version.

    Datasets that are fresh again are removed from the list of reported ones.
    """
    reported: dict[str, str] = json.loads(context.cursor or "{}")
    try:
        stale = {name: clock.iso(newest) for name, newest in stale_datasets(lake.open(), clock.now())}
    except LakeNotFound:
        return dg.SkipReason("there is no lake yet")
    news = {name: newest for name, newest in stale.items() if reported.get(name) != newest}
    if news:
        lines = [f"{name}: newest row of {newest}" for name, newest in sorted(news.items())]
        notifier.send(f"pitlake: {len(news)} stale datasets", "\n".join(lines))
    context.update_cursor(json.dumps(stale))
    return dg.SkipReason(f"{len(stale)} stale, {len(news)} reported")


def stale_datasets(lake: Lake, now: datetime) -> Iterator[tuple[str, datetime]]:
    """Yield datasets whose newest row is older than their contract allows, each with that row's instant."""
    snapshot, now = lake.snapshot(), lake.judged_at(now)
    for name, dataset in all_datasets().items():
        if dataset.freshness is not None:
            newest = newest_record(dataset, snapshot.files(name), snapshot.fetch)
            if newest is not None and now - newest > dataset.freshness:
                yield name, newest
