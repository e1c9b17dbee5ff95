"""Which files of a lake version a session gets as they are, and which have to be cut at T. Pure.

Chosen by the manifest's bounds; the footers decide afterwards whether that was right (footer.py). Called by binding.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pitlake.clock import new_york_day, start_of_new_york_day
from pitlake.lake.manifest import DataFile


@dataclass(frozen=True, slots=True)
class Choice:
    """`whole`: handed over as they are. `edge`: read by the parent, whose rows up to T become one new file.

    `straddles`: an edge file may hold rows after T. If none may, the cut is the same for every later T.
    """

    whole: tuple[DataFile, ...] = ()
    edge: tuple[DataFile, ...] = ()
    straddles: bool = False


def choose(files: Iterable[DataFile], as_of: datetime | None, *, by_year: bool = False) -> Choice:
    """Split a table's files at `as_of`; without one everything is whole.

    Every file that reaches into T's New York month is an edge, also one that ends before T: whether a month was still
    growing after T must not show in how its rows lie in files. by_year: the same for tables that lie by year.
    """
    ordered = sorted(files, key=lambda file: (file.lo, file.hi, file.rows, file.size, file.path))
    if as_of is None:
        return Choice(whole=tuple(ordered))
    day = new_york_day(as_of).replace(day=1)
    period = start_of_new_york_day(day.replace(month=1) if by_year else day)
    seen = [file for file in ordered if file.lo <= as_of]
    whole = tuple(file for file in seen if file.hi < period)
    edge = tuple(file for file in seen if file.hi >= period)
    return Choice(whole, edge, straddles=any(file.hi > as_of for file in edge))
