"""Runs an extractor over days without Dagster, for tests and benchmarks."""

from assets.runs import attempt_partitions
from pitlake.errors import CheckFailed
from pitlake.lake.publishing.publish import Published


def run_partitions(extractor, days, graph, lake, **options) -> Published:
    """What a run published. Raises CheckFailed where it was refused; options as for `attempt_partitions`."""
    outcome = attempt_partitions(extractor, days, graph, lake, **options).outcome
    if isinstance(outcome, CheckFailed):
        raise outcome
    return outcome
