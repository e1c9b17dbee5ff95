"""Settlement: the question of each View is answered from the lake after its day, and recorded.

Each question that a View had while active is judged with its first confidence, so that later changes to the question or
the confidence change no score. A question without an answer is recorded and tried again. The first answer is used, as
of the instant it became public, because a much later answer may be about another period. A later restatement of the
figure adds a second settlement; the first stays. A View whose current question is answered expires, with the answer as
its verdict.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, cast

from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.effects import CODE, PM
from forge.memory.journal import digest
from forge.memory.remembered import Remembered
from forge.providers.base import At, ask
from forge.records import KINDS, Settlement, Settles, View, render
from forge.records.judged import holds_all
from forge.tracking.scores import multi_class_brier
from pitlake import datasets
from pitlake.clock import MICROSECOND, end_of_new_york_day, instant, new_york_day
from pitlake.errors import BadInput
from pitlake.models import exposure
from pitlake.questions import catalogue

SESSION = "settlement"
FOLDER = "/memory/settlements/"
ANSWERED = ("came_true", "failed")
MONTHS, LEAST_MONTHS = 12, 4
EVEN = 0.5
CutOffs = Callable[[str], Iterable[str | None]]
"""Returns the knowledge cut-offs of a decision's models; None for an unknown one."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Forecast:
    """A question that a View had while active.

    view: the first version of the View with this question. stated_at, source, decision: the instant, the author and the
    decision of that version.
    """

    view: View
    stated_at: datetime
    source: str
    decision: str

    @property
    def settles(self) -> Settles:
        return cast("Settles", self.view.settles)

    @property
    def question(self) -> str:
        """The SHA-256 of the question."""
        return digest(json.dumps(asdict(self.settles), sort_keys=True, default=str))

    @property
    def due(self) -> datetime:
        """The end of the settling day in New York."""
        return end_of_new_york_day(self.settles.by)


def forecasts(remembered: Remembered) -> Iterator[Forecast]:
    """Yield every question of every View, each once."""
    for path in remembered.paths("/memory/views/"):
        seen = set()
        for row in remembered.all(path):
            view = cast("View", remembered.record(row))
            forecast = Forecast(view, remembered.written_at(row), row.actor, row.call_id.partition(":")[0])
            if view.status == "active" and forecast.question not in seen:
                seen.add(forecast.question)
                yield forecast


def settlements(remembered: Remembered) -> list[Settlement]:
    """Return every settlement, in the order of writing."""
    rows = sorted(remembered.rows("settlements"), key=lambda row: row.seq)
    return [cast("Settlement", remembered.record(row)) for row in rows]


def whole_memory(memory: Memory, at: datetime) -> Remembered:
    """Return all of memory, including settlements made after the instant."""
    now = max(at, memory.journal.clock.now())
    return memory.hydrate(memory.read_instant(now), session=SESSION, turn=at)


