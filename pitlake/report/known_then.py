"""What was known of a lake while a version was its newest: check reports, incidents and claims of no later version."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from pitlake.lake.lake import Lake
from pitlake.lake.publishing.check_results import CheckReport
from pitlake.lake.storage.incidents import Incident

HISTORY = 20
MOST_INCIDENTS = 200


def check_reports(lake: Lake, dataset: str, version: int) -> list[CheckReport]:
    """What the checks of a dataset's last runs found, newest first. Raises LakeError."""
    end = _end(lake, version)

    def known(one: CheckReport) -> bool:
        # A refused run has no version; it belongs to the one that was newest then.
        return _before(one.checked_at, end) if one.version is None else one.version <= version

    return list(islice(filter(known, lake.check_reports(dataset)), HISTORY))


def incidents(lake: Lake, version: int) -> list[Incident]:
    """What happened to the last runs, newest first. Raises LakeError."""
    end = _end(lake, version)
    found: Iterator[Incident] = (one for one in lake.incidents() if _before(one.happened_at, end))
    return list(islice(found, MOST_INCIDENTS))


def claims(lake: Lake, version: int) -> dict[str, int]:
    """How many items were answered by a provider's dates alone, by source. Raises LakeError."""
    return lake.claims(_end(lake, version))


def _end(lake: Lake, version: int) -> datetime | None:
    """When the next version came, None for the newest."""
    return lake.entry(version + 1).committed_at if version < lake.head() else None


def _before(moment: datetime, end: datetime | None) -> bool:
    return end is None or moment < end
