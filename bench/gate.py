"""The cost of the gate: rows per second on one core over Arrow tables, absolute and relative to the same rules item by
item. Rates come from the least CPU time of one thread in several runs, over tables from a fixed seed. The items are
created before the clock starts, which favours the item-wise gate. `python -m bench.gate` prints the figures.
"""

import gc
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pyarrow as pa

from bench.figures import Figure, figure
from pitlake.gate.columnar import violations_in
from pitlake.gate.plain import row_item
from pitlake.gate.rules import check_item

CUTOFF = datetime(2024, 1, 1, tzinfo=timezone.utc)
ROWS = 2_000_000
ITEMS = 20_000
RUNS = 5
AIM_ROWS = 5_000_000
AIM_RATIO = 50


def facts(rows: int, seed: int = 1) -> pa.Table:
    """Return a valid table like xbrl_facts: ten columns, short strings, microsecond instants before the cut-off."""
    random = np.random.default_rng(seed)

    def chosen(*values: str) -> pa.Array:
        return pa.array(values).take(pa.array(random.integers(0, len(values), rows)))

    def days() -> pa.Array:
        return pa.array(random.integers(15_000, 19_000, rows).astype("int32")).cast(pa.date32())

    instants = random.integers(1_600_000_000_000_000, 1_700_000_000_000_000, rows)
    return pa.table(
        {
            "ticker": chosen("AAPL", "QBAR", "QBG", "QZP", "BRK.B"),
            "accession": pa.array([f"0000320193-24-{number % 1_000_000:06d}" for number in range(rows)]),
            "qname": chosen("us-gaap:Revenues", "us-gaap:NetIncomeLoss", "us-gaap:Assets", "dei:EntityCommonStock"),
            "unit": chosen("USD", "shares", "USD/shares"),
            "period_start": days(),
            "period_end": days(),
            "value": pa.array(random.normal(size=rows)),
            "available_at": pa.array(instants).cast(pa.timestamp("us", "UTC")),
            "available_at_source": chosen("edgar_accepted"),
            "evidence": pa.array([f"Fact:{number}" for number in range(rows)]),
        }
    )


def with_json(table: pa.Table) -> pa.Table:
    """Return the same rows with a JSON column of about 130 bytes per row, as in sections and statements."""
    texts = [
        f'[{{"label": "Net income", "n": {n}, "note": "daily\\u2019s", "axis": ["a_b", "c"]}}]'
        for n in range(len(table))
    ]
    return table.append_column("json", pa.array(texts))


def best_seconds(work: Callable[[], Any], runs: int) -> float:
    """Return the least CPU seconds of several runs, without pauses by the garbage collector."""
    taken = []
    gc.disable()
    try:
        for _ in range(runs):
            start = time.process_time()
            work()
            taken.append(time.process_time() - start)
    finally:
        gc.enable()
    return min(taken)


def columnar_rate(table: pa.Table, runs: int = RUNS, json_columns: tuple[str, ...] = ()) -> float:
    """Return the rows per second of the columnar gate on one core."""

    def work() -> None:
        if violations_in(table, CUTOFF, json_columns):
            raise AssertionError("the bench's table is meant to be clean")

    before = pa.cpu_count()
    pa.set_cpu_count(1)
    try:
        return table.num_rows / best_seconds(work, runs)
    finally:
        pa.set_cpu_count(before)


def item_rate(table: pa.Table, runs: int = RUNS) -> float:
    """Return the rows per second of `rules.check_item` over the same rows, as items."""
    items = [row_item(batch, row) for batch in table.to_batches() for row in range(batch.num_rows)]

    def work() -> None:
        if any(check_item(item, CUTOFF) for item in items):
            raise AssertionError("the bench's table is meant to be clean")

    return table.num_rows / best_seconds(work, runs)


def run(rows: int = ROWS, items: int = ITEMS, runs: int = RUNS) -> list[Figure]:
    """Return the gate's figures. The baseline is the item-wise gate over the first `items` of the same rows."""
    table = facts(rows)
    shapes = {
        "facts": (table, (), AIM_ROWS, AIM_RATIO),
        "facts with a JSON column": (with_json(table.slice(0, rows // 4)), ("json",), None, None),
    }
    figures = []
    for name, (shape, json_columns, aim_rows, aim_ratio) in shapes.items():
        rate, slow = columnar_rate(shape, runs, json_columns), item_rate(shape.slice(0, items), runs)
        figures.append(_figure(f"gate, columnar: {name}", rate, "rows/s per core", None, aim_rows))
        figures.append(_figure(f"gate, columnar ÷ item-wise: {name}", rate, "rows/s per core", slow, aim_ratio))
    return figures


def _figure(name: str, value: float, unit: str, slow: float | None, aim: float | None) -> Figure:
    aimed = "" if aim is None else f"≥ {aim:g}" if slow else f"≥ {aim:.0f}"
    against, ratio = ("", None) if slow is None else (f"item-wise, {slow:,.0f} {unit}", value / slow)
    return figure(name, value, unit, baseline=against, ratio=ratio, aim=aimed)


if __name__ == "__main__":
    for line in run():
        print(line)
