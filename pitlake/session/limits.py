"""The limits of a session (rows, bytes, seconds, memory, threads), and the failure of a query.

The parent enforces rows, bytes and seconds, and the kernel enforces memory (RLIMIT_AS). Callers of `connect` set the
limits; the child receives them as plain numbers.
"""

import math
import os
from dataclasses import dataclass, fields

from pitlake.errors import BadInput

GIB = 1 << 30
# The memory of a session before its first query: libraries, stacks of DuckDB's threads, the allocator's arenas.
LEAST_MEMORY = GIB
_LONGEST = 366 * 24 * 60 * 60.0
"""A year in seconds. It replaces an infinite limit, which no clock can represent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits of one session.

    A query that exceeds a limit is refused with LimitExceeded; its result is never cut silently.

    rows, bytes: of one result (bytes as Arrow). seconds: of one query, wall clock. memory: bytes of address space of a
    process of the session, without mapped vectors. threads: with 1, an answer depends only on the question. With more,
    DuckDB's order of groups and the last digits of float sums may change between runs, so receipts cannot be replayed
    byte for byte.
    """

    rows: int = 10_000_000
    bytes: int = 1 * GIB
    seconds: float = 60.0
    memory: int = 8 * GIB
    threads: int = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            value, name = getattr(self, field.name), f"limits.{field.name}"
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise BadInput(name, f"{value!r} is not a positive number", "give a number above 0")
            if math.isinf(value) or (field.name != "seconds" and value < 1):
                raise BadInput(name, f"{value!r} is not a limit", "give a finite number, 1 or more")
        if self.seconds > _LONGEST:
            raise BadInput("limits.seconds", "more than a year", f"give {_LONGEST:.0f} or less")
        if self.memory < LEAST_MEMORY:
            raise BadInput("limits.memory", "less than a session needs to start", f"give {LEAST_MEMORY} bytes or more")

    @property
    def address_space(self) -> int:
        """Return `memory`, but at most three quarters of the machine's."""
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return max(LEAST_MEMORY, min(int(self.memory), machine * 3 // 4))


@dataclass(frozen=True, kw_only=True)
class Caps:
    """Limits of one result. `truncate`: whether to cut and mark the result at a limit instead of refusing it."""

    rows: int
    bytes: int
    truncate: bool = False


@dataclass(frozen=True)
class Failure:
    """A failed query as plain data. `limit`: the limit that was reached. `fatal`: whether DuckDB is now unusable."""

    kind: str
    message: str
    limit: str = ""
    fatal: bool = False
