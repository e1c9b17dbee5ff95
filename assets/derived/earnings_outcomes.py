"""Builds `earnings_outcomes`: what the price did after each release, by windows of sessions, each public at its end.

Which sessions a window has is the exchange's calendar alone; the bars are those of one lake version, as they were first
told: a correction must not move a window. Called by `assets.derived.bundle_assets`, commands and tests.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa

from assets.derived.earnings_bundles import MOST_DAYS_SHUT, Event
from assets.external.sessions import session as exchange_session
from assets.runs import RunReport, concluded
from pitlake import clock
from pitlake.datasets.earnings_outcomes import DATASET, NO_BARS
from pitlake.lake.audit import Audit
from pitlake.lake.lake import Lake
from pitlake.lake.stage import Gap, staged_schema
from pitlake.session import connect

WINDOWS = (1, 2, 5, 10, 20)
MARKET = "SPY"
BARS = """
SELECT symbol, date, close, available_at, evidence FROM prices_revisions
WHERE close > 0 AND list_contains($symbols::VARCHAR[], symbol)
QUALIFY row_number() OVER (PARTITION BY symbol, date ORDER BY entity_kind, entity_id, available_at, evidence) = 1
ORDER BY symbol, date
"""

BARS_ARRIVE_WITHIN = timedelta(days=7)

Bar = Mapping[str, Any]


class Window(NamedTuple):
    """So many sessions after a release: the days of its first and its last close, and when that last one is."""

    sessions: int
    base: date
    end: date
    closed_at: datetime


def build(
    lake: Lake,
    wanted: Sequence[Event],
    *,
    run_id: str,
    observed_at: datetime | None = None,
    audits: Sequence[Audit] = (),
) -> RunReport:
    """Build the outcomes of some events and publish them as one commit. Raises LakeError.

    A window that has not ended is neither row nor gap: it comes with a later run. Nor is one whose bars may be on their
    way; a week after its end it is a gap.
    """
    observed = observed_at or lake.now()
    symbols = sorted({MARKET, *(event.ticker for event in wanted)})
    with connect(lake=lake, open_mode=True, datasets=["prices"], isolation="in_process") as session:
        found = session.sql(BARS, {"symbols": symbols}).arrow().to_pylist()
    bars: dict[str, dict[date, Bar]] = {symbol: {} for symbol in symbols}
    for bar in found:
        bars[bar["symbol"]][bar["date"]] = bar

    def fill() -> None:
        for event in wanted:
            rows, gaps = [], []
            for window in windows(event.event_at):
                row = outcome(event, window, bars[event.ticker], bars[MARKET])
                if row is not None and row["available_at"] <= observed:
                    rows.append(row)
                elif row is None and window.closed_at + BARS_ARRIVE_WITHIN <= observed:
                    locator = f"earnings:{event.accession_no}/outcomes/{window.sessions}"
                    gaps.append(Gap(NO_BARS.type, NO_BARS.reason, locator))
            stage.add(None, pa.Table.from_pylist(rows, staged_schema(DATASET)), gaps, extracted=len(rows) + len(gaps))

    with lake.stage(DATASET, run_id) as stage:
        return concluded(stage, lake, fill, lambda: observed, audits)


def windows(event_at: datetime) -> Iterator[Window]:
    """The windows of a release, by the exchange's sessions: from the last close up to it to the n-th after it."""
    day = clock.new_york_day(event_at)
    around = [day + timedelta(days=offset) for offset in range(-MOST_DAYS_SHUT, 2 * WINDOWS[-1] + MOST_DAYS_SHUT)]
    closes = [(each, found.close) for each in around if (found := exchange_session(each)) is not None]
    before = [each for each, close in closes if close <= event_at]
    after = [(each, close) for each, close in closes if close > event_at]
    if before:
        for sessions in WINDOWS:
            yield Window(sessions, before[-1], *after[sessions - 1])


def outcome(
    event: Event, window: Window, bars: Mapping[date, Bar], market: Mapping[date, Bar]
) -> dict[str, Any] | None:
    """The row of one window, None without a bar on either of its days. `bars` of the company by date, `market` too."""
    base, end = bars.get(window.base), bars.get(window.end)
    return None if base is None or end is None else _row(event, window, base, end, market)


def _row(event: Event, window: Window, base: Bar, end: Bar, market: Mapping[date, Bar]) -> dict[str, Any]:
    change = _percent(base, end)
    ends = [market.get(bar["date"]) for bar in (base, end)]
    index = [bar for bar in ends if bar is not None]
    market_change = _percent(*index) if len(index) == len(ends) else None
    used = [base, end, *(index if market_change is not None else [])]
    return {
        "accession_no": event.accession_no,
        "ticker": event.ticker,
        "event_at": event.event_at,
        "sessions": window.sessions,
        "base_date": base["date"],
        "end_date": end["date"],
        "base_close": base["close"],
        "end_close": end["close"],
        "change": change,
        "market_change": market_change,
        "excess": None if market_change is None else change - market_change,
        "evidence_ids": [bar["evidence"] for bar in used],
        "available_at": max(window.closed_at, *(bar["available_at"] for bar in used)),
        "available_at_source": DATASET.source_tag,
        "evidence": end["evidence"],
    }


def _percent(base: Bar, end: Bar) -> float:
    return 100.0 * (float(end["close"]) / float(base["close"]) - 1.0)
