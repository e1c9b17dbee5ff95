"""The sealed sessions of the pages. They stay open while a reader navigates, and clients take fair turns."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from pitlake.lake.lake import Lake
from pitlake.serving.kept import IDLE_SECONDS, KeptSessions
from pitlake.serving.turns import Turns
from pitlake.session import Limits, Session, Viewpoint
from pitlake.web.company import own_tables
from pitlake.web.questions import datasets

COMPANY_PAGES: tuple[str, ...] = ()
"""A marker for the datasets of a company's pages: those of the questions, and mounted tables that name companies."""
AT_ONCE, WAITING, WAITING_IN_ALL = 4, 32, 128
"""The number of questions answered in parallel, and of those that wait, for one client and for all."""
LIMITS = Limits(rows=100_000, bytes=64 << 20, seconds=20.0, memory=4 << 30)


class Pool:
    """Sessions of one lake. `turns`: the turns of questions that open a separate session."""

    def __init__(self, lake: str | Path | None, isolation: Any, idle: float = IDLE_SECONDS) -> None:
        self.lake, self.isolation = Lake(lake), isolation
        self.sessions = KeptSessions(LIMITS, idle, shared=True)
        self.turns = Turns(AT_ONCE, WAITING, WAITING_IN_ALL)
        self._of_company_pages = lru_cache(self._datasets_of_company_pages)

    @contextmanager
    def session(self, as_of: datetime, names: tuple[str, ...] | None = COMPANY_PAGES) -> Iterator[Session]:
        """Lend a session of the newest version as of an instant to this request. names: its datasets; None for all.

        Raises ServerBusy, and the errors of `connect`.
        """
        version = self.lake.head()
        viewpoint = Viewpoint(as_of=as_of, version=version, lake=self.lake, isolation=self.isolation)
        with self.turns.turn():
            names = self._of_company_pages(version) if names == COMPANY_PAGES else names
            with self.sessions.session(viewpoint, names) as session:
                yield session

    def _datasets_of_company_pages(self, version: int) -> tuple[str, ...]:
        own = own_tables(self.lake.contracts(self.lake.snapshot(version)))
        return (*datasets(), *(contract.name for contract in own))
