"""The progress of a sync and its counts: requests, bytes, and rows and gaps by dataset."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable

from assets.runs import RunReport
from pitlake.errors import CheckFailed

SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """Prints progress and sums reports. refused: datasets of which a check published nothing, and why. unanswered:
    units without an answer; repeating the request may help.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.requests = self.bytes = 0
        self.counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.reasons: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.refused: dict[str, str] = {}
        self.unanswered: list[str] = []
        self._said_at = time.monotonic()

    def answered(self, size: int) -> None:
        """Count one answer that came over the network."""
        self.requests += 1
        self.bytes += size

    def now_and_then(self, line: str) -> None:
        """Print a line unless one was printed within the last seconds."""
        if time.monotonic() - self._said_at >= SECONDS_BETWEEN_LINES:
            self.line(line)

    def line(self, line: str) -> None:
        """Print a line with the requests so far."""
        self._said_at = time.monotonic()
        self.say(f"{line} ({self.requests:,} requests, {self.bytes / 1e6:,.1f} MB so far)")

    def add(self, report: RunReport) -> bool:
        """Add a run's report; return whether it published."""
        if isinstance(report.outcome, CheckFailed):
            self.refused[report.dataset] = str(report.outcome)
            self.say(str(report.outcome))
            return False
        total = report.outcome.total
        self.counts[report.dataset].update(rows=total.published, unchanged=total.unchanged, gaps=total.gaps)
        for (_, reason), count in report.gaps.items():
            self.reasons[report.dataset][reason] += count
        return True
