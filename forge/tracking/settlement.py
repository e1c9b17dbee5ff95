"""Settling: what a View said would be so is asked of the lake once its day is over, and kept as a record.

Each question a View stood with while it was active is judged, with the confidence it had first, so that moving the
question or the confidence later changes no score. What can't be answered is kept as such and asked again. It settles
by the first answer there was, as of the instant it was public: what is asked much later may be about something else. A
figure that is restated later makes a second settlement beside the first, which stays.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, cast

from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.effects import CODE, PM
from forge.memory.journal import digest
from forge.memory.remembered import Remembered
from forge.providers.base import At, ask
from forge.records import Settlement, Settles, View, render
from forge.tracking.receipts import exposure
from pitlake import datasets
from pitlake.clock import MICROSECOND, end_of_new_york_day, instant
from pitlake.errors import BadInput
from pitlake.questions import catalogue

SESSION = "settlement"
FOLDER = "/memory/settlements/"
ANSWERED = ("came_true", "failed")
CutOffs = Callable[[str], Iterable[str | None]]
"""The knowledge cut-offs of a decision's models; None for an unknown one."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Forecast:
    """A question that a View stood with while it was active. view: its text when it first did; stated_at: when that
    was; source: who wrote it; decision: in which it was written.
    """

    view: View
    stated_at: datetime
    source: str
    decision: str

    @property
    def settles(self) -> Settles:
        """What judges it."""
        return cast("Settles", self.view.settles)

    @property
    def question(self) -> str:
        """SHA-256 of what judges it."""
        return digest(json.dumps(asdict(self.settles), sort_keys=True, default=str))

    @property
    def due(self) -> datetime:
        """When its day is over in New York."""
        return end_of_new_york_day(self.settles.by)


def forecasts(known: Remembered) -> Iterator[Forecast]:
    """Every question of every View, each once."""
    for path in known.paths("/memory/views/"):
        seen = set()
        for row in known.all(path):
            view = cast("View", known.record(row))
            told = Forecast(view, known.written_at(row), row.actor, row.call_id.partition(":")[0])
            if view.status == "active" and told.question not in seen:
                seen.add(told.question)
                yield told


def settlements(known: Remembered) -> list[Settlement]:
    """Every settlement, in the order they were made."""
    rows = filter(None, map(known.newest, known.paths(FOLDER)))
    return [cast("Settlement", known.record(row)) for row in sorted(rows, key=lambda row: row.seq)]


def hydrated(memory: Memory, at: datetime) -> Remembered:
    """All of memory, what was settled later than the instant included."""
    now = max(at, memory.journal.clock.now())
    return memory.hydrate(memory.standing(now), session=SESSION, turn=at)


def settle(memory: Memory, now: At, cut_offs: CutOffs) -> list[Settlement]:
    """Settle what is due; what was written. now: the instant, and the lake with the version to ask. What was settled
    after it already is not settled again.

    cut_offs: of a decision's models, of nothing where there is no such decision. Raises LakeNotFound.
    """
    known = hydrated(memory, now.as_of)
    files = ForgeFS(memory, known, actor=CODE)
    now = now.pinned()
    made, earlier = [], defaultdict(list)
    for one in settlements(known):
        earlier[one.view, one.question].append(one)
    market = Market(now)
    for told in forecasts(known):
        if told.due > now.as_of:
            continue
        before = earlier[told.view.id, told.question]
        found = _judged(told, before, market)
        if found is not None:
            days = told.stated_at, told.settles.by
            live = memory.journal.clock.name == "live" and told.source == PM  # a person has no cut-off
            found = replace(found, exposure="clean" if live else exposure(cut_offs(told.decision), *days))
            call = f"{told.view.id}:{told.question}:{len(before)}"
            written = files.write_file(f"{FOLDER}new.md", render(found), call_id=call)
            made.append(cast("Settlement", known.record(written.rows[0])))
    return made


