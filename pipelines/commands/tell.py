"""`python -m pipelines.commands.tell`: sends an alert that `make run` failed, even without a daemon."""

import sys

import dagster as dg

from pipelines.alerts import tell_of_untold
from pitlake.errors import PitlakeError
from resources.lake import LakeResource
from resources.notifier import Notifier

NO_RUN = "no run was started; the command's output says why"


def main() -> int:
    """Report failed runs that were not reported yet, or otherwise that no run started. Return the exit code 1."""
    notifier = Notifier()
    try:
        with dg.DagsterInstance.get() as instance:
            if not tell_of_untold(instance, LakeResource(), notifier):
                notifier.send("pitlake: make run failed", NO_RUN)
    except PitlakeError as problem:
        print(f"run: {problem}", file=sys.stderr)  # noqa: T201 - a command line
    return 1


if __name__ == "__main__":
    sys.exit(main())
