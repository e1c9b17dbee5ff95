"""Recorded share splits and their effect on prices, for all code that compares prices across a split.

Sources report a split once, twice within a week, or with two ratios. `merged` decides what is certain. `LakeSplits`
reads the lake's records lazily. Only polls prove that there was no split. This module writes nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import cached_property, lru_cache
from math import inf, isclose, log
from typing import Any, NamedTuple

from assets.extraction import RunFacts
from pitlake.clock import new_york_day
from pitlake.contract import gap_table_name
from pitlake.errors import LakeNotFound
from pitlake.lake.lake import Lake
from pitlake.lake.storage.manifest import Snapshot
from pitlake.questions.polled_days import ONE_DAY, SPLITS, PolledDays, Span, rows_of
from pitlake.questions.tickers import Tickers, spelled

DATASETS = ("splits", "polygon_splits")
EVIDENCE = (*DATASETS, "sec_facts", "companies", "names")
"""The datasets that a figure per share needs first, because they show whether its company had splits."""
# Sources may date one split on two days that are up to this far apart. Separate splits with the same ratio are never
# this close.
SAME_SPLIT_WITHIN = timedelta(days=7)
SAME_RATIO = 1e-3
# A split is executed at the close of its day's session, 16 hours after midnight.
UNTIL_CLOSE = timedelta(hours=16)
# The smallest overnight move that may be an unrecorded split: a 3:2 split, less a tenth for the night's own move. On
# 12,147 nights, five large companies moved this much without a split only once.
ODD_JUMP = log(1.35)
# If the market moves a price so far, the traded shares and the traded money are at least this many times the previous
# day's. A split changes neither. Without such a move, volume grows this much on 5 of 1,000 nights.
ODD_VOLUME = log(3)
# The largest move that volume can explain: a 2:1 split, plus a tenth for the night's own move. Only a recorded split
# explains a larger move.
MOST_MOVE = log(2.2)
# The smallest return over a window that a 2:1 split may have caused. A window's volume is unknown.
ODD_RETURN = log(2) - 0.1
# A smaller split can't be distinguished from an ordinary overnight move.
LEAST_SPLIT = log(1.2)

STATED = """
SELECT [ticker, {cik}], execution_date, split_to / split_from AS ratio FROM {rows} e
WHERE split_from > 0 AND split_to > 0
QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY e.available_at DESC, content_hash DESC) = 1
"""
# A record that became a gap may be a split too. The source stated its ticker and usually its day.
WITHHELD = """
SELECT DISTINCT [ticker], day, NULL FROM (
    SELECT
        url_decode(coalesce(
            nullif(regexp_extract(locator, '&item=([^&/]+)', 1), ''),
            nullif(regexp_extract(locator, '^neo4j:Split:([^_]+)_', 1), '')
        )) AS ticker,
        coalesce(try_cast(regexp_extract(locator, '&day=([^&]+)', 1) AS DATE), try_cast(partition AS DATE)) AS day
    FROM {rows}
) WHERE ticker IS NOT NULL
"""
RATIO = "us-gaap:StockholdersEquityNoteStockSplitConversionRatio1"
# EDGAR's facts state a split in later filings, for a period near the split.
REPORTED = """
SELECT cik, min(coalesce(period_start, period_end)), min(coalesce(filing_date, available_at::DATE)), value_number
FROM {rows} WHERE concept = $concept AND value_number > 0 AND period_end IS NOT NULL
GROUP BY cik, period_end, value_number
"""

Stated = tuple[date, float | None]
Volumes = tuple[float | None, float | None]


class Split(NamedTuple):
    """A split: the first and the last stated day of execution, and the number of new shares per old share. ratio: None
    if sources disagree or no source gives it.
    """

    first: date
    last: date
    ratio: float | None


def merged(statements: Iterable[Stated]) -> tuple[Split, ...]:
    """Merge statements about one ticker, each with a day and a ratio, into its splits, in order of days."""
    distinct = set(statements)
    settled = {day for day, ratio in distinct if ratio is not None}
    splits: list[Split] = []
    for day, ratio in sorted(
        (statement for statement in distinct if statement[1] or statement[0] not in settled),
        key=lambda statement: (statement[0], statement[1] or 0.0),
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


def dated(statements: Iterable[tuple[date | None, float | None]]) -> Iterator[Stated]:
    """Yield the statements with a day."""
    return ((day, ratio) for day, ratio in statements if day is not None)


def between(splits: Sequence[Split], after: date, until: date) -> float | None:
    """Return the shares on `until` that one share of `after` has become; None if a split in between is uncertain."""
    shares = 1.0
    for split in splits:
        if split.last <= after or split.first > until:
            continue
        if split.ratio is None or not after < split.first <= split.last <= until:
            return None
        shares *= split.ratio
    return shares


def plausible(close: float, opening: float, shares: float, volumes: Volumes = (None, None)) -> bool:
    """Return whether a close and the next bar's opening are consistent with a split of this ratio in between.

    volumes: the volumes of both bars, None or 0 if unknown. sql/macros/goes_on.sql implements the same rule.
    """
    move, traded = _overnight(close, opening, shares, volumes)
    return fits(move, log(shares)) and (abs(move) < ODD_JUMP or _of_the_market(move, traded))


def strays(close: float, opening: float, shares: float, near: float, volumes: Volumes = (None, None)) -> bool:
    """Return whether a price moves as much as a split recorded near this night would, and volume does not explain it.

    near: the ratio of that split. A bar may then be on another day's basis. sql/macros/goes_on.sql has the same rule.
    """
    move, traded = _overnight(close, opening, shares, volumes)
    return resembles(move, near) and not _of_the_market(move, traded)


def resembles(move: float, ratio: float) -> bool:
    """Return whether a logarithmic move is about as large as the effect of a split of this ratio, in any direction."""
    size = abs(log(ratio))
    return size >= LEAST_SPLIT and abs(abs(move) - size) <= size / 4


def _overnight(close: float, opening: float, shares: float, volumes: Volumes) -> tuple[float, float]:
    """Return the logarithmic moves of price and volume, with the effect of the split undone."""
    before, after = volumes
    return log(opening * shares / close), log(after / before) - log(shares) if before and after else -inf


def _of_the_market(move: float, traded: float) -> bool:
    return abs(move) < MOST_MOVE and min(traded, traded + move) >= ODD_VOLUME


def fits(move: float, split: float) -> bool:
    """Return whether a move is small enough to fit a split. A very small split always fits.

    move: the logarithmic move without the effect of the split. split: the logarithmic ratio, 0 for none.
    """
    return abs(split) < LEAST_SPLIT or abs(move) < abs(split) / 2


def per_share_since(ticker: str, public_at: datetime, run: RunFacts) -> datetime:
    """Return the instant from which a provider's figure per share is available.

    This is the fetch, because providers restate their history at every split. It is `public_at` only if polls of the
    company's splits prove that there was no split between `public_at` and the fetch.
    """
    if run.fetched_at is None or run.fetched_at <= public_at:
        return public_at
    since, until = new_york_day(public_at - UNTIL_CLOSE), new_york_day(run.fetched_at)
    return public_at if run.splits is not None and run.splits(ticker, since, until) == 1.0 else run.fetched_at


def _same(ratio: float | None, other: float | None) -> bool:
    return ratio is other or (ratio is not None and other is not None and isclose(ratio, other, rel_tol=SAME_RATIO))


class LakeSplits:
    """The splits of one lake version: the newest one at the first use."""

    def __init__(self, lake: Lake, datasets: Sequence[str] = DATASETS) -> None:
        self._lake, self._datasets = lake, datasets
        self._companies = lru_cache(maxsize=None)(self._company)

    @cached_property
    def _snapshot(self) -> Snapshot:
        try:
            return self._lake.snapshot()
        except LakeNotFound:
            return Snapshot(0)

    @cached_property
    def statements(self) -> Mapping[str, list[tuple[date | None, float | None]]]:
        """Day and ratio of every stated split, by ticker and by CIK. A withheld record may have no day."""
        from pitlake.datasets import get

        statements: dict[str, list[tuple[date | None, float | None]]] = {}
        for name in self._datasets:
            cik = "cik" if name == "splits" else "NULL"
            for names, day, ratio in (
                *self._rows(name, STATED, key=", ".join(get(name).key), cik=cik),
                *self._rows(gap_table_name(name), WITHHELD),
            ):
                for company in filter(None, names):
                    statements.setdefault(company, []).append((day, ratio))
        return statements

    @cached_property
    def _stated(self) -> Mapping[str, list[tuple[date | None, float | None]]]:
        """The same statements, by the canonical form of tickers."""
        by_name: dict[str, list[tuple[date | None, float | None]]] = {}
        for name, statements in self.statements.items():
            by_name.setdefault(spelled(name), []).extend(statements)
        return by_name

    @cached_property
    def _reported(self) -> Mapping[str, list[Split]]:
        """The splits that filings state, by CIK, each with the days between which it may have been executed."""
        reported: dict[str, list[Split]] = {}
        for cik, day, filed, ratio in self._rows("sec_facts", REPORTED, {"concept": RATIO}):
            reported.setdefault(cik, []).append(Split(min(day - SAME_SPLIT_WITHIN, filed), filed, ratio))
        return reported

    def __call__(self, ticker: str, after: date, until: date) -> float | None:
        """Return the number of shares on `until` that one share of `after` has become.

        None if a split in between is uncertain, or if no poll of the company's splits covers one of these days. A
        split on the day after `until` is included, because a source may restate its figures on the evening before.
        """
        splits, polled = self._companies(spelled(ticker))
        if after < until and not any(first <= after + ONE_DAY and until <= last for first, last in polled):
            return None
        return between(splits, after, until + ONE_DAY)

    def _company(self, ticker: str) -> tuple[Sequence[Split], Sequence[Span]]:
        """Return the splits of a ticker's company under any ticker, and the days that polls cover."""
        ciks = self._tickers.resolve(ticker, None).ciks
        names = {ticker, *ciks, *(name for cik in ciks for name in self._tickers.every(cik))}
        statements = [statement for name in names for statement in self._stated.get(name, ())]
        undated = [Split(date.min, date.max, None) for day, _ in statements if day is None]
        splits = merged(dated(statements))
        unconfirmed = [
            Split(reported.first, _executed_by(reported, self._polled.restated(cik)), None)
            for cik in ciks
            for reported in self._reported.get(cik, ())
            if not any(_confirms(split, reported) for split in splits)
        ]
        return (*splits, *undated, *unconfirmed), self._polled.of(ticker, ciks, self._tickers)

    @cached_property
    def _tickers(self) -> Tickers:
        return Tickers(self._snapshot)

    @cached_property
    def _polled(self) -> PolledDays:
        return PolledDays(self._lake, self._snapshot, SPLITS)

    def _rows(
        self, table: str, question: str, parameters: dict[str, Any] | None = None, **names: str
    ) -> list[tuple[Any, ...]]:
        return rows_of(self._snapshot, table, question, parameters, **names)


def _executed_by(reported: Split, restated: Sequence[Span]) -> date:
    """Return the last day on which a reported split may have been executed. restated: days without any split."""
    starts = [first for first, last in restated if first <= reported.last <= last + ONE_DAY]
    return max(reported.first, min((first - ONE_DAY for first in starts), default=reported.last))


def _confirms(split: Split, reported: Split) -> bool:
    """Return whether a stated split is the one that filings report, possibly with an inverted ratio."""
    near = reported.first <= split.first and split.last <= reported.last
    ratio = reported.ratio or 1.0
    return near and (_same(split.ratio, ratio) or _same(split.ratio, 1 / ratio))