class Market:
    """The lake at the version to ask, as of `now` or earlier. What many Views ask is asked of it once."""

    def __init__(self, now: At) -> None:
        self.now = now
        self._told: dict[tuple[str, str, datetime], tuple[tuple[Row, ...], str]] = {}

    def asked(self, settles: Settles, as_of: datetime) -> tuple[tuple[Row, ...], str]:
        """The rows, and the answer's SHA-256. Raises BadInput and what the lake raises."""
        key = settles.query, _plain(settles.params), as_of
        if key not in self._told:
            answer = ask(catalogue.get(settles.query), settles.params, self.at(as_of))
            self._told[key] = answer["rows"], answer["receipts"][0].result_sha256
        return self._told[key]

    def at(self, as_of: datetime) -> At:
        """This lake as of another instant."""
        return replace(self.now, as_of=as_of)


def _judged(told: Forecast, before: list[Settlement], market: Market) -> Settlement | None:
    """The settlement that is to be written next, None where nothing has changed."""
    last, now = before[-1] if before else None, market.now
    if last and last.status in ANSWERED:
        return _restated(told, last, market)
    if told.stated_at >= told.due:
        return None if last else _unanswered(told, now, "it was stated after the day that judges it")
    found = _answered(told, told.due, market)
    if isinstance(found, str):
        late = _answered(told, now.as_of, market)
        if isinstance(late, str):
            return None if last and last.reason == late else _unanswered(told, now, late)
        found = _earliest(told, late, market)
    return found


def _answered(told: Forecast, as_of: datetime, market: Market) -> Settlement | str:
    """The settlement as of an instant, or why there is none."""
    try:
        rows, answer = market.asked(told.settles, as_of)
        return _settled(told, rows[0], market.at(as_of), answer) if rows else "the lake has no row that answers it"
    except (ValueError, BadInput) as refused:
        return str(refused)


def _earliest(told: Forecast, late: Settlement, market: Market) -> Settlement:
    """The first answer after the day that judges: rows of a publication appear at once, so that its stamp is tried
    first, then what lies between is halved.
    """
    without = told.due
    while late.asked_as_of - without > MICROSECOND:
        public = late.public_at or late.asked_as_of
        for tried in (public, public - MICROSECOND, without + (late.asked_as_of - without) / 2):
            if without < tried < late.asked_as_of:
                found = _answered(told, tried, market)
                without, late = (tried, late) if isinstance(found, str) else (without, found)
    return late


def _restated(told: Forecast, last: Settlement, market: Market) -> Settlement | None:
    """A second settlement, where the figure that judged it has changed since."""
    named = json.loads(last.named)
    rows, answer = market.asked(told.settles, market.now.as_of)
    same = [row for row in rows if named and _named(told.settles, row) == named]
    if not same or _plain(same[0].get(told.settles.column)) in (last.value, "null"):
        return None
    return replace(_settled(told, same[0], market.now, answer), restates=last.id)


def _settled(told: Forecast, row: Row, at: At, answer: str) -> Settlement:
    """Raises ValueError where the row's value can't be held against the rule."""
    column = told.settles.column
    if row.get(column) is None:
        raise ValueError(f"{column} is missing in the row that answers it")
    evidence = row.get("evidence") or ""
    return replace(
        _unanswered(told, at, ""),
        status="came_true" if told.settles.holds(row[column]) else "failed",
        value=_plain(row[column]),
        named=_plain(_named(told.settles, row)),
        public_at=instant(str(row["available_at"])),
        evidence=evidence if isinstance(evidence, str) else ", ".join(evidence),
        answer=answer,
    )


def _unanswered(told: Forecast, at: At, reason: str) -> Settlement:
    return Settlement(
        id="new",
        view=told.view.id,
        category=told.view.category,
        probability=told.view.confidence,
        status="unanswered",
        by=told.settles.by,
        links=(told.view.id,),
        stated_at=told.stated_at,
        source=told.source,
        rule=told.settles.rule,
        asked_as_of=at.as_of,
        question=told.question,
        version=at.version,
        reason=reason,
    )


def _named(settles: Settles, row: Row) -> dict[str, Any]:
    """What a row is about: the keys of the datasets its query reads, as far as it shows them."""
    keys = {name for dataset in catalogue.get(settles.query).reads for name in datasets.get(dataset).key}
    return {name: row[name] for name in sorted(keys & row.keys())}


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
