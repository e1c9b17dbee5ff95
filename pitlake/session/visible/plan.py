"""Chooses the files of a lake version for a session, by their period.

The choice uses the bounds in the manifest, and the footers of the files then prove it (footer.py).
"""

from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from itertools import groupby

from pitlake.clock import micros, new_york_day, start_of_new_york_day
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables import compacted
from pitlake.lake.tables.compacted import Bound, months_of


@dataclass(frozen=True, slots=True)
class Period:
    """A year or a month, and the files with its rows.

    since, until: its first and last instant, if its files also have rows of other periods. months: the starts of the
    months of a year. All in microseconds since the epoch.
    """

    files: tuple[DataFile, ...]
    since: Bound = None
    until: Bound = None
    months: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen files. In open mode, `whole` has files to use as they are. Otherwise, `years` has the years before
    T's, `months` the earlier months of T's year, oldest first and without rows after T, and `edge` T's month.

    straddles: whether a file of T's month may have rows after T. parts: the starts of the days of T's month (for tables
    by year: the months of its year), in microseconds since the epoch.
    """

    whole: tuple[DataFile, ...] = ()
    years: tuple[Period, ...] = ()
    months: tuple[Period, ...] = ()
    edge: Period = Period(())
    straddles: bool = False
    parts: tuple[int, ...] = ()


def choose(files: Iterable[DataFile], as_of: datetime | None, *, by_year: bool = False) -> Choice:
    """Split a table's files at `as_of`; without it, all files are whole. by_year: whether files are by year, not month.

    Files with only later rows are ignored, so that they can't affect the result.
    """
    public = (file for file in files if as_of is None or file.lo <= as_of)
    ordered = sorted(public, key=lambda file: (file.lo, file.hi, file.rows, file.size, file.path))
    if as_of is None or not ordered:
        return Choice(whole=tuple(ordered))
    last = new_york_day(as_of)
    starts = months_of(last.year)
    years, own = [], []
    for year, each in groupby(ordered, lambda file: _month(file.lo)[0]):
        if year == last.year:
            own = list(each)
        else:
            years.append(Period(tuple(each), months=() if by_year else months_of(year)))
    months = [] if by_year else [_of_month(own, starts, month) for month in range(1, last.month)]
    edge = Period(tuple(own)) if by_year else _of_month(own, starts, last.month)
    return Choice(
        years=tuple(years),
        months=tuple(period for period in months if period.files),
        edge=edge,
        straddles=any(file.hi > as_of for file in edge.files),
        parts=starts if by_year else _days(last.year, last.month),
    )


def _of_month(year: list[DataFile], starts: tuple[int, ...], month: int) -> Period:
    """Return the files of a month among its year's files, which cover one month each or the whole year."""
    first, after = starts[month - 1], starts[month] if month < len(starts) else None
    wide = compacted.reaching((file for file in year if file.of_year), first, None if after is None else after - 1)
    files = (*wide, *(file for file in year if not file.of_year and _month(file.lo)[1] == month))
    if not wide:
        return Period(files)
    return Period(files, None if month == 1 else first, None if after is None else after - 1)


@lru_cache(maxsize=16_384)
def _month(moment: datetime) -> tuple[int, int]:
    """Return the New York year and month of an instant."""
    day = new_york_day(moment)
    return day.year, day.month


@lru_cache(maxsize=64)
def _days(year: int, month: int) -> tuple[int, ...]:
    """Return the starts of the days of a New York month."""
    return tuple(micros(start_of_new_york_day(date(year, month, day + 1))) for day in range(monthrange(year, month)[1]))
