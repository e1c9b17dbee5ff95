"""Calibration: computes the scores of settled forecasts by category and writes them to memory for the agent.

Forecasts whose answer a model may have seen in training are never mixed with the others.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from statistics import mean, median
from typing import Any, cast

from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.effects import CODE
from forge.records import KINDS, Band, Calibration, Cell, Settlement, render
from forge.tracking.scores import FEWEST, Scores, log_score_of, scores, skill
from forge.tracking.settlement import ANSWERED, settlements, whole_memory
from pitlake.clock import new_york_day

HORIZONS = ((31, "to 1 month"), (92, "to 3 months"), (366, "to 12 months"))
LONGER = "over 12 months"
RULE_BLANKS = 2
SHOWN = ("brier", "base_brier", "log_score", "ece", "null_ece")
CLEANEST_FIRST = ("clean", "partial", "exposed")


def calibrate(memory: Memory, at: datetime) -> list[Calibration]:
    """Score every category that has a settled forecast as of an instant, and return the records that changed."""
    remembered = whole_memory(memory, at)
    files, changed = ForgeFS(memory, remembered, actor=CODE), []
    settled: dict[str, list[Settlement]] = defaultdict(list)
    for settlement in settlements(remembered):
        if settlement.status in ANSWERED and not settlement.restates:
            settled[settlement.category].append(settlement)
    for category, of_category in sorted(settled.items()):
        path, record = KINDS["calibration"].path(category), measure_category(category, of_category)
        row = remembered.newest(path)
        before = cast("Calibration", remembered.record(row)) if row else None
        if before is None or replace(before, updated=None) != record:
            call = f"{category}:{row.seq if row else 0}"
            write = files.write_file(path, render(record), call_id=call)
            changed.append(cast("Calibration", remembered.record(write.rows[0])))
    return changed


def measure_category(category: str, settled: Sequence[Settlement]) -> Calibration:
    """Return the record of one category: the scores of its cleanest forecasts, and a cell for each kind."""
    repeats = len(settled) - len(distinct(settled))
    settled = distinct(settled)
    cells: dict[tuple[str, str, str], list[Settlement]] = defaultdict(list)
    exposures: dict[str, list[Settlement]] = defaultdict(list)
    for settlement in settled:
        cells[horizon(settlement), settlement.source, settlement.exposure].append(settlement)
        exposures[settlement.exposure].append(settlement)
    cell_records = list[Cell]()
    for (ahead, source, exposure), of_cell in sorted(cells.items()):
        cell = Cell(horizon=ahead, source=source, exposure=exposure, forecasts=len(of_cell))
        if len(of_cell) >= FEWEST:
            cell_scores = _scores(of_cell)
            figures: dict[str, Any] = {name: _round(getattr(cell_scores, name)) for name in SHOWN}
            cell = replace(cell, **figures, skill=_skill(of_cell).get("skill"))
        cell_records.append(cell)
    enough = [name for name in CLEANEST_FIRST if len(exposures[name]) >= FEWEST]
    if not enough:
        return Calibration(id=category, forecasts=len(settled), repeats=repeats, cells=tuple(cell_records))
    counted = exposures[enough[0]]
    leads = [settlement.lead_days for settlement in counted if settlement.lead_days is not None]
    cleanest = _scores(counted)
    judged = [settlement for settlement in counted if settlement.scenario_brier is not None]
    scenario_scores: dict[str, Any] = {"scenario_forecasts": len(judged)}
    if len(judged) >= FEWEST:
        briers = [cast("float", settlement.scenario_brier) for settlement in judged]
        logs = [log_score_of(cast("float", settlement.scenario_probability)) for settlement in judged]
        scenario_scores |= {"scenario_brier": _round(mean(briers)), "scenario_log_score": _round(mean(logs))}
    bands = tuple(
        Band(
            low=band.low,
            high=band.high,
            forecasts=band.count,
            bias=_round(band.forecast - band.came_true),
            least=_round(band.least),
            most=_round(band.most),
        )
        for band in cleanest.bands
    )
    return Calibration(
        id=category,
        forecasts=cleanest.count,
        status="measured",
        brier=_round(cleanest.brier),
        worst_bias=max((band.bias for band in bands if band.forecasts >= FEWEST // 3), key=abs, default=None),
        ece=_round(cleanest.ece),
        null_ece=_round(cleanest.null_ece),
        base_brier=_round(cleanest.base_brier),
        log_score=_round(cleanest.log_score),
        reliability=_round(cleanest.reliability),
        resolution=_round(cleanest.resolution),
        exposure=enough[0],
        repeats=repeats,
        **_skill(counted),
        **scenario_scores,
        right_forecasts=len(leads),
        lead_days=_round(median(leads)) if leads else None,
        bands=bands,
        cells=tuple(cell_records),
    )


def distinct(settled: Iterable[Settlement]) -> list[Settlement]:
    """Return one settlement per question and author, for the first forecast.

    Rules about the same row and day that differ only in how they are written are the same question.
    """
    firsts: dict[tuple[Any, ...], Settlement] = {}
    for settlement in sorted(settled, key=lambda settlement: settlement.stated_at):
        row = settlement.row_key if settlement.row_key not in ("", "{}") else settlement.question
        rule = settlement.rule
        column, sign, due = rule.split(" ", 2) if rule.count(" ") >= RULE_BLANKS else (rule, "", "")
        rule = rule if not due or due.startswith("'") else f"{column} {sign} {float(due)}"
        firsts.setdefault((settlement.source, settlement.by, rule, row), settlement)
    return list(firsts.values())


def _skill(settled: Sequence[Settlement]) -> dict[str, Any]:
    based = [settlement for settlement in settled if settlement.base_rate is not None]
    if len(based) < FEWEST:
        return {"skill_forecasts": len(based)}
    figure = skill(
        [settlement.probability for settlement in based],
        [cast("float", settlement.base_rate) for settlement in based],
        [settlement.status == "came_true" for settlement in based],
    )
    return {"skill_forecasts": len(based), "skill": None if figure is None else _round(figure)}


def horizon(settlement: Settlement) -> str:
    """Return the class of a forecast's horizon: how far ahead it was made."""
    days = (settlement.by - new_york_day(settlement.stated_at)).days
    return next((name for most, name in HORIZONS if days <= most), LONGER)


def _scores(settled: Sequence[Settlement]) -> Scores:
    return scores(
        [settlement.probability for settlement in settled], [settlement.status == "came_true" for settlement in settled]
    )


def _round(value: float) -> float:
    return round(value, 6)
