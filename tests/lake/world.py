"""A toy dataset for the lake's tests, in three kinds of dating, and an oracle: a slow, plain-Python model of the lake.

The oracle keeps rows in lists and decides row by row what the lake decides in bulk.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pitlake import clock
from pitlake.contract import Column, Dataset, gap_table_name
from pitlake.lake import Lake
from pitlake.lake.publishing.publish import Published
from pitlake.lake.publishing.stage import StagedGap, staged_schema
from pitlake.lake.storage.manifest import DataFile
from tests.lake.slow_hash import slow_hash

TOY = Dataset(
    name="toys",
    title="Toys",
    summary="A toy dataset.",
    availability="When the toy maker says.",
    columns=(
        Column(name="key", type="string", required=True, meaning="Toy id."),
        Column(name="maker", type="string", meaning="Who makes it."),
        Column(name="text", type="string", meaning="What is told of it."),
        Column(name="revised", type="instant", meaning="When the text was last changed."),
    ),
    key=("key",),
    entity="maker",
    source_tag="neo4j_created",
)
WHEN_OBSERVED = TOY
BY_COLUMN = replace(TOY, revised_at="revised")
HISTORY = replace(TOY, revised_at="available_at")
KINDS_OF_COLUMNS = tuple(column.type for column in TOY.columns)
EVER = datetime.min.replace(tzinfo=timezone.utc)
NEVER = datetime.max.replace(tzinfo=timezone.utc)
KINDS = {"observed": WHEN_OBSERVED, "column": BY_COLUMN, "history": HISTORY}


class Toy(NamedTuple):
    """A record of the source."""

    key: str
    text: str | None
    available_at: datetime
    revised: datetime | None = None

    @property
    def day(self) -> date:
        return clock.new_york_day(self.available_at)

    @property
    def content(self) -> tuple:
        return (self.key, self.text, self.revised)


class Row(NamedTuple):
    """A row of the lake, as the oracle stores it."""

    key: str
    text: str | None
    revised: datetime | None
    available_at: datetime
    observed_at: datetime

    def order(self) -> tuple[datetime, bytes]:
        """Return the sort key of a key's revisions: available_at, then content_hash."""
        return self.available_at, slow_hash(KINDS_OF_COLUMNS, (self.key, maker(self.key), self.text, self.revised))


def maker(key: str) -> str:
    return f"maker of {key[-1:]}"


def utc(text: str) -> datetime:
    return clock.instant(text)


def table(toys: Iterable[Toy], dataset: Dataset = TOY) -> pa.Table:
    rows = [
        {
            "key": toy.key,
            "maker": maker(toy.key),
            "text": toy.text,
            "revised": toy.revised,
            "available_at": toy.available_at,
            "available_at_source": "neo4j_created",
            "evidence": f"Toy:{toy.key}",
        }
        for toy in toys
    ]
    return pa.Table.from_pylist(rows, staged_schema(dataset))


def by_day(toys: Iterable[Toy]) -> dict[date, list[Toy]]:
    days: dict[date, list[Toy]] = {}
    for toy in toys:
        days.setdefault(toy.day, []).append(toy)
    return days


def publish(
    lake: Lake,
    toys: Iterable[Toy],
    observed_at: datetime,
    gaps: Mapping[date | None, list[StagedGap]] | None = None,
    dataset: Dataset = TOY,
    run: str = "run",
    *,
    complete: bool = False,
) -> Published:
    """Publish a run that stages every toy for its own day. complete: whether it saw the whole source."""
    gaps, days = dict(gaps or {}), by_day(toys)
    with lake.stage(dataset, run) as stage:
        if complete:
            stage.cover()
        for day in [*days, *(day for day in gaps if day not in days)]:
            reply, missing = days.get(day, []), gaps.get(day, [])
            stage.add(day, table(reply, dataset), missing, extracted=len(reply) + len(missing))
        return lake.publish(stage, observed_at)


def rows(lake: Lake, version: int | None = None, dataset: Dataset = TOY) -> list[Row]:
    """Return the sorted rows of a version."""
    result = [row for file in lake.snapshot(version).files(dataset.name) for row in _read(file)]
    return ordered(Row(*(row[name] for name in Row._fields)) for row in result)


def gaps(lake: Lake, version: int | None = None) -> list[dict]:
    """Return the gaps of a version."""
    return [row for file in lake.snapshot(version).files(gap_table_name(TOY.name)) for row in _read(file)]


def _read(file: DataFile) -> list[dict]:
    result_rows = pq.read_table(file.path, partitioning=None).to_pylist()
    return (
        [row | seen for row, seen in zip(result_rows, _read(file.beside), strict=True)] if file.beside else result_rows
    )


def ordered(result: Iterable[Row]) -> list[Row]:
    return sorted(result, key=lambda row: tuple(str(value) for value in row))


def answers(result: Iterable[Row], as_of: datetime) -> dict[str, Row]:
    """Return the newest row of each key with available_at <= as_of."""
    newest: dict[str, Row] = {}
    for row in result:
        if row.available_at <= as_of and (row.key not in newest or newest[row.key].order() < row.order()):
            newest[row.key] = row
    return newest


Told = tuple[datetime, date]


