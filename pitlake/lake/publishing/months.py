"""The tables of a publish: one per New York month (for tombstones, per year), built while their files are written."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pitlake import clock
from pitlake.contract import BASES, BASIS, GAP_SCHEMA, INSTANT
from pitlake.lake.publishing.diff import AS_STAGED, NewGaps, NewRows
from pitlake.lake.publishing.stage import OF_SOURCE, Staged
from pitlake.lake.storage.arrays import Positions, as_micros, is_one_value
from pitlake.lake.storage.files import sorted_by, take_rows

Month = tuple[str, Callable[[], pa.Table]]


def months_of_rows(staged: Staged, rows: NewRows, observed_at: datetime) -> list[Month]:
    """Return, per month, a function that builds its rows in the stored schema, sorted by (entity, available_at)."""
    whole = staged.rows.drop_columns([clock.AVAILABLE_AT]).append_column("content_hash", staged.content_hash)
    if staged.dataset.captured:
        whole = whole.set_column(whole.column_names.index(BASIS), BASIS, staged.basis)
    same = {name: whole[name][0] for name in OF_SOURCE if name in whole.column_names and is_one_value(whole[name])}
    whole = whole.drop_columns([*same])
    batches = whole.to_batches()

    def build(chosen: Positions) -> pa.Table:
        available = rows.available[chosen]
        part = gather(batches, whole.schema, rows.positions[chosen])
        order = sorted_by(part[staged.dataset.entity], available)
        taken = take_rows(part, order)
        columns = dict(zip(taken.column_names, taken.columns, strict=True))
        columns |= {name: pa.chunked_array([pa.repeat(value, len(order))]) for name, value in same.items()}
        columns[clock.AVAILABLE_AT] = instants(available[order])
        columns[clock.OBSERVED_AT] = instants(np.full(len(order), clock.micros(observed_at)))
        if staged.dataset.captured:
            basis = rows.basis[chosen][order]
            as_staged = basis == AS_STAGED
            if not as_staged.all():
                names = pa.array(list(BASES)).take(pa.array(np.maximum(basis, 0)))
                columns[BASIS] = pc.if_else(pa.array(as_staged), columns[BASIS], names)
        schema = staged.dataset.arrow_schema
        return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)

    return [(month, partial(build, chosen)) for month, chosen in _by_month(rows.available)]


def gather(batches: Sequence[pa.RecordBatch], schema: pa.Schema, positions: Positions) -> pa.Table:
    """Return the rows at ascending positions.

    Rows are taken batch by batch, because Arrow's `take` on a table would copy all of its rows for each month.
    """
    edges = np.searchsorted(positions, np.cumsum([0, *(batch.num_rows for batch in batches)]))
    parts, start = [], 0
    for batch, first, last in zip(batches, edges[:-1], edges[1:], strict=True):
        inside = positions[first:last] - start
        start += batch.num_rows
        if len(inside):
            span = int(inside[-1] - inside[0]) + 1
            parts.append(batch.slice(int(inside[0]), span) if span == len(inside) else batch.take(pa.array(inside)))
    return pa.Table.from_batches(parts, schema)


def months_of_gaps(staged: Staged, new: NewGaps, observed_at: datetime) -> list[Month]:
    """Return, per month, a function that builds the table of its gaps to publish."""
    positions, available, observed = new.positions, new.available, clock.micros(observed_at)
    if not len(positions):
        return []
    gaps = staged.gaps.take(pa.array(positions))
    partitions = pa.array(staged.partitions, pa.string()).take(pa.array(staged.gap_partition[positions]))

    def build(chosen: Positions) -> pa.Table:
        chosen_gaps = gaps.take(pa.array(chosen))
        columns = {
            "dataset": pa.repeat(staged.dataset.name, len(chosen)),
            "partition": partitions.take(pa.array(chosen)),
            "run_id": pa.repeat(staged.run_id, len(chosen)),
            clock.AVAILABLE_AT: instants(available[chosen]),
            clock.OBSERVED_AT: instants(np.full(len(chosen), observed)),
            **{name: chosen_gaps[name] for name in ("gap_type", "reason", "locator")},
        }
        table = pa.Table.from_arrays([columns[name] for name in GAP_SCHEMA.names], schema=GAP_SCHEMA)
        return table.take(pa.array(sorted_by(table["partition"], available[chosen])))

    return [(month, partial(build, chosen)) for month, chosen in _by_month(available)]


def years_of_tombstones(tombstones: pa.Table | None) -> list[Month]:
    """Return one table of tombstones per year. They are small, and a lake with few files is faster."""
    if tombstones is None:
        return []
    available = as_micros(tombstones[clock.AVAILABLE_AT])
    by_year: dict[str, list[Positions]] = {}
    for month, chosen in _by_month(available):
        by_year.setdefault(month[:4], []).append(chosen)
    return [(year, partial(tombstones.take, pa.array(np.concatenate(each)))) for year, each in by_year.items()]


def _by_month(available: Positions) -> Iterator[tuple[str, Positions]]:
    """Return the New York months in order, each with the positions of its instants."""
    if not len(available):
        return
    first, last = (clock.new_york_day(clock.from_micros(int(edge))) for edge in (available.min(), available.max()))
    months = [
        date(number // 12, number % 12 + 1, 1)
        for number in range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
    ]
    starts = np.array([clock.micros(clock.start_of_new_york_day(month)) for month in months])
    index = np.searchsorted(starts, available, side="right") - 1
    for place, month in enumerate(months):
        chosen = np.flatnonzero(index == place)
        if len(chosen):
            yield f"{month.year:04d}-{month.month:02d}", chosen


def instants(micros: Positions) -> pa.Array:
    """Convert microseconds to the instants of tables."""
    return pa.array(micros).cast(INSTANT)