def settle(memory: Memory, now: At, cut_offs: CutOffs) -> list[Settlement]:
    """Settle due questions and return the new settlements.

    Questions that were settled after `now` are not settled again.

    now: the instant, the lake and the version to read. cut_offs: a function that returns the cut-offs of a decision's
    models. Raises LakeNotFound.
    """
    remembered = whole_memory(memory, now.as_of)
    files = ForgeFS(memory, remembered, actor=CODE)
    now = now.pinned()
    new_settlements, earlier = [], defaultdict(list)
    for settlement in settlements(remembered):
        earlier[settlement.view, settlement.question].append(settlement)
    market = Market(now)
    for forecast in forecasts(remembered):
        if forecast.due > now.as_of:
            continue
        before = earlier[forecast.view.id, forecast.question]
        judgement = _next_settlement(forecast, before, market)
        if judgement is not None:
            days = forecast.stated_at, forecast.settles.by
            live = memory.journal.clock.name == "live" and forecast.source == PM  # A person has no knowledge cut-off.
            judgement = replace(judgement, exposure="clean" if live else exposure(cut_offs(forecast.decision), *days))
            if not judgement.restates:
                judgement = replace(judgement, lead_days=lead_days(remembered, judgement, forecast.settles))
            call = f"{forecast.view.id}:{forecast.question}:{len(before)}"
            write = files.write_file(f"{FOLDER}new.md", render(judgement), call_id=call)
            new_settlements.append(cast("Settlement", remembered.record(write.rows[0])))
    # A View whose current question is answered expires, with the first answer as its verdict.
    answers = [each for each in settlements(remembered) if each.status in ANSWERED and not each.restates]
    verdicts: dict[tuple[str, str], Any] = {(each.view, each.question): each.status for each in answers}
    for row in remembered.rows("views"):
        view = cast("View", remembered.record(row))
        question = Forecast(view, remembered.written_at(row), "", "").question if view.settles else ""
        if view.status == "active" and (verdict := verdicts.get((view.id, question))):
            expired = replace(view, status="expired", verdict=verdict)
            files.write_file(row.path, render(expired), call_id=f"{view.id}:expired:{row.seq}")
    return new_settlements


def lead_days(remembered: Remembered, settlement: Settlement, settles: Settles) -> float | None:
    """Return the number of days for which a View was continuously right until its answer became public.

    A View is right while it is active, asks this question, and gives the actual outcome a probability above 0.5. None
    if it was not right at the end.
    """
    public, since = settlement.public_at, None
    if public is None or settlement.status not in ANSWERED:
        return None
    for row in remembered.all(KINDS["views"].path(settlement.view)):
        written_at, view = remembered.written_at(row), cast("View", remembered.record(row))
        if written_at >= public:
            break
        share = view.confidence if settlement.status == "came_true" else 1 - view.confidence
        is_right = view.status == "active" and view.settles == settles and share > EVEN
        since = (since or written_at) if is_right else None
    return (public - since) / timedelta(days=1) if since else None


class Market:
    """The lake at one version, as of `now` or earlier. Identical questions are queried once."""

    def __init__(self, now: At) -> None:
        self.now = now
        self._answers: dict[tuple[str, str, datetime], tuple[tuple[Row, ...], str]] = {}

    def answer(self, settles: Settles, as_of: datetime) -> tuple[tuple[Row, ...], str]:
        """Return the rows and the answer's SHA-256. Raises BadInput and the errors of the lake."""
        key = settles.query, _json(settles.params), as_of
        if key not in self._answers:
            answer = ask(catalogue.get(settles.query), settles.params, self.at(as_of))
            self._answers[key] = answer["rows"], answer["receipts"][0].result_sha256
        return self._answers[key]

    def at(self, as_of: datetime) -> At:
        """Return this lake as of another instant."""
        return replace(self.now, as_of=as_of)


def _next_settlement(forecast: Forecast, before: list[Settlement], market: Market) -> Settlement | None:
    """Return the next settlement to write, or None if nothing has changed."""
    last, now = before[-1] if before else None, market.now
    if last and last.status in ANSWERED:
        # The first answer stays. If its figure was restated, a second settlement is added.
        row_key = json.loads(last.row_key)
        rows, answer = market.answer(forecast.settles, now.as_of)
        same = [row for row in rows if row_key and _row_key(forecast.settles, row) == row_key]
        if not same or _json(same[0].get(forecast.settles.column)) in (last.value, "null"):
            return None
        return replace(_settlement(forecast, same[0], now, answer), restates=last.id)
    if forecast.stated_at >= forecast.due:
        return None if last else _unanswered_settlement(forecast, now, "it was stated after the day that judges it")
    settlement = _try_settle(forecast, forecast.due, market)
    if isinstance(settlement, str):
        late = _try_settle(forecast, now.as_of, market)
        if isinstance(late, str):
            return None if last and last.reason == late else _unanswered_settlement(forecast, now, late)
        settlement = _earliest(forecast, late, market)
    return replace(settlement, base_rate=base_rate(forecast, market))


