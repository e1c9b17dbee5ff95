"""The soak's definitions: the project's definitions with schedules that run every few minutes over past days.

The soak's webserver and daemon load them. Environment variables, which tests.soak.campaign sets, locate the graph and
the providers.
"""

import os
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import dagster as dg

from pipelines import definitions, jobs
from pipelines.maintenance import maintenance
from resources.graph.resource import GraphResource

FIRST, WINDOWS, DAYS_A_WINDOW = date(2024, 3, 1), 9, 10
RUNNING = dg.DefaultScheduleStatus.RUNNING
UNDER_WAY = ("QUEUED", "NOT_STARTED", "STARTING", "STARTED")


def window(number: int) -> tuple[date, date]:
    """Return the first and last day of one of the windows through which runs rotate."""
    first = FIRST + timedelta(days=DAYS_A_WINDOW * (number % WINDOWS))
    return first, first + timedelta(days=DAYS_A_WINDOW - 1)


def _goes_on(job: str) -> Callable[[dg.ScheduleEvaluationContext], bool]:
    """Return a condition for another run: not after the end, and not while a run of the job is in progress."""

    def goes_on(context: dg.ScheduleEvaluationContext) -> bool:
        if Path(os.environ["SOAK_STOP"]).exists():
            return False
        under_way = dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus(name) for name in UNDER_WAY])
        return not context.instance.get_runs_count(under_way)

    return goes_on


@dg.schedule(
    job=jobs.graph_days, cron_schedule="* * * * *", default_status=RUNNING, should_execute=_goes_on("graph_days")
)
def every_minute(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    """Request the next window of ten past days, in rotation."""
    at = context.scheduled_execution_time
    first, last = window(at.hour * 60 + at.minute)
    tags = {
        "dagster/asset_partition_range_start": first.isoformat(),
        "dagster/asset_partition_range_end": last.isoformat(),
    }
    return dg.RunRequest(run_key=at.isoformat(), tags=tags)


@dg.schedule(
    job=jobs.macro_watch, cron_schedule="* * * * *", default_status=RUNNING, should_execute=_goes_on("macro_watch")
)
def each_minute(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    """Request a refresh from the provider."""
    config = {"ops": {"macro_observations": {"config": {"mode": "refresh", "series": ["GDP"]}}}}
    return dg.RunRequest(run_key=context.scheduled_execution_time.isoformat(), run_config=config)


upkeep = dg.ScheduleDefinition(
    job=maintenance, cron_schedule="*/7 * * * *", default_status=RUNNING, should_execute=_goes_on("maintenance")
)
report = dg.ScheduleDefinition(
    job=jobs.quality, cron_schedule="*/5 * * * *", default_status=RUNNING, should_execute=_goes_on("quality")
)


@dg.definitions
def defs() -> dg.Definitions:
    """Return the project's definitions with the soak's graph and schedules."""
    graph = GraphResource(
        uri=os.environ["SOAK_GRAPH"],
        username=os.environ["SOAK_USER"],
        password=os.environ["SOAK_PASSWORD"],
        database=os.environ["SOAK_DATABASE"],
    )
    house = definitions.build_definitions(resources={"graph": graph})
    return dg.Definitions(
        assets=house.assets,
        jobs=house.jobs,
        sensors=house.sensors,
        resources=house.resources,
        executor=house.executor,
        schedules=[every_minute, each_minute, upkeep, report],
    )
