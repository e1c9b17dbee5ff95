"""The two clocks that date memory: the machine's, and that of a backtest. Their records never mix.

A clock has a name, `live` or `simulated:<run>`, which is stored in every journal, record and lake that it dates.
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
    """A named clock. name: `live` or `simulated:<run>`. now: returns the current instant in UTC."""

    name: str
    now: Callable[[], datetime]


def live() -> Clock:
    return Clock(LIVE, clock.now)


class Finished(Clock):
    """The clock of a finished backtest, whose memory is read-only and can be read as of any instant.

    last: the instant of its newest record, which the clock shows.
    """

    def __init__(self, run: str, last: datetime | None = None) -> None:
        super().__init__(f"simulated:{run}", clock.now if last is None else lambda: last)


class Simulated(Clock):
    """The clock of a backtest, which shows the instant to which it was last moved.

    Raises BadInput for a name that is not valid as a folder's name.
    """

    def __init__(self, run: str, at: str | datetime) -> None:
        if not _RUN.fullmatch(run):
            raise BadInput("run", f"{run!r} is not a name", "use lower-case letters, digits and dashes, up to 64")
        object.__setattr__(self, "_at", clock.instant(at, "at"))
        super().__init__(f"simulated:{run}", lambda: self._at)

    _at: datetime

    def move(self, at: str | datetime) -> None:
        """Move the clock to a later instant. Raises BadInput for an earlier one."""
        moment = clock.instant(at, "at")
        if moment < self._at:
            raise BadInput(
                "at", "is before the clock's time", "a simulated clock only moves forward; start another run"
            )
        object.__setattr__(self, "_at", moment)
