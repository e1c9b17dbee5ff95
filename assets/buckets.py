"""Collects the rows and gaps of a run by day before they are staged. Contests are settled at the end.

To limit memory, rows are converted to Arrow once there are many. `assets.runs` decides the day of each record.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Protocol

import pyarrow as pa

from assets.contests import CONTENDER, CONTEST_FIELDS, RANK, SECOND_RANK, contested_rows, settle
from assets.extraction import UNFORESEEN, Contest, Gap, Normaliser, Row
from pitlake.clock import AVAILABLE_AT
from pitlake.contract import BASIS, INSTANT, UNREADABLE_RECORD
from pitlake.lake.publishing import stage as staging

PENDING_BATCHES = 10


class Stage(Protocol):
    """The part of pitlake.lake.publishing.stage.Stage that buckets use."""

    def add(
        self, day: date | None, rows: pa.Table | None = None, gaps: Iterable[staging.StagedGap] = (), *, extracted: int
    ) -> None:
        """Stage the records of a day."""
        ...


@dataclass
class Bucket:
    """The records of one day: rows and gaps in Python, tables in Arrow, and the number of records."""

    rows: list[Row] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    tables: list[pa.Table] = field(default_factory=list)
    extracted: int = 0


class Buckets:
    """The days of a run. `add` stores an outcome, `spill` limits memory, `close` passes finished days to the stage."""

    def __init__(self, extractor: Normaliser, stage: Stage) -> None:
        self._extractor, self._stage = extractor, stage
        self._days: dict[date | None, Bucket] = defaultdict(Bucket)
        self._pending = 0

    def add(self, day: date | None, outcome: Row | Gap) -> None:
        """Store the outcome of one source record under its day (None: undated)."""
        bucket = self._days[day]
        bucket.extracted += 1
        self._pending += 1
        if isinstance(outcome, Row):
            bucket.rows.append(outcome)
        else:
            bucket.gaps.append(outcome)

    def spill(self) -> None:
        """Convert pending rows to Arrow if there are many. Without a contest, pass them to the stage immediately."""
        if self._pending < PENDING_BATCHES * self._extractor.batch:
            return
        self._to_arrow(self._days.values())
        if self._extractor.contest is None:
            for day, bucket in self._days.items():
                self._hand_over(day, bucket)
        self._pending = 0

    def close(self, days: Iterable[date | None]) -> None:
        """Pass finished days to the stage, including days without records, because these were polled too."""
        finished = [(day, self._days.pop(day, Bucket())) for day in days]
        self._to_arrow([bucket for _, bucket in finished])
        for day, bucket in finished:
            self._hand_over(day, bucket)

    def close_all(self) -> None:
        """Pass all days to the stage, for runs that are not split by days."""
        self.close(sorted(self._days, key=lambda day: (day is None, day or date.min)))

    def _hand_over(self, day: date | None, bucket: Bucket) -> None:
        rows = pa.concat_tables(bucket.tables) if bucket.tables else None
        gaps = bucket.gaps
        if rows is not None and self._extractor.contest is not None:
            rows, lost = self._settled(rows, self._extractor.contest, day)
            gaps = [*gaps, *lost]
        self._stage.add(day, rows, map(staged_gap, gaps), extracted=bucket.extracted)
        bucket.tables, bucket.gaps, bucket.extracted = [], [], 0

    def _to_arrow(self, buckets: Iterable[Bucket]) -> None:
        """Convert the rows of all days to one table and give each day a slice, because a table per day is slower."""
        filled = [bucket for bucket in buckets if bucket.rows]
        if filled:
            table, start = self._table(filled), 0
            for bucket in filled:
                bucket.tables.append(table.slice(start, len(bucket.rows)))
                start, bucket.rows = start + len(bucket.rows), []

    def _table(self, buckets: Sequence[Bucket]) -> pa.Table:
        """Return the rows of several days as a table. A row that does not fit its columns becomes a gap."""
        try:
            return rows_table(self._extractor, [row for bucket in buckets for row in bucket.rows])
        except (pa.ArrowException, *UNFORESEEN):
            for bucket in buckets:
                fits = [self._converts(row) for row in bucket.rows]
                for row, fit in zip(bucket.rows, fits, strict=True):
                    if not fit:
                        bucket.gaps.append(Gap("unverifiable", UNREADABLE_RECORD, row.evidence, row.available_at, None))
                bucket.rows = [row for row, fit in zip(bucket.rows, fits, strict=True) if fit]
        return rows_table(self._extractor, [row for bucket in buckets for row in bucket.rows])

    def _converts(self, row: Row) -> bool:
        try:
            rows_table(self._extractor, [row])
        except (pa.ArrowException, *UNFORESEEN):
            return False
        return True

    def _settled(self, table: pa.Table, contest: Contest, day: date | None) -> tuple[pa.Table, list[Gap]]:
        rows = table.drop_columns([column.name for column in CONTEST_FIELDS])
        indexes = contested_rows(table, contest.group)
        if not indexes:
            return rows, []
        members = list(zip(indexes, table.take(indexes).to_pylist(), strict=True))
        settled = settle(members, contest.group, self._extractor.dataset.identity, ("evidence", *contest.labels))
        row_of, gap_type = dict(members), self._extractor.gap_types[contest.reason]
        lost = [
            Gap(gap_type, contest.reason, row_of[index]["evidence"], row_of[index][AVAILABLE_AT], day)
            for index in settled.losers
        ]
        dropped = frozenset(settled.losers)
        winners = [settled.repeats.get(index, index) for index in range(table.num_rows) if index not in dropped]
        return rows.take(winners), lost


def staged_gap(gap: Gap) -> staging.StagedGap:
    """Return a gap in the stage's format."""
    return staging.StagedGap(gap.type, gap.reason, gap.locator, gap.available_at)


def rows_table(extractor: Normaliser, rows: Sequence[Row]) -> pa.Table:
    """Return rows in the stage's schema, plus the contest's columns if the extractor has a contest.

    Raises KeyError if a row lacks a column of the contract, ValueError if it has an extra one.
    """
    dataset = extractor.dataset
    if any(len(row.values) != len(dataset.columns) for row in rows):
        raise ValueError(f"an extracted row of {dataset.name} has columns that differ from its contract's")
    columns = {name: [row.values[name] for row in rows] for name in dataset.business_columns}
    columns[AVAILABLE_AT] = [row.available_at for row in rows]
    columns["available_at_source"] = [dataset.source_tag] * len(rows)
    columns[BASIS] = [row.basis for row in rows]
    columns["evidence"] = [row.evidence for row in rows]
    fields = [*staging.staged_schema(dataset)]
    if extractor.contest is not None:
        columns[CONTENDER] = [row.contender for row in rows]
        columns[RANK] = [row.rank[0] for row in rows]
        columns[SECOND_RANK] = [row.rank[1] for row in rows]
        fields += CONTEST_FIELDS
    arrays = [_array(columns[column.name], column.type) for column in fields]
    kinds = [column.with_type(array.type) for column, array in zip(fields, arrays, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(kinds))


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if kind == INSTANT and any(isinstance(value, datetime) and value.tzinfo is None for value in values):
        # Arrow would read a naive time as UTC. Without a zone in the type, the gate refuses the column by name.
        naive = [value.replace(tzinfo=None) if value is not None else None for value in values]
        return pa.array(naive, pa.timestamp("us"))
    return pa.array(values, kind)
