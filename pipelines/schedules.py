"""When it runs by itself: every evening after the close, over the last days, because the graph is loaded late."""

from collections.abc import Iterator
from datetime import timedelta

import dagster as dg

from pipelines.jobs import graph_days, graph_snapshots
from pitlake.clock import new_york_day

LOOKBACK_DAYS = 7
AFTER_CLOSE = "30 18 * * *"
NEW_YORK = "America/New_York"


@dg.schedule(job=graph_days, cron_schedule=AFTER_CLOSE, execution_timezone=NEW_YORK)
def evening(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest]:
    """Today and the six days before as one run: what was loaded or edited since is published, the rest is unchanged."""
    today = new_york_day(context.scheduled_execution_time)
    first = today - timedelta(days=LOOKBACK_DAYS - 1)
    yield dg.RunRequest(
        run_key=today.isoformat(),
        tags={
            "dagster/asset_partition_range_start": first.isoformat(),
            "dagster/asset_partition_range_end": today.isoformat(),
        },
    )


evening_snapshots = dg.ScheduleDefinition(
    name="evening_snapshots", job=graph_snapshots, cron_schedule=AFTER_CLOSE, execution_timezone=NEW_YORK
)