@dataclass
class Oracle:
    """A slow model of the lake: a list of rows per key, every poll with its days, and the instant and the day of each
    key's first gap.
    """

    kind: str
    by_key: dict[str, list[Row]] = field(default_factory=dict)
    gaps: dict[str, Told] = field(default_factory=dict)
    looks: list[tuple[datetime, frozenset[date]]] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        return ordered(row for existing in self.by_key.values() for row in existing)

    def publish(
        self, toys: Iterable[Toy], observed_at: datetime, gaps: Mapping[str, date] | None = None
    ) -> tuple[int, int]:
        """Add a run's records and gaps, and return the numbers of published and unchanged rows. gaps: the day of each
        gap, by key.
        """
        toys = list(toys)
        before = {key: list(existing) for key, existing in self.by_key.items()}
        published = unchanged = 0
        for toy in toys:
            available_at = self._available(toy, before.get(toy.key, []), observed_at)
            if available_at and self._seen_otherwise_since(toy, before.get(toy.key, []), available_at, observed_at):
                available_at = None
            existing = self.by_key.setdefault(toy.key, [])
            row = None if available_at is None else Row(*toy.content, available_at, observed_at)
            if row is None or row in existing:
                unchanged += 1
            else:
                existing.append(row)
                published += 1
        self.looks.append((observed_at, frozenset({toy.day for toy in toys} | set((gaps or {}).values()))))
        for key, day in (gaps or {}).items():
            self.gaps.setdefault(key, (observed_at, day))
        return published, unchanged

    def _available(self, toy: Toy, existing: list[Row], observed_at: datetime) -> datetime | None:
        return (
            self._in_history(toy, existing, observed_at)
            if self.kind == "history"
            else self._now(toy, existing, observed_at)
        )

    def _in_history(self, toy: Toy, existing: list[Row], observed_at: datetime) -> datetime | None:
        reply = [row for row in existing if row.available_at == toy.available_at]
        corrections = [row for row in existing if toy.available_at < row.available_at == row.observed_at]
        again = any(row[:3] == toy.content for row in reply + corrections)
        if reply:
            return None if again else observed_at
        seen = any(row.observed_at < observed_at for row in existing) or self._gap(toy, observed_at)
        if seen and toy.available_at <= self._last_look(observed_at, toy.day):
            return None if again else observed_at
        return toy.available_at

    def _now(self, toy: Toy, existing: list[Row], observed_at: datetime) -> datetime | None:
        if not any(row.available_at <= observed_at for row in existing):
            gap = self._gap(toy, observed_at)
            last = (
                max(gap[0], self._last_look(observed_at, gap[1]), self._last_look(observed_at, toy.day))
                if gap
                else EVER
            )
            return toy.available_at if toy.available_at > last else observed_at
        seen = [row for row in existing if row.available_at <= observed_at]
        at_once = [row for row in existing if row.available_at == observed_at]
        newest = max(seen, key=Row.order, default=None)
        if (newest and newest[:3] == toy.content) or any(row[:3] == toy.content for row in at_once):
            return None
        dated = toy.revised if self.kind == "column" else None
        last = max(newest.available_at if newest else EVER, self._last_seen(toy, existing, observed_at))
        return max(dated, toy.available_at) if dated and last < dated <= observed_at else observed_at

    def _last_seen(self, toy: Toy, existing: list[Row], observed_at: datetime) -> datetime:
        """Return the last poll that saw the key, or that read the day of the stored row or of the new row."""
        seen = [row for row in existing if row.observed_at <= observed_at]
        if not seen:
            return EVER
        filed = max(seen, key=lambda row: (row.available_at, row.available_at == row.observed_at))
        day = None if filed.available_at == filed.observed_at else clock.new_york_day(filed.available_at)
        looks = (self._last_look(observed_at, each) for each in (day, toy.day))
        return max(*looks, *(row.observed_at for row in seen))

    def _seen_otherwise_since(
        self, toy: Toy, existing: list[Row], available_at: datetime, observed_at: datetime
    ) -> bool:
        """Return whether a later poll saw different content of this key before the row was superseded."""
        dates = {row.available_at for row in existing}
        if self.kind == "history" and available_at == toy.available_at and available_at not in dates:
            return False  # a separate statement
        then = answers(existing, observed_at).get(toy.key)
        if then is None or then.available_at > available_at:
            return False
        ends = min((row.available_at for row in existing if row.available_at > observed_at), default=NEVER)
        filed = {toy.day} if self.kind == "history" else {toy.day, clock.new_york_day(then.available_at)}
        moved = self.kind != "history" and then.available_at == then.observed_at
        looks = [at for at, days in self.looks if moved or filed & days] + [row.observed_at for row in existing]
        return any(observed_at < at < ends for at in looks)

    def _gap(self, toy: Toy, observed_at: datetime) -> Told | None:
        reply = self.gaps.get(toy.key)
        return reply if reply and reply[0] < observed_at else None

    def _last_look(self, observed_at: datetime, day: date | None) -> datetime:
        """Return the last poll before an observation that read this day, or any poll if `day` is None."""
        return max((at for at, days in self.looks if at < observed_at and (day is None or day in days)), default=EVER)


def data_files(lake: Lake) -> set[Path]:
    """Return all Parquet files on disk outside of Delta logs."""
    return {path for path in lake.root.rglob("*.parquet") if "_delta_log" not in path.parts}