def base_rate(forecast: Forecast, market: Market) -> float | None:
    """Return how often the rule held at the 12 month-ends before a forecast, with the information of that time.

    Half a case is added on either side, so that the rate is never 0 or 1. None if the lake has an answer for fewer than
    4 of the months.
    """
    truths, day = list[bool](), new_york_day(forecast.stated_at).replace(day=1)
    for _ in range(MONTHS):
        day -= timedelta(days=1)
        settlement = _try_settle(forecast, end_of_new_york_day(day), market)
        if isinstance(settlement, str):
            break
        truths.append(settlement.status == "came_true")
        day = day.replace(day=1)
    return (sum(truths) + 0.5) / (len(truths) + 1) if len(truths) >= LEAST_MONTHS else None


def _try_settle(forecast: Forecast, as_of: datetime, market: Market) -> Settlement | str:
    """Return the settlement as of an instant, or why there is none."""
    try:
        rows, answer = market.answer(forecast.settles, as_of)
        return (
            _settlement(forecast, rows[0], market.at(as_of), answer) if rows else "the lake has no rows that answer it"
        )
    except (ValueError, BadInput) as refused:
        return str(refused)


def _earliest(forecast: Forecast, late: Settlement, market: Market) -> Settlement:
    """Find the first answer after the settling day, by bisection.

    All rows of a publication appear at its timestamp, so the search tries that instant first.
    """
    without = forecast.due
    while late.asked_as_of - without > MICROSECOND:
        public = late.public_at or late.asked_as_of
        for tried in (public, public - MICROSECOND, without + (late.asked_as_of - without) / 2):
            if without < tried < late.asked_as_of:
                settlement = _try_settle(forecast, tried, market)
                without, late = (tried, late) if isinstance(settlement, str) else (without, settlement)
    return late


def _settlement(forecast: Forecast, row: Row, at: At, answer: str) -> Settlement:
    """Build the settlement of a row. Raises ValueError if the rule can't be applied to its value."""
    column = forecast.settles.column
    if row.get(column) is None:
        raise ValueError(f"{column} is missing in the row that answers it")
    evidence = row.get("evidence") or ""
    scenarios = forecast.view.scenarios
    came = [
        place for place, scenario in enumerate(scenarios) if scenario.when and holds_all(scenario.when, row[column])
    ]
    scored: dict[str, Any] = {}
    if len(came) == 1:
        shares = [scenario.probability for scenario in scenarios]
        scored["scenario"] = scenarios[came[0]].name
        scored["scenario_probability"] = shares[came[0]]
        scored["scenario_brier"] = round(multi_class_brier(shares, came[0]), 9)
    return replace(
        _unanswered_settlement(forecast, at, ""),
        status="came_true" if forecast.settles.holds(row[column]) else "failed",
        value=_json(row[column]),
        row_key=_json(_row_key(forecast.settles, row)),
        public_at=instant(str(row["available_at"])),
        evidence=evidence if isinstance(evidence, str) else ", ".join(evidence),
        answer=answer,
        **scored,
    )


def _unanswered_settlement(forecast: Forecast, at: At, reason: str) -> Settlement:
    return Settlement(
        id="new",
        view=forecast.view.id,
        category=forecast.view.category,
        probability=forecast.view.confidence,
        status="unanswered",
        by=forecast.settles.by,
        links=(forecast.view.id,),
        stated_at=forecast.stated_at,
        source=forecast.source,
        rule=forecast.settles.rule,
        asked_as_of=at.as_of,
        question=forecast.question,
        version=at.version,
        reason=reason,
    )


def _row_key(settles: Settles, row: Row) -> dict[str, Any]:
    """Return a row's key: those key columns of the query's datasets that the row has."""
    keys = {name for dataset in catalogue.get(settles.query).reads for name in datasets.get(dataset).key}
    return {name: row[name] for name in sorted(keys & row.keys())}


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
