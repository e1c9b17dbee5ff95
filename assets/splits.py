"""Recorded share splits and their effect on prices, for all code that compares prices across a split.

Sources state a split once, twice within a week, or with two ratios: `merged` decides what is certain. `LakeSplits`
reads the lake's records lazily; nothing is written here.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import cached_property
from math import inf, isclose, log
from typing import NamedTuple

from assets.extraction import RunFacts
from pitlake.clock import new_york_day
from pitlake.errors import LakeNotFound
from pitlake.lake.lake import Lake
from pitlake.lake.tables.query import calculator, reading

DATASETS = ("splits", "polygon_splits")
# Sources may date one split on two days that are up to this far apart. Two separate splits with the same ratio are
# never so close together.
SAME_SPLIT_WITHIN = timedelta(days=7)
SAME_RATIO = 1e-3
# A split counts as executed from the close of its day's session, 16 hours after that day's midnight.
UNTIL_CLOSE = timedelta(hours=16)
# The smallest overnight move that may be an unrecorded split: that of a 3:2 split, less a tenth for the night's own
# move. On 12,147 nights, five large companies moved as much without a split only once.
ODD_JUMP = log(1.35)
# If the market moves a price so far, the traded shares and the traded money are at least this many times those of the
# day before. A split changes neither. Without such a move, volume grows by as much on 5 of 1,000 nights.
ODD_VOLUME = log(3)
# The largest move that volume can explain: that of a 2:1 split, plus a tenth for the night's own move. Only a recorded
# split explains a larger one.
MOST_MOVE = log(2.2)
# The smallest return over a window that a 2:1 split may have caused. The volume in a window is unknown.
ODD_RETURN = log(2) - 0.1
# A smaller split can't be distinguished from an ordinary overnight move.
LEAST_SPLIT = log(1.2)

STATED = """
SELECT ticker, execution_date, split_to / split_from AS ratio FROM {rows} e
WHERE split_from > 0 AND split_to > 0
QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY e.available_at DESC, content_hash DESC) = 1
"""


Stated = tuple[date, float | None]
Volumes = tuple[float | None, float | None]


class Split(NamedTuple):
    """One split: the first and the last stated day of execution, and the number of shares after it for one share
    before. ratio: None if sources disagree or none states it.
    """

    first: date
    last: date
    ratio: float | None


def merged(statements: Iterable[Stated]) -> tuple[Split, ...]:
    """Merge statements on one ticker, each a day and a ratio, into its splits, in order of days."""
    distinct = set(statements)
    settled = {day for day, ratio in distinct if ratio is not None}
    splits: list[Split] = []
    for day, ratio in sorted(
        (statement for statement in distinct if statement[1] or statement[0] not in settled), key=_order
    ):
        for place, split in enumerate(splits):
            if split.first == split.last == day and not _same(split.ratio, ratio):
                splits[place] = Split(day, day, None)
                break
            if day - split.last <= SAME_SPLIT_WITHIN and _same(split.ratio, ratio):
                splits[place] = Split(split.first, day, ratio)
                break
        else:
            splits.append(Split(day, day, ratio))
    return tuple(splits)


def between(splits: Sequence[Split], after: date, until: date) -> float | None:
    """Return the number of shares that one share of `after` is on `until`; None if a split in between is uncertain."""
    shares = 1.0
    for split in splits:
        if split.last <= after or split.first > until:
            continue
        if split.ratio is None or not after < split.first <= split.last <= until:
            return None
        shares *= split.ratio
    return shares


def plausible(close: float, opening: float, shares: float, volumes: Volumes = (None, None)) -> bool:
    """Return whether one close and the next bar's opening fit a split of this ratio in between.

    volumes: of both bars, None or 0 if unknown. sql/macros/goes_on.sql implements the same rule.
    """
    move, split = log(opening * shares / close), log(shares)
    before, after = volumes
    traded = log(after / before) - split if before and after else -inf
    return fits(move, split) and _of_the_market(move, traded)


def _of_the_market(move: float, traded: float) -> bool:
    return abs(move) < ODD_JUMP or (abs(move) < MOST_MOVE and min(traded, traded + move) >= ODD_VOLUME)


def fits(move: float, split: float) -> bool:
    """Return whether a move is small enough that the split happened; a very small split always fits.

    move: logarithmic, with the effect of the split on a share undone. split: logarithmic, 0 for none.
    """
    return abs(split) < LEAST_SPLIT or abs(move) < abs(split) / 2


def per_share_since(ticker: str, public_at: datetime, run: RunFacts) -> datetime:
    """Return when a provider's figure per share counts as public.

    This is `public_at`, unless a split has happened between that instant and the fetch. The figure then counts from the
    fetch, because providers restate their history at every split.
    """
    if run.splits is None or run.fetched_at is None or run.fetched_at <= public_at:
        return public_at
    shares = run.splits(ticker, new_york_day(public_at - UNTIL_CLOSE), new_york_day(run.fetched_at))
    return public_at if shares == 1.0 else run.fetched_at


def _order(statement: Stated) -> tuple[date, float]:
    return statement[0], statement[1] or 0.0


def _same(ratio: float | None, other: float | None) -> bool:
    return ratio is other or (ratio is not None and other is not None and isclose(ratio, other, rel_tol=SAME_RATIO))


class LakeSplits:
    """The splits of one lake version, the newest at the first question."""

    def __init__(self, lake: Lake, datasets: Sequence[str] = DATASETS) -> None:
        self._lake, self._datasets = lake, datasets

    @cached_property
    def statements(self) -> Mapping[str, list[Stated]]:
        """Return day and ratio of every stated split, by ticker."""
        from pitlake.datasets import get

        statements: dict[str, list[Stated]] = {}
        try:
            snapshot = self._lake.snapshot()
        except LakeNotFound:
            return statements
        for name in self._datasets:
            files = snapshot.files(name)
            if files:
                snapshot.fetch(files)
                sql = STATED.format(rows=reading(files), key=", ".join(get(name).key))
                with calculator() as connection:
                    for ticker, day, ratio in connection.sql(sql).fetchall():
                        statements.setdefault(ticker, []).append((day, ratio))
        return statements

    def __call__(self, ticker: str, after: date, until: date) -> float | None:
        """Return the number of shares that one share of `after` is on `until`; None if a split in between is
        uncertain.
        """
        return between(merged(self.statements.get(ticker, ())), after, until)
