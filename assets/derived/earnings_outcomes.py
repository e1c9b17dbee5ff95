"""Builds `earnings_outcomes`: what the price did after each release, by windows of sessions, each public at its end.

Pure over the bars of one lake version, as they were first told: a correction must not move a window. Called by
`assets.derived.bundle_assets`, commands and tests.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from assets.derived.earnings_bundles import Event
from assets.extraction import RunFacts
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

Bar = Mapping[str, Any]


def build(
    lake: Lake,
    wanted: Sequence[Event],
    *,
    run_id: str,
    observed_at: datetime | None = None,
    audits: Sequence[Audit] = (),
) -> RunReport:
    """Build the outcomes of some events and publish them as one commit. Raises LakeError.

    A window that has not ended is neither row nor gap: it comes with a later run.
    """
    observed = observed_at or clock.now()
    symbols = sorted({MARKET, *(event.ticker for event in wanted)})
    with connect(lake=lake, open_mode=True, datasets=["prices"], isolation="in_process") as session:
        found = session.sql(BARS, {"symbols": symbols}).arrow().to_pylist()
    bars: dict[str, list[Bar]] = {symbol: [] for symbol in symbols}
    for bar in found:
        bars[bar["symbol"]].append(bar)
    market = {bar["date"]: bar for bar in bars[MARKET]}

    def fill() -> None:
        for event in wanted:
            rows = [row for row in outcomes(event, bars[event.ticker], market) if row["available_at"] <= observed]
            gaps = [] if rows else [Gap(NO_BARS.type, NO_BARS.reason, f"earnings:{event.accession_no}/outcomes")]
            stage.add(None, pa.Table.from_pylist(rows, staged_schema(DATASET)), gaps, extracted=len(rows) + len(gaps))

    with lake.stage(DATASET, run_id) as stage:
        return concluded(stage, lake, fill, RunFacts(observed_at=observed), lambda: observed, audits)


def outcomes(event: Event, bars: Sequence[Bar], market: Mapping[date, Bar]) -> Iterator[dict[str, Any]]:
    """One row a window that has all its bars. `bars` of the company by date, `market` by date."""
    before = [bar for bar in bars if bar["available_at"] <= event.event_at]
    after = [bar for bar in bars if bar["available_at"] > event.event_at]
    if not before:
        return
    base = before[-1]
    for sessions in WINDOWS:
        if sessions <= len(after):
            yield _row(event, sessions, base, after[sessions - 1], market)


def _row(event: Event, sessions: int, base: Bar, end: Bar, market: Mapping[date, Bar]) -> dict[str, Any]:
    change = _percent(base, end)
    ends = [market.get(bar["date"]) for bar in (base, end)]
    index = [bar for bar in ends if bar is not None]
    market_change = _percent(*index) if len(index) == len(ends) else None
    used = [base, end, *(index if market_change is not None else [])]
    return {
        "accession_no": event.accession_no,
        "ticker": event.ticker,
        "event_at": event.event_at,
        "sessions": sessions,
        "base_date": base["date"],
        "end_date": end["date"],
        "base_close": base["close"],
        "end_close": end["close"],
        "change": change,
        "market_change": market_change,
        "excess": None if market_change is None else change - market_change,
        "evidence_ids": [bar["evidence"] for bar in used],
        "available_at": max(bar["available_at"] for bar in used),
        "available_at_source": DATASET.source_tag,
        "evidence": end["evidence"],
    }


def _percent(base: Bar, end: Bar) -> float:
    return 100.0 * (float(end["close"]) / float(base["close"]) - 1.0)
