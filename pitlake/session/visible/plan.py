"""Which files of a lake version a session's rows come from, by the period they lie in. Pure.

Chosen by the manifest's bounds; the footers decide afterwards whether that was right (footer.py).
"""

from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from itertools import groupby

from pitlake.clock import micros, new_york_day, start_of_new_york_day
from pitlake.lake.manifest import DataFile

Period = tuple[tuple[DataFile, ...], ...]
"""The files of a year, month by month, or those of one month."""


@dataclass(frozen=True, slots=True)
class Choice:
    """`whole`: in open mode, handed over as they are. Else `years` before T's and `months` of T's year before T's own,
    oldest first, none of whose rows is after T; and `edge`: the files of T's month.

    `straddles`: an edge file may hold rows after T. parts: where the days of T's month begin (of tables by year: the
    months of its year), in microseconds since the epoch.
    """

    whole: tuple[DataFile, ...] = ()
    years: tuple[Period, ...] = ()
    months: tuple[Period, ...] = ()
    edge: tuple[DataFile, ...] = ()
    straddles: bool = False
    parts: tuple[int, ...] = ()


def choose(files: Iterable[DataFile], as_of: datetime | None, *, by_year: bool = False) -> Choice:
    """Split a table's files at `as_of`; without one everything is whole. by_year: its files lie by year, not month.

    Files whose rows are all after it are none of the session's, so that what has become of them can't show.
    """
    public = (file for file in files if as_of is None or file.lo <= as_of)
    ordered = sorted(public, key=lambda file: (file.lo, file.hi, file.rows, file.size, file.path))
    if as_of is None or not ordered:
        return Choice(whole=tuple(ordered))
    found: dict[tuple[int, int], list[DataFile]] = {}
    for file in ordered:
        year, month = _month(file.lo)
        found.setdefault((year, 0 if by_year else month), []).append(file)
    last = new_york_day(as_of)
    own = (last.year, 0 if by_year else last.month)
    edge = tuple(found.get(own, ()))
    before = sorted(month for month in found if month < own)
    years = groupby((month for month in before if month[0] < own[0]), lambda month: month[0])
    return Choice(
        years=tuple(tuple(tuple(found[month]) for month in year) for _, year in years),
        months=tuple((tuple(found[month]),) for month in before if month[0] == own[0]),
        edge=edge,
        straddles=any(file.hi > as_of for file in edge),
        parts=_months(last.year) if by_year else _days(last.year, last.month),
    )


@lru_cache(maxsize=16_384)
def _month(moment: datetime) -> tuple[int, int]:
    """The year and the month that an instant lies in, in New York."""
    day = new_york_day(moment)
    return day.year, day.month


@lru_cache(maxsize=64)
def _days(year: int, month: int) -> tuple[int, ...]:
    """The starts of the days of a New York month."""
    return tuple(micros(start_of_new_york_day(date(year, month, day + 1))) for day in range(monthrange(year, month)[1]))


@lru_cache(maxsize=64)
def _months(year: int) -> tuple[int, ...]:
    """The starts of the months of a New York year."""
    return tuple(micros(start_of_new_york_day(date(year, month + 1, 1))) for month in range(12))
