"""Runs an extractor over days without Dagster, for tests and benchmarks."""

from assets.runs import attempt_partitions
from pitlake.errors import CheckFailed
from pitlake.lake.publishing.publish import Published


def run_partitions(extractor, days, graph, lake, **options) -> Published:
    """Return what a run published. Options: see `attempt_partitions`. Raises CheckFailed if it is refused."""
    outcome = attempt_partitions(extractor, days, graph, lake, **options).outcome
    if isinstance(outcome, CheckFailed):
        raise outcome
    return outcome
