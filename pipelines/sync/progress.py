"""The progress of a sync and its counts: requests, bytes, and rows and gaps by dataset."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable

from assets.runs import RunReport
from pitlake.errors import CheckFailed
from resources.http.client import HttpClient

SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """Prints progress and sums up reports. refused: the datasets that a check refused, with reasons. failures: a line
    for each company or source without a usable answer, with the next step.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self._clients: list[HttpClient] = []
        self.counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.reasons: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.refused: dict[str, str] = {}
        self.failures: list[str] = []
        self._said_at = time.monotonic()

    def counting(self, client: HttpClient) -> HttpClient:
        """Count the future requests of a client, and return the client."""
        self._clients.append(client)
        return client

    def unanswered(self, name: str, problem: object) -> None:
        """Count a company or dataset without a usable answer, once for each problem."""
        line = f"no answer: {name}: {problem}; the next sync asks again"
        self.failures += [line] if line not in self.failures else []

    def now_and_then(self, line: str) -> None:
        """Print a line unless one was printed within the last seconds."""
        if time.monotonic() - self._said_at >= SECONDS_BETWEEN_LINES:
            self.line(line)

    def line(self, line: str) -> None:
        """Print a line with the requests so far."""
        self._said_at = time.monotonic()
        sent, received = sum(client.sent for client in self._clients), sum(client.received for client in self._clients)
        self.say(f"{line} ({sent:,} requests, {received / 1e6:,.1f} MB so far)")

    def add(self, report: RunReport) -> bool:
        """Add a run's report, and return whether the run published."""
        if isinstance(report.outcome, CheckFailed):
            self.refused[report.dataset] = str(report.outcome)
            self.say(str(report.outcome))
            return False
        total = report.outcome.total
        self.counts[report.dataset].update(rows=total.published, unchanged=total.unchanged, gaps=total.gaps)
        for (_, reason), count in report.gaps.items():
            self.reasons[report.dataset][reason] += count
        return True
