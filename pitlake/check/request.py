"""The arguments of a check, and its report."""

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pitlake import clock
from pitlake.check.findings import Finding
from pitlake.check.tasks import Function
from pitlake.errors import BadInput

STEPS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1), "month": timedelta(days=30)}
"""The intervals between instants."""
TRIALS = 10


@dataclass(frozen=True, kw_only=True)
class Check:
    """What to check.

    Attributes:
        function: the function.
        since, until: the first and last instant of the runs.
        every: the interval between instants, a key of STEPS.
        trials: the number of instants to try, spread evenly.
        datasets: the datasets its sessions bind; None for all.
        time: the column that dates the rows of a history; None to find it by name or index.
        allowed: files it may read.
    """

    function: Function
    since: datetime
    until: datetime
    every: str = "day"
    trials: int = TRIALS
    datasets: tuple[str, ...] | None = None
    time: str | None = None
    allowed: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if self.since >= self.until:
            raise BadInput("--from", "is not before --to", "name the earlier instant first")
        if self.every not in STEPS:
            raise BadInput("--every", f"{self.every!r} is not a step", f"choose one of {', '.join(STEPS)}")
        if not 1 <= self.trials <= 10_000:
            raise BadInput("--trials", f"{self.trials} is not from 1 to 10,000", "give how many instants to try")

    @property
    def instants(self) -> list[datetime]:
        """Return the instants to try: some of the steps from the first to the last, spread evenly."""
        count = (self.until - self.since) // STEPS[self.every] + 1
        chosen = {round(number * (count - 1) / max(self.trials - 1, 1)) for number in range(self.trials)}
        return [self.since + number * STEPS[self.every] for number in sorted(chosen)]

    def cuts(self, first: datetime) -> list[datetime]:
        """Return the instants at which a history is cut: a random one in each of `trials` equal spans between its ends.
        first: when its first row is in the past; before that, nothing of it can be compared.
        """
        rng = random.Random(self.trials)  # noqa: S311 - the same instants each time
        since = self.since if first >= self.until else max(self.since, first)
        span = (self.until - since) / self.trials
        return [since + span * (number + rng.uniform(0.05, 0.95)) for number in range(self.trials)]


@dataclass
class LookAheadReport:
    """The result of a check.

    compared: the number of pairs of worlds whose results had past rows that were compared. skipped: the reasons why
    other pairs were not, with counts.
    """

    check: Check
    findings: list[Finding] = field(default_factory=list)
    compared: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    history_by: str | None = None

    def __str__(self) -> str:
        count = len(self.findings)
        summary = f"{count} finding{'s' if count > 1 else ''}" if count else "nothing found"
        return f"{self.check.function}: {summary} in {self.compared} trials"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "function": str(self.check.function),
            "from": clock.iso(self.check.since),
            "to": clock.iso(self.check.until),
            "trials": self.compared,
            "skipped": self.skipped,
            "dated_by": self.history_by,
            "findings": [finding.to_dict() for finding in self.findings],
        }
