"""Builds `earnings_outcomes`: the price changes after each release over windows of sessions, each public at its end.

Only the exchange's calendar decides which sessions a window has. The bars come from one lake version, as first
published, because a correction must not move a window. They are as traded, so splits within a window are applied.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from math import log, prod
from typing import Any, NamedTuple

import pyarrow as pa

from assets.derived.earnings_bundles import MOST_DAYS_SHUT, Event
from assets.runs import RunReport, concluded
from assets.splits import DATASETS as SPLITS
from assets.splits import SAME_SPLIT_WITHIN, plausible, strays
from pitlake import clock
from pitlake.contract import GapRule
from pitlake.datasets.earnings_outcomes import DATASET, NO_BARS, NO_BASIS
from pitlake.exchange import session as exchange_session
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import Audit
from pitlake.lake.publishing.stage import StagedGap, staged_schema
from pitlake.session import connect

WINDOWS = (1, 2, 5, 10, 20)
MARKET = "SPY"
BARS = """
SELECT symbol, date, coalesce(nullif(open, 0), close) AS open, close, volume, available_at, evidence
FROM prices_revisions
WHERE close > 0 AND list_contains($symbols::VARCHAR[], symbol)
QUALIFY row_number() OVER (PARTITION BY symbol, date ORDER BY entity_kind, entity_id, available_at, evidence) = 1
ORDER BY symbol, date
"""

SPLITS_OF = "FROM splits_of($symbols::VARCHAR[])"
BARS_ARRIVE_WITHIN = timedelta(days=7)

Bar = Mapping[str, Any]


class Series(NamedTuple):
    """One symbol's bars by date, in order, and its splits."""

    bars: dict[date, Bar]
    splits: list[Mapping[str, Any]]


class Change(NamedTuple):
    """A symbol's change over a window: the percentage, the shares that one share became, and its bars and splits."""

    percent: float
    shares: float
    used: list[Mapping[str, Any]]


class Window(NamedTuple):
    """Trading sessions after a release: the days of the first and last close, and the last close's instant."""

    sessions: int
    base: date
    end: date
    closed_at: datetime


def build(
    lake: Lake,
    events: Sequence[Event],
    *,
    run_id: str,
    observed_at: datetime | None = None,
    audits: Sequence[Audit] = (),
) -> RunReport:
    """Build the outcomes of some events and publish them as one commit. Raises LakeError.

    A window that has not ended, or whose bars may still arrive, is neither a row nor a gap. A later run adds it. If
    bars are missing a week after its end, it becomes a gap.
    """
    observed = observed_at or lake.now()
    symbols = sorted({MARKET, *(event.ticker for event in events)})
    series = {symbol: Series({}, []) for symbol in symbols}
    with connect(lake=lake, open_mode=True, datasets=["prices", *SPLITS], isolation="in_process") as session:
        for bar in session.sql(BARS, {"symbols": symbols}).arrow().to_pylist():
            series[bar["symbol"]].bars[bar["date"]] = bar
        for split in session.sql(SPLITS_OF, {"symbols": symbols}).arrow().to_pylist():
            series[split["ticker"]].splits.append(split)

    def fill() -> None:
        for event in events:
            rows, gaps = [], []
            for window in windows(event.event_at):
                row = outcome(event, window, series[event.ticker], series[MARKET])
                if not isinstance(row, GapRule):
                    if row["available_at"] <= observed:
                        rows.append(row)
                elif window.closed_at + BARS_ARRIVE_WITHIN <= observed:
                    locator = f"earnings:{event.accession_no}/outcomes/{window.sessions}"
                    gaps.append(StagedGap(row.type, row.reason, locator))
            stage.add(None, pa.Table.from_pylist(rows, staged_schema(DATASET)), gaps, extracted=len(rows) + len(gaps))

    with lake.stage(DATASET, run_id) as stage:
        return concluded(stage, lake, fill, lambda: observed, audits)


