"""Which files of a lake version a session gets as they are, and which have to be cut at T. Pure.

Chosen by the manifest's bounds; the footers decide afterwards whether that was right (footer.py). Called by binding.py.
"""

from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pitlake.clock import micros, new_york_day, start_of_new_york_day
from pitlake.lake.manifest import DataFile


@dataclass(frozen=True, slots=True)
class Choice:
    """`whole`: handed over as they are. `edge`: read by the parent, whose rows up to T become one new file.

    `straddles`: an edge file may hold rows after T. If none may, the cut is the same for every later T. parts: where
    the days of T's month begin (of tables by year: the months), in microseconds since the epoch.
    """

    whole: tuple[DataFile, ...] = ()
    edge: tuple[DataFile, ...] = ()
    straddles: bool = False
    parts: tuple[int, ...] = ()


def choose(files: Iterable[DataFile], as_of: datetime | None, *, by_year: bool = False) -> Choice:
    """Split a table's files at `as_of`; without one everything is whole.

    Every file that reaches into T's New York month is an edge, also one that ends before T: whether a month was still
    growing after T must not show in how its rows lie in files. by_year: the same for tables that lie by year.
    """
    ordered = sorted(files, key=lambda file: (file.lo, file.hi, file.rows, file.size, file.path))
    if as_of is None:
        return Choice(whole=tuple(ordered))
    parts = _months(as_of) if by_year else _days(as_of)
    period = parts[0]
    seen = [file for file in ordered if file.lo <= as_of]
    whole = tuple(file for file in seen if file.hi < period)
    edge = tuple(file for file in seen if file.hi >= period)
    return Choice(whole, edge, any(file.hi > as_of for file in edge), tuple(map(micros, parts)))


def _days(as_of: datetime) -> list[datetime]:
    """The starts of the days of T's New York month."""
    first = new_york_day(as_of).replace(day=1)
    return [start_of_new_york_day(first.replace(day=day + 1)) for day in range(monthrange(first.year, first.month)[1])]


def _months(as_of: datetime) -> list[datetime]:
    """The starts of the months of T's New York year."""
    first = new_york_day(as_of).replace(month=1, day=1)
    return [start_of_new_york_day(first.replace(month=month + 1)) for month in range(12)]
