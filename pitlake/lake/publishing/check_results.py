"""Check reports: which checks of a run passed, warned or refused, and for which records, for people to read.

These files are informational; no version needs them. Examples name source records, never their values. The publishing
run writes them; the quality report and alerts read them.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime

from pitlake import clock
from pitlake.errors import LakeError
from pitlake.lake.publishing.audit import CheckResult
from pitlake.lake.storage.store import Store

CHECK_REPORTS = "_lake/check_results"


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """The results of one run's checks of one dataset.

    `version` is the lake version that the run published or left unchanged; None if the run was refused, and then
    `refusal` states the reason in one line.
    """

    dataset: str
    run_id: str
    checked_at: datetime
    version: int | None
    refusal: str = ""
    checks: tuple[CheckResult, ...] = ()

    def to_json(self) -> bytes:
        return json.dumps({**asdict(self), "checked_at": clock.iso(self.checked_at)}, indent=1).encode()

    @classmethod
    def from_json(cls, content: bytes) -> "CheckReport":
        """Parse a check report. Raises LakeError if a file is not a check report."""
        try:
            fields = json.loads(content)
            checks = tuple(CheckResult(**{**check, "examples": tuple(check["examples"])}) for check in fields["checks"])
            checked_at = clock.instant(fields["checked_at"], "checked_at")
            return cls(**{**fields, "checked_at": checked_at, "checks": checks})
        except (ValueError, TypeError, KeyError):
            raise LakeError("a file of a check report is damaged; remove the file, nothing depends on it") from None


def write(store: Store, check_report: CheckReport) -> None:
    """Write one run's check report. If there is already a report of the same microsecond, it stays."""
    moment = f"{clock.micros(check_report.checked_at):020d}"
    store.put_new(f"{CHECK_REPORTS}/{check_report.dataset}/{moment}.{check_report.run_id}.json", check_report.to_json())


def read_all(store: Store, dataset: str) -> Iterator[CheckReport]:
    """Yield the check reports of a dataset, newest first. If only the newest report is taken, one file is read."""
    for key in sorted((file.key for file in store.walk(f"{CHECK_REPORTS}/{dataset}")), reverse=True):
        yield CheckReport.from_json(store.read(key))
