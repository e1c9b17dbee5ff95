"""Calibration: how the settled forecasts of each category came out, written where the agent reads its marks.

Forecasts that a model may have known the answer of are never counted with those it can't have known.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.effects import CODE
from forge.records import KINDS, Band, Calibration, Cell, Settlement, render
from forge.tracking.scores import FEWEST, Scores, scores
from forge.tracking.settlement import ANSWERED, hydrated, settlements
from pitlake.clock import new_york_day

HORIZONS = ((31, "to 1 month"), (92, "to 3 months"), (366, "to 12 months"))
LONGER = "over 12 months"
SHOWN = ("brier", "base_brier", "log_score", "ece", "null_ece")
CLEANEST_FIRST = ("clean", "partial", "exposed")


def calibrate(memory: Memory, at: datetime) -> list[Calibration]:
    """Measure every category that has a settled forecast as of an instant; the records that changed."""
    known = hydrated(memory, at)
    files, made = ForgeFS(memory, known, actor=CODE), []
    settled: dict[str, list[Settlement]] = defaultdict(list)
    for one in settlements(known):
        if one.status in ANSWERED and not one.restates:
            settled[one.category].append(one)
    for category, found in sorted(settled.items()):
        path, record = KINDS["calibration"].path(category), measured(category, found)
        row = known.newest(path)
        before = cast("Calibration", known.record(row)) if row else None
        if before is None or replace(before, updated=None) != record:
            call = f"{category}:{row.seq if row else 0}"
            written = files.write_file(path, render(record), call_id=call)
            made.append(cast("Calibration", known.record(written.rows[0])))
    return made


def measured(category: str, settled: Sequence[Settlement]) -> Calibration:
    """The record of one category: the cleanest forecasts there are enough of, and a cell for each kind."""
    cells: dict[tuple[str, str, str], list[Settlement]] = defaultdict(list)
    exposures: dict[str, list[Settlement]] = defaultdict(list)
    for one in settled:
        cells[horizon(one), one.source, one.exposure].append(one)
        exposures[one.exposure].append(one)
    listed = tuple(_cell(*key, found) for key, found in sorted(cells.items()))
    enough = [name for name in CLEANEST_FIRST if len(exposures[name]) >= FEWEST]
    if not enough:
        return Calibration(id=category, forecasts=len(settled), cells=listed)
    found = _scores(exposures[enough[0]])
    bands = tuple(
        Band(
            low=band.low,
            high=band.high,
            forecasts=band.count,
            bias=_round(band.forecast - band.came_true),
            least=_round(band.least),
            most=_round(band.most),
        )
        for band in found.bands
    )
    return Calibration(
        id=category,
        forecasts=found.count,
        status="measured",
        brier=_round(found.brier),
        worst_bias=max((band.bias for band in bands if band.forecasts >= FEWEST // 3), key=abs, default=None),
        ece=_round(found.ece),
        null_ece=_round(found.null_ece),
        base_brier=_round(found.base_brier),
        log_score=_round(found.log_score),
        reliability=_round(found.reliability),
        resolution=_round(found.resolution),
        exposure=enough[0],
        bands=bands,
        cells=listed,
    )


def horizon(one: Settlement) -> str:
    """How far ahead it was said."""
    days = (one.by - new_york_day(one.stated_at)).days
    return next((name for most, name in HORIZONS if days <= most), LONGER)


def _cell(ahead: str, source: str, exposure: str, found: Sequence[Settlement]) -> Cell:
    cell = Cell(horizon=ahead, source=source, exposure=exposure, forecasts=len(found))
    if len(found) < FEWEST:
        return cell
    told = _scores(found)
    figures: dict[str, Any] = {name: _round(getattr(told, name)) for name in SHOWN}
    return replace(cell, **figures)


def _scores(found: Sequence[Settlement]) -> Scores:
    return scores([one.probability for one in found], [one.status == "came_true" for one in found])


def _round(value: float) -> float:
    return round(value, 6)
