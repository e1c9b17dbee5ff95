"""The schedules, in New York time. Every schedule is stopped until a user starts it in the UI.

The graph is loaded late, so its evening run covers a week. Outside sources are requested as often as they publish, for
the lake's watch list, which `pitlake sync` writes. With an empty watch list, a schedule skips the run and states the
reason.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import dagster as dg

from assets.derived.earnings_bundles import events
from assets.drops.receiving import DROPS_VARIABLE
from assets.feeds.feed import Scope
from pipelines import earnings
from pipelines.jobs import dropped_files, edgar_watch, external_feeds, graph_days, graph_snapshots, macro_watch, quality
from pipelines.maintenance import maintenance
from pipelines.sync import sources
from pitlake.clock import new_york_day
from pitlake.errors import LakeNotFound
from pitlake.exchange import session
from resources.lake import LakeResource

LOOKBACK_DAYS = 7
AFTER_CLOSE = "30 18 * * *"
DROPS = "*/15 * * * *"
AFTER_RELEASES = "0 20 * * 1-5"
AFTER_EVENING = "30 20 * * *"  # The report is a separate run, so that a failed dataset does not prevent it.
PRE_OPEN = "0 8 * * 1-5"
EDGAR_HOURS = "*/15 6-22 * * 1-5"  # EDGAR accepts from 06:00 to 22:00
RELEASES = ["31 8 * * 1-5", "1 10 * * 1-5", "1 14 * * 1-5"]  # just after the usual release times
NIGHT = "30 22 * * 1-5"  # EDGAR accepts until 22:00
SUNDAY_NIGHT = "0 3 * * 0"
NEW_YORK = "America/New_York"
WATCH = "`pitlake sync --tickers AAPL,MSFT` adds to it"


Decide = Callable[..., Any]
"""A function that returns the run of a schedule, or the reason to skip it."""


def in_new_york(job: Any, cron: str | list[str]) -> Callable[[Decide], dg.ScheduleDefinition]:
    """Return a schedule in New York time, whose docstring is its description in the UI."""

    def made(decide: Decide) -> dg.ScheduleDefinition:
        clocked = dg.schedule(job=job, cron_schedule=cron, execution_timezone=NEW_YORK, description=decide.__doc__)
        return clocked(decide)

    return made


def day_range(first_back: int, context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    """Return a run of `first_back` days, the last of which is today."""
    today = new_york_day(context.scheduled_execution_time)
    first = today - timedelta(days=first_back - 1)
    return dg.RunRequest(
        run_key=context.scheduled_execution_time.isoformat(),
        tags={
            "dagster/asset_partition_range_start": first.isoformat(),
            "dagster/asset_partition_range_end": today.isoformat(),
        },
    )


@in_new_york(graph_days, AFTER_CLOSE)
def evening(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest]:
    """Load today and the six days before as one run: new and edited records are published, the rest is unchanged."""
    yield day_range(LOOKBACK_DAYS, context)


@in_new_york(graph_days, PRE_OPEN)
def before_the_open(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Load the night's news and filings, on days with a session."""
    return without_session(context) or day_range(2, context)


evening_snapshots = dg.ScheduleDefinition(
    name="evening_snapshots",
    job=graph_snapshots,
    cron_schedule=AFTER_CLOSE,
    execution_timezone=NEW_YORK,
    description="The current state of the graph's data without a date.",
)


@in_new_york(earnings.earnings_bundles, AFTER_RELEASES)
def evening_bundles(context: dg.ScheduleEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
    """Rebuild releases of the last weeks, on days with a session, with what was in the future before."""
    try:
        releases = events(lake.open())
    except LakeNotFound:
        return dg.SkipReason("there is no lake yet")
    recent = earnings.unsettled(releases, context.scheduled_execution_time)
    if (skipped := without_session(context)) or not recent:
        return skipped or dg.SkipReason(f"none of {len(releases)} releases is from the last {earnings.OPEN_DAYS} days")
    earnings.register(context.instance, recent)
    at = context.scheduled_execution_time.isoformat()
    return dg.RunRequest(run_key=at, **earnings.one_run(context.instance, [event.key for event in recent]))


@in_new_york(quality, AFTER_EVENING)
def evening_report(context: dg.ScheduleEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
    """Write the quality report, once there is a lake."""
    return once_there_is_a_lake(context, lake)


@in_new_york(dropped_files, DROPS)
def drops(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Load dropped files, if a folder for them is set."""
    if not os.environ.get(DROPS_VARIABLE):
        return dg.SkipReason(f"{DROPS_VARIABLE} names no folder")
    return dg.RunRequest(run_key=context.scheduled_execution_time.isoformat())


@in_new_york(edgar_watch, EDGAR_HOURS)
def edgar(context: dg.ScheduleEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
    """Request new filings of the watched companies, while EDGAR accepts them."""
    ciks = list(lake.open().watch_list().companies)
    if not ciks:
        return dg.SkipReason(f"the watch list names no company; {WATCH}")
    return _run(context, {"sec_filings": {"mode": "refresh", "ciks": ciks}})


@in_new_york(macro_watch, RELEASES)
def macro_releases(context: dg.ScheduleEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
    """Request new vintages of the watched series, after the usual release times."""
    series = list(lake.open().watch_list().series)
    if not series:
        return dg.SkipReason(f"the watch list names no series; {WATCH}")
    return _run(context, {"macro_observations": {"mode": "refresh", "series": series}})


@in_new_york(external_feeds, NIGHT)
def watched_sources(context: dg.ScheduleEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
    """Request the watch list from every configured source; feeds without a request publish nothing."""
    watched, today = lake.open().watch_list(), new_york_day(context.scheduled_execution_time)
    configs = {step.dataset: step.scope(watched, today).as_config(step.mode) for step in sources.steps(watched)}
    if watched.companies and sources.uses(watched, sources.EDGAR):
        scope = Scope(ciks=tuple(watched.companies), date_from=watched.since)
        configs |= {name: scope.as_config("refresh") for name in ("sec_filings", "sec_facts", "universe_events")}
    return _run(context, configs) if configs else dg.SkipReason(f"the watch list names nothing; {WATCH}")


def _run(context: dg.ScheduleEvaluationContext, configs: Mapping[str, object]) -> dg.RunRequest:
    config = {"ops": {dataset: {"config": of_feed} for dataset, of_feed in configs.items()}}
    return dg.RunRequest(run_key=context.scheduled_execution_time.isoformat(), run_config=config)


def without_session(context: dg.ScheduleEvaluationContext) -> dg.SkipReason | None:
    """Return a reason to skip if the day has no session, otherwise None."""
    open_today = session(new_york_day(context.scheduled_execution_time)) is not None
    return None if open_today else dg.SkipReason("no session today")


@in_new_york(maintenance, SUNDAY_NIGHT)
def weekly_upkeep(context: dg.ScheduleEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
    """Compact the lake and report what a vacuum would remove, once there is a lake."""
    return once_there_is_a_lake(context, lake)


def once_there_is_a_lake(context: dg.ScheduleEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
    """Return a run, or a reason to skip if nothing was ever published."""
    try:
        lake.open().head()
    except LakeNotFound:
        return dg.SkipReason("there is no lake yet")
    return dg.RunRequest(run_key=context.scheduled_execution_time.isoformat())


ALL = [
    evening,
    before_the_open,
    evening_snapshots,
    evening_bundles,
    evening_report,
    drops,
    edgar,
    macro_releases,
    watched_sources,
    weekly_upkeep,
]
