"""The state of a lake at the time when a version was its newest: check reports, incidents and claims."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from pitlake.lake.lake import Lake
from pitlake.lake.publishing.check_results import CheckReport
from pitlake.lake.storage.incidents import Incident

HISTORY = 20
MOST_INCIDENTS = 200


def check_reports(lake: Lake, dataset: str, version: int) -> list[CheckReport]:
    """Return the check reports of a dataset's last runs, newest first. Raises LakeError."""
    end = _end(lake, version)

    def known(report: CheckReport) -> bool:
        # A refused run has no version. It belongs to the version that was the newest then.
        return _before(report.checked_at, end) if report.version is None else report.version <= version

    return list(islice(filter(known, lake.check_reports(dataset)), HISTORY))


def incidents(lake: Lake, version: int) -> list[Incident]:
    """Return the incidents of the last runs, newest first. Raises LakeError."""
    end = _end(lake, version)
    earlier: Iterator[Incident] = (incident for incident in lake.incidents() if _before(incident.happened_at, end))
    return list(islice(earlier, MOST_INCIDENTS))


def claims(lake: Lake, version: int) -> dict[str, int]:
    """Return the number of items that only a provider dated, by source. Raises LakeError."""
    return lake.claims(_end(lake, version))


def _end(lake: Lake, version: int) -> datetime | None:
    """Return the time at which the next version was committed; None for the newest version."""
    return lake.entry(version + 1).committed_at if version < lake.head() else None


def _before(moment: datetime, end: datetime | None) -> bool:
    return end is None or moment < end
