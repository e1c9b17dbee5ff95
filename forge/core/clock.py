"""The two clocks memory is written by: the machine's, and a backtest's own. Their records never mix.

A clock has a name, `live` or `simulated:<run>`, that every journal, record and lake of it bears.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from pitlake import clock
from pitlake.errors import BadInput

LIVE = "live"
_RUN = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


@dataclass(frozen=True)
class Clock:
    """name: `live` or `simulated:<run>`. now: the instant, aware UTC."""

    name: str
    now: Callable[[], datetime]


def live() -> Clock:
    """The machine's clock."""
    return Clock(LIVE, clock.now)


class Finished(Clock):
    """The clock of a backtest that is only looked at: its memory is read as of any instant, and takes no writes."""

    def __init__(self, run: str) -> None:
        super().__init__(f"simulated:{run}", clock.now)


class Simulated(Clock):
    """A backtest's clock: it shows the instant it was last moved to. Raises BadInput for a name a folder can't have."""

    def __init__(self, run: str, at: str | datetime) -> None:
        if not _RUN.fullmatch(run):
            raise BadInput("run", f"{run!r} is not a name", "use lower-case letters, digits and dashes, up to 64")
        object.__setattr__(self, "_at", clock.instant(at, "at"))
        super().__init__(f"simulated:{run}", lambda: self._at)

    _at: datetime

    def move(self, at: str | datetime) -> None:
        """Show a later instant. Raises BadInput for an earlier one."""
        moment = clock.instant(at, "at")
        if moment < self._at:
            raise BadInput("at", "lies before the clock", "a simulated clock only goes on; start another run")
        object.__setattr__(self, "_at", moment)