def windows(event_at: datetime) -> Iterator[Window]:
    """Yield the windows of a release, each from the last close before the release to the n-th close after it, by the
    exchange's sessions.
    """
    day = clock.new_york_day(event_at)
    around = [day + timedelta(days=offset) for offset in range(-MOST_DAYS_SHUT, 2 * WINDOWS[-1] + MOST_DAYS_SHUT)]
    closes = [(each, session.close) for each in around if (session := exchange_session(each)) is not None]
    before = [each for each, close in closes if close <= event_at]
    after = [(each, close) for each, close in closes if close > event_at]
    if before:
        for sessions in WINDOWS:
            yield Window(sessions, before[-1], *after[sessions - 1])


def outcome(event: Event, window: Window, series: Series, market: Series) -> dict[str, Any] | GapRule:
    """Return the row of one window, or the rule of its gap."""
    change, of_market = changed(series, window), changed(market, window)
    if isinstance(change, GapRule):
        return change
    base, end = change.used[:2]
    market_percent, market_used = (None, []) if isinstance(of_market, GapRule) else (of_market.percent, of_market.used)
    used = [*change.used, *market_used]
    return {
        "accession_no": event.accession_no,
        "ticker": event.ticker,
        "event_at": event.event_at,
        "sessions": window.sessions,
        "base_date": base["date"],
        "end_date": end["date"],
        "base_close": base["close"],
        "end_close": end["close"],
        "split_factor": change.shares,
        "change": change.percent,
        "market_change": market_percent,
        "excess": None if market_percent is None else change.percent - market_percent,
        "evidence_ids": [evidence for part in used for evidence in part.get("evidence_ids", [part.get("evidence")])],
        "available_at": max(event.public_at, window.closed_at, *(part["available_at"] for part in used)),
        "available_at_source": DATASET.source_tag,
        "evidence": end["evidence"],
    }


def changed(series: Series, window: Window) -> Change | GapRule:
    """Return a symbol's change over a window, or a gap rule if the change is unknown."""
    base, end = series.bars.get(window.base), series.bars.get(window.end)
    if base is None or end is None:
        return NO_BARS
    splits = _executed(series.splits, window.base, window.end)
    around = _executed(series.splits, window.base - SAME_SPLIT_WITHIN, window.end)
    if any(split["ratio"] is None for split in splits) or not _whole(series, window, around):
        return NO_BASIS
    shares = prod(split["ratio"] for split in splits)
    return Change(100.0 * (end["close"] * shares / base["close"] - 1.0), shares, [base, end, *splits])


def _whole(series: Series, window: Window, splits: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a price series is unbroken over every night of a window.

    A series is also broken by a move that looks like a split that was recorded in the week before without an effect on
    its own night, or like a split recorded within a week.
    """
    unseen: list[tuple[date, float]] = []
    path = [bar for day, bar in series.bars.items() if window.base - SAME_SPLIT_WITHIN <= day <= window.end]
    for bar, after in pairwise(path):
        shares = prod(split["ratio"] or 1.0 for split in _executed(splits, bar["date"], after["date"]))
        night = bar["close"], after["open"], shares
        volumes = bar["volume"], after["volume"]
        fits = plausible(*night, volumes) and not any(
            strays(*night, split["ratio"] or 1.0, volumes)
            for split in splits
            if abs(split["execution_date"] - after["date"]) <= SAME_SPLIT_WITHIN
        )
        move = abs(log(after["open"] * shares / bar["close"]))
        doubtful = any(bar["date"] - day <= SAME_SPLIT_WITHIN and move >= size / 2 for day, size in unseen)
        if bar["date"] >= window.base and (doubtful or not fits):
            return False
        if shares != 1.0 and not fits:
            unseen.append((bar["date"], abs(log(shares))))
    return True


def _executed(splits: Sequence[Mapping[str, Any]], after: date, until: date) -> list[Mapping[str, Any]]:
    return [split for split in splits if after < split["execution_date"] <= until]
